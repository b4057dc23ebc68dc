#version 450
// Ballots and votes as they were before subgroup operations were part of Vulkan.
#extension GL_ARB_shader_ballot : require
#extension GL_ARB_shader_group_vote : require
#extension GL_ARB_gpu_shader_int64 : require
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer Given { uint given[]; };
layout(binding = 1) writeonly buffer Result { uvec4 result[]; };
void main() {
    uint i = gl_LocalInvocationIndex, own = given[i];
    uvec2 votes = unpackUint2x32(ballotARB(own > 3));
    uint told = uint(anyInvocationARB(own == 7)) + 2 * uint(allInvocationsARB(own < 100)) + 4 * uint(allInvocationsEqualARB(own == 2));
    result[i] = uvec4(votes.x, readFirstInvocationARB(own), readInvocationARB(own, 5u), told + 8 * gl_SubGroupInvocationARB);
}
