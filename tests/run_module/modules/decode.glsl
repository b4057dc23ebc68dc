#version 460
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_buffer_reference : require
// A product with a quantised matrix: blocks of one row and 32 columns, decoded when they are loaded.
layout(local_size_x = LOCAL_SIZE) in;
layout(buffer_reference, std430, buffer_reference_align = 2) readonly buffer Block { int8_t scale; int8_t zero; uint8_t q[BLOCK]; };
layout(binding = 0) readonly buffer Q { uint8_t q[]; };
layout(binding = 1) readonly buffer B { float16_t b[]; };
layout(binding = 2) writeonly buffer D { float d[]; };
#ifdef TABLE
layout(binding = 3) readonly buffer Codes { float16_t codes[16]; };
#endif
float16_t decode(const in Block block, const in uint32_t number[2], const in uint32_t inside[2]) {
#if BITS == 8
    int value = int(block.q[inside[1]]);
#else
    int value = int(block.q[inside[1] / 2] >> (inside[1] % 2 * 4)) & 15;
#endif
#ifdef TABLE
    return codes[value] * float16_t(block.scale);
#else
    return float16_t((value - int(block.zero)) * int(block.scale));
#endif
}
void main() {
    coopmat<float, SCOPE, M, N, gl_MatrixUseAccumulator> sum = coopmat<float, SCOPE, M, N, gl_MatrixUseAccumulator>(0.0);
    tensorLayoutNV<2, CLAMP> rows = createTensorLayoutNV(2, CLAMP);
    rows = setTensorLayoutBlockSizeNV(rows, 1, 32);
    rows = setTensorLayoutDimensionNV(rows, ROWS, 64);
    for (uint k = 0; k < 64; k += 32) {
        coopmat<float16_t, SCOPE, M, 32, gl_MatrixUseA> left;
        coopmat<float16_t, SCOPE, 32, N, gl_MatrixUseB> right;
        coopMatLoadTensorNV(left, q, OFFSET, sliceTensorLayoutNV(rows, 0, M, k, 32), decode);
        coopMatLoad(right, b, k * N, N, gl_CooperativeMatrixLayoutRowMajor);
        sum = coopMatMulAdd(left, right, sum);
    }
    coopMatStore(sum, d, 0, N, gl_CooperativeMatrixLayoutRowMajor);
}
