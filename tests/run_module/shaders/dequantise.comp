#version 460
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_control_flow_attributes : require
// Blocks of 32 four-bit numbers with a half-precision scale, as quantised weights have them.
layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;
layout(constant_id = 1) const uint ROWS = 2;
struct Block { float16_t scale; uint8_t low_high[16]; };
layout(binding = 0, std430) readonly buffer Blocks { Block blocks[]; };
layout(binding = 0, std430) readonly buffer Packed { uint16_t packed16[]; };
layout(binding = 1, std430) readonly buffer Vector { vec4 vector[]; };
layout(binding = 2, std430) buffer Result { float result[]; };
layout(push_constant) uniform Size { uint blocks_per_row; uint rows; } size;
shared float sums[64];
vec2 dequantise(uint block, uint i) {
    uint bits = uint(blocks[block].low_high[i]);
    return (vec2(bits & 0xF, bits >> 4) - 8.0) * float(blocks[block].scale);
}
void main() {
    const uint lane = gl_LocalInvocationID.x;
    [[unroll]] for (uint r = 0; r < ROWS; r++) {
        const uint row = gl_WorkGroupID.x * ROWS + r;
        float sum = 0;
        if (row < size.rows)
            for (uint i = lane; i < size.blocks_per_row * 16; i += gl_WorkGroupSize.x) {
                uint block = row * size.blocks_per_row + i / 16, part = i % 16;
                vec2 both = dequantise(block, part);
                uint column = (i / 16) * 32 + part;
                sum = fma(both.x, vector[column / 4][column % 4], sum);
                column += 16;
                sum = fma(both.y, vector[column / 4][column % 4], sum);
            }
        sums[lane] = sum;
        barrier();
        for (uint step = gl_WorkGroupSize.x / 2; step > 0; step >>= 1) {
            if (lane < step) sums[lane] += sums[lane + step];
            barrier();
        }
        if (lane == 0 && row < size.rows) result[row] = sums[0] + 0.0 * unpackHalf2x16(uint(packed16[0])).x;
        barrier();
    }
}
