#version 460
// A convolution with clamped borders, whose tile sizes the host decides.
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z = 1) in;
layout(constant_id = 2) const int KERNEL = 3;
layout(constant_id = 4) const bool RELU = false;
layout(constant_id = 5) const float BIAS = 0;
layout(binding = 0) readonly buffer Image { float image[]; };
layout(binding = 1) readonly buffer Weights { float weights[KERNEL * KERNEL]; };
layout(binding = 2) writeonly buffer Result { float result[]; };
layout(push_constant) uniform Push { ivec2 size; int border; int activation; } push;
float activated(float x) {
    switch (push.activation) {
    case 1: return max(x, 0.0);
    case 2: x = x < 0.0 ? 0.1 * x : x;
    case 3: return x * 2.0;
    case 4: return clamp(x, -1.0, 1.0);
    default: break;
    }
    return x;
}
void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(at, push.size))) return;
    float sum = BIAS;
    int i = 0;
    for (int y = -KERNEL / 2; y <= KERNEL / 2; y++)
        for (int x = -KERNEL / 2; x <= KERNEL / 2; x++, i++) {
            ivec2 from = at + ivec2(x, y);
            if (push.border == 0 && (any(lessThan(from, ivec2(0))) || any(greaterThanEqual(from, push.size)))) continue;
            from = clamp(from, ivec2(0), push.size - 1);
            sum += weights[i] * image[from.y * push.size.x + from.x];
            if (sum > 1.0e6) break;
        }
    if (RELU) sum = max(sum, 0.0);
    result[at.y * push.size.x + at.x] = activated(sum);
}
