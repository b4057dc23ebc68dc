#version 460
#extension GL_NV_cooperative_vector : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_buffer_reference : require
// Two layers with an activation between them. All weights are in one buffer; PLACES says how the shader learns where they are.
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer X { float16_t x[]; };
layout(binding = 1) writeonly buffer Y { float16_t y[]; };
#if PLACES == 0
layout(binding = 2) readonly buffer W { float16_t w[]; };
layout(push_constant) uniform Push { uint first, first_bias, second, second_bias; } at;
#elif PLACES == 1
layout(binding = 2) readonly buffer W { float16_t w[]; };
layout(binding = 3) readonly buffer Table { uint count, first, first_bias, second, second_bias; } at;
#elif PLACES == 2
layout(buffer_reference, std430, buffer_reference_align = 64) readonly buffer Weights { float16_t w[]; };
layout(push_constant) uniform Push { Weights weights; uint first, first_bias, second, second_bias; } at;
#define w at.weights.w
#elif PLACES == 3
layout(binding = 2) readonly buffer W { float16_t w[]; } sets[2];
layout(push_constant) uniform Push { uint first, first_bias, second, second_bias; } at;
#endif
#if PLACES == 3
#define FIRST sets[0].w
#define SECOND sets[1].w
#else
#define FIRST w
#define SECOND w
#endif
const int F16 = gl_ComponentTypeFloat16NV;
const int OPTIMAL = gl_CooperativeVectorMatrixLayoutInferencingOptimalNV;
void main() {
    uint i = gl_GlobalInvocationID.x;
    coopvecNV<float16_t, 16> v;
    coopVecLoadNV(v, x, i * 32);
    coopvecNV<float16_t, 24> hidden;
    coopVecMatMulAddNV(hidden, v, F16, FIRST, at.first, F16, FIRST, at.first_bias, F16, 24, 16, OPTIMAL, false, 0);
    hidden = max(hidden, coopvecNV<float16_t, 24>(0.0hf));
    hidden[0] = hidden[0] + 1.0hf;
    coopvecNV<float16_t, 8> result;
    coopVecMatMulAddNV(result, hidden, F16, SECOND, at.second, F16, SECOND, at.second_bias, F16, 8, 24, OPTIMAL, false, 0);
    coopVecStoreNV(result, y, i * 16);
}
