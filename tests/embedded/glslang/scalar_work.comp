#version 460
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#pragma use_vulkan_memory_model
layout(local_size_x_id = 0) in;
struct Entry { uint key; uvec2 pair; };
layout(set = 0, binding = 0) readonly buffer In { Entry entries[]; } given;
layout(set = 0, binding = 1) buffer Out { uint counter; uint values[]; } result;
layout(push_constant) uniform Push { int shift; uint factor; } push;
shared uint turned[64];

uint classify(uint x) {
    switch (x % 4u) {
        case 0u: return 100u;
        case 1u: x += 5u;
        case 2u: x *= 2u; break;
        default: return 7u;
    }
    return x;
}

void step(inout uint x, out uint old, in uint by) {
    old = x;
    x += by;
}

void main() {
    uint lane = gl_LocalInvocationIndex;
    uint total = 0u;
    for (uint i = 0u; i < uint(given.entries.length()); ++i) {
        if (given.entries[i].key > lane) break;
        if ((given.entries[i].key & 1u) == 1u) continue;
        total += given.entries[i].pair.y;
    }
    uint scratch[4] = uint[4](lane, total, classify(lane), 0u);
    uint old;
    step(scratch[lane & 3u], old, push.factor);
    uint local = 0u;
    for (int i = 0; i < 4; ++i) local = local * 31u + scratch[i];
    turned[gl_WorkGroupSize.x - 1u - lane] = local ^ (old << push.shift);
    barrier();
    uint other = turned[lane];
    atomicAdd(result.counter, 1u);
    uint sum = subgroupAdd(other & 0xFFu);
    result.values[lane] = other + (sum << 16);
}
