#version 460
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_bfloat16 : require
#extension GL_EXT_float_e4m3 : require
#extension GL_EXT_spirv_intrinsics : require
// Dot products of narrow floats that are added to a wider or an equal accumulator, for which GLSL has no name.
spirv_instruction(extensions = ["SPV_VALVE_mixed_float_dot_product"], capabilities = [6912], id = 6916)
float wide_dot(f16vec2 a, f16vec2 b, float sum);
spirv_instruction(extensions = ["SPV_VALVE_mixed_float_dot_product"], capabilities = [6914], id = 6916)
float wide_dot(bf16vec2 a, bf16vec2 b, float sum);
spirv_instruction(extensions = ["SPV_VALVE_mixed_float_dot_product"], capabilities = [6913], id = 6917)
float16_t narrow_dot(f16vec2 a, f16vec2 b, float16_t sum);
spirv_instruction(extensions = ["SPV_VALVE_mixed_float_dot_product"], capabilities = [6915], id = 6918)
float four_dot(fe4m3vec4 a, fe4m3vec4 b, float sum);
layout(local_size_x = 4) in;
layout(binding = 0) readonly buffer Given { f16vec2 given[]; };
layout(binding = 1) buffer Result { float result[]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    f16vec2 a = given[i], b = given[i + 4], unused;
    result[i] = wide_dot(a, b, 0.5);
    result[i + 4] = wide_dot(bf16vec2(a), bf16vec2(b), float(i));
    result[i + 8] = float(narrow_dot(a, b, float16_t(2048)));
    result[i + 12] = four_dot(fe4m3vec4(vec4(a, b)), fe4m3vec4(vec4(1, 2, 3, 4)), -1.0);
    // A result of an operand without a value, which nothing reads.
    float dropped = wide_dot(a, unused, 0.0);
    if (result[i] < 0.0) dropped = 0.0;
}
