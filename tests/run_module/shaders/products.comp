#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
// A product whose last tiles of rows are incomplete: the missing rows are staged with whatever memory holds, and not stored.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint TM = 8;
layout(constant_id = 1) const uint TN = 8;
layout(constant_id = 2) const uint TK = 8;
layout(binding = 0) readonly buffer A { float16_t a[]; };
layout(binding = 1) readonly buffer B { float16_t b[]; };
layout(binding = 2) buffer D { float d[]; };
layout(push_constant) uniform Push { uint m, n, k; } push;
shared float16_t tile_a[TM * TK];
shared float16_t tile_b[TK * TN];
shared float tile_d[TM * TN];
void main() {
    uint lane = gl_LocalInvocationIndex;
    uint row = gl_WorkGroupID.y * TM, column = gl_WorkGroupID.x * TN;
    coopmat<float, gl_ScopeSubgroup, TM, TN, gl_MatrixUseAccumulator> sum =
        coopmat<float, gl_ScopeSubgroup, TM, TN, gl_MatrixUseAccumulator>(0.0);
    for (uint k = 0; k < push.k; k += TK) {
        for (uint i = lane; i < TM * TK; i += 64)
            if (row + i / TK < push.m) tile_a[i] = a[(row + i / TK) * push.k + k + i % TK];
        for (uint i = lane; i < TK * TN; i += 64) tile_b[i] = b[(k + i / TN) * push.n + column + i % TN];
        barrier();
        coopmat<float16_t, gl_ScopeSubgroup, TM, TK, gl_MatrixUseA> ma;
        coopmat<float16_t, gl_ScopeSubgroup, TK, TN, gl_MatrixUseB> mb;
        coopMatLoad(ma, tile_a, 0, TK, gl_CooperativeMatrixLayoutRowMajor);
        coopMatLoad(mb, tile_b, 0, TN, gl_CooperativeMatrixLayoutRowMajor);
        sum = coopMatMulAdd(ma, mb, sum);
        barrier();
    }
    for (int i = 0; i < sum.length(); i++) sum[i] *= 0.5;
    if (gl_SubgroupID == 0) coopMatStore(sum, tile_d, 0, TN, gl_CooperativeMatrixLayoutRowMajor);
    barrier();
    for (uint i = lane; i < TM * TN; i += 64)
        if (row + i / TN < push.m) d[(row + i / TN) * push.n + column + i % TN] = tile_d[i];
}
