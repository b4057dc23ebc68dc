"""Workgroup memory: cooperative copies and the barrier between them and matrix accesses."""

from __future__ import annotations

from dataclasses import dataclass

from generators.program.memory import Array
from generators.program.values import Extent


@dataclass(frozen=True)
class Copy:
    """All invocations of the workgroup copy ``source`` to ``target`` element by element (equal length and pointee): invocation i takes
    elements i, i + size, i + 2 * size … of the workgroup's ``size`` invocations."""

    target: Array
    source: Array

    @property
    def length(self) -> Extent:
        """The number of elements: where one of the arrays has it from a specialization constant, that."""
        return self.target.length if isinstance(self.source.length, int) else self.source.length


@dataclass(frozen=True)
class Barrier:
    """OpControlBarrier at Workgroup scope with AcquireRelease semantics over WorkgroupMemory and UniformMemory."""
