"""Data passed between invocations through memory: barriers, and the effects of copies, of tiles that a workgroup copies, and of a
dispatch's last workgroup."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.program.memory import Array
from generators.program.operation import Effect, Operation
from generators.program.values import ScalarValue
from generators.types import MemoryScope

Handover = Literal["barrier", "access", "fences"]
"""How writes become available and visible: by the control barrier between them, by the accesses themselves, or by a memory barrier on each
side of a control barrier that orders no memory (Vulkan memory model)."""


@dataclass(frozen=True)
class Copied(Effect):
    """``target`` gets every element of ``source`` (equal length and pointee). ``backwards``: element e of the target is element
    length - 1 - e of the source. All invocations of a workgroup execute the code."""

    target: Array
    source: Array
    backwards: bool = False


@dataclass(frozen=True)
class PartCopied(Effect):
    """In each subgroup that executes it, ``count`` elements of ``target``, starting at ``target_first``, become the elements of ``source``
    starting at ``source_first`` (equal pointees). ``backwards``: the first element of the target is the last one of the source. The first
    elements are uniform in a subgroup, whose invocations divide the elements among them."""

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

    With the handover ``access``, the barrier makes no writes available or visible: the memory operands of all accesses to shared arrays
    must do so.
    """

    scope: MemoryScope = MemoryScope.WORKGROUP
    handover: Handover = "barrier"


@dataclass(frozen=True)
class LastWorkgroupRan(Effect):
    """The last workgroup of the dispatch, whichever it is, has run ``body`` and has seen all writes of the other workgroups.

    Attributes:
        counter: a buffer of one u32 that starts at 0 (``inout``) and ends as the number of workgroups.
        body: has the same effect in each workgroup.
    """

    counter: Array
    body: tuple[Operation, ...]


@dataclass(frozen=True)
class NothingStale(Effect):
    """Every component of ``counts``, arrays of scalars, is 0, and all other arrays are as before: whatever the order of the workgroups,
    which pass data on in turn, none of them has read old data, and the last one has restored the arrays."""

    counts: tuple[Array, ...]


@dataclass(frozen=True)
class Window:
    """The place of a tile in an array of lines.

    Attributes:
        array: an array of scalars.
        stride: elements from one line to the next, u32.
        row, column: the position of the tile's first element, u32.
        limits: number of existing rows and columns, u32; None if the whole tile exists.
    """

    array: Array
    stride: ScalarValue
    row: ScalarValue
    column: ScalarValue
    limits: tuple[ScalarValue, ScalarValue] | None = None


@dataclass(frozen=True)
class TileCopied(Effect):
    """The target has ``rows`` x ``columns`` elements of the source. Elements beyond the source's limits are zero; those beyond the target's
    are not written. ``transposed``: element (r, c) of the source is (c, r) of the target. All numbers are uniform over the workgroup, and
    all of its invocations execute the code."""

    target: Window
    source: Window
    rows: int
    columns: int
    transposed: bool = False
