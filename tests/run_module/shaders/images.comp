#version 450
// Images that are read, written, counted in, fetched from and sampled, and a buffer of texels.
#extension GL_EXT_samplerless_texture_functions : require
layout(local_size_x = 8, local_size_y = 4) in;
layout(binding = 0, rgba32f) uniform image2D changed;
layout(binding = 1, r32ui) uniform uimage2D counted;
layout(binding = 2) uniform sampler2D sampled;
layout(binding = 3) writeonly buffer Result { vec4 result[]; };
layout(binding = 4, r32f) uniform readonly imageBuffer texels;
layout(binding = 5) uniform texture2D halves;
layout(binding = 6, rg8) uniform writeonly image2DArray layers;
void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    uint i = gl_LocalInvocationIndex;
    vec4 before = imageLoad(changed, at);
    imageStore(changed, at, before + vec4(1, 2, 3, 4));
    imageAtomicAdd(counted, ivec2(i & 1, 0), i);
    imageStore(layers, ivec3(at, at.x & 1), vec4(float(i) / 31.0, 2.0, 0, 0));
    imageStore(layers, ivec3(at.x, at.y + 4, 0), vec4(1));
    result[i * 4] = before + vec4(imageSize(changed), imageSize(layers).z, 0);
    result[i * 4 + 1] = texelFetch(sampled, at, 0);
    result[i * 4 + 2] = textureLod(sampled, (vec2(at) + 1.0) / vec2(8, 4), 0);
    result[i * 4 + 3] = vec4(imageLoad(texels, int(i)).xyw, textureSize(sampled, 0).x) + texelFetch(halves, at, 0);
}
