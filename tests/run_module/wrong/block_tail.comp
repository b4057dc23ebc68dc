#version 460
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
// The pattern of a kernel that decodes quantised blocks into a tile for cooperative matrices: rows of the tile beyond the last row of
// the matrix are decoded too. They make only rows of the result that are not stored.
struct Block { float16_t scale; uint8_t quants[32]; };
layout(local_size_x = 8) in;
layout(binding = 0) readonly buffer A { Block a[]; };
layout(binding = 1) writeonly buffer D { float d[]; };
layout(push_constant) uniform Push { uint rows, blocks_of_row; } push;
shared float tile[8];
void main() {
    uint row = gl_WorkGroupID.x * 8 + gl_LocalInvocationIndex;
    float sum = 0.0;
    for (uint k = 0; k < push.blocks_of_row; k++) {
        uint block = row * push.blocks_of_row + k;
        tile[gl_LocalInvocationIndex] = float(a[block].scale) * (float(uint(a[block].quants[0])) - 8.0);
        sum += tile[gl_LocalInvocationIndex];
    }
    if (row < push.rows) d[row] = sum;
}
