"""Finds the requirement that a failure breaks: of the defect that explains it, or of the operation whose result is wrong."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType

import cts.defects
from cts.verdict.failure import WHOLE, Match, Mismatch
from generators.document import read_document
from generators.program.program import Program
from generators.program.walking import flattened

FILE = Path(cts.defects.__file__).with_name("broken_requirements.yaml")

_MOVES = frozenset({"", "KHR-STORE-01", "CM2-ST-01", "CV-ST-01"})
"""The requirements of instructions that only move a value."""


@cache
def of_defects() -> Mapping[str, tuple[str, ...]]:
    """Return the requirements that a defect breaks, by the id of the defect or of its area."""
    document = read_document(FILE).entries()
    return MappingProxyType({id_: tuple(one.text("an id") for one in element.items("ids")) for id_, element in document.items()})


def broken_by(defect: str) -> tuple[str, ...]:
    """Return the requirements that the defect with this id breaks: its own, or those of its area."""
    known = of_defects()
    return known.get(defect) or known.get(defect.partition(".")[0], ())


def requirement(mismatch: Mismatch, matches: Sequence[Match], program: Program, exercised: Collection[str]) -> str:
    """Return the id of the requirement that a mismatch breaks; empty if none is known.

    A defect that explains the mismatch decides. Without one, the requirement of the expectation does, unless the stored value was only
    moved: then the last operation of the program that made a value does.

    Args:
        mismatch: wrong elements, or wrong bytes.
        matches: the defects that explain it.
        program: the program of the case.
        exercised: the requirements that the case exercises. No other is quoted in place of the expectation's.
    """
    candidates: list[str] = []
    for match in (one for one in matches if one.fit in WHOLE):
        candidates += broken_by(match.id)
    if not candidates and mismatch.matrix is not None and mismatch.requirement in _MOVES:
        for operation in reversed(list(flattened(program.operations))):
            candidates += operation.rests_on
    return next((id_ for id_ in candidates if id_ in exercised), mismatch.requirement)
