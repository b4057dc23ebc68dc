#version 460
#extension GL_EXT_buffer_reference2 : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
// Addresses from a uniform buffer and from push constants: indexed, cast from two words, and computed as integers.
layout(local_size_x = 32) in;
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Words { uint word; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Halves { f16vec4 half_vector; };
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Odd { uint8_t a; uint16_t b; uint8_t c[5]; };
layout(binding = 0, scalar) uniform Addresses { Words input_words; uvec2 output_words; Halves halves; } addresses;
layout(push_constant, scalar) uniform Push { uint count; Odd odd; } push;
void main() {
    uint i = gl_LocalInvocationIndex;
    if (i >= push.count) return;
    Words from = addresses.input_words + i;
    Words to = Words(addresses.output_words);
    uint64_t at = uint64_t(to) + 4ul * i;
    Words(at).word = from.word * 3 + uint(push.odd.b) + uint(push.odd.c[i % 5]);
    addresses.halves[i].half_vector = f16vec4(i, -i, 0.5, addresses.halves[i].half_vector.x);
}
