"""Code that each invocation runs for itself, with its own values and control flow."""

from __future__ import annotations

from dataclasses import dataclass

from generators.program.operation import Operation


@dataclass(frozen=True)
class PerInvocation(Operation):
    """``body`` runs in each invocation of each scope instance, and may read the instance's values. Its results differ between invocations,
    and its control flow may differ; later regions can use these values too.

    Attributes:
        size: number of invocations in a scope instance. The program's shape must require this subgroup size.
        body: operations on scalars, on aggregates of scalars, and on memory.
    """

    size: int
    body: tuple[Operation, ...]
