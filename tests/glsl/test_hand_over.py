"""A buffer through which matrices and copies exchange data across a barrier is coherent; other buffers stay private, as in the program."""

import pytest

from generators.glsl.emit import emit
from generators.program.arrays import AtomicAdd
from generators.program.builder import U32, ProgramBuilder
from generators.program.memory import Pointee
from generators.program.values import MatrixType, Value
from generators.routines.workgroup import copy
from generators.types import COMPONENT_TYPES, Layout, Scope, StorageClass, Use

COMPONENT = COMPONENT_TYPES["f32"]
TYPE = MatrixType(COMPONENT, Scope.SUBGROUP, 8, 8, Use.ACCUMULATOR)


def exchange(storage, barrier):
    """Emit a program that stores a matrix to ``between`` and copies that to ``result``."""
    builder = ProgramBuilder(Scope.SUBGROUP)
    between = builder.array("between", Pointee(COMPONENT), 64, storage, "inout")
    result = builder.array("result", Pointee(COMPONENT), 64, StorageClass.STORAGE_BUFFER, "output")
    matrix = builder.splat("matrix", TYPE, builder.literal(0, COMPONENT))
    builder.store(matrix, between, builder.literal(0), builder.literal(8), Layout.ROW_MAJOR)
    if barrier:
        builder.barrier()
    copy(builder, result, between)
    return emit(builder.build())


@pytest.mark.parametrize("storage", [StorageClass.STORAGE_BUFFER, StorageClass.PHYSICAL_STORAGE_BUFFER])
def test_a_store_that_others_read_after_a_barrier_is_coherent(storage):
    assert exchange(storage, barrier=True).count("workgroupcoherent float") == 1


def test_without_a_barrier_nothing_is_handed_over():
    assert "coherent" not in exchange(StorageClass.STORAGE_BUFFER, barrier=False)


def test_a_program_with_only_copies_hands_nothing_over(matrix_copy):
    assert "coherent" not in emit(matrix_copy(source=StorageClass.WORKGROUP, target=StorageClass.WORKGROUP))


@pytest.mark.parametrize("plain", [True, False])
def test_an_element_that_is_also_accessed_by_atomics_is_coherent(plain):
    builder = ProgramBuilder(Scope.WORKGROUP)
    turn, zero = builder.array("turn", Pointee(U32), 1, StorageClass.STORAGE_BUFFER, "inout"), builder.literal(0)
    builder.add(AtomicAdd(Value("before", U32), turn, zero, builder.literal(1)))
    builder.barrier()
    if plain:
        builder.write(turn, zero, zero)
    assert ("coherent uint turn" in emit(builder.build())) == plain
