#version 460
layout(local_size_x = 8) in;
layout(binding = 0) readonly buffer Input { float x[]; } given;
layout(binding = 1) buffer Output { float y[]; } result;
layout(push_constant) uniform Push { uint count; };
shared float kept[8];
float mean(uint i, uint n) {
    float sum = 0;
    for (uint j = 0; j <= n; j++) sum += kept[i + j];
    return sum / float(n);
}
void main() {
    uint i = gl_LocalInvocationIndex;
    kept[i] = given.x[i];
    result.y[i] = mean(i, count / (count - 4));
}
