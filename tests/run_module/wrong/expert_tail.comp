#version 460
// The pattern of a kernel that multiplies the rows that a list of experts names: the last tile has fewer rows than it is wide, but rows
// of the whole tile are loaded through `row_ids`. Their products are not stored.
layout(local_size_x = 8) in;
layout(binding = 0) readonly buffer Ids { int ids[]; };
layout(binding = 1) readonly buffer B { float b[]; };
layout(binding = 2) writeonly buffer D { float d[]; };
layout(push_constant) uniform Push { uint count; int expert; } push;
shared uint row_ids[8];
shared float tile[8];
float loaded(uint column) {
    uint row = row_ids[column];
    return b[row];
}
void main() {
    uint column = gl_LocalInvocationIndex, rows = 0;
    for (uint i = 0; i < push.count; i++)
        if (ids[i] == push.expert) {
            if (rows == column) row_ids[rows] = i;
            rows++;
        }
    barrier();
    tile[column] = loaded(column);
    barrier();
    if (column < rows) d[row_ids[column]] = 2.0 * tile[column];
}
