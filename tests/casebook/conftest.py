"""A casebook of one family in its own folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import make_dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest

import generators.families.khr_cooperative_matrix as khr
import generators.families.nv_cooperative_matrix2 as nv
from generators.casebook import Family, load_family
from generators.casebook.builders import load_builder
from generators.parameters.declaration import parameter
from tests.suite import pin

FAMILY = """\
family: toy
specification: SPV_KHR_cooperative_matrix
builder: toy
covers: [KHR-A-01]
plan: |
  Rows of several lengths.
todo:
  - rows of no length
parameters:
  bytes: [1, 2, 4]
  columns: [8, 16, 32, 3]
  use: [a, b]
  stride: {tight: 0, padded: [16, 32]}
constraints:
  - predicate: short_row
    because: rows fit in 64 bytes
  - when: {use: [b]}
    require: {stride: [tight]}
    because: B is never padded
  - exclude: {bytes: [1], columns: [3]}
    because: three bytes are no row
  - predicate: even_pattern
    because: halves need an even number of columns
products:
  - name: lengths
    why: every length
    parameters: {bytes: all, columns: all, use: all}
    smoke: 1
    nightly: 2
  - name: strides
    why: strides of short rows
    parameters: {bytes: all, columns: [8, 3], stride: all}
    smoke: 0
    nightly: 1
subcases:
  pattern: [index, halves]
  seed: [0, 1]
"""

REQUIREMENTS = """\
specification: SPV_KHR_cooperative_matrix
requirements:
  KHR-A-01:
    text: a row has its length
    place: "3.1"
    test: [dynamic, static]
    validator: rejects a violation
    note: every length
  KHR-A-02:
    text: a row may be empty
    place: "3.1"
    test: [static]
  KHR-B-01:
    text: the length is uniform
    place: "3.2"
    test: [undefined]
    note: constants
  KHR-B-02:
    text: the order is free
    place: "3.2"
    test: [not_testable]
    note: any order conforms
"""

Write = Callable[[str], Path]


class Declare(Protocol):
    """Changes the declarations of the builder ``toy``."""

    def __call__(self, parameters: Mapping[str, Any], *, alone: bool = False) -> None:
        """Declare parameters of cases.

        Args:
            parameters: name -> type; they have no default.
            alone: whether cases and subcases have no other parameters; otherwise the builder keeps its own.
        """


@pytest.fixture(autouse=True)
def test_builders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the builders of this folder's tests available like the suite's."""
    for package in (khr, nv):
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(Path(__file__).parent / "builders")])


@pytest.fixture
def declare(monkeypatch: pytest.MonkeyPatch) -> Declare:
    """Return the object that changes the declarations of the builder ``toy``."""
    builder: Any = load_builder("toy", "khr_cooperative_matrix")

    def declare(parameters: Mapping[str, Any], *, alone: bool = False) -> None:
        fields = [(name, type_, parameter(name)) for name, type_ in parameters.items()]
        bases = () if alone else (builder.Parameters,)
        of_case = make_dataclass("Parameters", fields, bases=bases, frozen=True, kw_only=True)
        if not alone:
            of_subcase = make_dataclass("SubcaseParameters", [], bases=(of_case, builder.SubcaseParameters), frozen=True, kw_only=True)
            monkeypatch.setattr(builder, "SubcaseParameters", of_subcase)
        else:
            monkeypatch.delattr(builder, "SubcaseParameters", raising=False)
        monkeypatch.setattr(builder, "Parameters", of_case)

    return declare


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a checkout with requirements and no families."""
    folder = tmp_path / "cases" / "requirements"
    folder.mkdir(parents=True)
    (folder / "khr_cooperative_matrix.yaml").write_text(REQUIREMENTS)
    (tmp_path / "cases" / "khr_cooperative_matrix").mkdir()
    return tmp_path


@pytest.fixture
def write(root: Path) -> Write:
    """Return a function that writes the text of the family ``toy``."""

    def write(text: str) -> Path:
        path = root / "cases" / "khr_cooperative_matrix" / "toy.yaml"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def pinned(write: Write) -> Callable[[str], Family]:
    """Return a function that writes the text of the family ``toy``, pins its tiers and loads it."""
    return lambda text: pin(load_family(write(text)))


@pytest.fixture
def toy(pinned: Callable[[str], Family]) -> Family:
    return pinned(FAMILY)


@pytest.fixture
def text() -> str:
    """Return the YAML of the family ``toy``."""
    return FAMILY
