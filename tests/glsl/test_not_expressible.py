"""Programs that GLSL cannot express are refused with a reason, and never approximated."""

import dataclasses

import pytest

from generators.errors import Lack
from generators.glsl.emit import emit
from generators.program.builder import U32, ProgramBuilder
from generators.program.conversion import Conversion, MatrixConvert, Transpose, UseConvert
from generators.program.elements import COORDINATE, MatrixCoordinate
from generators.program.float_controls import FloatControl, FloatMode
from generators.program.load_store import MatrixStore, MemoryOperand
from generators.program.memory import Pointee
from generators.program.shape import WorkgroupShape
from generators.program.values import ArrayType, CooperativeVectorType, MatrixType, Value
from generators.program.vector_builder import VectorBuilder
from generators.types import COMPONENT_TYPES, Layout, MatrixOperands, MemoryAccess, Scope, StorageClass, Use
from tests.lacks import lacks
from tests.reference.array_programs import part

SIGNED = MatrixOperands.A_SIGNED | MatrixOperands.B_SIGNED | MatrixOperands.C_SIGNED | MatrixOperands.RESULT_SIGNED


def refused(program, lack):
    with lacks(lack) as caught:
        emit(program)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["u64", "s64", "u16", "s8"])
def test_a_stride_that_is_not_32_bits_wide(matrix_copy, name):
    refused(matrix_copy(stride_type=name, stride_source="push_constant"), Lack.INDEX_TYPE)


@pytest.mark.parametrize("source", ["literal", "push_constant", "buffer", "specialization"])
def test_a_first_element_of_64_bits(matrix_copy, source):
    refused(matrix_copy(first_type="u64", stride_source=source), Lack.INDEX_TYPE)


@pytest.mark.parametrize("component", ["f64", "s64", "u64"])
def test_matrices_of_64_bit_components(matrix_copy, component):
    refused(matrix_copy(component), Lack.COMPONENT_TYPE)


@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_matrices_in_arrays_of_u64(matrix_copy, lanes):
    refused(matrix_copy("f32", pointee=Pointee(COMPONENT_TYPES["u64"], lanes)), Lack.POINTEE)


def test_a_result_of_another_type_than_c(multiply):
    refused(multiply("f16", "f16", "f16", "f32"), Lack.RESULT_TYPE)


@pytest.mark.parametrize("flag", [flag for flag in MatrixOperands if flag in SIGNED])
def test_a_signed_flag_that_the_type_does_not_give(multiply, flag):
    refused(multiply("s8", "s8", "s32", operands=SIGNED & ~flag), Lack.SIGNED_FLAGS)
    refused(multiply("u8", "u8", "u32", operands=flag), Lack.SIGNED_FLAGS)


def test_no_flags_for_signed_types(multiply):
    refused(multiply("s8", "s8", "s32"), Lack.SIGNED_FLAGS)


def test_an_array_stride_of_its_own(matrix_copy):
    refused(matrix_copy(array_stride=4), Lack.ARRAY_STRIDE)


@pytest.mark.parametrize(
    ("mask", "lack"),
    [
        (MemoryAccess.ALIGNED, Lack.ALIGNED),
        (MemoryAccess.VOLATILE, Lack.VOLATILE),
        (MemoryAccess.NON_PRIVATE_POINTER | MemoryAccess.MAKE_POINTER_AVAILABLE, Lack.MEMORY_OPERANDS),
    ],
)
def test_memory_operands_of_a_load_from_a_buffer(matrix_copy, mask, lack):
    alignment = 16 if mask & MemoryAccess.ALIGNED else None
    refused(matrix_copy(load_memory=MemoryOperand(mask, alignment)), lack)


@pytest.mark.parametrize("mask", [MemoryAccess.NONE, MemoryAccess.NONTEMPORAL, MemoryAccess.NON_PRIVATE_POINTER])
def test_memory_operands_of_workgroup_memory(matrix_copy, mask):
    refused(matrix_copy(source=StorageClass.WORKGROUP, load_memory=MemoryOperand(mask)), Lack.SHARED_OPERANDS)


def test_accesses_to_one_array_with_different_memory_operands(matrix_copy):
    program = matrix_copy(store_memory=MemoryOperand(MemoryAccess.NONTEMPORAL))
    store = program.operations[-1]
    assert isinstance(store, MatrixStore)
    again = dataclasses.replace(store, memory=None)
    refused(dataclasses.replace(program, operations=(*program.operations, again)), Lack.ACCESS_OPERANDS)


def test_accesses_to_one_array_with_different_alignments(matrix_copy):
    physical = StorageClass.PHYSICAL_STORAGE_BUFFER
    program = matrix_copy(target=physical, store_memory=MemoryOperand(MemoryAccess.ALIGNED, 16))
    store = program.operations[-1]
    assert isinstance(store, MatrixStore)
    again = dataclasses.replace(store, memory=MemoryOperand(MemoryAccess.ALIGNED, 8))
    refused(dataclasses.replace(program, operations=(*program.operations, again)), Lack.ACCESS_ALIGNMENT)


def test_arithmetic_on_bf16():
    builder = ProgramBuilder(Scope.SUBGROUP)
    value = builder.operand("value", COMPONENT_TYPES["bf16"], "push_constant")
    builder.arithmetic("sum", "add", value, value)
    refused(builder.build(), Lack.ARITHMETIC)


def test_rows_that_are_not_constant():
    builder = ProgramBuilder(Scope.SUBGROUP)
    rows = builder.operand("rows", U32, "push_constant")
    array = builder.array("source", Pointee(U32), 256, StorageClass.STORAGE_BUFFER, "input")
    type_ = MatrixType(U32, Scope.SUBGROUP, rows, 16, Use.ACCUMULATOR)
    builder.load("matrix", type_, array, builder.literal(0), builder.literal(16), Layout.ROW_MAJOR)
    refused(builder.build(), Lack.CONSTANT)


def test_a_saturating_conversion_that_changes_the_use():
    builder = ProgramBuilder(Scope.SUBGROUP)
    accumulator = MatrixType(COMPONENT_TYPES["f16"], Scope.SUBGROUP, 16, 16, Use.ACCUMULATOR)
    matrix = builder.splat("matrix", accumulator, builder.literal(0x3C00, accumulator.component))
    result = Value("result", dataclasses.replace(accumulator, component=COMPONENT_TYPES["e4m3"], use=Use.A))
    builder.add(MatrixConvert(result, matrix, Conversion.F_TO_F, saturating=True))
    refused(builder.build(), Lack.SATURATION_USE)


def transposed(with_extension):
    """Return a program that transposes a matrix, and ``with_extension`` has an instruction of the other extension with transpositions."""
    builder = ProgramBuilder(Scope.SUBGROUP, maintenance1=with_extension == "use")
    accumulator = MatrixType(U32, Scope.SUBGROUP, 16, 8, Use.ACCUMULATOR)
    matrix = builder.splat("matrix", accumulator, builder.literal(1))
    builder.add(Transpose(Value("result", MatrixType(U32, Scope.SUBGROUP, 8, 16, Use.B)), matrix))
    if with_extension == "use":
        builder.add(UseConvert(Value("moved", dataclasses.replace(accumulator, use=Use.A)), matrix))
    if with_extension == "coordinate":
        builder.add(MatrixCoordinate(Value("at", COORDINATE), matrix, builder.literal(0)))
    return builder.build()


@pytest.mark.parametrize("with_extension", ["use", "coordinate"])
def test_a_transposition_beside_the_extension_that_would_make_a_conversion_of_it(with_extension):
    refused(transposed(with_extension), Lack.TRANSPOSITION)


def test_a_transposition_does_not_enable_the_other_extension():
    assert "GL_EXT_cooperative_matrix_maintenance1" not in emit(transposed(None))


def test_an_execution_mode_of_two_widths():
    modes = [FloatControl(FloatMode.ROUNDING_MODE_RTZ, width) for width in (16, 32)]
    refused(ProgramBuilder(Scope.SUBGROUP, float_controls=tuple(modes)).build(), Lack.MODE_WIDTHS)
    emit(ProgramBuilder(Scope.SUBGROUP, float_controls=(modes[0], FloatControl(FloatMode.ROUNDING_MODE_RTE, 32))).build())


@pytest.mark.parametrize("name", ["bf16", "e4m3", "e5m2"])
def test_a_store_of_a_whole_vector_of_floats_without_arithmetic(name):
    builder = ProgramBuilder(Scope.WORKGROUP, shape=WorkgroupShape(invocations=1))
    vectors, type_ = VectorBuilder(builder), CooperativeVectorType(COMPONENT_TYPES[name], 16)
    source = builder.array("source", Pointee(U32), 8, StorageClass.STORAGE_BUFFER, "input")
    target = builder.array("target", Pointee(U32), 8, StorageClass.STORAGE_BUFFER, "output")
    with builder.per_invocation(Value("me", U32), 1):
        vectors.store(vectors.load("vector", type_, source, builder.literal(0)), target, builder.literal(0))
    refused(builder.build(), Lack.COMPONENT_TYPE)


@pytest.mark.parametrize(("element", "length"), [("f16", 2), ("u32", 1)])
def test_a_part_of_four_bytes(element, length):
    refused(part(ArrayType(COMPONENT_TYPES[element], 8), length, 0), Lack.ARRAY_PART)


def test_a_part_of_other_sizes():
    assert "extractSubArrayQCOM(array, 0, made);" in emit(part(ArrayType(COMPONENT_TYPES["f16"], 8), 4, 0))
