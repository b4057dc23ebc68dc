#version 460
// One value that nothing wrote goes through a function and variables into eight elements.
layout(local_size_x = 4) in;
layout(binding = 0) writeonly buffer Result { float y[]; } result;
shared float kept[8];
float twice(float x) {
    float sum = x;
    sum += x;
    return sum;
}
void main() {
    uint i = gl_LocalInvocationIndex;
    kept[i] = 1.0;
    barrier();
    float x = twice(kept[i + 4]);
    float z = x + 1.0;
    result.y[8 * i + 0] = x;
    result.y[8 * i + 1] = z;
    result.y[8 * i + 2] = -x;
    result.y[8 * i + 3] = x * x;
    result.y[8 * i + 4] = x - z;
    result.y[8 * i + 5] = abs(z);
    result.y[8 * i + 6] = min(x, z);
    result.y[8 * i + 7] = x / 2.0;
}
