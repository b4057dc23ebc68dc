#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_buffer_reference : require
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x_id = 0) in;
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Numbers { int8_t x[]; };
layout(push_constant) uniform Push { Numbers given; uint steps; } push;
layout(set = 0, binding = 0) buffer Out { int32_t x[]; } result;
shared int8_t stage[256];
void main() {
    coopmat<int8_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> a;
    coopmat<int8_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> b;
    coopmat<int32_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sum = coopmat<int32_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0);
    for (uint k = 0u; k < push.steps; ++k) {
        barrier();
        for (uint i = gl_LocalInvocationIndex; i < 256u; i += gl_WorkGroupSize.x) stage[i] = push.given.x[256u * k + i];
        barrier();
        coopMatLoad(a, stage, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
        coopMatLoad(b, stage, 0, 16, gl_CooperativeMatrixLayoutColumnMajor);
        sum = coopMatMulAdd(a, b, sum);
    }
    if (gl_SubgroupID == 1u) sum = sum + sum;
    coopMatStore(sum, result.x, 256u * gl_SubgroupID, 16, gl_CooperativeMatrixLayoutRowMajor);
}
