"""The cases whose modules the text may forbid."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from generators.casebook import Family, expand, load_family
from generators.casebook.cases import full_rows
from generators.casebook.positions import Position
from generators.errors import CasebookError
from tests.suite import casebook

Write = Callable[[str], Path]


POSITIONS = {"F-A-1": Position("F-A-1", "may rows be empty?", "yes", "no sentence forbids it")}


def disputing(write: Write, text: str, entry: str) -> Family:
    """Return the family ``toy`` with the key ``disputed``."""
    path = write(text.replace("covers: [KHR-A-01]", f"covers: [KHR-A-01]\ndisputed: [{entry}]"))
    return load_family(path, positions=POSITIONS)


def test_a_family_disputes_nothing_unless_it_says_so(text: str, write: Write) -> None:
    assert {case.disputed for case in expand(load_family(write(text)), "full")} == {()}


def test_an_entry_disputes_the_cases_that_meet_its_condition(text: str, write: Write) -> None:
    cases = expand(disputing(write, text, "{id: F-A-1, when: {use: b}}"), "full")
    assert {(case.values["use"], case.disputed) for case in cases} == {("a", ()), ("b", ("F-A-1",))}


def test_an_entry_names_a_position(text: str, write: Write) -> None:
    with pytest.raises(CasebookError, match=re.escape("there is no position 'KHR-A-01'; expected an id from cases/positions.yaml")):
        disputing(write, text, "KHR-A-01")


def test_an_entry_without_a_case_is_an_error(text: str, write: Write) -> None:
    family = disputing(write, text.replace("use: all", "use: [a]"), "{id: F-A-1, when: {use: b, columns: [8]}}")
    with pytest.raises(CasebookError, match="no case of 'toy'"):
        full_rows(family)


@pytest.mark.parametrize(
    ("family", "labels", "position"),
    [
        ("elementwise", "component:s32/operation:times_scalar", "F-KHR-31"),
        ("load_store", "component:s32/load:column/load_storage:physical_storage_buffer/load_stride:large/integer:u64", "F-KHR-30"),
    ],
)
def test_integer_products_with_scalars_and_wide_strides_are_disputed(family: str, labels: str, position: str) -> None:
    disputed = {case.id: case.disputed for case in expand(casebook().family(family), "smoke")}
    assert disputed[f"{family}[{labels}]"] == (position,)
