#version 460
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#extension GL_KHR_shader_subgroup_clustered : require
#extension GL_KHR_shader_subgroup_quad : require
#extension GL_KHR_shader_subgroup_rotate : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer X { vec4 x[]; };
layout(binding = 1) buffer Y { vec4 y[]; };
layout(binding = 2) buffer Z { uint z[]; };
void main() {
    uint i = gl_LocalInvocationIndex, o = 8 * i;
    vec4 v = x[i];
    uint n = uint(v.x * 16.0) + i;
    y[i] = subgroupShuffleXor(v, 1) + subgroupMax(v);
    z[o] = subgroupClusteredAdd(n, 4);
    z[o + 1] = subgroupQuadSwapHorizontal(n) ^ subgroupQuadSwapVertical(n) << 8 ^ subgroupQuadSwapDiagonal(n) << 16;
    z[o + 2] = subgroupQuadBroadcast(n, 2u);
    z[o + 3] = subgroupClusteredRotate(n, 3, 4);
    uvec4 ballot = subgroupBallot((n & 1) == 0);
    z[o + 4] = (subgroupInverseBallot(ballot) ? 1 : 0) + (subgroupBallotBitExtract(ballot, gl_SubgroupInvocationID ^ 1) ? 2 : 0);
    z[o + 5] = subgroupInclusiveAdd(uvec2(1, 2)).y - 2 * gl_SubgroupInvocationID;
    if (i % 3 == 0) z[o + 6] = uint(subgroupAllEqual(v.w > 100.0)); else z[o + 6] = 7;
    z[o + 7] = subgroupClusteredXor(subgroupShuffle(n, gl_SubgroupInvocationID & ~3u), 2);
}
