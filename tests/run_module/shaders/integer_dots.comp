#version 460
#extension GL_EXT_integer_dot_product : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_8bit_storage : require
layout(local_size_x = 16) in;
layout(binding = 0) readonly buffer A { int a[]; };
layout(binding = 1) readonly buffer B { int b[]; };
layout(binding = 2) buffer Result { int result[]; };
layout(binding = 3) buffer Long { int64_t long_result[]; };
layout(binding = 4) buffer Bytes { i8vec4 bytes[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    int signs = dotPacked4x8EXT(a[i], b[i]);
    uint unsigned_sum = dotPacked4x8EXT(uint(a[i]), uint(b[i]));
    int mixed = dotPacked4x8EXT(a[i], uint(b[i]));
    int saturated = dotPacked4x8AccSatEXT(a[i], b[i], 2147483000);
    i8vec4 parts = unpack8(a[i]);
    result[4 * i] = signs + dotEXT(parts, i8vec4(1, 2, 3, 4));
    result[4 * i + 1] = int(unsigned_sum);
    result[4 * i + 2] = mixed;
    result[4 * i + 3] = saturated;
    long_result[i] = int64_t(a[i]) * int64_t(b[i]) >> (i & 7u);
    bytes[i] = parts + int8_t(100);
}
