"""Memory that invocations hand to each other: barriers, and the effects of copies and of a dispatch's last workgroup."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.program.memory import Array
from generators.program.operation import Operation
from generators.program.stated import Effect
from generators.program.values import ScalarValue
from generators.types import MemoryScope

Handover = Literal["barrier", "access", "fences"]
"""What makes writes available and visible: the control barrier between, the accesses themselves, or a memory barrier on each side of a
control barrier that orders nothing by itself (Vulkan memory model)."""


@dataclass(frozen=True)
class Copied(Effect):
    """``target`` has every element of ``source`` (equal length and pointee). ``backwards``: element e of the target is element
    length - 1 - e of the source. All invocations of a workgroup execute the code."""

    target: Array
    source: Array
    backwards: bool = False


@dataclass(frozen=True)
class PartCopied(Effect):
    """In each subgroup that executes it, ``count`` elements of ``target`` from ``target_first`` on are the elements of ``source`` from
    ``source_first`` on (equal pointees). ``backwards``: the first element of the target is the last one of the source. The first elements
    are the same in a subgroup, whose invocations share out the elements."""

    target: Array
    target_first: ScalarValue
    source: Array
    source_first: ScalarValue
    count: int
    backwards: bool = False


@dataclass(frozen=True)
class Barrier(Operation):
    """OpControlBarrier at ``scope`` (Workgroup or Subgroup) with AcquireRelease semantics over WorkgroupMemory and UniformMemory.

    With the handover ``fences`` these semantics belong to an OpMemoryBarrier before it and another one after it.

    With the handover ``access`` the barrier makes nothing available or visible: the memory operands of all accesses to arrays that
    invocations share must do it.
    """

    scope: MemoryScope = MemoryScope.WORKGROUP
    handover: Handover = "barrier"


@dataclass(frozen=True)
class LastWorkgroupRan(Effect):
    """The last workgroup of the dispatch, whichever it is, has run ``body``, and what all others have written was known to it.

    Attributes:
        counter: a buffer of one u32 that starts with 0 (``inout``); it has the number of workgroups.
        body: does the same in each workgroup.
    """

    counter: Array
    body: tuple[Operation, ...]
