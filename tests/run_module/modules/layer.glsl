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
#define ORDER_(T) gl_CooperativeVectorMatrixLayout##T##NV
#define ORDER(T) ORDER_(T)
#ifndef INDEX
layout(local_size_x = LOCAL_SIZE) in;
#define INDEX gl_GlobalInvocationID.x
#endif
layout(binding = 0) readonly buffer X { IN x[]; };
layout(binding = 1) readonly buffer W { ELEMENT w[]; };
layout(binding = 2) writeonly buffer Y { OUT y[]; };
layout(push_constant) uniform Push { uint matrix, bias, stride; } push;
void main() {
    uint i = uint(INDEX);
    coopvecNV<IN, LENGTH> v;
    coopVecLoadNV(v, x, i * IN_PITCH);
    coopvecNV<OUT, M> r;
#ifdef BIAS
    coopVecMatMulAddNV(r, v, COMPONENT(INPUT), w, push.matrix, COMPONENT(MATRIX), w, push.bias, COMPONENT(BIAS), M, K, ORDER(LAYOUT), TRANSPOSED, push.stride);
#else
    coopVecMatMulNV(r, v, COMPONENT(INPUT), w, push.matrix, COMPONENT(MATRIX), M, K, ORDER(LAYOUT), TRANSPOSED, push.stride);
#endif
    coopVecStoreNV(r, y, i * OUT_PITCH);
}
