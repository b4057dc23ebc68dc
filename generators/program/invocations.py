"""Code that each invocation runs for itself, with values and control flow of its own."""

from __future__ import annotations

from dataclasses import dataclass

from generators.program.operation import Operation


@dataclass(frozen=True)
class PerInvocation(Operation):
    """``body`` runs in each invocation of each scope instance, whose values it may read. What it computes differs from invocation to
    invocation, and so may its control flow; a later region has these values too.

    Attributes:
        size: invocations of a scope instance. The program's shape says so to the device: it requires the subgroup size.
        body: operations on scalars, on aggregates of scalars, and on memory.
    """

    size: int
    body: tuple[Operation, ...]
