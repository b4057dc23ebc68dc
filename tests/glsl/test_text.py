"""The complete text of shaders."""

from generators.glsl.emit import emit
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Carried
from generators.program.memory import Pointee
from generators.program.values import MatrixType, Value
from generators.types import COMPONENT_TYPES, Layout, MatrixOperands, Scope, StorageClass, Use

PLAIN = """\
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require

layout(local_size_x_id = 0) in;

layout(set = 0, binding = 0) readonly buffer SourceBuffer {
    float16_t source[];
};

layout(set = 0, binding = 1) buffer TargetBuffer {
    float16_t target[];
};

void main() {
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> matrix;
    coopMatLoad(matrix, source, 0u, 16u, gl_CooperativeMatrixLayoutRowMajor);
    coopMatStore(matrix, target, 0u, 16u, gl_CooperativeMatrixLayoutRowMajor);
}
"""

STAGED = """\
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint stride = 8u;
layout(constant_id = 2) const uint first = 8u;

layout(set = 0, binding = 0) readonly buffer SourceBuffer {
    uvec4 source[];
};

layout(set = 0, binding = 1) buffer TargetBuffer {
    uvec4 target[];
};

shared uvec4 source_shared[2048];

void main() {
    for (uint source_shared_element = gl_LocalInvocationIndex; source_shared_element < 2048u; source_shared_element += gl_WorkGroupSize.x) {
        uvec4 source_shared_copied = source[source_shared_element];
        source_shared[source_shared_element] = source_shared_copied;
    }
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer | gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);
    coopmat<int8_t, gl_ScopeWorkgroup, 16, 64, gl_MatrixUseA> matrix;
    coopMatLoad(matrix, source_shared, first, stride, gl_CooperativeMatrixLayoutRowMajor);
    coopMatStore(matrix, target, 0u, 4u, gl_CooperativeMatrixLayoutRowMajor);
}
"""

LOOP = """\
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require

layout(local_size_x_id = 0) in;

layout(buffer_reference, buffer_reference_align = 16) readonly buffer AReference {
    int8_t elements[];
};

layout(set = 0, binding = 0) readonly buffer BBuffer {
    u8vec4 b[];
};

layout(set = 0, binding = 1) buffer SumsBuffer {
    int sums[];
};

layout(set = 0, binding = 2) readonly buffer Operands {
    layout(offset = 0) uint stride;
};

layout(push_constant) uniform PushConstants {
    layout(offset = 0) AReference a;
    layout(offset = 8) uint trip_count;
};

void main() {
    uint instance = gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID;
    uint place = instance * 256u;
    coopmat<int, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> zero = coopmat<int, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0);
    coopmat<int, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> accumulator = zero;
    for (uint iteration = 0u; iteration < trip_count; ++iteration) {
        uint tile = iteration * 256u;
        coopmat<int8_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> tile_a;
        coopMatLoad(tile_a, a.elements, tile, stride, gl_CooperativeMatrixLayoutRowMajor);
        coopmat<uint8_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> tile_b;
        coopMatLoad(tile_b, b, 0u, 4u, gl_CooperativeMatrixLayoutColumnMajor);
        accumulator = coopMatMulAdd(tile_a, tile_b, accumulator, gl_MatrixOperandsSaturatingAccumulation);
    }
    coopMatStore(accumulator, sums, place, 16u, gl_CooperativeMatrixLayoutRowMajor);
}
"""  # noqa: E501


def test_a_matrix_copied_between_buffers(matrix_copy):
    assert emit(matrix_copy()) == PLAIN


def test_a_matrix_staged_through_workgroup_memory(matrix_copy):
    program = matrix_copy(
        "s8",
        use=Use.A,
        scope=Scope.WORKGROUP,
        columns=64,
        pointee=Pointee(U32, 4),
        source=StorageClass.WORKGROUP,
        stride_source="specialization",
    )
    assert emit(program) == STAGED


def test_an_accumulator_carried_through_a_loop():
    component = COMPONENT_TYPES
    builder = ProgramBuilder(Scope.SUBGROUP, subgroups=2)
    a = builder.array("a", Pointee(component["s8"]), 4096, StorageClass.PHYSICAL_STORAGE_BUFFER, "input")
    b = builder.array("b", Pointee(component["u8"], 4), 64, StorageClass.STORAGE_BUFFER, "input")
    sums = builder.array("sums", Pointee(component["s32"]), 512, StorageClass.STORAGE_BUFFER, "output")
    trip_count = builder.operand("trip_count", U32, "push_constant")
    stride = builder.operand("stride", U32, "buffer")
    types = [MatrixType(component[name], Scope.SUBGROUP, 16, 16, use) for name, use in zip(("s8", "u8", "s32"), Use, strict=True)]
    place = builder.arithmetic("place", "multiply", builder.instance_index(), builder.literal(256))
    zero = builder.splat("zero", types[2], builder.literal(0, component["s32"]))
    accumulator, iteration = Value("accumulator", types[2]), Value("iteration", U32)
    flags = MatrixOperands.A_SIGNED | MatrixOperands.C_SIGNED | MatrixOperands.RESULT_SIGNED | MatrixOperands.SATURATING_ACCUMULATION
    carried: list[Carried] = []
    with builder.loop(iteration, trip_count, carried):
        tile = builder.arithmetic("tile", "multiply", iteration, builder.literal(256))
        tile_a = builder.load("tile_a", types[0], a, tile, stride, Layout.ROW_MAJOR)
        tile_b = builder.load("tile_b", types[1], b, builder.literal(0), builder.literal(4), Layout.COLUMN_MAJOR)
        carried.append(Carried(zero, accumulator, builder.muladd("sum", types[2], tile_a, tile_b, accumulator, flags)))
    builder.store(accumulator, sums, place, builder.literal(16), Layout.ROW_MAJOR)
    assert emit(builder.build()) == LOOP
