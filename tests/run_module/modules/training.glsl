#version 460
#extension GL_NV_cooperative_vector : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
// Steps of training: gradients of a matrix (outer products) and of a bias (sums), errors of the layer before, an optimiser, and a copy.
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer X { float16_t x[]; };
layout(binding = 1) readonly buffer E { float16_t e[]; };
layout(binding = 2) buffer G { ELEMENT g[]; };
layout(binding = 3) readonly buffer W { float16_t w[]; };
layout(binding = 4) writeonly buffer Y { float16_t y[]; };
layout(push_constant) uniform Push { uint gradient, sums, weights; } push;
#define ORDER_(T) gl_CooperativeVectorMatrixLayout##T##NV
#define ORDER(T) ORDER_(T)
#define COMPONENT_(T) gl_ComponentType##T##NV
#define COMPONENT(T) COMPONENT_(T)
void main() {
    uint i = gl_GlobalInvocationID.x;
#if defined(COPY)
    for (uint at = i; at < (push.sums - push.gradient) / G_BYTES; at += 32) g[push.gradient / G_BYTES + at] = w[push.weights / 2 + at];
#elif defined(OPTIMISER)
    y[i] = float16_t(g[push.gradient / G_BYTES + i]) * 0.5hf;
#else
    coopvecNV<float16_t, 16> v;
    coopvecNV<float16_t, 8> error;
    coopVecLoadNV(v, x, i * 32);
    coopVecLoadNV(error, e, i * 16);
#ifdef OUTER
    coopVecOuterProductAccumulateNV(error, v, g, push.gradient, 0, gl_CooperativeVectorMatrixLayoutTrainingOptimalNV, COMPONENT(OUTER));
#endif
#ifdef SUMS
    coopVecReduceSumAccumulateNV(error, g, push.sums);
#endif
#ifdef BACK
    coopvecNV<float16_t, 16> before;
    coopVecMatMulNV(before, error, gl_ComponentTypeFloat16NV, w, push.weights, gl_ComponentTypeFloat16NV, 16, 8, ORDER(BACK), true, 0);
    coopVecStoreNV(before, y, i * 32);
#endif
#endif
}
