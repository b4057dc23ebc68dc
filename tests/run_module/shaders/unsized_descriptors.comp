#version 460
#extension GL_EXT_nonuniform_qualifier : require

// Each invocation copies from another element of an array of descriptors without a length.

layout(local_size_x = 8) in;

layout(set = 0, binding = 0, std430) readonly buffer Given { uint x[]; } given[];
layout(set = 0, binding = 1, std430) writeonly buffer Copied { uint y[]; };

void main() {
    uint i = gl_LocalInvocationIndex;
    y[i] = given[nonuniformEXT(i % 3)].x[i];
}
