"""All known defects of a program: each module of this package says which mistakes it knows, and in which operations."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import UnionType
from typing import get_args

import cts.defects
from cts.defects.defect import Defect
from cts.defects.glossary import glossary
from generators.program.operation import Operation
from generators.program.program import Program
from generators.program.walking import flattened

Finder = Callable[[Program], Iterator[Defect]]
"""Yields the defects of one kind that a program can have."""


@dataclass(frozen=True)
class Finding:
    """A finder, and what it is for.

    Attributes:
        area: the area of the glossary that has its defects, or the first of them.
        kinds: the classes of operations that can have the mistakes; a program without them has no such defect.
    """

    area: str
    kinds: tuple[type[Operation], ...]
    finder: Finder


_FINDINGS: list[Finding] = []


def defects_of(area: str, *kinds: type[Operation] | UnionType) -> Callable[[Finder], Finder]:
    """Return a decorator that registers a finder; ``area`` and ``kinds`` as in ``Finding``."""
    classes = tuple(kind for one in kinds for kind in get_args(one) or (one,))

    def register(finder: Finder) -> Finder:
        _FINDINGS.append(Finding(area, classes, finder))
        return finder

    return register


@cache
def findings() -> tuple[Finding, ...]:
    """Return all finders in the order of the glossary's areas; those of one area are in the order of their modules."""
    for module in pkgutil.iter_modules(cts.defects.__path__, f"{cts.defects.__name__}."):
        import_module(module.name)
    places = {area: place for place, area in enumerate(glossary().areas)}
    return tuple(sorted(_FINDINGS, key=lambda one: (places[one.area], one.finder.__module__)))


def known_defects(program: Program) -> Iterator[Defect]:
    """Yield every defect that the diagnosis knows for ``program``, in the order in which it tries them."""
    for finder in _finders(frozenset(map(type, flattened(program.operations, effects=True)))):
        yield from finder(program)


@cache
def _finders(kinds: frozenset[type[Operation]]) -> tuple[Finder, ...]:
    """Return the finders of the defects of programs with operations of these classes."""
    return tuple(finding.finder for finding in findings() if any(issubclass(kind, finding.kinds) for kind in kinds))
