#version 460
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
// The host decides all sizes: with the defaults of the constants, the workgroup is smaller than a subgroup and the array has no length.
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint M = 1;
layout(constant_id = 2) const uint PER_INVOCATION = 0;
layout(constant_id = 3) const uint COLUMNS = 0;
layout(binding = 0) readonly buffer A { float16_t a[]; };
layout(binding = 1) buffer Result { float result[]; };
shared float16_t tile[M * PER_INVOCATION / 2];
shared float16_t other[M * M / COLUMNS];
void main() {
    for (uint i = gl_LocalInvocationIndex; i < M * M; i += gl_WorkGroupSize.x) {
        tile[i] = a[i];
        other[i / COLUMNS] = float16_t(2);
    }
    barrier();
    coopmat<float16_t, gl_ScopeSubgroup, M, M, gl_MatrixUseA> left;
    coopmat<float16_t, gl_ScopeSubgroup, M, M, gl_MatrixUseB> right = coopmat<float16_t, gl_ScopeSubgroup, M, M, gl_MatrixUseB>(other[0]);
    coopMatLoad(left, tile, 0, M, gl_CooperativeMatrixLayoutRowMajor);
    coopmat<float, gl_ScopeSubgroup, M, M, gl_MatrixUseAccumulator> sum = coopmat<float, gl_ScopeSubgroup, M, M, gl_MatrixUseAccumulator>(0);
    coopMatStore(coopMatMulAdd(left, right, sum), result, 0, M, gl_CooperativeMatrixLayoutRowMajor);
}
