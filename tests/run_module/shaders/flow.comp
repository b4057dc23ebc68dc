#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 16) in;
layout(binding = 0) readonly buffer X { uint x[]; };
layout(binding = 1) buffer Y { uint y[]; };
layout(binding = 2) coherent buffer Z { uint z[]; };
shared uint histogram[8];
uint collatz(uint n) {
    uint steps = 0;
    do {
        if (n == 1) return steps;
        n = (n & 1) == 0 ? n / 2 : 3 * n + 1;
        steps++;
    } while (steps < 200);
    return ~0u;
}
uint chosen(uint n) {
    uint kept[5] = uint[](3, 1, 4, 1, 5);
    kept[n % 5] += n;
    uint sum = 0;
    for (int i = 4; i >= 0; i--) {
        if (i == int(n % 3)) continue;
        if (sum > 20) break;
        sum += kept[i] << i;
    }
    switch (n % 6) {
    case 0: sum++;
    case 1:
    case 2: sum *= 2; break;
    case 4: while (sum > 9) { sum -= 7; if (sum % 5 == 2) return sum; } break;
    default: { uint16_t s = uint16_t(sum); sum = uint(s * uint16_t(41)); }
    }
    return sum;
}
void main() {
    uint i = gl_LocalInvocationIndex;
    if (i < 8) histogram[i] = 0;
    barrier();
    uint n = x[gl_GlobalInvocationID.x];
    atomicAdd(histogram[n % 8], 1);
    uint old = atomicMax(z[0], n);
    atomicOr(z[1], 1u << (n % 32));
    atomicXor(z[2], old ^ old);
    barrier();
    y[3 * gl_GlobalInvocationID.x] = collatz(n + 1);
    y[3 * gl_GlobalInvocationID.x + 1] = chosen(n);
    y[3 * gl_GlobalInvocationID.x + 2] = histogram[i % 8];
    if (i == 0) atomicCompSwap(z[3], 0u, 5u);
}
