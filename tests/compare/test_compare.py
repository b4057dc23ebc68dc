"""The comparator accepts allowed values and nothing else."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cts.journal.record import failure_of, failure_record
from cts.reference.evaluate import evaluate
from cts.verdict.compare import compare, compare_array, compare_quality, format_mismatch
from cts.verdict.elements import scatter
from cts.verdict.expected import Authority, Exact, Expectation, Expected, Interval, OneOf, Placed, as_expected, one_set
from cts.verdict.failure import Failure, Match, Mismatch
from cts.verdict.poison import background, initial_contents, poison
from generators.errors import Rule
from generators.kernel import Outcome, StrayWrite
from generators.program.program import Program, Subcase
from generators.types import COMPONENT_TYPES
from tests.broken_rules import breaks
from tests.reference.programs import as_bits, muladd, perfect, store_program

U16, F16, F32 = (COMPONENT_TYPES[name] for name in ("u16", "f16", "f32"))
PLACE = {"type": "u16", "pointee": "u16", "first": 1, "stride": 6, "layout": "ROW_MAJOR"}
MATRIX = np.arange(1, 17, dtype=np.uint16).reshape(4, 4)
LENGTH = 2 * (1 + 3 * 6 + 4 + 3)
MIB = 1 << 20


def large_store() -> tuple[Expected, np.ndarray, np.ndarray]:
    """Return a store of four u32, and an array of 9 MiB before and after it. One u32 crosses the end of the fourth MiB."""
    offsets = np.array([[16, 4 * MIB - 2, 4 * MIB + 2, 8 * MIB - 4]])
    bits = np.array([[1, 2, 3, 4]], np.uint32)
    placed = Placed("far", offsets[None], one_set(Exact(COMPONENT_TYPES["u32"], bits[None])), "m")
    before = background(9 * MIB)
    after = before.copy()
    scatter(after, placed.offsets, bits[None])
    return Expected((placed,)), before, after


def judged(change: dict[int, int]) -> tuple[Mismatch, ...]:
    """Judge a 4x4 matrix of u16 stored with padding; ``change`` maps byte offsets to values after the run."""
    program, subcase = store_program(PLACE, MATRIX, LENGTH)
    expected, before, outcome = perfect(program, subcase)
    for offset, byte in change.items():
        outcome.outputs["d_out"][offset] = byte
    return compare(program, expected, before, outcome)


def float_case(exact: bool) -> tuple[Program, Subcase]:
    rng = np.random.default_rng(5)
    numbers = rng.integers(-4, 5, (2, 8, 8)) if exact else rng.normal(size=(2, 8, 8))
    a, b = as_bits(numbers, F16), as_bits(numbers[::-1].transpose(0, 2, 1), F16)
    c = as_bits(rng.integers(-9, 9, (2, 8, 8)) if exact else rng.normal(size=(2, 8, 8)), F32)
    case = muladd(("f16", "f16", "f32", "f32"), a, b, c)
    return case.program, case.subcase


def test_the_right_outcome_passes() -> None:
    assert judged({}) == ()


@pytest.mark.parametrize("exact", [True, False])
def test_the_right_float_outcome_passes(exact: bool) -> None:
    program, subcase = float_case(exact)
    expected, before, outcome = perfect(program, subcase)
    assert ("exact" if exact else "interval") == expected.placed[0].expected.KIND
    assert compare(program, expected, before, outcome) == ()


@given(st.integers(0, LENGTH * 8 - 1))
def test_any_flipped_bit_fails(bit: int) -> None:
    program, subcase = store_program(PLACE, MATRIX, LENGTH)
    expected, before, outcome = perfect(program, subcase)
    outcome.outputs["d_out"][bit // 8] ^= 1 << bit % 8
    (mismatch,) = compare(program, expected, before, outcome)
    element = np.isin(bit // 16 * 2, expected.placed[0].offsets)
    assert mismatch.kind == ("wrong value" if element else "padding overwritten")
    assert mismatch.count == 1


@given(st.integers(0, 2 * 64 * 32 - 1))
@settings(max_examples=50)
def test_any_flipped_bit_of_an_exact_float_fails_except_the_sign_of_zero(bit: int) -> None:
    program, subcase = float_case(exact=True)
    expected, before, outcome = perfect(program, subcase)
    value = expected.placed[0].expected.bits.ravel()[bit // 32]
    outcome.outputs["d_out"][bit // 8] ^= 1 << bit % 8
    harmless = value == 0 and bit % 32 == 31
    assert bool(compare(program, expected, before, outcome)) == (not harmless)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("pattern", [0x7FC00000, 0xFFC00000, 0x7F800001, 0x7F800000, 0xFF800000])
def test_nan_and_infinity_fail(exact: bool, pattern: int) -> None:
    program, subcase = float_case(exact)
    expected, before, outcome = perfect(program, subcase)
    outcome.outputs["d_out"].view(np.uint32)[70] = pattern
    (mismatch,) = compare(program, expected, before, outcome)
    assert (mismatch.elements[0].instance, mismatch.elements[0].row, mismatch.elements[0].column) == (1, 0, 6)
    json.dumps(failure_record(Failure("s", mismatch)), allow_nan=False)


@pytest.mark.parametrize("exact", [True, False])
def test_an_element_that_was_not_written_is_named_as_such(exact: bool) -> None:
    program, subcase = float_case(exact)
    expected, before, outcome = perfect(program, subcase)
    outcome.outputs["d_out"][256:260] = before["d_out"][256:260]
    (mismatch,) = compare(program, expected, before, outcome)
    assert mismatch.kind == "not written"
    assert mismatch.pattern == "one element, (row 0, column 0) of instance 1"


def test_an_outcome_without_the_output_is_not_written() -> None:
    program, subcase = store_program(PLACE, MATRIX, LENGTH)
    expected, before, _ = perfect(program, subcase)
    (mismatch,) = compare(program, expected, before, Outcome({}))
    assert (mismatch.kind, mismatch.count) == ("not written", 16)


@pytest.mark.parametrize("end", ["low", "high"])
def test_the_ends_of_an_interval_are_allowed_and_the_next_values_are_not(end: str) -> None:
    program, subcase = float_case(exact=False)
    expected, before, outcome = perfect(program, subcase)
    allowed = expected.placed[0].permitted
    assert isinstance(allowed, Interval)
    limit = (allowed.low if end == "low" else allowed.high)[0, 0, 0]
    outward = -np.inf if end == "low" else np.inf
    inside = np.float32(limit)
    if (inside < limit) if end == "low" else (inside > limit):
        inside = np.nextafter(inside, np.float32(-outward))
    results = outcome.outputs["d_out"].view(np.float32)
    results[0] = inside
    assert compare(program, expected, before, outcome) == ()
    results[0] = np.nextafter(inside, np.float32(outward))
    (mismatch,) = compare(program, expected, before, outcome)
    assert mismatch.count == 1
    text = format_mismatch(mismatch)
    assert "bound" in text
    assert "true value" in text


def test_changed_padding_is_reported_with_its_bytes() -> None:
    (mismatch,) = judged({0: 0, 1: 0})
    assert mismatch.kind == "padding overwritten"
    assert mismatch.count == 2
    assert "at byte 0 (0x" in mismatch.pattern


@pytest.mark.parametrize("place", [0, 5 * MIB, 9 * MIB - 1])
def test_a_byte_changed_anywhere_in_a_large_array_is_reported(place: int) -> None:
    expected, before, after = large_store()
    after[place] ^= 0xFF
    (mismatch,) = compare_array("far", expected, before, after)
    assert (mismatch.kind, mismatch.count) == ("padding overwritten", 1)


def test_elements_across_parts_of_a_large_array_may_change() -> None:
    assert not list(compare_array("far", *large_store()))


def test_a_large_array_is_filled_and_compared_in_little_more_memory_than_it_has() -> None:
    tracemalloc.start()
    try:
        expected, before, after = large_store()
        assert not list(compare_array("far", expected, before, after))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < len(before) + len(after) + 10 * MIB


def test_wrong_and_unwritten_elements_are_distinguished() -> None:
    program, subcase = store_program(PLACE, MATRIX, LENGTH)
    expected, before, outcome = perfect(program, subcase)
    outcome.outputs["d_out"][2:4] = before["d_out"][2:4]
    outcome.outputs["d_out"][4:6] = 0
    assert [m.kind for m in compare(program, expected, before, outcome)] == ["wrong value", "not written"]


def test_a_stray_write_of_the_device_is_a_mismatch() -> None:
    program, subcase = store_program(PLACE, MATRIX, LENGTH)
    expected, before, outcome = perfect(program, subcase)
    outcome = Outcome(outcome.outputs, (StrayWrite("m_in", "read-only", 6, 2), StrayWrite("d_out", "after", 64, 16)))
    mismatches = compare(program, expected, before, outcome)
    assert [m.kind for m in mismatches] == ["stray write", "stray write"]
    assert "read-only" in mismatches[0].summary
    assert "after the buffer" in mismatches[1].summary


def test_equal_alternatives_are_named_once() -> None:
    bits = tuple(np.array([[[element]]], np.uint16) for element in (0x3E00, 0x3E00, 0x3C00, 0x3C00))
    placed = Placed("out", np.array([[[0]]]), one_set(OneOf(F16, bits)), "m")
    (mismatch,) = compare_array("out", Expected((placed,)), np.zeros(2, np.uint8), np.array([0x4000], np.uint16).view(np.uint8))
    assert "expected 0x3e00 (1.5) or 0x3c00 (1), got" in format_mismatch(mismatch)


def test_alternatives_are_the_listed_bits_only() -> None:
    allowed = OneOf(F16, (np.array([[[0x3C00]]], np.uint16), np.array([[[0x3C01]]], np.uint16)))
    for bits, verdict in ((0x3C00, True), (0x3C01, True), (0x3C02, False), (0x3BFF, False), (0xBC00, False)):
        assert allowed.contains(np.array([[[bits]]], np.uint16)).item() is verdict


def test_either_zero_only_where_it_is_free_and_any_nan_for_a_nan() -> None:
    bits = np.array([[[0x0000, 0x0000, 0x7E00, 0x7E00]]], np.uint16)
    got = np.array([[[0x8000, 0xFE01, 0xFE01, 0x7C00]]], np.uint16)
    assert Exact(F16, bits).contains(got).tolist() == [[[False, False, True, False]]]
    assert Exact(F16, bits, either_zero=True).contains(got).tolist() == [[[True, False, True, False]]]
    other = np.array([[[0x3C00, 0x7E00, 0x3C00, 0x3C00]]], np.uint16)
    assert OneOf(F16, (bits, other)).contains(got).tolist() == [[[False, True, True, False]]]
    assert OneOf(F16, (other, bits), either_zero=True).contains(got).tolist() == [[[True, True, True, False]]]


@given(st.sampled_from(list(COMPONENT_TYPES.values())), st.data())
def test_poison_is_never_allowed(component, data) -> None:  # type: ignore[no-untyped-def]
    count = 4
    bits = np.array(data.draw(st.lists(st.integers(0, (1 << component.bits) - 1), min_size=count, max_size=count)), component.bits_dtype)
    allowed = Exact(component, bits.reshape(1, 2, 2), either_zero=data.draw(st.booleans()))
    assert not allowed.contains(poison(allowed)).any()


def test_poison_of_a_wide_interval_is_nan() -> None:
    bits = as_bits([[1.0]], F32)[None]
    wide = Interval(F32, bits, np.full((1, 1, 1), -100.0), np.full((1, 1, 1), 100.0), np.ones((1, 1, 1)))
    assert poison(wide).item() == 0xFFFFFFFF


def test_an_element_that_allows_everything_is_refused() -> None:
    bits = np.zeros((1, 1, 1), np.uint8)
    others = tuple(np.full((1, 1, 1), value, np.uint8) for value in range(256))
    with breaks(Rule.POISON):
        poison(OneOf(COMPONENT_TYPES["u8"], (bits, *others)))


def test_poison_differs_from_place_to_place_in_the_padding() -> None:
    pattern = background(1024)
    assert len(np.unique(pattern)) > 200
    assert not np.isin(pattern, [0, 255]).any()


def test_inputs_are_handed_on_and_workgroup_memory_is_not_a_buffer() -> None:
    program, subcase = store_program(PLACE, MATRIX, LENGTH)
    contents = initial_contents(program, subcase, evaluate(program, subcase))
    assert set(contents) == {"m_in", "d_out"}
    assert contents["m_in"] is subcase.inputs["m_in"]


def test_a_message_has_place_bits_and_values() -> None:
    (mismatch,) = judged({2: 9, 3: 0})
    text = format_mismatch(mismatch, ["the moon"])
    assert text.splitlines() == [
        "wrong value: 1 of 16 elements of m in d_out: one element, (row 0, column 0)",
        "  (0, 0) at byte 2: expected 0x0001 (1), got 0x0009 (9)",
        "  required by KHR-STORE-01",
        "  matches: the moon",
    ]


def test_a_message_lists_at_most_a_dozen() -> None:
    program, subcase = store_program(PLACE, MATRIX, LENGTH)
    expected, before, outcome = perfect(program, subcase)
    outcome.outputs["d_out"].view(np.uint16)[expected.placed[0].offsets.ravel() // 2] = 99
    (mismatch,) = compare(program, expected, before, outcome)
    assert "every element" in mismatch.summary
    assert format_mismatch(mismatch).splitlines()[-2:] == ["  … and 4 more", "  required by KHR-STORE-01"]


def test_the_record_draws_the_matrix() -> None:
    (mismatch,) = judged({4: 9, 2 * (1 + 6) + 6: 9})
    record = json.loads(json.dumps(failure_record(Failure("s", mismatch)), allow_nan=False))
    assert record["shape"] == [4, 4]
    assert record["wrong"] == ["2", "8", "0", "0"]
    assert record["instances"] == {"0": ["2", "8", "0", "0"]}
    assert record["expected"][:3] == ["0001", "0002", "0003"]
    assert record["got"][:3] == ["0001", "0009", "0003"]
    assert record["elements"][0]["expected_bits"] == "0x0002"
    assert record["elements"][0]["got"] == 9


def test_places_that_are_not_aligned_to_the_element_are_also_compared() -> None:
    bits = as_bits([[1.5]], F32)[None]
    expected = Expected((Placed("d_out", np.array([[[3]]]), one_set(Exact(F32, bits)), "d"),))
    program, _ = store_program({**PLACE, "type": "u8", "pointee": "u8"}, np.ones((1, 1), np.uint8), 9)
    before = {"m_in": np.zeros(1, np.uint8), "d_out": np.zeros(9, np.uint8)}
    after = np.zeros(9, np.uint8)
    after[3:7] = bits.view(np.uint8).ravel()
    assert compare(program, expected, before, Outcome({"d_out": after})) == ()
    after[6] ^= 1
    assert len(compare(program, expected, before, Outcome({"d_out": after}))) == 1


def quality_case(got: int) -> tuple[Program, Expected, dict[str, np.ndarray], Outcome]:
    """Build an f16 that should be 1 but may also be the next larger number, and an outcome with the bits ``got``."""
    one, above = (np.array([[[bits]]], np.uint16) for bits in (0x3C00, 0x3C01))
    expectation = Expectation(OneOf(F16, (one, above)), Exact(F16, one), Authority("KHR-MAD-04", quality="F-CM2-4"))
    expected = Expected((Placed("d_out", np.array([[[0]]]), expectation, "d"),))
    program, subcase = store_program({**PLACE, "type": "f16", "pointee": "f16", "first": 0}, np.ones((1, 1), np.uint16), 2)
    before = initial_contents(program, subcase, expected)
    return program, expected, before, Outcome({"d_out": np.array([got], np.uint16).view(np.uint8)})


@pytest.mark.parametrize(("got", "failures", "warnings"), [(0x3C00, 0, 0), (0x3C01, 0, 1), (0x3C02, 1, 0)])
def test_only_forbidden_results_fail_and_unexpected_ones_are_counted_apart(got: int, failures: int, warnings: int) -> None:
    program, expected, before, outcome = quality_case(got)
    wrong = compare(program, expected, before, outcome)
    assert len(wrong) == failures
    assert all(mismatch.kind == "wrong value" for mismatch in wrong)
    if wrong:
        assert wrong[0].elements[0].others == (0x3C01,)
        return
    found = compare_quality(expected, before, outcome)
    assert [mismatch.kind for mismatch in found] == ["permitted, not expected"] * warnings
    for mismatch in found:
        assert (mismatch.requirement, mismatch.position) == ("KHR-MAD-04", "F-CM2-4")
        assert (mismatch.elements[0].expected_bits, mismatch.elements[0].got_bits) == (0x3C00, 0x3C01)


@pytest.mark.parametrize("dropped", [True, False])
def test_a_store_that_may_be_dropped_keeps_what_memory_held_and_is_told_apart(dropped: bool) -> None:
    program, expected, before, _ = quality_case(0)
    one = Exact(F16, np.array([[[0x3C00]]], np.uint16))
    expectation = Expectation(one, one, Authority("KHR-MEM-02", quality="F-CM2-4"), np.array([[[dropped]]]))
    expected = Expected((replace(expected.placed[0], expectation=expectation),))
    unchanged = Outcome({"d_out": before["d_out"].copy()})
    assert [mismatch.kind for mismatch in compare(program, expected, before, unchanged)] == ["not written"] * (not dropped)
    found = compare_quality(expected, before, unchanged)
    assert [(mismatch.kind, mismatch.position) for mismatch in found] == [("permitted, not expected", "F-CM2-4")] * dropped
    other = Outcome({"d_out": before["d_out"] ^ 1})
    assert [mismatch.kind for mismatch in compare(program, expected, before, other)] == ["wrong value"]
    assert compare(program, as_expected(expected), before, unchanged)


def test_poison_is_not_even_permitted() -> None:
    _, expected, before, _ = quality_case(0)
    assert not expected.placed[0].permitted.contains(before["d_out"].view(np.uint16)[None, None]).any()


def test_expected_results_are_permitted() -> None:
    one, two = (np.array([[[bits]]], np.uint16) for bits in (0x3C00, 0x4000))
    around = Interval(F16, one, np.full((1, 1, 1), 0.5), np.full((1, 1, 1), 1.5), np.ones((1, 1, 1)))
    Expectation(around, Exact(F16, one))
    Expectation(around, Interval(F16, one, around.low + 0.25, around.high, around.center))
    for permitted, wanted in (
        (Exact(F16, one), Exact(F16, two)),
        (around, Exact(F16, two)),
        (around, OneOf(F16, (one, two))),
        (OneOf(F16, (one, two)), around),
        (Interval(F16, one, around.low + 0.25, around.high, around.center), around),
        (Exact(F16, np.zeros((1, 1, 1), np.uint16)), Exact(F16, np.zeros((1, 1, 1), np.uint16), either_zero=True)),
        (Exact(U16, one), Exact(F16, one)),
    ):
        with breaks(Rule.EXPECTED_SET):
            Expectation(permitted, wanted)


@pytest.mark.parametrize("exact", [True, False])
@given(st.lists(st.tuples(st.integers(0, 127), st.sampled_from([0x7FC00000, 0x42280000, 0])), min_size=1, max_size=9))
@settings(max_examples=20)
def test_a_failure_comes_back_failure_of(exact: bool, changes: list[tuple[int, int]]) -> None:
    program, subcase = float_case(exact)
    expected, before, outcome = perfect(program, subcase)
    for place, bits in changes:
        outcome.outputs["d_out"].view(np.uint32)[place] = bits
    for mismatch in compare(program, expected, before, outcome):
        failure = Failure("s", mismatch, (Match("multiply_add.without_c", "d without C"),))
        record = failure_record(failure)
        back = failure_of(json.loads(json.dumps(record, allow_nan=False)))
        assert back == failure
        assert back.mismatch.matrix == mismatch.matrix
        assert failure_record(back) == record
