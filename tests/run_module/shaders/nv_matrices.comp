#version 450
// A product with matrices of the older extension of one vendor.
#extension GL_NV_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 32) in;
layout(constant_id = 0) const uint stride = 16;
layout(binding = 0) readonly buffer A { float16_t a[]; };
layout(binding = 1) readonly buffer B { float16_t b[]; };
layout(binding = 2) buffer Result { float result[]; };
shared float16_t kept[16 * 16];
void main() {
    fcoopmatNV<16, gl_ScopeSubgroup, 16, 16> left, right;
    fcoopmatNV<32, gl_ScopeSubgroup, 16, 16> sum = fcoopmatNV<32, gl_ScopeSubgroup, 16, 16>(1.0);
    coopMatLoadNV(left, a, 0, stride, false);
    coopMatLoadNV(right, b, 0, stride, true);
    sum = coopMatMulAddNV(left, right, sum);
    for (int i = 0; i < sum.length(); i++) sum[i] = sum[i] * 2.0 + 1.0;
    fcoopmatNV<16, gl_ScopeSubgroup, 16, 16> narrow = fcoopmatNV<16, gl_ScopeSubgroup, 16, 16>(sum) * float16_t(0.5);
    coopMatStoreNV(narrow, kept, 0, 16, false);
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < 256; i += 32) result[256 + i] = float(kept[i]);
    coopMatStoreNV(sum, result, 0, 16, false);
}
