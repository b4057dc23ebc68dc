#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
// Functions of GLSL.std.450 on scalars, vectors and matrices.
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer X { vec4 x[]; };
layout(binding = 1) buffer F { float f[]; };
layout(binding = 2) buffer U { uint u[]; };
void main() {
    uint i = gl_LocalInvocationIndex, o = i * 40;
    vec4 v = x[i];
    vec3 w = v.yzw + 2.5;
    mat3 m = mat3(v.xyz, v.yzw + vec3(3, 0, 1), vec3(1, v.x, 4));
    mat2x3 n = outerProduct(v.xyz, v.yw);
    f[o + 0] = length(v);
    f[o + 1] = distance(v.xyz, w);
    f[o + 2] = dot(normalize(w), vec3(0.25, 0.5, 0.75));
    vec3 c = cross(v.xyz, w);
    f[o + 3] = c.x + 2.0 * c.y + 4.0 * c.z;
    f[o + 4] = reflect(v.xyz, normalize(w)).z;
    f[o + 5] = refract(normalize(v.xyz), normalize(w), 0.7).y;
    f[o + 6] = faceforward(v.xyz, w, vec3(1, -2, 0.5)).x;
    f[o + 7] = determinant(m);
    f[o + 8] = (inverse(m) * w).y;
    f[o + 9] = (transpose(n) * w).x + (n * v.xy).z + (w * n).y;
    f[o + 10] = (m * m)[1][2] + (m * 2.0)[2].x;
    f[o + 11] = atan(v.y, v.x + 3.0);
    f[o + 12] = asinh(v.x) + acosh(abs(v.y) + 1.5) + atanh(v.z * 0.25);
    f[o + 13] = fract(v.x * 7.3);
    f[o + 14] = degrees(v.y) + radians(v.z);
    float whole;
    f[o + 15] = modf(v.x * 5.5, whole);
    f[o + 16] = whole;
    int e;
    f[o + 17] = frexp(v.y * 100.0, e) + float(e);
    f[o + 18] = ldexp(v.z, int(i % 7) - 3);
    f[o + 19] = mix(v.x, v.y, 0.25) + step(0.0, v.z) + smoothstep(-1.0, 1.0, v.w);
    f[o + 20] = pow(abs(v.x) + 0.1, v.y);
    f[o + 21] = sinh(v.x) + cosh(v.y) + tanh(v.z) + tan(v.w);
    f[o + 22] = asin(v.x * 0.5) + acos(v.y * 0.5) + atan(v.z);
    f[o + 23] = inversesqrt(abs(v.x) + 0.5) + sqrt(abs(v.y)) + log2(abs(v.z) + 1.0) + exp2(v.w);
    vec4 p = unpackSnorm4x8(packSnorm4x8(v)) + unpackUnorm4x8(packUnorm4x8(v));
    f[o + 24] = p.x + p.y + p.z + p.w;
    vec2 q = unpackSnorm2x16(packSnorm2x16(v.xy)) + unpackUnorm2x16(packUnorm2x16(v.zw)) + unpackHalf2x16(packHalf2x16(v.yz));
    f[o + 25] = q.x + 3.0 * q.y;
    f[o + 26] = roundEven(v.x * 4.0) + floor(v.y * 3.0) + ceil(v.z) + trunc(v.w * 9.0) + sign(v.x);
    f[o + 27] = mod(v.x, 0.75);
    u[4 * i] = bitfieldExtract(floatBitsToUint(v.x), 5, 11) ^ bitfieldReverse(i) ^ bitCount(floatBitsToUint(v.y));
    uint low, high;
    umulExtended(floatBitsToUint(v.x), floatBitsToUint(v.z), high, low);
    u[4 * i + 1] = low ^ high;
    u[4 * i + 2] = uint(findMSB(int(floatBitsToInt(v.w)))) + uint(findLSB(i + 1u)) * 64u;
    u[4 * i + 3] = bitfieldInsert(floatBitsToUint(v.w), i, 3, 9);
}
