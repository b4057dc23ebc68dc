#version 460
// Rows beyond the last have no values. What is computed from them, also by a choice, is dropped.
layout(local_size_x = 8) in;
layout(binding = 0) readonly buffer Given { float given[]; };
layout(binding = 1) buffer Result { float result[]; };
layout(push_constant) uniform Push { uint rows; } push;
shared float kept[8];
void main() {
    uint row = gl_LocalInvocationIndex;
    if (row < push.rows) kept[row] = given[row];
    barrier();
    float mine = kept[row], other = kept[7 - row], sums[2];
    float reciprocal = mine == 0.0 ? 0.0 : 1.0 / mine;
    sums[0] = float(row);
    sums[1] = 1.0;
    if (other > 3.0) sums[1] = 3.0;
    else if (other > 1.0) { other += 1.0; sums[1] = other; }
    switch (int(mine)) {
    case 0: reciprocal += 10.0; break;
    case 2: reciprocal += 20.0;
    case 4: reciprocal += 40.0; break;
    default: reciprocal += 80.0;
    }
    result[row] = sums[0];
    if (row < push.rows) result[row + 8] = reciprocal;
    if (7 - row < push.rows) result[row + 16] = sums[1];
}
