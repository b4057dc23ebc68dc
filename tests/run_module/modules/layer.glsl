#version 460
#extension GL_NV_cooperative_vector : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#ifdef RAYS
#extension GL_EXT_ray_tracing : require
#endif
// A layer of a network: each invocation multiplies a vector by a matrix, and adds a bias if there is one.
#define COMPONENT_(T) gl_ComponentType##T##NV
#define COMPONENT(T) COMPONENT_(T)
#define LAYOUT_(T) gl_CooperativeVectorMatrixLayout##T##NV
#define LAYOUT(T) LAYOUT_(T)
#ifndef INDEX
layout(local_size_x = 32) in;
#define INDEX gl_GlobalInvocationID.x
#endif
layout(binding = 0) readonly buffer X { IN x[]; };
layout(binding = 1) readonly buffer Weights { ELEMENT weights[]; };
layout(binding = 2) writeonly buffer Y { OUT y[]; };
layout(push_constant) uniform Push { uint matrix, bias, stride; } push;
void main() {
    uint i = uint(INDEX);
    coopvecNV<IN, LENGTH> v;
    coopVecLoadNV(v, x, i * LENGTH * IN_BYTES);
    coopvecNV<OUT, M> r;
#ifdef BIAS
    coopVecMatMulAddNV(r, v, COMPONENT(INPUT), weights, push.matrix, COMPONENT(MATRIX), weights, push.bias, COMPONENT(BIAS), M, K,
                       LAYOUT(ORDER), TRANSPOSE, push.stride);
#else
    coopVecMatMulNV(r, v, COMPONENT(INPUT), weights, push.matrix, COMPONENT(MATRIX), M, K, LAYOUT(ORDER), TRANSPOSE, push.stride);
#endif
    coopVecStoreNV(r, y, i * M * OUT_BYTES);
}
