#version 460
// Addresses: in push constants, in uniform buffers, in a list, different for neighbours; and arrays of descriptors in several sets.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference2 : require
#extension GL_EXT_nonuniform_qualifier : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_scalar_block_layout : require
layout(local_size_x = 32) in;
layout(buffer_reference, scalar) buffer Numbers { float number[]; };
layout(buffer_reference) buffer Node;
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Node {
    Node next;
    uint value;
};
layout(set = 0, binding = 0) readonly buffer Given { uint given[]; } all[];
layout(set = 1, binding = 0) writeonly buffer Result { float result[]; };
layout(set = 2, binding = 3, std140) uniform Constants {
    uint factor;
    Numbers lists[2];
} constants[2];
layout(push_constant) uniform Push {
    Numbers even;
    Numbers odd;
    Node head;
    uint count;
};
void main() {
    uint i = gl_LocalInvocationIndex;
    Numbers own = (i & 1) == 0 ? even : odd;
    own.number[i] += 1.0;
    Node node = head;
    uint sum = 0;
    for (uint k = 0; k < count; k++) {
        sum += node.value;
        node = node.next;
    }
    result[i] = own.number[i] + float(sum) + float(all[nonuniformEXT(i & 1)].given[i / 2])
        + constants[nonuniformEXT(i & 1)].lists[(i >> 1) & 1].number[i] * constants[1].factor + float(uint64_t(even) == uint64_t(odd));
}
