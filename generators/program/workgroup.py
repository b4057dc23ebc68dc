"""Memory that invocations hand to each other: cooperative copies, barriers, and the last workgroup of a dispatch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.program.memory import Array
from generators.program.operation import Operation
from generators.program.values import Extent, Scalar
from generators.types import MemoryScope

Handover = Literal["barrier", "access"]
"""What makes writes available and visible: the barrier between, or the accesses themselves (Vulkan memory model)."""


@dataclass(frozen=True)
class Copy(Operation):
    """All invocations of the workgroup copy ``source`` to ``target`` element by element (equal length and pointee): invocation i takes
    elements i, i + size, i + 2 * size … of the workgroup's ``size`` invocations. ``backwards``: element e of the target is element
    length - 1 - e of the source, so that another invocation reads an element than wrote it."""

    target: Array
    source: Array
    backwards: bool = False

    @property
    def length(self) -> Extent:
        """The number of elements: where one of the arrays has it from a specialization constant, that."""
        return self.target.length if isinstance(self.source.length, int) else self.source.length


@dataclass(frozen=True)
class Barrier(Operation):
    """OpControlBarrier at ``scope`` (Workgroup or Subgroup) with AcquireRelease semantics over WorkgroupMemory and UniformMemory.

    With the handover ``access`` the barrier makes nothing available or visible: the memory operands of all accesses to arrays that
    invocations share must do it.
    """

    scope: MemoryScope = MemoryScope.WORKGROUP
    handover: Handover = "barrier"


@dataclass(frozen=True)
class LastWorkgroup(Operation):
    """The workgroup that arrives last runs ``body``: what all others have written is known to it.

    One invocation of each workgroup adds 1 to element 0 of ``counter`` (a buffer of u32 that starts with 0) by an atomic of queue
    family scope with AcquireRelease semantics, between two barriers of the workgroup. Which workgroup is last is unknown, so that the
    body must do the same in each.

    Attributes:
        counter: u32, ``inout``; holds the number of workgroups afterwards.
        arrival: a u32 in workgroup memory, through which the invocations learn what the atomic gave.
        index: number of the scope instance inside its workgroup, known in the body.
    """

    counter: Array
    arrival: Array
    index: Scalar
    body: tuple[Operation, ...]
