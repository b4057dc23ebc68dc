#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 32) in;
layout(buffer_reference, std430, buffer_reference_align = 2) readonly buffer Block { float16_t scale; uint8_t q[8]; };
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Bytes { uint8_t x[]; };
layout(set = 0, binding = 0) buffer BD { float16_t x[]; } d;
layout(push_constant) uniform Push { Bytes given; } push;
// Two values of 4 bits in a byte, the lower one first; scaled.
float16_t nibble(const in Block b, const in uint32_t k) {
    uint32_t byte = uint32_t(b.q[k >> 1]);
    return float16_t((k & 1) == 0 ? byte & 15 : byte >> 4);
}
float16_t decode(const in Block b, const in uint32_t blockCoords[2], const in uint32_t coordInBlock[2]) {
    return nibble(b, coordInBlock[0] * 8 + coordInBlock[1]) * b.scale + float16_t(blockCoords[1]);
}
void main() {
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> m = coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB>(-1.0);
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> t = createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    t = setTensorLayoutBlockSizeNV(t, 2, 8);
    t = setTensorLayoutDimensionNV(t, 20, 30);
    t = setTensorLayoutClampValueNV(t, 0x3c00);
    t = sliceTensorLayoutNV(t, 6, 16, 18, 16);
    tensorViewNV<2, false, 1, 0> v = createTensorViewNV(2, false, 1, 0);
    v = setTensorViewClipNV(v, 0, 15, 0, 16);
    coopMatLoadTensorNV(m, push.given.x, 0, t, v, decode);
    coopMatStore(m, d.x, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
