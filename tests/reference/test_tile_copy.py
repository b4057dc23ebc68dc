"""Tiles that a workgroup copies: limits, transposition, workgroups, in the reference model, in both emitters and on the embedded device."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.reference.evaluate import evaluate
from cts.verdict.poison import initial_contents
from generators.dispatch import dispatch, kernel
from generators.errors import Rule
from generators.glsl.emit import emit as emit_glsl
from generators.program.builder import U32, ProgramBuilder
from generators.program.memory import Pointee
from generators.program.program import Subcase
from generators.program.workgroup import Window
from generators.routines.tile_copy import tile_copy
from generators.spirv.emit import emit
from generators.types import COMPONENT_TYPES, Scope, StorageClass
from tests.broken_rules import breaks

S8 = COMPONENT_TYPES["s8"]
BUFFER, SHARED = StorageClass.STORAGE_BUFFER, StorageClass.WORKGROUP


def copied(source_limits=None, target_limits=None, transposed=False, row=1, column=2, workgroups=1, length=30):
    """Build a program that copies 3 x 4 elements of a source with lines of 5 elements to a target with lines of 8, through workgroup
    memory."""
    builder = ProgramBuilder(Scope.SUBGROUP, workgroups=workgroups)
    source = builder.array("source", Pointee(S8), length, BUFFER, "input")
    tile = builder.array("tile", Pointee(S8), 24, SHARED, "scratch")
    target = builder.array("target", Pointee(S8), 48 * workgroups, BUFFER, "output")
    number = builder.literal
    limits = None if source_limits is None else tuple(number(limit) for limit in source_limits)
    lines = 4 if transposed else 3
    first = Window(source, number(5), number(row), number(column), limits)
    tile_copy(builder, Window(tile, number(6), number(0), number(0)), first, 3, 4, transposed)
    builder.barrier()
    limits = None if target_limits is None else tuple(number(limit) for limit in target_limits)
    at = number(1) if workgroups == 1 else builder.offset("at", number(1), builder.built_in("workgroup_index", "workgroup"), 6)
    window = Window(target, number(8), at, number(1), limits)
    tile_copy(builder, window, Window(tile, number(6), number(0), number(0)), lines, 7 - lines)
    return builder.build()


def numbers(length=30):
    return np.arange(1, length + 1, dtype=np.int8)


def written(program, length=30):
    """Return the contents of the target; -1 for places that are not written."""
    subcase = Subcase("only", {"source": numbers(length).view(np.uint8)})
    result = np.full(program.array("target").count, -1, np.int64)
    for placed in evaluate(program, subcase).placed:
        result[placed.offsets] = placed.expected.bits.view(np.int8)
    return result.reshape(-1, 8)


def test_a_tile_is_a_window_of_lines():
    found = written(copied())
    assert found[1:4, 1:5].tolist() == [[8, 9, 10, 11], [13, 14, 15, 16], [18, 19, 20, 21]]
    assert (found >= 0).sum() == 12


def test_beyond_the_limits_of_the_source_are_zeros():
    found = written(copied(source_limits=(3, 5)))
    assert found[1:4, 1:5].tolist() == [[8, 9, 10, 0], [13, 14, 15, 0], [0, 0, 0, 0]]


def test_beyond_the_limits_of_the_target_nothing_is_written():
    found = written(copied(target_limits=(3, 4)))
    assert found[1:4, 1:5].tolist() == [[8, 9, 10, -1], [13, 14, 15, -1], [-1, -1, -1, -1]]


def test_a_transposed_tile_has_the_sources_rows_as_columns():
    found = written(copied(transposed=True))
    assert found[1:5, 1:4].tolist() == [[8, 13, 18], [9, 14, 19], [10, 15, 20], [11, 16, 21]]


def test_each_workgroup_has_numbers_of_its_own():
    found = written(copied(workgroups=2))
    assert np.array_equal(found[1:4, 1:5], found[7:10, 1:5])
    assert (found >= 0).sum() == 24


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"source_limits": (3, 5)},
        {"target_limits": (3, 4)},
        {"source_limits": (3, 4), "target_limits": (4, 3), "transposed": True},
        {"workgroups": 2},
    ],
    ids=str,
)
def test_the_embedded_device_copies_the_same(arguments):
    program = copied(**arguments)
    subcase = Subcase("only", {"source": numbers().view(np.uint8)})
    before = initial_contents(program, subcase, evaluate(program, subcase))
    device = EmbeddedDevice(load_profile("universal"))
    (outcome,) = device.run(kernel(program, emit(program)), [dispatch(program, subcase, before)])
    got, found = outcome.outputs["target"].view(np.int8).astype(np.int64).reshape(-1, 8), written(program)
    assert np.array_equal(got[found >= 0], found[found >= 0])
    assert np.array_equal(got[found < 0], before["target"].view(np.int8).reshape(-1, 8)[found < 0])


def test_a_tile_beyond_the_array_is_an_error():
    with breaks(Rule.TILE_BOUNDS):
        written(copied(row=4, length=30))


def test_a_number_that_differs_in_a_workgroup_is_an_error():
    program = replace(copied(), subgroups=2)
    builder = ProgramBuilder(Scope.SUBGROUP, subgroups=2)
    own = builder.built_in("subgroup_index", "subgroup")
    copied_tile = program.operations[0].effect
    differing = replace(copied_tile, source=replace(copied_tile.source, row=own))
    broken = replace(program, operations=(*builder.build().operations, differing, *program.operations[1:]))
    with breaks(Rule.NOT_UNIFORM):
        written(broken)


def test_glsl_says_the_limits_as_conditions():
    text = emit_glsl(copied(source_limits=(3, 5), target_limits=(4, 4)))
    assert "tile_tile_element < 12u" in text
    assert "uint tile_tile_source_in_rows = tile_tile_source_y < 3u ? 1u : 0u;" in text
    assert "uint tile_tile_source_inside = tile_tile_source_x < 5u ? tile_tile_source_in_rows : 0u;" in text


@pytest.mark.parametrize(("operator", "wanted"), [("divide", 3), ("modulo", 2)])
def test_division_is_of_unsigned_integers(operator, wanted):
    builder = ProgramBuilder(Scope.SUBGROUP)
    source = builder.array("source", Pointee(S8), 30, BUFFER, "input")
    target = builder.array("target", Pointee(S8), 8, BUFFER, "output")
    column = builder.arithmetic("column", operator, builder.literal(17), builder.operand("by", U32, "specialization", 5, 6))
    zero = builder.literal(0)
    tile_copy(builder, Window(target, zero, zero, zero), Window(source, zero, zero, column), 1, 1)
    assert written(builder.build())[0, 0] == wanted + 1


def test_division_by_zero_is_an_error():
    builder = ProgramBuilder(Scope.SUBGROUP)
    source = builder.array("source", Pointee(S8), 30, BUFFER, "input")
    target = builder.array("target", Pointee(S8), 8, BUFFER, "output")
    column = builder.arithmetic("column", "modulo", builder.literal(17), builder.literal(0))
    zero = builder.literal(0)
    tile_copy(builder, Window(target, zero, zero, zero), Window(source, zero, zero, column), 1, 1)
    with breaks(Rule.DIVISION_BY_ZERO):
        written(builder.build())
