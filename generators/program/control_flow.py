"""Loops that carry matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from generators.program.values import Matrix, Operand, Scalar

if TYPE_CHECKING:
    from generators.program.program import Operation


@dataclass(frozen=True)
class Carried:
    """A matrix that a loop carries: ``initial`` before the first iteration, ``current`` inside the body, ``next`` computed by the
    body; after the loop ``current`` has the final value (of zero iterations: ``initial``)."""

    initial: Matrix
    current: Matrix
    next: Matrix


@dataclass(frozen=True)
class Loop:
    """``body`` runs ``trip_count`` (u32) times; ``index`` (u32) counts from 0. The trip count is uniform over the workgroup."""

    index: Scalar
    trip_count: Operand
    carried: tuple[Carried, ...]
    body: tuple[Operation, ...]
