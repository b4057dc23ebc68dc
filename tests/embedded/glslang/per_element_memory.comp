#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_buffer_reference : require
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 32) in;
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Words { uint32_t x[]; };
layout(set = 0, binding = 0) buffer BD { uint32_t x[]; } d;
layout(push_constant) uniform Push { Words given; uint32_t factor; } push;
shared uint32_t keys[32];
const uint32_t primes[4] = uint32_t[4](2, 3, 5, 7);
uint32_t steps(const in uint32_t x, const in uint32_t count) {
    uint32_t result = x;
    for (uint32_t i = 0; i < count; i++) {
        if ((i & 1) == 1) continue;
        result = result * 3 + i;
        if (result % 7 == 3) break;
    }
    return result;
}
uint32_t f(const in uint32_t row, const in uint32_t col, const in uint32_t e, const in Words words, const in u32vec2 v) {
    if (row > col) return steps(e, col) + keys[row];
    switch (e & 3) {
    case 0: return primes[col & 3] * v.x;
    case 1: return words.x[col * 16 + row] ^ v.y;
    default: return e * push.factor + gl_WorkGroupID.x;
    }
}
void main() {
    keys[gl_LocalInvocationIndex] = gl_LocalInvocationIndex * 7 + 1;
    barrier();
    coopmat<uint32_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m, r;
    coopMatLoad(m, push.given.x, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    coopMatPerElementNV(r, m, f, push.given, u32vec2(push.factor, gl_NumSubgroups + 40));
    coopMatStore(r, d.x, gl_WorkGroupID.x * 256, 16, gl_CooperativeMatrixLayoutRowMajor);
}
