"""Loops, workgroup memory, overlapping stores and scalar arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from cts.reference.evaluate import ENVELOPE_NOTE, evaluate
from cts.verdict.expected import Expected, Interval
from generators.errors import Rule
from generators.program.builder import ProgramBuilder
from generators.program.memory import Pointee
from generators.program.program import Subcase
from generators.routines.workgroup import copy
from generators.types import COMPONENT_TYPES, Layout, MatrixOperands, Scope, StorageClass, Use
from tests.broken_rules import breaks
from tests.reference.programs import BUFFER, as_bits, as_bytes, matrix_type, muladd

F16, F32, U8, U16, U32 = (COMPONENT_TYPES[name] for name in ("f16", "f32", "u8", "u16", "u32"))
FLOATS = ("f16", "f16", "f32", "f32")


def floats(*rows: list[float], component: str = "f16") -> np.ndarray:
    return as_bits(rows, COMPONENT_TYPES[component])[None]


def bits(expected: Expected) -> list[list[int]]:
    (placed,) = expected.placed
    assert placed.expected.KIND == "exact"
    return placed.expected.bits[0].tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("trips", [0, 1, 5])
def test_a_loop_carries_its_accumulator(trips: int) -> None:
    one = as_bits([[3]], U8)[None]
    case = muladd(("u8", "u8", "u32", "u32"), one, one, as_bits([[100]], U32)[None], MatrixOperands.NONE, trips)
    assert bits(evaluate(case.program, case.subcase)) == [[100 + 9 * trips]]


def test_a_chain_is_exact_as_long_as_all_of_its_terms_fit() -> None:
    a, b, c = floats([2048.0]), floats([1024.0]), floats([1.0], component="f32")
    case = muladd(FLOATS, a, b, c, None, 7)
    assert bits(evaluate(case.program, case.subcase)) == as_bits([[7 * 2.0**21 + 1]], F32).tolist()
    case = muladd(FLOATS, a, b, c, None, 8)
    assert evaluate(case.program, case.subcase).placed[0].expected.KIND == "interval"


def test_the_terms_of_a_chain_that_cancel_still_count() -> None:
    """Each step adds 0, but as a sum of terms whose magnitudes need more than 24 bits together."""
    a, b, c = floats([2048.0, -2048.0]), floats([1024.0], [1024.0]), floats([1.0], component="f32")
    assert evaluate(*_parts(muladd(FLOATS, a, b, c, None, 3))).placed[0].expected.KIND == "exact"
    assert evaluate(*_parts(muladd(FLOATS, a, b, c, None, 4))).placed[0].expected.KIND == "interval"


def _parts(case):  # type: ignore[no-untyped-def]
    return case.program, case.subcase


def test_the_bounds_of_a_chain_add_up() -> None:
    a, b, c = floats([1.0 / 3]), floats([1.0]), floats([2.0**20 / 3], component="f32")
    widths = []
    for trips in (1, 2, 3):
        allowed = evaluate(*_parts(muladd(FLOATS, a, b, c, None, trips))).placed[0].expected
        assert isinstance(allowed, Interval)
        assert allowed.envelope is not None
        widths.append(float(allowed.envelope.bound[0, 0, 0]))
    assert widths[0] < widths[1] < widths[2]
    assert widths[2] == pytest.approx(3 * widths[0], rel=0.1)


def test_an_envelope_is_noted_as_policy() -> None:
    a, c = floats([1.0 / 3]), floats([1e4 / 3], component="f32")
    assert evaluate(*_parts(muladd(FLOATS, a, a, c))).notes == (ENVELOPE_NOTE,)
    assert evaluate(*_parts(muladd(FLOATS, a, a, c * 0))).notes == ()


def test_a_sum_that_may_overflow_is_refused() -> None:
    a, c = floats([255.0]), floats([1000.0])
    with breaks(Rule.OVERFLOW):
        evaluate(*_parts(muladd(("f16",) * 4, a, a, c)))


def test_flags_for_integers_are_refused_with_floats() -> None:
    a, c = floats([1.0]), floats([1.0], component="f32")
    with breaks("KHR-MAD-11"):
        evaluate(*_parts(muladd(FLOATS, a, a, c, MatrixOperands.A_SIGNED)))


def two_stores(first: tuple[int, int, Layout], second: tuple[int, int, Layout], length: int = 16) -> Expected:
    """Evaluate a program that stores two 2x2 matrices of u16 one after another at (first, stride, layout)."""
    builder = ProgramBuilder(Scope.SUBGROUP)
    source = builder.array("m", Pointee(U16), 8, BUFFER, "input")
    out = builder.array("out", Pointee(U16), length, BUFFER, "output")
    for name, start, place in (("m0", 0, first), ("m1", 4, second)):
        loaded = builder.load(name, matrix_type("u16", 2, 2), source, builder.literal(start), builder.literal(2), Layout.ROW_MAJOR)
        builder.store(loaded, out, builder.literal(place[0]), builder.literal(place[1]), place[2])
    return evaluate(builder.build(), Subcase("one", {"m": as_bytes(np.arange(8, dtype=np.uint16))}))


def test_a_store_over_another_replaces_it() -> None:
    (placed,) = two_stores((0, 2, Layout.ROW_MAJOR), (0, 2, Layout.COLUMN_MAJOR)).placed
    assert placed.what == "m1"
    assert placed.offsets[0].tolist() == [[0, 4], [2, 6]]


def test_stores_side_by_side_are_both_expected() -> None:
    assert [placed.what for placed in two_stores((0, 2, Layout.ROW_MAJOR), (4, 2, Layout.ROW_MAJOR)).placed] == ["m0", "m1"]


def test_interleaved_stores_are_both_expected() -> None:
    assert len(two_stores((0, 4, Layout.ROW_MAJOR), (2, 4, Layout.ROW_MAJOR)).placed) == 2


def test_a_store_over_part_of_another_is_refused() -> None:
    with breaks(Rule.PARTIAL_OVERLAP):
        two_stores((0, 2, Layout.ROW_MAJOR), (2, 2, Layout.ROW_MAJOR))


def test_stores_of_several_instances_to_one_place_are_refused() -> None:
    builder = ProgramBuilder(Scope.SUBGROUP, subgroups=2)
    source = builder.array("m", Pointee(U16), 4, BUFFER, "input")
    out = builder.array("out", Pointee(U16), 4, BUFFER, "output")
    zero, two = builder.literal(0), builder.literal(2)
    loaded = builder.load("m0", matrix_type("u16", 2, 2), source, zero, two, Layout.ROW_MAJOR)
    builder.store(loaded, out, zero, two, Layout.ROW_MAJOR)
    with breaks("F-KHR-1"):
        evaluate(builder.build(), Subcase("one", {"m": np.zeros(8, np.uint8)}))


def staged(filled: bool, element: str = "u16") -> Expected:
    """Evaluate a program that moves a 2x2 matrix through workgroup memory with a padded stride, from and to buffers."""
    component = COMPONENT_TYPES[element]
    builder = ProgramBuilder(Scope.SUBGROUP)
    source = builder.array("m", Pointee(component), 6, BUFFER, "input")
    fill = builder.array("fill", Pointee(component), 6, BUFFER, "input")
    out = builder.array("out", Pointee(component), 6, BUFFER, "output")
    inside = builder.array("inside", Pointee(component), 6, StorageClass.WORKGROUP, "scratch")
    outside = builder.array("outside", Pointee(component), 6, StorageClass.WORKGROUP, "scratch")
    copy(builder, inside, source)
    if filled:
        copy(builder, outside, fill)
    builder.barrier()
    zero, three = builder.literal(0), builder.literal(3)
    loaded = builder.load("m0", matrix_type(component, 2, 2), inside, zero, three, Layout.ROW_MAJOR)
    builder.store(loaded, outside, zero, three, Layout.COLUMN_MAJOR)
    builder.barrier()
    copy(builder, out, outside)
    data = {"m": as_bytes(np.arange(6).astype(component.bits_dtype)), "fill": as_bytes(np.full(6, 77, component.bits_dtype))}
    return evaluate(builder.build(), Subcase("one", data))


def test_a_copy_out_of_workgroup_memory_expects_matrix_and_background() -> None:
    matrix, background = staged(filled=True).placed
    assert matrix.array == background.array == "out"
    assert matrix.offsets[0].tolist() == [[0, 6], [2, 8]]
    assert matrix.expected.bits[0].tolist() == [[0, 1], [3, 4]]
    assert background.offsets.ravel().tolist() == [4, 10]
    assert background.expected.bits.ravel().tolist() == [77, 77]


def test_a_copy_of_bytes_that_nothing_wrote_is_refused() -> None:
    with breaks(Rule.UNWRITTEN):
        staged(filled=False)


def shared(subgroups: int, workgroups: int) -> Expected:
    """Evaluate a program in which every instance stores its own element to the single place of a workgroup array, and to its own place of
    the output."""
    builder = ProgramBuilder(Scope.SUBGROUP, subgroups, workgroups)
    source = builder.array("m", Pointee(U16), 4, BUFFER, "input")
    out = builder.array("out", Pointee(U16), 4, BUFFER, "output")
    inside = builder.array("inside", Pointee(U16), 1, StorageClass.WORKGROUP, "scratch")
    index, zero, one = builder.instance_index(), builder.literal(0), builder.literal(1)
    type_ = matrix_type("u16", 1, 1)
    loaded = builder.load("m0", type_, source, index, one, Layout.ROW_MAJOR)
    builder.store(loaded, inside, zero, one, Layout.ROW_MAJOR)
    builder.store(builder.load("m1", type_, inside, zero, one, Layout.ROW_MAJOR), out, index, one, Layout.ROW_MAJOR)
    return evaluate(builder.build(), Subcase("one", {"m": as_bytes(np.arange(4, dtype=np.uint16))}))


def test_each_workgroup_has_its_own_workgroup_memory() -> None:
    (placed,) = shared(subgroups=1, workgroups=4).placed
    assert placed.expected.bits.ravel().tolist() == [0, 1, 2, 3]


def test_the_subgroups_of_a_workgroup_share_its_memory() -> None:
    with breaks("F-KHR-1"):
        shared(subgroups=4, workgroups=1)


def test_scalar_arithmetic_wraps_at_its_width() -> None:
    builder = ProgramBuilder(Scope.SUBGROUP)
    source = builder.array("m", Pointee(U16), 4, BUFFER, "input")
    out = builder.array("out", Pointee(U16), 1, BUFFER, "output")
    pushed = builder.operand("pushed", U32, "push_constant")
    first = builder.arithmetic("sum", "add", pushed, builder.literal(3))
    loaded = builder.load("m0", matrix_type("u16", 1, 1), source, first, builder.literal(1), Layout.ROW_MAJOR)
    builder.store(loaded, out, builder.literal(0), builder.literal(1), Layout.ROW_MAJOR)
    expected = evaluate(builder.build(), Subcase("one", {"m": as_bytes(np.arange(4, dtype=np.uint16))}, {"pushed": 0xFFFFFFFF}))
    assert bits(expected) == [[2]]


def test_a_missing_operand_is_named() -> None:
    builder = ProgramBuilder(Scope.SUBGROUP)
    source = builder.array("m", Pointee(U16), 4, BUFFER, "input")
    builder.load("m0", matrix_type("u16", 1, 1), source, builder.operand("pushed", U32, "buffer"), builder.literal(1), Layout.ROW_MAJOR)
    with breaks(Rule.DATA_MISSING):
        evaluate(builder.build(), Subcase("one", {"m": np.zeros(8, np.uint8)}))


def test_data_of_the_wrong_size_are_refused() -> None:
    builder = ProgramBuilder(Scope.SUBGROUP)
    builder.array("m", Pointee(U16), 4, BUFFER, "input")
    with breaks(Rule.DATA_SIZE):
        evaluate(builder.build(), Subcase("one", {"m": np.zeros(7, np.uint8)}))


def reloaded(types: tuple[str, str], value: float) -> Expected:
    """Evaluate a program that stores A x A + A to an inout array and loads it again."""
    component, result = (COMPONENT_TYPES[name] for name in types)
    builder = ProgramBuilder(Scope.SUBGROUP)
    source = builder.array("m", Pointee(component), 1, BUFFER, "input")
    middle = builder.array("middle", Pointee(result), 1, BUFFER, "inout")
    out = builder.array("out", Pointee(result), 1, BUFFER, "output")
    zero, one = builder.literal(0), builder.literal(1)
    a = builder.load("a", matrix_type(component, 1, 1, Use.A), source, zero, one, Layout.ROW_MAJOR)
    b = builder.load("b", matrix_type(component, 1, 1, Use.B), source, zero, one, Layout.ROW_MAJOR)
    c = builder.load("c", matrix_type(result, 1, 1), middle, zero, one, Layout.ROW_MAJOR)
    builder.store(builder.muladd("d", matrix_type(result, 1, 1), a, b, c, None), middle, zero, one, Layout.ROW_MAJOR)
    again = builder.load("again", matrix_type(result, 1, 1), middle, zero, one, Layout.ROW_MAJOR)
    builder.store(again, out, zero, one, Layout.ROW_MAJOR)
    data = {"m": as_bytes(as_bits([value], component)), "middle": as_bytes(as_bits([1.0], result))}
    return evaluate(builder.build(), Subcase("one", data))


def test_a_load_sees_an_earlier_store() -> None:
    expected = reloaded(("f16", "f32"), 3.0)
    assert [placed.array for placed in expected.placed] == ["middle", "out"]
    assert expected.placed[1].expected.bits.item() == as_bits([10.0], F32)[0]


def test_reloading_floats_that_are_not_proved_exact_is_refused() -> None:
    with breaks(Rule.INEXACT_MEMORY):
        reloaded(("f32", "f32"), 1.0 / 3)
