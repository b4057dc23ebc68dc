#version 460
layout(local_size_x = 8) in;
layout(binding = 0) readonly buffer I { uint x[]; };
layout(binding = 1) coherent buffer P { uint partial[]; };
layout(binding = 2) coherent buffer C { uint counter; uint result; };
void main() {
    if (gl_LocalInvocationIndex != 0) return;
    uint w = gl_WorkGroupID.x;
    partial[w] = x[w];
    uint old = atomicAdd(counter, 1);
    if (old == gl_NumWorkGroups.x - 1) { uint sum = 0; for (uint j = 0; j <= w; j++) sum += partial[j]; result = sum; }
}
