#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix2 : require

layout(local_size_x_id = 0) in;

layout(set = 0, binding = 0) readonly buffer SourceBuffer {
    float16_t source[];
};

layout(set = 0, binding = 1) buffer D_placeBuffer {
    float16_t d_place[];
};

layout(set = 0, binding = 2) buffer D_ROWBuffer {
    float16_t d_ROW[];
};

layout(set = 0, binding = 3) buffer D_COLUMNBuffer {
    float16_t d_COLUMN[];
};

layout(set = 0, binding = 4) buffer D_ROW_AND_COLUMNBuffer {
    float16_t d_ROW_AND_COLUMN[];
};

layout(set = 0, binding = 5) buffer D_ubBuffer {
    float16_t d_ub[];
};

layout(set = 0, binding = 6) buffer D_trBuffer {
    float16_t d_tr[];
};

layout(set = 0, binding = 7) readonly buffer PackedBuffer {
    uint8_t packed[];
};

layout(set = 0, binding = 8) buffer D_qBuffer {
    float16_t d_q[];
};

struct Extra {
    float16_t member0;
    uint member1;
};

layout(buffer_reference, scalar, buffer_reference_align = 2) readonly buffer Packed {
    layout(offset = 0) float16_t member0;
    layout(offset = 2) uint8_t member1[8];
};

float16_t place(const in uint row, const in uint col, const in float16_t x, const in f16vec2 v, const in Extra st) {
    return ((x + v.y) + float16_t((((row * 16u) + col) + st.member1)));
}

float16_t most(const in float16_t a, const in float16_t c) {
    return ((a < c) ? c : a);
}

float16_t unpack(const in Packed block, const in uint bc[2], const in uint cb[2]) {
    return (float16_t(((uint(block.member1[(cb[1] >> 1u)]) >> ((cb[1] & 1u) * 4u)) & 15u)) * block.member0);
}

void main() {
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> source_matrix;
    coopMatLoad(source_matrix, source, 0u, 24u, gl_CooperativeMatrixLayoutRowMajor);
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> placed;
    coopMatPerElementNV(placed, source_matrix, place, f16vec2(1.0hf, 2.0hf), Extra(1.0hf, 7u));
    coopMatStore(placed, d_place, 0u, 24u, gl_CooperativeMatrixLayoutRowMajor);
    coopmat<float16_t, gl_ScopeSubgroup, 16, 8, gl_MatrixUseAccumulator> r_ROW;
    coopMatReduceNV(r_ROW, source_matrix, gl_CooperativeMatrixReduceRowNV, most);
    coopMatStore(r_ROW, d_ROW, 0u, 16u, gl_CooperativeMatrixLayoutRowMajor);
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> r_COLUMN;
    coopMatReduceNV(r_COLUMN, source_matrix, gl_CooperativeMatrixReduceColumnNV, most);
    coopMatStore(r_COLUMN, d_COLUMN, 0u, 24u, gl_CooperativeMatrixLayoutRowMajor);
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> r_ROW_AND_COLUMN;
    coopMatReduceNV(r_ROW_AND_COLUMN, source_matrix, gl_CooperativeMatrixReduceRowAndColumnNV, most);
    coopMatStore(r_ROW_AND_COLUMN, d_ROW_AND_COLUMN, 0u, 24u, gl_CooperativeMatrixLayoutRowMajor);
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> ub = coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB>(source_matrix);
    coopMatStore(ub, d_ub, 0u, 24u, gl_CooperativeMatrixLayoutRowMajor);
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> tr;
    coopMatTransposeNV(tr, source_matrix);
    coopMatStore(tr, d_tr, 0u, 24u, gl_CooperativeMatrixLayoutRowMajor);
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> l_new = createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> l_0 = setTensorLayoutBlockSizeNV(l_new, 1u, 16u);
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> l_1 = setTensorLayoutDimensionNV(l_0, 16u, 17u);
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> l_2 = sliceTensorLayoutNV(l_1, 0, 16u, 0, 16u);
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> q = placed;
    coopMatLoadTensorNV(q, packed, 16u, l_2, unpack);
    coopMatStore(q, d_q, 0u, 24u, gl_CooperativeMatrixLayoutRowMajor);
}
