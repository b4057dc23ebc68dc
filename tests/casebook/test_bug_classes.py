"""Classes of bugs, and the families that show them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from generators.bug_classes import load_bug_classes
from generators.casebook import Family, load_casebook
from generators.errors import CasebookError
from tests.suite import casebook

Write = Callable[[str], Path]

CLASSES = """\
UNITS:
  bugs: 10
  drivers: 3
  what: strides are counted in the wrong unit
  families:
    toy: [stride, pattern]
HOLE:
  bugs: 11
  drivers: 0
  what: a test passes for nothing
  tests: [cases/bug_classes.yaml]
  note: mutants
"""


@pytest.fixture
def classes(root: Path, toy: Family) -> Path:
    path = root / "cases" / "bug_classes.yaml"
    path.write_text(CLASSES)
    # Without a tests folder, as in a wheel, the tests are not checked.
    (root / "tests").mkdir()
    return path


def test_a_class_has_what_its_file_says(classes: Path, root: Path) -> None:
    units, hole = load_bug_classes(load_casebook(root))
    assert (units.bugs, units.drivers, dict(units.families)) == (10, 3, {"toy": ("stride", "pattern")})
    assert (hole.tests, hole.note, dict(hole.families)) == (("cases/bug_classes.yaml",), "mutants", {})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("toy:", "game:", r"bug_classes.yaml:6: UNITS.families.game: there is no family 'game'; expected one of toy"),
        ("[stride, pattern]", "[stride, colour]", r"the family 'toy' has no parameter 'colour'; expected one of .*stride.*pattern"),
        ("cases/bug_classes.yaml", "tests/none.py", r"HOLE.tests\[0\]: there is no test 'tests/none.py'"),
        ("  tests: [cases/bug_classes.yaml]\n", "", r"HOLE: expected families that show it"),
        ("  tests: [cases/bug_classes.yaml]\n", "  specifications: [SPV_TOY]\n", r"unknown specification 'SPV_TOY'"),
        ("UNITS:", "units:", r"'units' cannot name a class"),
        ("bugs: 10", "bugs: many", r"UNITS.bugs: expected an integer"),
    ],
)
def test_what_does_not_exist_is_named(classes: Path, root: Path, old: str, new: str, message: str) -> None:
    classes.write_text(CLASSES.replace(old, new, 1))
    with pytest.raises(CasebookError, match=message):
        load_bug_classes(load_casebook(root))


def test_the_suite_has_every_class_by_rank_and_every_one_has_an_answer() -> None:
    found = load_bug_classes(casebook())
    assert len(found) == 25
    assert [bug.bugs for bug in found] == sorted((bug.bugs for bug in found), reverse=True)
    assert all(bug.drivers <= bug.bugs for bug in found)
    assert all(bug.note or bug.families for bug in found if bug.tests)


def test_every_family_is_there_because_of_some_class() -> None:
    book = casebook()
    assert set(book.families) == {family for bug in load_bug_classes(book) for family in bug.families}
