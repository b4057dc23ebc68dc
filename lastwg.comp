#version 460
layout(local_size_x = 8) in;
layout(binding = 0) readonly buffer I { uint x[]; };
layout(binding = 1) coherent buffer P { uint partial[]; };
layout(binding = 2) coherent buffer C { uint counter; uint result; };
shared bool last;
void main() {
    uint i = gl_GlobalInvocationID.x;
    partial[i] = x[i] * 2;
    memoryBarrierBuffer();
    barrier();
    if (gl_LocalInvocationIndex == 0) last = atomicAdd(counter, 1) == gl_NumWorkGroups.x - 1;
    memoryBarrierBuffer();
    barrier();
    if (last && gl_LocalInvocationIndex == 0) {
        uint sum = 0;
        for (uint j = 0; j < 8 * gl_NumWorkGroups.x; j++) sum += partial[j];
        result = sum;
    }
}
