#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_buffer_reference : require
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint DIM = 2;
layout(constant_id = 2) const uint MODE = 0;
layout(constant_id = 3) const uint SCOPE = gl_ScopeSubgroup;
layout(constant_id = 4) const bool OWN_DIMENSIONS = false;
layout(constant_id = 5) const uint FIRST = 0;
layout(constant_id = 6) const uint SECOND = 1;
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Image { int8_t x[]; };
layout(set = 0, binding = 0) buffer Tiles { int8_t x[]; } tiles;
layout(push_constant) uniform PC { Image image; uint height; uint width; int top; int left; } pc;

tensorLayoutNV<DIM, MODE> whole = createTensorLayoutNV(DIM, MODE);

tensorLayoutNV<DIM, MODE> tile(const in tensorLayoutNV<DIM, MODE> from, int row, int column) {
    tensorLayoutNV<DIM, MODE> t = from;
    if (row < 0) t = setTensorLayoutClampValueNV(t, 0x12345680 + gl_SubgroupID);
    return sliceTensorLayoutNV(t, row, 8, column, 4);
}

void main() {
    whole = setTensorLayoutDimensionNV(whole, pc.height, pc.width);
    tensorViewNV<2, OWN_DIMENSIONS, FIRST, SECOND> view = createTensorViewNV(2, OWN_DIMENSIONS, FIRST, SECOND);
    view = setTensorViewDimensionsNV(view, 8, 4);
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> o = createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    o = setTensorLayoutDimensionNV(o, 3 * gl_NumSubgroups, 32);
    for (int i = 0; i < 3; ++i) {
        coopmat<int8_t, SCOPE, 8, 4, gl_MatrixUseA> m;
        coopMatLoadTensorNV(m, pc.image.x, 0, tile(whole, pc.top + 8 * i, pc.left), view);
        uint subgroup = SCOPE == gl_ScopeSubgroup ? gl_SubgroupID : 0;
        coopMatStoreTensorNV(m, tiles.x, 0, sliceTensorLayoutNV(o, int(3 * subgroup) + i, 1, 0, 32));
    }
}
