#version 460
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_vote : require
// Collects the rows that a list of experts names, in order: each subgroup counts its votes.
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer Ids { int ids[]; };
layout(binding = 1) buffer Rows { uint rows[]; };
layout(binding = 2) buffer Counts { uint counts[]; };
layout(push_constant) uniform Push { uint count; int expert; };
shared uvec4 ballots[64];
shared uint total;
void main() {
    if (gl_LocalInvocationIndex == 0) total = 0;
    barrier();
    for (uint first = 0; first < count; first += gl_WorkGroupSize.x) {
        uint i = first + gl_LocalInvocationIndex;
        bool mine = i < count && ids[i] == expert;
        uvec4 ballot = subgroupBallot(mine);
        if (subgroupElect()) ballots[gl_SubgroupID] = ballot;
        barrier();
        uint base = total;
        for (uint s = 0; s < gl_SubgroupID; s++) base += bitCount(ballots[s].x) + bitCount(ballots[s].y);
        uint place = base + subgroupBallotExclusiveBitCount(ballot);
        if (mine) rows[place] = i;
        barrier();
        if (gl_LocalInvocationIndex == 0)
            for (uint s = 0; s < gl_NumSubgroups; s++) total += bitCount(ballots[s].x) + bitCount(ballots[s].y);
        barrier();
    }
    if (gl_LocalInvocationIndex == 0) {
        counts[0] = total;
        counts[1] = findLSB(total);
        counts[2] = uint(findMSB(int(total)));
    }
    uint votes = subgroupAdd(gl_LocalInvocationIndex < 10 ? 1 : 0);
    if (subgroupAny(votes > 0) && gl_LocalInvocationIndex == 0) counts[3] = subgroupBroadcastFirst(votes) > 0 ? 1 : 0;
}
