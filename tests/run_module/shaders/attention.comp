#version 460
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_arithmetic : require
// One row of attention with a running maximum; the last tile of keys is not whole.
layout(local_size_x_id = 3) in;
layout(constant_id = 3) const uint D = 8;
layout(binding = 0) readonly buffer Q { float16_t q[]; };
layout(binding = 1) readonly buffer K { float16_t k[]; };
layout(binding = 2) readonly buffer V { float16_t v[]; };
layout(binding = 3) buffer O { float o[]; };
layout(binding = 4) uniform Parameters { uint keys; float scale; vec2 slope; } parameters;
shared float16_t tile[8][D + 1];
void main() {
    uint lane = gl_LocalInvocationID.x, row = gl_WorkGroupID.x;
    float maximum = -1.0 / 0.0, sum = 0, kept = 0;
    for (uint first = 0; first < parameters.keys; first += 8) {
        for (uint j = 0; j < 8; j++)
            if (first + j < parameters.keys) tile[j][lane] = k[(first + j) * D + lane];
        barrier();
        for (uint j = 0; j < 8; j++) {
            float part = float(q[row * D + lane]) * float(tile[j][lane]);
            float score = subgroupAdd(part) * parameters.scale + parameters.slope.y;
            // The score of a key after the last comes from uninitialised memory, and is dropped.
            score = first + j < parameters.keys ? score : -65504.0;
            float before = maximum;
            maximum = max(maximum, score);
            float weight = exp(score - maximum), decay = exp(before - maximum);
            uint key = min(first + j, parameters.keys - 1);
            sum = sum * decay + weight;
            kept = kept * decay + weight * float(v[key * D + lane]);
        }
        barrier();
    }
    o[row * D + lane] = kept / sum;
}
