"""The requirements that a case exercises."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from generators.casebook import Case, Family, expand, find_case, load_casebook, load_family
from generators.casebook.cases import full_rows
from generators.casebook.pinning import choose_tiers
from generators.coverage import Unmet, coverage
from generators.errors import CasebookError
from tests.casebook.conftest import Declare
from tests.suite import pin

Write = Callable[[str], Path]
PLAIN = "covers: [KHR-A-01]"


@dataclass(frozen=True)
class Rule:
    """A value that names its requirement."""

    requirement: str


def covering(write: Write, text: str, entry: str) -> Family:
    """Return the family ``toy`` with a second entry of ``covers``."""
    return load_family(write(text.replace(PLAIN, f"covers: [KHR-A-01, {entry}]")))


def exercising(family: Family, requirement: str, tier: str = "full") -> list[Case]:
    return [case for case in expand(family, tier) if requirement in case.requirements]


def test_a_plain_id_holds_for_every_case(toy: Family) -> None:
    assert {case.requirements for case in expand(toy, "full")} == {("KHR-A-01",)}


def test_an_entry_holds_for_the_cases_that_have_one_of_the_labels_on_every_parameter(write: Write, text: str) -> None:
    family = covering(write, text, "{id: KHR-A-02, when: {columns: [8, 3], use: b}}")
    for case in expand(family, "full"):
        held = case.values["columns"] in (8, 3) and case.values["use"] == "b"
        assert case.requirements == (("KHR-A-01", "KHR-A-02") if held else ("KHR-A-01",))
    assert exercising(family, "KHR-A-02")


def test_one_of_several_conditions_is_enough(write: Write, text: str) -> None:
    family = covering(write, text, "{id: KHR-A-02, when: [{columns: [8], use: b}, {stride: padded}]}")
    found = {case.labels for case in exercising(family, "KHR-A-02")}
    assert found == {case.labels for case in expand(family, "full") if case.labels[1:3] == ("8", "b") or case.labels[3] == "padded"}
    assert {labels[3] for labels in found} == {"tight", "padded"}


def test_a_predicate_and_conditions_hold_together(write: Write, text: str) -> None:
    alone = covering(write, text, "{id: KHR-A-02, predicate: small}")
    assert {case.values["bytes"] for case in exercising(alone, "KHR-A-02")} == {1, 2}
    both = covering(write, text, "{id: KHR-A-02, predicate: small, when: {use: a}}")
    assert {(case.values["bytes"], case.values["use"]) for case in exercising(both, "KHR-A-02")} == {(1, "a"), (2, "a")}


def test_a_case_exercises_what_one_of_its_subcases_does(write: Write, text: str) -> None:
    # Halves need an even number of columns
    family = covering(write, text, "{id: KHR-A-02, when: {pattern: halves, bytes: [1, 2]}}")
    assert {case.values["columns"] for case in expand(family, "full")} == {3, 8, 16, 32}
    assert {(case.values["bytes"], case.values["columns"] % 2) for case in exercising(family, "KHR-A-02")} == {(1, 0), (2, 0)}


ROWS = "use: {property_rows: true, values: [8x8x8.f16.f16.f32.f32, 8x8x8.s8.s8.s32.s32]}"


def test_a_predicate_judges_rows_that_a_device_adds_and_labels_do_not_name_them(write: Write, text: str) -> None:
    rows = text.replace("use: [a, b]", ROWS).replace("{use: [b]}", "{use: [8x8x8.s8.s8.s32.s32]}")
    entries = "{id: KHR-A-02, predicate: integers}, {id: KHR-B-01, when: {use: 8x8x8.s8.s8.s32.s32}}"
    family = pin(covering(write, rows, entries))
    new = "16x16x16.u8.u8.u32.u32"
    added = [case for case in expand(family, "nightly", [new]) if case.labels[2] == new]
    assert added
    assert {case.requirements for case in added} == {("KHR-A-01", "KHR-A-02")}


def test_a_case_found_by_its_id_says_the_same(write: Write, text: str, root: Path) -> None:
    covering(write, text, "{id: KHR-A-02, when: {use: b}}")
    book = load_casebook(root)
    assert find_case(book, "toy[bytes:2/columns:8/use:b/stride:tight]").requirements == ("KHR-A-01", "KHR-A-02")
    assert find_case(book, "toy[bytes:2/columns:8/use:a/stride:tight]").requirements == ("KHR-A-01",)


def test_a_parameter_may_name_the_requirement_of_each_value(write: Write, declare: Declare, text: str) -> None:
    declare({"use": Rule})
    rules = "use: {a: {requirement: KHR-A-02}, b: {requirement: KHR-A-01}, c: {requirement: KHR-A-02}}"
    family = load_family(write(text.replace(PLAIN, "covers: use").replace("use: [a, b]", rules)))
    wanted = {"a": ("KHR-A-02",), "b": ("KHR-A-01",), "c": ("KHR-A-02",)}
    assert all(case.requirements == wanted[case.labels[2]] for case in expand(family, "full"))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{id: KHR-A-02}", r"covers\[1\]: key 'when' or 'predicate' is missing; if the entry holds for every case, write only 'KHR-A-02'"),
        ("{when: {use: b}}", r"covers\[1\]: key 'id' is missing; expected id"),
        ("{id: KHR-A-99, when: {use: b}}", r"covers\[1\]\.id: there is no requirement 'KHR-A-99'; expected an id from cases/requirements"),
        ("{id: KHR-A-01, when: {use: b}}", r"covers\[1\]: duplicate requirement 'KHR-A-01'"),
        ("{id: KHR-A-02, where: {use: b}}", r"covers\[1\]\.where: unknown key; expected one of id, when, predicate"),
        ("{id: KHR-A-02, when: {uses: b}}", r"covers\[1\]\.when\.uses: there is no parameter 'uses'; expected one of bytes, columns"),
        ("{id: KHR-A-02, when: {use: c}}", r"covers\[1\]\.when\.use: parameter 'use' has no label 'c'; expected one of a, b"),
        ("{id: KHR-A-02, when: [{use: b}, {}]}", r"covers\[1\]\.when\[1\]: expected at least one parameter"),
        ("{id: KHR-A-02, when: []}", r"covers\[1\]\.when: expected at least one condition"),
        ("{id: KHR-A-02, predicate: large}", r"covers\[1\]\.predicate: the builder 'toy' has no predicate 'large'; it has short_row"),
    ],
)
def test_a_wrong_entry_names_line_key_and_what_was_expected(write: Write, text: str, entry: str, message: str) -> None:
    with pytest.raises(CasebookError, match=rf"toy\.yaml:4: {message}"):
        covering(write, text, entry)


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ("{a: {requirement: KHR-A-99}, b: {requirement: KHR-A-01}}", "'a' of parameter 'use': there is no requirement 'KHR-A-99'"),
        ("{a: {requirement: KHR-A-01}, b: 1}", "'b' of parameter 'use': the value has no key 'requirement'"),
    ],
)
def test_a_value_that_names_no_requirement_is_named(write: Write, declare: Declare, text: str, parameter: str, message: str) -> None:
    declare({"use": Rule | int})
    path = write(text.replace(PLAIN, "covers: use").replace("use: [a, b]", f"use: {parameter}"))
    with pytest.raises(CasebookError, match=rf":4: covers: {re.escape(message)}"):
        load_family(path)


@pytest.mark.parametrize(
    "when",
    ["{use: b, stride: padded}", "{bytes: 4, columns: 32}", "{columns: 3, pattern: halves}", "{stride: padded, columns: 16}"],
    ids=["excluded", "predicate", "subcases", "in no product"],
)
@pytest.mark.parametrize("cases", [choose_tiers, full_rows])
def test_a_condition_that_no_case_meets_is_an_error(write: Write, text: str, when: str, cases: Callable[[Family], object]) -> None:
    family = covering(write, text, f"{{id: KHR-A-02, when: {when}}}")
    with pytest.raises(CasebookError, match=r"toy\.yaml:4: covers\[1\]: no case of 'toy' exercises 'KHR-A-02': widen its 'when'"):
        cases(family)


def test_coverage_counts_the_cases_of_the_nightly_tier(write: Write, text: str, root: Path) -> None:
    family = pin(covering(write, text, "{id: KHR-A-02, when: {use: b}}"))
    entries = {entry.requirement.id: entry for entry in coverage(load_casebook(root)).requirements}
    assert entries["KHR-A-01"].cases == {"toy": len(expand(family, "nightly"))}
    assert entries["KHR-A-02"].cases == {"toy": len(exercising(family, "KHR-A-02", "nightly"))}
    assert entries["KHR-A-02"].families == ("toy",)


def test_a_requirement_that_only_the_full_tier_exercises_is_open_and_a_fault(write: Write, text: str, root: Path) -> None:
    pin(covering(write, text.replace("nightly: 1", "nightly: 0"), "{id: KHR-A-02, when: {stride: padded}}"))
    found = coverage(load_casebook(root))
    assert [entry.requirement.id for entry in found.open] == ["KHR-A-02"]
    assert found.unmet == (Unmet("toy", "KHR-A-02"),)
    assert "no case of the nightly tier of toy exercises KHR-A-02: add a product to that tier, or remove the claim" in found.faults


def test_coverage_of_a_specification_leaves_the_others_out(toy: Family, root: Path) -> None:
    assert coverage(load_casebook(root), "SPV_NV_cooperative_vector").requirements == ()
    assert len(coverage(load_casebook(root), "SPV_KHR_cooperative_matrix").requirements) == 4
