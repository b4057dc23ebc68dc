#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
// Blocks of quantised numbers in workgroup memory; the last member is smaller than the first.
layout(local_size_x = 8) in;
layout(binding = 0) readonly buffer Given { uint given[]; };
layout(binding = 1) buffer Result { float result[]; };
struct Block { uint numbers[2]; float16_t scale; };
struct Pair { Block block; uint8_t tag; };
shared Block blocks[8];
shared Pair pairs[2][4];
void main() {
    uint i = gl_LocalInvocationIndex;
    blocks[i].numbers[0] = given[i];
    blocks[i].numbers[1] = given[i] + 1;
    blocks[i].scale = float16_t(0.5);
    pairs[i / 4][i % 4] = Pair(Block(uint[](given[7 - i], i), float16_t(2)), uint8_t(i));
    barrier();
    Block other = blocks[7 - i];
    Pair pair = pairs[1 - i / 4][i % 4];
    result[i] = float(other.numbers[0] + other.numbers[1]) * float(other.scale);
    result[i + 8] = float(pair.block.numbers[0]) * float(pair.block.scale) + float(pair.tag);
}
