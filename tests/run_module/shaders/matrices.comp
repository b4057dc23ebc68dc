#version 450
// Matrices of every layout in buffers: by columns with gaps, by rows, in arrays, in structures of arrays, and of 16-byte columns in uniform
// buffers.
layout(local_size_x = 24) in;
struct Pose {
    mat3 rotation;
    float weight;
};
layout(binding = 0, std430) readonly buffer Given {
    mat3 by_columns;
    layout(row_major) mat2x3 by_rows;
    layout(row_major) mat4x2 both[2];
    Pose poses[];
};
layout(binding = 1) writeonly buffer Result { float result[]; };
layout(binding = 2, std140) uniform Constants {
    mat2 small;
    layout(row_major) mat3x4 tall;
    mat3 turns[2];
};
layout(binding = 3, std430, row_major) buffer Made {
    mat3x2 whole;
    mat2x4 parts[2];
};
void main() {
    uint i = gl_LocalInvocationIndex;
    vec3 turned = by_columns * vec3(1, 2, i), moved = by_rows * vec2(i, 1);
    mat2 other = small;
    result[i * 8] = turned.x + 3 * turned.y - turned.z;
    result[i * 8 + 1] = moved.z - moved.x;
    result[i * 8 + 2] = both[i & 1][i & 3][(i >> 1) & 1];
    result[i * 8 + 3] = poses[i % 3].rotation[i % 3][(i / 3) % 3] + poses[1].weight;
    result[i * 8 + 4] = other[1][0] - other[0][1] * 2;
    result[i * 8 + 5] = tall[i % 3][i % 4];
    result[i * 8 + 6] = (turns[i & 1] * vec3(1, 0, i)).y;
    result[i * 8 + 7] = (tall * vec3(1, 2, 3)).w;
    if (i == 0) {
        whole = mat3x2(1, 2, 3, 4, 5, 6);
        parts[0] = mat2x4(1, 2, 3, 4, 5, 6, 7, 8);
        parts[1][0] = vec4(9, 10, 11, 12);
        parts[1][1][2] = 4;
    }
}
