#version 450
// Blocks of 32 numbers of 4 bits with a scale of 8 bits, as quantised weights have them.
#extension GL_EXT_float_e2m1 : require
#extension GL_EXT_float_ue8m0 : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 32) in;
struct Block {
    floatue8m0_t scale;
    uint8_t numbers[16];
};
layout(binding = 0) readonly buffer Blocks { Block blocks[]; };
layout(binding = 1) writeonly buffer Result { float result[]; };
void main() {
    uint i = gl_LocalInvocationIndex, block = gl_WorkGroupID.x;
    uint shift = (i & 16) >> 2;
    floate2m1_t one = bitcastExtractfe2m1EXT(blocks[block].numbers[i & 15], shift);
    u8vec2 bytes = u8vec2(blocks[block].numbers[i & 15], blocks[block].numbers[(i + 1) & 15]);
    vec2 pair = vec2(bitcastExtractfe2m1EXT(bytes, shift));
    fe2m1vec2 both = unpackFloat2xfe2m1EXT(bytes.x);
    float scale = float(blocks[block].scale);
    result[(block * 32 + i) * 3] = float(one) * scale;
    result[(block * 32 + i) * 3 + 1] = pair.y * scale;
    result[(block * 32 + i) * 3 + 2] = float(float16_t(both.y)) + float(both.x);
}
