#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = 8) in;
layout(binding = 0) readonly buffer I { uint x[]; };
layout(binding = 1) buffer P { queuefamilycoherent uint partial[]; };
layout(binding = 2) buffer C { uint counter; uint result; };
void main() {
    if (gl_LocalInvocationIndex != 0) return;
    uint w = gl_WorkGroupID.x;
    partial[w] = x[w];
    memoryBarrier(gl_ScopeQueueFamily, gl_StorageSemanticsBuffer, gl_SemanticsRelease);
    uint old = atomicAdd(counter, 1, gl_ScopeQueueFamily, 0, 0);
    memoryBarrier(gl_ScopeQueueFamily, gl_StorageSemanticsBuffer, gl_SemanticsAcquire);
    if (old == gl_NumWorkGroups.x - 1) { uint sum = 0; for (uint j = 0; j <= w; j++) sum += partial[j]; result = sum; }
}
