"""Cooperative vectors in the language: domains, refused programs, and the layout of the invocations' vectors."""

from __future__ import annotations

import numpy as np

from generators.dispatch import dispatch, kernel
from generators.errors import Rule
from generators.kernel import OpaqueSlot
from generators.layouts.vector_arrays import VectorArray
from generators.program.builder import U32, ProgramBuilder
from generators.program.cooperative_vector_matmul import BiasInMemory, CooperativeVectorMatMul, MatrixInMemory
from generators.program.domains import Domain, check_domains
from generators.program.elementwise import ARGUMENTS, takes
from generators.program.memory import Pointee
from generators.program.program import Subcase
from generators.program.shape import WorkgroupShape
from generators.program.values import CooperativeVectorType, MatrixType, Value
from generators.program.variables import part_type
from generators.program.vector_builder import VectorBuilder
from generators.program.walking import names_read
from generators.spirv.emit import emit
from generators.types import COMPONENT_TYPES, INTERPRETATIONS, Layout, Scope, StorageClass, Use, VectorMatrixLayout
from tests.broken_rules import breaks

F16, STORAGE = COMPONENT_TYPES["f16"], StorageClass.STORAGE_BUFFER
TYPE = CooperativeVectorType(F16, 5)
SIZE = 7


def builder_of(invocations: int | None = SIZE) -> tuple[ProgramBuilder, VectorBuilder]:
    builder = ProgramBuilder(Scope.WORKGROUP, shape=WorkgroupShape(invocations=invocations))
    return builder, VectorBuilder(builder)


def test_vectors_belong_to_single_invocations() -> None:
    builder, vectors = builder_of()
    source = builder.array("source", Pointee(F16), 64, STORAGE, "input")
    me = Value("me", U32)
    with builder.per_invocation(me, SIZE):
        vectors.load("same", TYPE, source, builder.literal(0))
        own = vectors.load("own", TYPE, source, builder.arithmetic("offset", "multiply", me, builder.literal(16)))
        variable = builder.variable("variable", TYPE)
        builder.set(variable, (), own)
        builder.get("again", variable)
    domains = check_domains(builder.build())
    assert domains["same"] is Domain.DISPATCH
    assert domains["own"] is Domain.INVOCATION
    assert domains["again"] is Domain.INVOCATION


def test_a_vector_outside_of_code_of_single_invocations_is_refused() -> None:
    builder, vectors = builder_of()
    source = builder.array("source", Pointee(F16), 64, STORAGE, "input")
    vectors.load("x", TYPE, source, builder.literal(0))
    with breaks("CV-CTRL-01"):
        builder.build()


def test_a_component_is_not_the_same_for_a_whole_scope_instance() -> None:
    builder = ProgramBuilder(Scope.SUBGROUP, shape=WorkgroupShape(subgroup_size=8))
    vectors = VectorBuilder(builder)
    source = builder.array("source", Pointee(U32), 64, STORAGE, "input")
    target = builder.array("target", Pointee(U32), 256, STORAGE, "output")
    me = Value("me", U32)
    with builder.per_invocation(me, 8):
        own = vectors.load("own", CooperativeVectorType(U32, 4), source, builder.arithmetic("o", "multiply", me, builder.literal(16)))
        component = vectors.extract("component", own, 1)
    matrix = builder.splat("matrix", MatrixType(U32, Scope.SUBGROUP, 8, 8, Use.ACCUMULATOR), component)
    builder.store(matrix, target, builder.literal(0), builder.literal(8), Layout.ROW_MAJOR)
    with breaks("KHR-UNI-01"):
        builder.build()


def test_a_variable_of_single_invocations_does_not_lead_back_to_all() -> None:
    builder = ProgramBuilder(Scope.SUBGROUP, shape=WorkgroupShape(subgroup_size=8))
    target = builder.array("target", Pointee(U32), 256, STORAGE, "output")
    variable = builder.variable("variable", U32)
    me = Value("me", U32)
    with builder.per_invocation(me, 8):
        builder.set(variable, (), me)
        found = builder.get_scalar("found", variable)
    matrix = builder.splat("matrix", MatrixType(U32, Scope.SUBGROUP, 8, 8, Use.ACCUMULATOR), found)
    builder.store(matrix, target, builder.literal(0), builder.literal(8), Layout.ROW_MAJOR)
    with breaks("KHR-UNI-01"):
        builder.build()


def test_a_workgroup_may_have_any_number_of_invocations() -> None:
    builder, _ = builder_of()
    program = builder.build()
    made = kernel(program, emit(program))
    assert made.local_size_x(32) == SIZE
    assert made.full_subgroups is False
    with breaks(Rule.WORKGROUP_SHAPE):
        WorkgroupShape(invocations=SIZE, full_subgroups=True)


def test_operands_in_memory_are_read() -> None:
    builder, _ = builder_of()
    weights = builder.array("weights", Pointee(F16), 64, STORAGE, "input")
    names = [Value(name, U32) for name in ("x", "matrix", "stride", "bias")]
    f16 = INTERPRETATIONS["f16"]
    operation = CooperativeVectorMatMul(
        Value("y", TYPE),
        Value("x", TYPE),
        f16,
        MatrixInMemory(weights, names[1], f16, VectorMatrixLayout.ROW_MAJOR, names[2]),
        BiasInMemory(weights, names[3], f16),
        5,
        5,
    )
    assert names_read(operation) == {"x", "matrix", "stride", "bias"}


def test_paths_lead_to_components() -> None:
    assert part_type(TYPE, (4,)) is F16
    with breaks(Rule.INDEX):
        part_type(TYPE, (5,))


def test_matrices_of_a_layout_of_the_device() -> None:
    builder, vectors = builder_of()
    one = vectors.opaque("one", F16, 3, 5, VectorMatrixLayout.INFERENCING_OPTIMAL)
    some = vectors.opaque("some", F16, 3, 5, VectorMatrixLayout.TRAINING_OPTIMAL, 4, role="inout")
    assert (one.bytes, some.bytes) == (30, 120)
    assert vectors.matrix_offset("offset", one, builder.literal(0)) == builder.literal(0)
    program = builder.build()
    slots = {slot.name: slot.opaque for slot in kernel(program, emit(program)).buffers}
    assert slots["one"] == OpaqueSlot(F16, 3, 5, VectorMatrixLayout.INFERENCING_OPTIMAL, 1)
    assert slots["some"] == OpaqueSlot(F16, 3, 5, VectorMatrixLayout.TRAINING_OPTIMAL, 4, pitch_offset=0)
    contents = {array.name: np.zeros(array.bytes, np.uint8) for array in program.arrays}
    assert dispatch(program, Subcase("one", {}), contents).push_constants == bytes(4)
    with breaks(Rule.OPAQUE):
        vectors.opaque("plain", F16, 3, 5, VectorMatrixLayout.ROW_MAJOR)


def test_vectors_in_slots() -> None:
    array = VectorArray(TYPE, 3)
    assert (array.pitch, array.bytes) == (32, 16 + 3 * 32)
    vectors = np.arange(15).reshape(3, 5).astype(np.float16)
    contents = array.pack(vectors, around=0x11)
    np.testing.assert_array_equal(array.unpack(contents).view(np.float16), vectors)
    assert (contents == 0x11).sum() >= array.bytes - vectors.nbytes
    with breaks(Rule.MISALIGNED):
        VectorArray(TYPE, 3, first=8)


def test_functions_and_their_components() -> None:
    assert {function for function in ARGUMENTS if takes(function, COMPONENT_TYPES["s8"])} == {
        f"{kind}{name}" for kind in "US" for name in ("Min", "Max", "Clamp")
    }
    assert {function for function in ARGUMENTS if takes(function, F16)} == set(ARGUMENTS) - {
        f"{kind}{name}" for kind in "US" for name in ("Min", "Max", "Clamp")
    }
    assert not takes("Exp", COMPONENT_TYPES["f64"])
