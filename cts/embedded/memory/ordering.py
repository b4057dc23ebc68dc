"""The order of accesses in a dispatch: barriers, and the records that show races.

An access leaves a record (one int64) at each byte that it touches: who, when, and how. Two accesses of a byte race if at least one of
them writes, unless the same invocation makes both, or a barrier that covers both orders them (Vulkan memory model). Unspecified invocations
of its scope read and write a cooperative matrix (facts.md D.5), so only a barrier orders a matrix access with any other access.

Two atomics of queue family or device scope order accesses of different workgroups. The first one releases the accesses of its invocation,
and the accesses of its workgroup before a barrier. The second one acquires from it or from its release sequence, for its invocation, and
for its workgroup after a barrier. Relaxed atomics do the same with a memory barrier before the first and after the second. Either the
access itself makes a write available or visible, or the atomic together with the barrier does.

A record has, from bit 0: invocation + 1, or 0 for a matrix access (11 bits); private (1); how far it was made available (2);
subgroup + 1, or 0 for an access of a whole workgroup (10); the serial number of the period between two barriers.
"""

from __future__ import annotations

import enum
import mmap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np

Location = tuple[str, int]
"""A buffer's name and a byte offset in it."""

MemoryKind = Literal["workgroup", "buffer", "image"]

_STORAGE: Mapping[MemoryKind, str] = MappingProxyType({"workgroup": "workgroup memory", "buffer": "buffers", "image": "images"})
_LANE = 0x7FF
_PRIVATE = 1 << 11
_REACH_SHIFT = 12
_REACH = 0x3
_GROUP_SHIFT = 14
_GROUP = 0x3FF
_SERIAL_SHIFT = 24
_NEVER = np.int64(1) << 40

MAX_INVOCATIONS = _LANE - 1


_LARGE = 1 << 16
"""Number of records from which memory comes from the operating system: its pages are zero, and cost nothing until they are used."""


def no_records(count: int) -> np.ndarray:
    """Return the records of ``count`` bytes that nothing has accessed, int64. Most bytes of a large buffer are never accessed."""
    return np.zeros(count, np.int64) if count < _LARGE else np.frombuffer(mmap.mmap(-1, 8 * count), np.int64)


class Reach(enum.IntEnum):
    """The scope of an availability or visibility operation."""

    NONE = 0
    SUBGROUP = 1
    WORKGROUP = 2
    BEYOND = 3
    """Queue family or device."""


@dataclass(frozen=True)
class Manner:
    """How an instruction accesses memory.

    Attributes:
        private: whether it takes no part in ordering between invocations: under the Vulkan memory model, without NonPrivatePointer.
        available: how far a write is made available (MakePointerAvailable).
        visible: how far a read is made visible (MakePointerVisible).
    """

    private: bool = False
    available: Reach = Reach.NONE
    visible: Reach = Reach.NONE


SHARED = Manner(available=Reach.BEYOND, visible=Reach.BEYOND)
"""The manner of atomics, and of accesses under a memory model without private accesses."""


class _Span(NamedTuple):
    """Accesses that an atomic released.

    Attributes:
        start, end: the first serial number, and the one after the last.
        lane: the invocation that made them, + 1; 0 for the whole workgroup.
        available: writes with lower serial numbers are available beyond the workgroup; 0 if only writes that make themselves available are.
        beyond: whether the atomic makes writes that are available in the workgroup available beyond it.
        visible: whether the accesses were made visible to the invocations that know the span.
    """

    start: int
    end: int
    lane: int
    available: int
    beyond: bool
    visible: bool = False


_Spans = dict[_Span, None]


@dataclass(frozen=True)
class _Released:
    """The accesses that a memory barrier released: accesses to ``kinds`` of memory, with serial numbers below ``serial``.

    Attributes:
        available: whether the barrier made writes available.
        visible: whether it would make writes visible to accesses after a control barrier.
        subgroups: the subgroups that it reaches, each by itself; None for the whole workgroup. A control barrier narrows them.
    """

    kinds: tuple[MemoryKind, ...]
    serial: int
    available: bool
    visible: bool
    subgroups: np.ndarray | None


def _reached(one: np.ndarray | None, other: np.ndarray | None) -> np.ndarray | None:
    """Return the subgroups that both of two barriers reach; None for all."""
    if one is None or other is None:
        return other if one is None else one
    return np.intersect1d(one, other)


class _Floors:
    """For each subgroup + 1, the serial number of the last barrier. Index 0 is for accesses of different subgroups."""

    def __init__(self, numbers: np.ndarray) -> None:
        self.all = numbers
        self.order, self.available, self.visible = numbers


@lru_cache(maxsize=64)
def _identities(lanes: int, subgroup_size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return arrays with an element for each invocation: its number + 1, its subgroup's number + 1, and both as a record packs them.

    All dispatches of the same size share these arrays, so do not write to them.
    """
    lane = np.arange(1, lanes + 1, dtype=np.int64)
    group = np.arange(lanes, dtype=np.int64) // subgroup_size + 1
    return lane, group, lane | group << _GROUP_SHIFT


class Clock:
    """The time in a dispatch, counted in barriers."""

    def __init__(self, subgroups: int, subgroup_size: int, lanes: int) -> None:
        self.serial = 1
        self.start = 1
        self._lane, self._lane_group, self._identity = _identities(lanes, subgroup_size)
        self._floor_numbers = np.zeros((3, 3, subgroups + 1), np.int64)
        workgroup, buffer, image = map(_Floors, self._floor_numbers)
        self._floors: dict[MemoryKind, _Floors] = {"workgroup": workgroup, "buffer": buffer, "image": image}
        self._released: dict[Location, _Spans] = {}
        self._acquired: _Spans = {}
        self._acquired_by: dict[int, _Spans] = {}
        self._fences: list[_Released] = []
        self._awaited: list[_Released] = []
        self._noticed_by: dict[int, _Spans] = {}
        self._fenced = np.zeros((3, lanes), np.int64)
        self._fenced_together = (0, False)
        self.begin_workgroup()

    @property
    def has_acquired(self) -> bool:
        """Whether an invocation of the workgroup has acquired accesses of another workgroup."""
        return bool(self._acquired or self._acquired_by)

    def begin_dispatch(self) -> None:
        """Begin another dispatch, in which nothing has been released yet. A workgroup must begin next."""
        self.serial = 1
        self._released = {}

    def begin_workgroup(self) -> None:
        """Begin another workgroup, which no barrier orders with the earlier ones."""
        self.serial += 1
        self.start = self.serial
        self._floor_numbers[:] = 0
        self._acquired = {}
        self._acquired_by = {}
        self._fences, self._awaited = [], []
        self._noticed_by = {}
        self._fenced[:] = 0
        self._fenced_together = (0, False)

    def fence_beyond(self, lanes: np.ndarray, releases: bool, acquires: bool, makes_available: bool, makes_visible: bool) -> None:
        """Note a memory barrier of device or queue family scope that ``lanes`` execute, which covers buffers.

        Atomics after the barrier release the accesses before it. The barrier acquires the accesses that atomics before it noticed.
        """
        if acquires:
            for lane in self._noticed_by.keys() & set(lanes.tolist()):
                self._acquired_by.setdefault(lane, {}).update(
                    dict.fromkeys(span._replace(visible=makes_visible) for span in self._noticed_by[lane])
                )
        if releases:
            self.serial += 1
            self._fenced[:, lanes] = np.array([[self.serial], [self._floors["buffer"].order[0]], [makes_available]])

    def pass_on(self, location: Location, lane: int) -> None:
        """Note that an invocation writes with an atomic, which releases the accesses before an earlier memory barrier."""
        end, before, available = self._fenced[:, lane].tolist()
        spans: _Spans = {}
        if end:
            spans[_Span(self.start, end, lane + 1, end if available else 0, bool(available))] = None
            spans[_Span(self.start, before, 0, before if available else 0, bool(available))] = None
        together, available = self._fenced_together
        if together:
            spans[_Span(self.start, together, 0, together if available else 0, bool(available))] = None
        if spans:
            known = dict.fromkeys(span._replace(visible=False) for span in (*self._acquired, *self._acquired_by.get(lane, ())))
            self._released[location] = self._released.get(location, {}) | spans | known

    def notice(self, location: Location, lane: int) -> None:
        """Note that an invocation reads with an atomic. A later memory barrier acquires the accesses released at that location."""
        found = self._released.get(location)
        if found:
            self._noticed_by.setdefault(lane, {}).update(found)

    def _gather_fences(self) -> None:
        """Note that all invocations meet. From then on, each passes on the accesses that any of them released with a memory barrier."""
        ends = self._fenced[0]
        if ends.all():
            self._fenced_together = int(ends.min()), bool(self._fenced[2].all())

    def release(self, location: Location, lane: int, available: bool) -> None:
        """Note that an invocation releases the accesses that are ordered before an atomic.

        These are its own accesses, its workgroup's accesses before the last barrier, and the accesses of other workgroups that it acquired.
        ``available``: whether the atomic makes writes available.
        """
        floors = self._floors["buffer"]
        workgroup = _Span(self.start, int(floors.order[0]), 0, int(floors.available[0]) if available else 0, available)
        own = _Span(self.start, self.serial + 1, lane + 1, self.serial + 1 if available else 0, available)
        known = dict.fromkeys(span._replace(visible=False) for span in (*self._acquired, *self._acquired_by.get(lane, ())))
        self._released[location] = self._released.get(location, {}) | {workgroup: None, own: None} | known
        # Later accesses are not released.
        self.serial += 1

    def end_release(self, location: Location) -> None:
        """Note that an atomic store ends the release sequences at a location."""
        self._released.pop(location, None)

    def acquire(self, location: Location, lane: int, visible: bool) -> None:
        """Note that an invocation acquires, with an atomic, the accesses released at a location.

        The next barrier passes them to its workgroup.

        ``visible``: whether the atomic makes writes visible.
        """
        found = dict.fromkeys(span._replace(visible=visible) for span in self._released.get(location, ()))
        self._acquired_by.setdefault(lane, {}).update(found)

    def fence(self, kinds: tuple[MemoryKind, ...], makes_available: bool, makes_visible: bool, subgroups: np.ndarray | None) -> None:
        """Note a memory barrier. It acquires from memory barriers before the last control barrier, and releases earlier accesses.

        ``subgroups``: the subgroups that execute it, if it reaches no others; None if the whole workgroup executes it and it reaches all.
        """
        for awaited in self._awaited:
            common = tuple(kind for kind in awaited.kinds if kind in kinds)
            self._order(common, awaited.serial, awaited.available, makes_visible, _reached(awaited.subgroups, subgroups))
        self.serial += 1
        self._fences.append(_Released(kinds, self.serial, makes_available, makes_visible, subgroups))

    def meet(self, subgroups: np.ndarray | None = None) -> None:
        """Note a control barrier without semantics. A memory barrier after it acquires from memory barriers before it."""
        self.serial += 1
        if subgroups is None:
            self._gather_fences()
        self._awaited = [replace(fence, subgroups=_reached(fence.subgroups, subgroups)) for fence in self._fences]
        self._fences = []

    def barrier(
        self, kinds: tuple[MemoryKind, ...], makes_available: bool, makes_visible: bool, subgroups: np.ndarray | None = None
    ) -> None:
        """Order earlier accesses before later ones: of all invocations, or within each of ``subgroups`` if only they execute it.

        It also orders the accesses that an earlier memory barrier released, as GLSL programs expect of a memory barrier and ``barrier()``.
        """
        self.serial += 1
        if subgroups is None:
            self._gather_fences()
        fences, self._fences, self._awaited = self._fences, [], []
        self._order(kinds, self.serial, makes_available, makes_visible, subgroups)
        for fence in fences:
            every = tuple(dict.fromkeys(kinds + fence.kinds))
            visible = makes_visible or fence.visible
            self._order(every, fence.serial, makes_available or fence.available, visible, _reached(fence.subgroups, subgroups))

    def _order(
        self, kinds: tuple[MemoryKind, ...], serial: int, makes_available: bool, makes_visible: bool, subgroups: np.ndarray | None
    ) -> None:
        """Order accesses with serial numbers below ``serial`` before all later ones."""
        if "buffer" in kinds and subgroups is None:
            for spans in self._acquired_by.values():
                self._acquired |= dict.fromkeys(span._replace(visible=span.visible and makes_visible) for span in spans)
        groups: slice | np.ndarray = slice(None) if subgroups is None else subgroups + 1
        for kind in kinds:
            floors = self._floors[kind]
            raised = [floors.order]
            if makes_available:
                raised.append(floors.available)
            if makes_visible:
                raised.append(floors.visible)
            for floor in raised:
                floor[groups] = np.maximum(floor[groups], serial)

    @contextmanager
    def on_behalf_of(self, groups: np.ndarray) -> Iterator[None]:
        """Replace the lanes by ``groups.size`` others within the block.

        An unspecified invocation runs each lane: one of subgroup ``groups`` - 1, or any of the workgroup if ``groups`` is 0.
        """
        own = self._identity, self._lane_group
        self._identity, self._lane_group = groups.astype(np.int64) << _GROUP_SHIFT, groups
        try:
            yield
        finally:
            self._identity, self._lane_group = own

    def lanes(self, manner: Manner) -> np.ndarray:
        """Return the record of an access by each invocation, shape (invocations,)."""
        return self._identity | self._mark(manner)

    def together(self, mask: np.ndarray, manner: Manner) -> int:
        """Return the record of one access that all invocations of ``mask`` make to the same bytes."""
        lanes = np.flatnonzero(mask)
        identity = int(self._identity[lanes[0]])
        if lanes.size > 1:
            identity &= ~_LANE
            if self._lane_group[lanes[0]] != self._lane_group[lanes[-1]]:
                identity = 0
        return identity | self._mark(manner)

    def anonymous(self, records: np.ndarray) -> np.ndarray:
        """Return records that name no invocation, so any write conflicts."""
        result: np.ndarray = records & ~np.int64(_LANE | _GROUP << _GROUP_SHIFT)
        return result

    def matrix(self, instances: int, manner: Manner, whole_workgroup: bool) -> np.ndarray:
        """Return the record of a matrix access by each scope instance, shape (instances,)."""
        group = np.zeros(1, np.int64) if whole_workgroup else np.arange(1, instances + 1, dtype=np.int64)
        return group << _GROUP_SHIFT | self._mark(manner)

    def _mark(self, manner: Manner) -> int:
        return self.serial << _SERIAL_SHIFT | (_PRIVATE if manner.private else 0) | manner.available << _REACH_SHIFT

    def shared(self, before: np.ndarray, now: np.ndarray | int, kind: MemoryKind) -> np.ndarray | int:
        """Merge records of reads ``now`` into the earlier reads' records. If both count, they name no invocation: any write conflicts.

        One record is returned if all of ``before`` are equal and ``now`` is a single one."""
        if not isinstance(now, np.ndarray) and not np.count_nonzero(before != before.flat[0]):
            return self._shared_by_all(int(before.flat[0]), int(now), kind)
        serial = before >> _SERIAL_SHIFT
        current = ((serial >= self._floors[kind].order[0]) & (serial >= self.start)) | ((before & _PRIVATE) != 0)
        other = (before != 0) & current & ((before ^ now) & (_LANE | _GROUP << _GROUP_SHIFT) != 0)
        same_group = (before ^ now) >> _GROUP_SHIFT & _GROUP == 0
        merged = (now & ~np.int64(_LANE)) | (before & _PRIVATE)
        merged = np.where(same_group, merged, merged & ~np.int64(_GROUP << _GROUP_SHIFT))
        return np.where(other, merged, now)

    def _shared_by_all(self, before: int, now: int, kind: MemoryKind) -> int:
        """Merge one record into another one; see ``shared``."""
        is_current = before & _PRIVATE or before >> _SERIAL_SHIFT >= max(self.start, int(self._floors[kind].order[0]))
        if not (before and is_current and (before ^ now) & (_LANE | _GROUP << _GROUP_SHIFT)):
            return now
        merged = now & ~_LANE | before & _PRIVATE
        return merged & ~(_GROUP << _GROUP_SHIFT) if (before ^ now) >> _GROUP_SHIFT & _GROUP else merged

    def conflicts(self, before: np.ndarray, now: np.ndarray | int, kind: MemoryKind, manner: Manner, reads_write: bool) -> np.ndarray:
        """Return which accesses ``now`` race with earlier ones that left the records ``before`` at the same bytes.

        Args:
            before: records of earlier accesses, 0 if there are none. These or ``now`` are writes.
            now: records of the new accesses, of the same shape or broadcast to it.
            kind: the kind of memory, which a barrier must cover.
            manner: how the new accesses are made.
            reads_write: whether ``now`` reads what ``before`` wrote: then the write must also be available and visible.
        """
        if not manner.private and self._all_ordered(before, self._floors[kind], reads_write):
            return np.zeros(before.shape, bool)
        serial = before >> _SERIAL_SHIFT
        this_workgroup = serial >= self.start
        same_lane = ((before ^ now) & _LANE == 0) & ((now & _LANE) != 0) & this_workgroup
        others: np.ndarray = (before != 0) & ~same_lane
        if manner.private or not others.any():
            return others
        group = before >> _GROUP_SHIFT & _GROUP
        group = np.where(group == (now >> _GROUP_SHIFT & _GROUP), group, 0)
        floors = self._floors[kind]
        floor = floors.order[group]
        if reads_write:
            reach = before >> _REACH_SHIFT & _REACH
            needed = np.where(group > 0, Reach.SUBGROUP, Reach.WORKGROUP)
            floor = np.minimum(floor, np.where(reach >= needed, _NEVER, floors.available[group]))
            floor = np.minimum(floor, np.where(manner.visible >= needed, _NEVER, floors.visible[group]))
        private = (before & _PRIVATE) != 0
        unordered: np.ndarray = others & ~private & (~this_workgroup | (serial >= floor))
        if kind != "workgroup" and unordered.any():
            unordered[unordered] = self._unacquired(before[unordered], np.broadcast_to(now, others.shape)[unordered], manner, reads_write)
        unordered |= others & private
        return unordered

    def _all_ordered(self, before: np.ndarray, floors: _Floors, reads_write: bool) -> bool:
        """Tell whether barriers of the whole workgroup order all earlier accesses, so who made them does not matter."""
        floor = int((floors.all if reads_write else floors.order).min())
        is_old = int(before.max()) < floor << _SERIAL_SHIFT
        return (
            is_old
            and np.count_nonzero(before) == np.count_nonzero(before >= self.start << _SERIAL_SHIFT)
            and not np.count_nonzero(before & _PRIVATE)
        )

    def _unacquired(self, before: np.ndarray, now: np.ndarray, manner: Manner, reads_write: bool) -> np.ndarray:
        """Return which accesses ``now`` no acquired span orders after the earlier ones ``before``; all of shape (accesses,)."""
        serial, lane_before, lane_now = before >> _SERIAL_SHIFT, before & _LANE, now & _LANE
        reach = before >> _REACH_SHIFT & _REACH
        beyond, in_workgroup, sees_all = reach == Reach.BEYOND, reach >= Reach.WORKGROUP, manner.visible == Reach.BEYOND
        left = np.ones(before.shape, bool)
        for span, lane in self._known():
            if reads_write and not (span.visible or sees_all):
                continue
            ordered = (serial >= span.start) & (serial < span.end)
            if span.lane:
                ordered &= lane_before == span.lane
            if lane:
                ordered &= lane_now == lane
            if reads_write:
                available = beyond | (serial < span.available)
                ordered &= (available | in_workgroup) if span.beyond else available
            left &= ~ordered
            if not left.any():
                break
        return left

    def _known(self) -> Iterator[tuple[_Span, int]]:
        """Yield each acquired span, and the invocation + 1 that acquired it; 0 for the whole workgroup."""
        yield from ((span, 0) for span in self._acquired)
        for lane, spans in self._acquired_by.items():
            yield from ((span, lane + 1) for span in spans)

    def describe(self, record: int) -> str:
        """Describe who left a record, for messages. Several invocations leave one record for a matrix or for reads of the same byte."""
        lane, group = record & _LANE, record >> _GROUP_SHIFT & _GROUP
        is_other = record >> _SERIAL_SHIFT < self.start
        if not lane and not group:
            return "another workgroup" if is_other else "the workgroup"
        return (f"invocation {lane - 1}" if lane else f"subgroup {group - 1}") + (" of another workgroup" if is_other else "")

    def mask(self, record: int) -> np.ndarray | None:
        """Return the invocation that left a record, as a mask; None if it is not a single one."""
        return None if not record & _LANE else self._lane == record & _LANE

    def why(self, before: int, now: int, kind: MemoryKind, manner: Manner) -> str:
        """Say why two accesses that race are not ordered."""
        if manner.private or before & _PRIVATE:
            which = "this access" if manner.private else "the earlier access"
            return f"{which} lacks NonPrivatePointer (GLSL: coherent), so no barrier orders it"
        if before >> _SERIAL_SHIFT < self.start:
            return "no atomics with memory barriers order the two workgroups"
        if not self.conflicts(np.array([before]), now, kind, manner, reads_write=False).any():
            return "a barrier orders them, but it lacks MakeAvailable or MakeVisible"
        return f"no barrier between them orders accesses to {_STORAGE[kind]}"
