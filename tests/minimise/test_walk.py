"""The walk from a failing case to the smallest case that fails in the same way, on devices that are functions of a case."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from cts.minimise.ending import Ending
from cts.minimise.labels import replaced, simplest_first
from cts.minimise.search import Budget
from cts.minimise.walk import Part, Smallest, Walk
from cts.verdict.verdict import Verdict
from generators.casebook import Case, find_case
from tests.suite import casebook

PASS = Ending(Verdict.PASS, "pass")
WRONG = Ending(Verdict.FAIL, "fail.value", frozenset({"multiply_add.c_overwritten"}))
OTHER_DEFECT = Ending(Verdict.FAIL, "fail.value", frozenset({"layout.transposed"}))
CRASH = Ending(Verdict.CRASH, "crash.pipeline")

FIRST = "muladd[row:16x16x32.u8.u8.u32.u32/data:wrap/form:reuse/layouts:cccc/storage:workgroup/subgroups:2]"


def case(id_: str) -> Case:
    return find_case(casebook(), id_)


def walked(first: str, end: Callable[[dict[str, str]], Ending], runs: int = 300) -> tuple[Smallest, list[str]]:
    """Return the result of a walk in which ``end`` decides each case's outcome from its labels, and the ids of the cases that were run."""
    seen: list[str] = []

    def judge(one: Case) -> Ending:
        seen.append(one.id)
        return end(one.named)

    start = case(first)
    return Walk(judge, Budget(runs, 1e9), lambda *_: None).smallest(start, end(start.named)), seen


def reuse_fails(labels: dict[str, str]) -> Ending:
    return WRONG if labels["form"] == "reuse" else PASS


def part_of(found: Smallest, name: str) -> Part:
    return next(finding.part for finding in found.findings if finding.name == name)


def test_irrelevant_parameters_get_their_defaults_and_relevant_ones_stay():
    found, _ = walked(FIRST, reuse_fails)
    labels = found.case.named
    assert labels["form"] == "reuse"
    assert labels["storage"] == "storage_buffer"
    assert "layouts" not in found.case.id
    assert "subgroups" not in found.case.id


def test_sizes_go_down_among_rows_of_the_same_types():
    found, _ = walked(FIRST, reuse_fails)
    sizes, types = found.case.named["row"].split(".", 1)
    assert types == "u8.u8.u32.u32"
    assert sizes != "16x16x32"


def test_it_says_which_parameters_matter():
    found, _ = walked(FIRST, reuse_fails)
    assert part_of(found, "form") is Part.MATTERS
    assert part_of(found, "layouts") is Part.INDIFFERENT


def test_another_defect_is_another_failure():
    found, _ = walked(FIRST, lambda labels: WRONG if labels.get("layouts") == "cccc" and labels["form"] == "reuse" else OTHER_DEFECT)
    assert found.case.named["layouts"] == "cccc"


def test_a_crash_is_minimised_like_a_wrong_value():
    found, _ = walked(FIRST, lambda labels: CRASH if labels["storage"] == "workgroup" else PASS)
    assert found.ending == CRASH
    assert found.case.named["storage"] == "workgroup"
    assert part_of(found, "storage") is Part.MATTERS


def test_a_label_that_the_device_does_not_support_says_nothing():
    lacking = Ending(Verdict.NOT_SUPPORTED, "missing.row.muladd")
    found, _ = walked(FIRST, lambda labels: WRONG if labels["row"] == "16x16x32.u8.u8.u32.u32" else lacking)
    assert part_of(found, "row") is Part.UNKNOWN


def test_no_case_is_run_twice():
    _, seen = walked(FIRST, reuse_fails)
    assert len(seen) == len(set(seen))
    assert FIRST not in seen


@pytest.mark.parametrize("runs", [0, 1, 5, 20])
def test_it_ends_when_the_runs_are_used_up_and_keeps_what_it_has(runs):
    found, seen = walked(FIRST, reuse_fails, runs)
    assert len(seen) == runs
    assert not found.complete
    assert found.ending == WRONG
    assert found.case.named["form"] == "reuse"


def test_it_ends_when_the_seconds_are_over():
    now = iter(range(1000))
    start = case(FIRST)
    found = Walk(lambda one: reuse_fails(one.named), Budget(1000, 10, clock=lambda: next(now)), lambda *_: None).smallest(start, WRONG)
    assert not found.complete


def test_the_default_is_the_simplest_label_and_then_the_smallest():
    family = casebook().family("muladd")
    by_name = {parameter.name: parameter for parameter in family.parameters}
    assert simplest_first(by_name["layouts"], "cccc")[0] == by_name["layouts"].default
    rows = simplest_first(by_name["row"], "16x16x32.u8.u8.u32.u32")
    alike = [label for label in rows if label.endswith(".u8.u8.u32.u32")]
    assert rows[: len(alike)] == alike
    volumes = [math.prod(map(int, label.split(".")[0].split("x"))) for label in alike]
    assert volumes == sorted(volumes)


def test_a_smaller_matrix_is_simpler_than_the_default():
    shape = next(parameter for parameter in casebook().family("per_element").parameters if parameter.name == "shape")
    assert shape.default == "16x16"
    assert simplest_first(shape, "16x16").index("8x8") < simplest_first(shape, "16x16").index("16x16")


def test_a_row_that_only_the_device_has_is_also_walked():
    found, _ = walked("muladd[row:24x24x24.f16.f16.f32.f32/data:exact/form:reuse]", reuse_fails)
    assert found.case.named["row"] != "24x24x24.f16.f16.f32.f32"


def test_a_parameter_that_no_longer_applies_gets_its_default():
    first = case("muladd[row:8x8x8.f16.f16.f32.f32/data:exact/form:loop/trips:0]")
    number = [parameter.name for parameter in first.definition.parameters].index("form")
    other = replaced(first, number, "reuse")
    assert other is not None
    assert "trips" not in other.named


def test_cases_that_the_family_forbids_are_not_run():
    family = casebook().family("muladd")
    _, seen = walked(FIRST, reuse_fails)
    for id_ in seen:
        assert case(id_).family == family.name
