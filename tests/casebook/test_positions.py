"""Positions, and the families whose verdicts depend on them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from generators.casebook import load_casebook, load_positions
from generators.errors import CasebookError

Write = Callable[[str], Path]
CHECKOUT = Path(__file__).parents[2]

POSITIONS = """\
F-KHR-1:
  question: may a row be empty?
  position: it has one element at least
  because: nobody has another use for it
F-KHR-2:
  question: may a stride be negative?
  position: no
  because: it counts elements
"""


@pytest.fixture
def positions(root: Path) -> Path:
    path = root / "cases" / "positions.yaml"
    path.write_text(POSITIONS)
    return path


def test_a_position_has_what_its_file_says(positions: Path, root: Path) -> None:
    found = load_positions(root)
    assert list(found) == ["F-KHR-1", "F-KHR-2"]
    assert found["F-KHR-2"].position == "no"


def test_a_checkout_without_the_file_has_no_positions(root: Path) -> None:
    assert not load_positions(root)


def test_a_family_names_the_positions_that_it_rests_on(positions: Path, write: Write, text: str, root: Path) -> None:
    write(text.replace("plan: |", "positions: [F-KHR-2]\nplan: |"))
    book = load_casebook(root)
    assert book.family("toy").positions == ("F-KHR-2",)
    assert book.resting_on("F-KHR-2") == ("toy",)
    assert book.resting_on("F-KHR-1") == ()


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ("[F-KHR-3]", r"positions\[0\]: there is no position 'F-KHR-3'; expected an id from cases/positions.yaml"),
        ("[F-KHR-1, F-KHR-1]", r"positions\[1\]: duplicate position 'F-KHR-1'"),
        ("F-KHR-1", r"positions: expected a list of ids of positions"),
    ],
)
def test_a_wrong_id_is_named(positions: Path, write: Write, text: str, root: Path, listed: str, message: str) -> None:
    write(text.replace("plan: |", f"positions: {listed}\nplan: |"))
    with pytest.raises(CasebookError, match=message):
        load_casebook(root)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("F-KHR-1:", "KHR-1:", r"positions.yaml:1: KHR-1: 'KHR-1' is not the id of a position"),
        ("  because: it counts elements\n", "", r"F-KHR-2: key 'because' is missing"),
        ("position: no\n", "position:\n", r"F-KHR-2.position: expected one line"),
    ],
)
def test_a_wrong_file_is_named(positions: Path, root: Path, old: str, new: str, message: str) -> None:
    positions.write_text(POSITIONS.replace(old, new))
    with pytest.raises(CasebookError, match=message):
        load_positions(root)


def test_every_position_that_the_suite_cites_is_in_the_table() -> None:
    known = load_positions(CHECKOUT)
    files = [path for folder in ("cases", "cts", "generators", "docs") for path in (CHECKOUT / folder).rglob("*.*")]
    cited = {
        (id_, str(path.relative_to(CHECKOUT)))
        for path in files
        if path.suffix in (".py", ".yaml", ".md")
        for id_ in re.findall(r"\bF-[A-Z0-9]+-[0-9]+\b", path.read_text(encoding="utf-8"))
    }
    assert not {(id_, path) for id_, path in cited if id_ not in known}


def test_every_rule_that_the_suite_cites_is_among_the_facts() -> None:
    facts = set(re.findall(r"^\| ([CD][0-9.]+) \|", (CHECKOUT / "docs" / "facts.md").read_text(encoding="utf-8"), re.MULTILINE))
    files = [path for folder in ("cases", "cts", "generators", "docs") for path in (CHECKOUT / folder).rglob("*.*")]
    cited = {
        (id_, str(path.relative_to(CHECKOUT)))
        for path in files
        if path.suffix in (".py", ".yaml", ".md") and "requirements" not in path.parts
        for id_ in re.findall(r"(?:facts\.md |\((?=C[0-9]))([A-E](?:[0-9]{1,2}|\.[0-9]+)?)\b", path.read_text(encoding="utf-8"))
    }
    assert cited
    assert not {(id_, path) for id_, path in cited if id_ not in facts}
