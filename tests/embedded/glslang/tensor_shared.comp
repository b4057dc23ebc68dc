#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 32) in;
layout(constant_id = 0) const bool filled = true;
shared float16_t sh[1024];
layout(set = 0, binding = 0) buffer BD { float16_t x[]; } d;
void main() {
    if (filled) {
        for (uint i = gl_LocalInvocationIndex; i < 512; i += 32) sh[i] = float16_t(i);
    }
    barrier();
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> m;
    tensorLayoutNV<2> t = createTensorLayoutNV(2);
    t = setTensorLayoutDimensionNV(t, 16, 32);
    coopMatLoadTensorNV(m, sh, 0, sliceTensorLayoutNV(t, 0, 16, 5, 16));
    t = setTensorLayoutDimensionNV(t, 16, 16);
    coopMatStoreTensorNV(m, sh, 512, t);
    barrier();
    coopMatLoadTensorNV(m, sh, 512, t, createTensorViewNV(2, false, 1, 0));
    coopMatStoreTensorNV(m, d.x, 0, t);
}
