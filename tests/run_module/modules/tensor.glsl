#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
// A tile of an image, partly outside of it, as a convolution loads it.
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer A { float16_t a[]; };
layout(binding = 1) buffer D { float16_t d[]; };
layout(push_constant) uniform Push { uint height, width, pitch; int top, left; } push;
#define CLAMP_(T) gl_CooperativeMatrixClampMode##T##NV
#define CLAMP(T) CLAMP_(T)
void main() {
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> tile;
    tensorLayoutNV<2, CLAMP(MODE)> from = createTensorLayoutNV(2, CLAMP(MODE));
    from = setTensorLayoutDimensionNV(from, push.height, push.width);
    from = setTensorLayoutStrideNV(from, push.pitch, 1);
    from = setTensorLayoutClampValueNV(from, 0x4000);
    from = sliceTensorLayoutNV(from, push.top, 16, push.left, 16);
#ifdef TRANSPOSED
    tensorViewNV<2, false, 1, 0> view = createTensorViewNV(2, false, 1, 0);
    coopMatLoadTensorNV(tile, a, 0, from, view);
#else
    coopMatLoadTensorNV(tile, a, 0, from);
#endif
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> to = createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    to = setTensorLayoutDimensionNV(to, 16, 20);
    to = sliceTensorLayoutNV(to, 2, 16, 4, 16);
    coopMatStoreTensorNV(tile, d, 0, to);
}
