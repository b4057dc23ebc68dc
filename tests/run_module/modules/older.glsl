#version 460
#extension GL_KHR_cooperative_matrix : enable
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
// What modules of older versions of SPIR-V do: a product of matrices, or a sum over a workgroup.
layout(local_size_x = LOCAL_SIZE) in;
layout(binding = 0) readonly buffer A { float16_t a[]; };
layout(binding = 1) readonly buffer B { float16_t b[]; };
layout(binding = 2) buffer D { TYPE d[]; };
void main() {
#ifdef SIZE
    coopmat<float16_t, gl_ScopeSubgroup, SIZE, SIZE, gl_MatrixUseA> left;
    coopmat<float16_t, gl_ScopeSubgroup, SIZE, SIZE, gl_MatrixUseB> right;
    coopmat<float, gl_ScopeSubgroup, SIZE, SIZE, gl_MatrixUseAccumulator> sum = coopmat<float, gl_ScopeSubgroup, SIZE, SIZE, gl_MatrixUseAccumulator>(1.0);
    coopMatLoad(left, a, 0, SIZE, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(right, b, 0, SIZE, gl_CooperativeMatrixLayoutColumnMajor);
    coopMatStore(coopMatMulAdd(left, right, sum), d, 0, SIZE, gl_CooperativeMatrixLayoutRowMajor);
#else
    uint sum = subgroupAdd(gl_LocalInvocationIndex + 1);
    if (subgroupElect()) atomicAdd(d[0], sum);
#endif
}
