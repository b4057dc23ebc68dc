"""Lays out buffers in one range of memory with guard zones between them, and finds the stray writes of a kernel.

This module is independent of Vulkan: it makes the bytes in memory before a dispatch, and judges the bytes after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cts.devices.vulkan.poisoned import MARGIN, Around, Spoiled, poison
from generators.kernel import BufferSlot, Dispatch, Outcome, StrayWrite, Where

ALIGNMENT = 256
"""Alignment of every buffer in bytes: the largest possible minStorageBufferOffsetAlignment, and more than any access needs."""

GUARD = 256
"""Minimum size of a guard zone, in bytes."""


UNTOUCHED = Around()


@dataclass(frozen=True)
class Layout:
    """Where the buffers of one dispatch are.

    Attributes:
        slots: the buffers.
        offsets: offsets of the buffers in the dispatch's range, in bytes.
        pitch: size of the range in bytes, a multiple of ALIGNMENT. The range begins and ends with a guard zone.
    """

    slots: tuple[BufferSlot, ...]
    offsets: tuple[int, ...]
    pitch: int


def lay_out(slots: Sequence[BufferSlot]) -> Layout:
    """Place each buffer at a multiple of ALIGNMENT with at least GUARD bytes before and after it."""
    offsets = []
    position = GUARD
    for slot in slots:
        offsets.append(position)
        position = -(-(position + slot.bytes + GUARD) // ALIGNMENT) * ALIGNMENT
    return Layout(tuple(slots), tuple(offsets), position)


def fill(layout: Layout, dispatches: Sequence[Dispatch]) -> np.ndarray:
    """Return the contents of memory before the dispatches run: uint8 of shape (dispatches, pitch)."""
    image = np.empty((len(dispatches), layout.pitch), np.uint8)
    image[:] = poison(layout.pitch)
    for row, dispatch in zip(image, dispatches, strict=True):
        for slot, offset, contents in zip(layout.slots, layout.offsets, dispatch.contents, strict=True):
            row[offset : offset + slot.bytes] = contents
    return image


def write_addresses(layout: Layout, image: np.ndarray, base: int) -> None:
    """Write the addresses of buffers that other buffers contain into the result of ``fill``, whose first byte is at address ``base``."""
    offsets = {slot.name: offset for slot, offset in zip(layout.slots, layout.offsets, strict=True)}
    for slot, offset in zip(layout.slots, layout.offsets, strict=True):
        for at, name in slot.addresses:
            for number, row in enumerate(image):
                address = base + number * layout.pitch + offsets[name]
                row[offset + at : offset + at + 8] = np.frombuffer(address.to_bytes(8, "little"), np.uint8)


def judge(layout: Layout, before: np.ndarray, after: np.ndarray, around: Around = UNTOUCHED) -> list[Outcome]:
    """Return the outcome of each dispatch.

    Args:
        layout: the layout of the buffers.
        before: the result of ``fill``.
        after: the contents of memory after the run, of the same shape. Outputs are views of it.
        around: writes outside of all ranges, in a memory whose ranges begin at MARGIN. Writes before them are reported for the
            first dispatch, writes after them for the last.
    """
    written = [(slot, offset) for slot, offset in zip(layout.slots, layout.offsets, strict=True) if slot.written]
    starts, ends = (0, *(offset + slot.bytes for slot, offset in written)), (*(offset for _, offset in written), layout.pitch)
    outcomes = []
    last = len(after) - 1
    for index, (row, old) in enumerate(zip(after, before, strict=True)):
        outputs = {slot.name: row[offset : offset + slot.bytes] for slot, offset in written}
        changed = [start + np.flatnonzero(row[start:end] != old[start:end]) for start, end in zip(starts, ends, strict=True)]
        stray = _stray(layout, np.concatenate(changed)) if any(part.size for part in changed) else []
        if index == 0 and around.before is not None:
            stray.append(_far(layout, around.before, MARGIN, "before"))
        if index == last and around.after is not None:
            stray.append(_far(layout, around.after, MARGIN + index * layout.pitch, "after"))
        outcomes.append(Outcome(outputs, _merged(stray)))
    return outcomes


@dataclass(frozen=True)
class Round:
    """The result of one run of some dispatches.

    Attributes:
        number: its number, from 1.
        after: the contents of memory after the run.
        around: writes outside of all ranges.
    """

    number: int
    after: np.ndarray
    around: Around = UNTOUCHED


def judged_rounds(layout: Layout, before: np.ndarray, rounds: Sequence[Round]) -> list[Outcome]:
    """Return the outcome of each dispatch in the first round, with the outcomes of later rounds that differ from it.

    Args:
        layout, before: see ``judge``; the same in each round.
        rounds: the first round, and the rounds that differ from it anywhere.
    """
    one, *later = rounds
    first = judge(layout, before, one.after, one.around)
    repeats: list[list[tuple[int, Outcome]]] = [[] for _ in first]
    for again in later:
        for place, outcome in enumerate(judge(layout, before, again.after, again.around)):
            if outcome.stray != first[place].stray or not np.array_equal(again.after[place], one.after[place]):
                repeats[place].append((again.number, outcome))
    return [replace(outcome, repeats=tuple(others)) for outcome, others in zip(first, repeats, strict=True)]


def _stray(layout: Layout, positions: np.ndarray) -> list[StrayWrite]:
    """Describe the changed bytes at ``positions`` of a dispatch's range, each by its nearest buffer."""
    slots, offsets = _told_of(layout)
    starts = np.array(offsets)
    ends = starts + np.array([slot.bytes for slot in slots])
    distance = np.maximum(np.maximum(starts - positions[:, None], positions[:, None] - ends + 1), 0)
    nearest = distance.argmin(axis=1)
    found = []
    for index, slot in enumerate(slots):
        relative = positions[nearest == index] - starts[index]
        parts: tuple[tuple[Where, np.ndarray], ...] = (
            ("before", relative[relative < 0]),
            ("read-only", relative[(relative >= 0) & (relative < slot.bytes)]),
            ("after", relative[relative >= slot.bytes]),
        )
        for where, part in parts:
            if part.size:
                found.append(StrayWrite(slot.name, where, int(part[0]), int(part.size)))
    return found


def _far(layout: Layout, spoiled: Spoiled, start: int, where: Where) -> StrayWrite:
    """Describe a write outside of all ranges by the nearest buffer of the dispatch whose range begins at ``start``."""
    slots, offsets = _told_of(layout)
    nearest = 0 if where == "before" else -1
    return StrayWrite(slots[nearest].name, where, spoiled.first - start - offsets[nearest], spoiled.count)


def _told_of(layout: Layout) -> tuple[tuple[BufferSlot, ...], tuple[int, ...]]:
    """Return the buffers by which to describe writes, and their offsets. A kernel without buffers gets an empty one at offset 0."""
    return (layout.slots, layout.offsets) if layout.slots else ((BufferSlot("no buffer", 0, False, None),), (0,))


def _merged(strays: list[StrayWrite]) -> tuple[StrayWrite, ...]:
    """Merge writes into one record for each buffer and ``where``."""
    found: dict[tuple[str, Where], StrayWrite] = {}
    for stray in strays:
        known = found.get((stray.buffer, stray.where))
        found[stray.buffer, stray.where] = (
            stray if known is None else replace(stray, offset=min(stray.offset, known.offset), count=stray.count + known.count)
        )
    return tuple(found.values())
