"""The results of programs that move matrices depend on each byte of input that is copied to them."""

from __future__ import annotations

import pytest

from cts.twins.needed import input_bytes, needed_bytes, only_moves
from generators.casebook import build, find_case
from tests.suite import casebook


def _needed(id_: str) -> tuple[int, list[int | None]]:
    built = build(find_case(casebook(), id_), is_placed=False)
    assert only_moves(built.program)
    return input_bytes(built.program), [needed_bytes(built.program, subcase) for subcase in built.subcases()]


@pytest.mark.parametrize(
    ("id_", "there", "needed"),
    [
        # A copy is judged beside its original, one part of which is replaced: four matrices and the replacement.
        ("aggregates[row:8x8x8.f16.f16.f32.f32/move:construct]", 5 * 256, 5 * 256),
        # A rotation replaces nothing.
        ("aggregates[row:8x8x8.f16.f16.f32.f32/storage:private/write:loop/read:loop/move:rotate]", 5 * 256, 4 * 256),
        ("aggregates[row:8x8x8.u8.u8.u32.u32/member:a/move:exchange]", 5 * 64, 4 * 64),
    ],
)
def test_bytes_that_are_copied_to_results_are_needed(id_: str, there: int, needed: int):
    assert _needed(id_) == (there, [needed])


def test_a_number_is_found_if_it_is_larger_and_its_search_ends_early_if_the_results_are_too_small():
    built = build(find_case(casebook(), "aggregates[row:8x8x8.f16.f16.f32.f32/move:construct]"), is_placed=False)
    (subcase,) = built.subcases()
    assert needed_bytes(built.program, subcase, more_than=5 * 256 - 1) == 5 * 256
    assert needed_bytes(built.program, subcase, more_than=1 << 20) is None


@pytest.mark.parametrize(
    "id_",
    [
        "control_flow_variables[row:8x8x8.f16.f16.f32.f32/form:swap]",
        "elements[row:8x8x8.f16.f16.f32.f32]",
        "robustness[component:f16/use:a/shape:8x8/access:load]",
    ],
)
def test_nothing_is_proved_of_programs_that_compute(id_: str):
    assert not only_moves(build(find_case(casebook(), id_)).program)
