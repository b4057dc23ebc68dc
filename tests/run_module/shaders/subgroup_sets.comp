#version 460
// Further operations of a subgroup: ballots, clusters, quads, rotations, masks, scans of products.
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_clustered : require
#extension GL_KHR_shader_subgroup_quad : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_rotate : require
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer Given { uint given[]; };
layout(binding = 1) writeonly buffer Result { uint result[]; };
void main() {
    uint i = gl_LocalInvocationIndex, own = given[i], at = i * 12;
    uvec4 odd = subgroupBallot((own & 1) == 1);
    result[at] = odd.x + (subgroupInverseBallot(odd) ? 1 << 16 : 0) + (subgroupBallotBitExtract(odd, 3) ? 1 << 17 : 0);
    result[at + 1] = subgroupBallotBitCount(odd) + 100 * subgroupBallotInclusiveBitCount(odd) + 10000 * subgroupBallotExclusiveBitCount(odd);
    result[at + 2] = odd.x == 0 ? 0 : subgroupBallotFindLSB(odd) + 100 * subgroupBallotFindMSB(odd);
    result[at + 3] = subgroupExclusiveAdd(own) + 1000 * subgroupInclusiveMax(own);
    result[at + 4] = subgroupClusteredMax(own, 4) + 100 * subgroupClusteredAdd(own, 2);
    result[at + 5] = subgroupQuadSwapDiagonal(own) + 100 * subgroupQuadBroadcast(own, 2) + 10000 * subgroupQuadSwapHorizontal(own);
    result[at + 6] = subgroupRotate(own, 3) + 100 * subgroupClusteredRotate(own, 1, 4);
    result[at + 7] = subgroupShuffleXor(own, 5) + uint(subgroupElect());
    result[at + 8] = gl_SubgroupLtMask.x + gl_SubgroupEqMask.x;
    result[at + 9] = floatBitsToUint(subgroupMul(1.0 + float(i & 1)));
    result[at + 10] = uint(subgroupAllEqual(vec2(own, 1))) + uint(subgroupAll(own < 100));
    if (own > 4) result[at + 11] = subgroupExclusiveAdd(own) + subgroupBroadcastFirst(i);
}
