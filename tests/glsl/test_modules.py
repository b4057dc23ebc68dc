"""Shaders of every operation, component type, storage class, pointee and operand source compile to valid modules."""

import pytest

from generators.glsl.spelling import SPELLINGS
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Carried
from generators.program.load_store import MemoryOperand
from generators.program.memory import Pointee
from generators.program.values import MatrixType, Value
from generators.routines.workgroup import copy
from generators.types import COMPONENT_TYPES, Layout, MatrixOperands, MemoryAccess, Scope, StorageClass, Use

MATRIX_COMPONENTS = [name for name, spelling in SPELLINGS.items() if spelling.matrix]


def declared(builder, pointee, storage, role):
    name = f"{role}_{storage.value}_{pointee}"
    return builder.array(name, pointee, 64, storage, "scratch" if storage is StorageClass.WORKGROUP else role)


@pytest.mark.parametrize("name", MATRIX_COMPONENTS)
def test_a_component_type_with_every_pointee_and_storage_class(module, name):
    component = COMPONENT_TYPES[name]
    builder = ProgramBuilder(Scope.SUBGROUP)
    type_ = MatrixType(component, Scope.SUBGROUP, 16, 16, Use.A)
    stride = builder.operand("stride", U32, "push_constant")
    for pointee in {Pointee(component), Pointee(component, 2), Pointee(component, 4), Pointee(U32), Pointee(U32, 4)}:
        matrices = []
        for storage in StorageClass:
            source = declared(builder, pointee, storage, "input")
            if storage is StorageClass.WORKGROUP:
                copy(builder, source, declared(builder, pointee, StorageClass.STORAGE_BUFFER, "inout"))
                builder.barrier()
            label = f"{pointee}_{storage.value}"
            matrices.append(builder.load(f"matrix_{label}", type_, source, builder.literal(0), stride, Layout.COLUMN_MAJOR))
            target = declared(builder, pointee, storage, "output")
            builder.store(matrices[-1], target, builder.literal(0), stride, Layout.ROW_MAJOR)
    module(builder.build())


@pytest.mark.parametrize("name", ["f64", "s64"])
@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_pointees_of_64_bits_under_a_smaller_component(module, matrix_copy, name, lanes):
    pointee = Pointee(COMPONENT_TYPES[name], lanes)
    module(matrix_copy("f32", pointee=pointee, source=StorageClass.PHYSICAL_STORAGE_BUFFER, target=StorageClass.WORKGROUP))


@pytest.mark.parametrize("source", ["literal", "specialization", "push_constant", "buffer"])
def test_scalars_of_every_type_from_every_source(module, source):
    builder = ProgramBuilder(Scope.SUBGROUP)
    for name, component in COMPONENT_TYPES.items():
        fixed = (1, 2) if component.is_float else (-3, 5)
        value = builder.operand(f"value_{name}", component, source, *fixed)
        if name in MATRIX_COMPONENTS:
            builder.splat(f"matrix_{name}", MatrixType(component, Scope.SUBGROUP, 8, 8, Use.ACCUMULATOR), value)
        if name not in ("bf16", "e4m3", "e5m2"):
            doubled = builder.arithmetic(f"sum_{name}", "add", value, value)
            builder.arithmetic(f"product_{name}", "multiply", doubled, value)
    module(builder.build())


@pytest.mark.parametrize("source", ["specialization", "push_constant", "buffer"])
@pytest.mark.parametrize("integer", ["u32", "s32"])
def test_strides_and_first_elements_from_every_source(module, matrix_copy, source, integer):
    module(matrix_copy(stride_source=source, stride_type=integer, first_type=integer))


@pytest.mark.parametrize("integer", ["u32", "s32"])
def test_shapes_and_layouts_that_are_specialization_constants(module, integer):
    builder = ProgramBuilder(Scope.WORKGROUP)
    component = COMPONENT_TYPES[integer]
    rows = builder.operand("rows", component, "specialization", 32, 16)
    layout = builder.operand("layout_of_source", component, "specialization", int(Layout.COLUMN_MAJOR), int(Layout.ROW_MAJOR))
    source = builder.array("source", Pointee(U32), 2048, StorageClass.PHYSICAL_STORAGE_BUFFER, "input")
    type_ = MatrixType(U32, Scope.WORKGROUP, rows, builder.literal(16), Use.ACCUMULATOR)
    builder.instance_index()
    builder.load("matrix", type_, source, builder.literal(0), builder.literal(32), layout)
    module(builder.build())


@pytest.mark.parametrize("source", ["literal", "specialization", "push_constant", "buffer"])
def test_loops_with_several_carried_matrices(module, source):
    builder = ProgramBuilder(Scope.SUBGROUP, subgroups=4)
    component = COMPONENT_TYPES["f16"]
    a, b, c = (MatrixType(component, Scope.SUBGROUP, 16, 16, use) for use in Use)
    data = builder.array("data", Pointee(component), 4096, StorageClass.STORAGE_BUFFER, "input")
    output = builder.array("output", Pointee(component), 4096, StorageClass.STORAGE_BUFFER, "output")
    trip_count = builder.operand("trip_count", U32, source, 3, 4)
    zero, sixteen = builder.literal(0), builder.literal(16)
    left = builder.load("left", a, data, zero, sixteen, Layout.ROW_MAJOR)
    right = builder.load("right", b, data, zero, sixteen, Layout.ROW_MAJOR)
    start = builder.splat("start", c, builder.literal(0, component))
    first, second, step = Value("first", c), Value("second", c), Value("step", U32)
    carried = []
    with builder.loop(step, trip_count, carried):
        place = builder.offset("place", builder.instance_index(), step, 256)
        builder.load("again", a, data, place, sixteen, Layout.COLUMN_MAJOR)
        carried.append(Carried(start, first, builder.muladd("next_first", c, left, right, second, None)))
        carried.append(Carried(start, second, builder.muladd("next_second", c, left, right, first, MatrixOperands.NONE)))
    builder.store(second, output, zero, sixteen, Layout.ROW_MAJOR)
    module(builder.build())


@pytest.mark.parametrize("storage", [StorageClass.STORAGE_BUFFER, StorageClass.PHYSICAL_STORAGE_BUFFER])
def test_a_buffer_handed_over_through_a_barrier(module, storage):
    builder = ProgramBuilder(Scope.SUBGROUP, subgroups=2)
    component = COMPONENT_TYPES["f32"]
    type_ = MatrixType(component, Scope.SUBGROUP, 8, 8, Use.ACCUMULATOR)
    between = builder.array("between", Pointee(component), 64, storage, "inout")
    output = builder.array("output", Pointee(component), 64, storage, "output")
    one = builder.splat("one", type_, builder.literal(0x3F800000, component))
    builder.store(one, between, builder.literal(0), builder.literal(8), Layout.ROW_MAJOR)
    builder.barrier()
    copy(builder, output, between)
    module(builder.build())


@pytest.mark.parametrize("mask", [MemoryAccess.NONE, MemoryAccess.NONTEMPORAL, MemoryAccess.NON_PRIVATE_POINTER])
def test_memory_operands_that_qualifiers_give(module, matrix_copy, mask):
    module(matrix_copy(load_memory=MemoryOperand(mask), store_memory=MemoryOperand(mask)))
