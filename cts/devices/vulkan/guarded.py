"""Buffers laid out in one range of memory with guard zones between them, and what a kernel wrote where it had no business.

Nothing here knows Vulkan: it makes the bytes that memory holds before a dispatch, and judges those that it holds after.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from generators.kernel import BufferSlot, Dispatch, Outcome, StrayWrite, Where

ALIGNMENT = 256
"""Of every buffer, in bytes: the most that minStorageBufferOffsetAlignment may ask for, and more than any access needs."""

GUARD = 256
"""Least size of a guard zone, in bytes."""

_TILE = 1 << 16


@cache
def _tile() -> np.ndarray:
    """Poison that no kernel writes by chance: bytes without a pattern, none of them 0x00 or 0xFF."""
    tile = np.random.default_rng(0x6775617264).integers(1, 255, _TILE, np.uint8)
    tile.setflags(write=False)
    return tile


def poison(count: int) -> np.ndarray:
    """``count`` bytes of poison."""
    return np.resize(_tile(), count)


@dataclass(frozen=True)
class Layout:
    """Where the buffers of one dispatch lie.

    Attributes:
        slots: the buffers.
        offsets: of their first bytes, from the start of the dispatch's range.
        pitch: size of the range, a multiple of ALIGNMENT; it begins and ends with a guard zone.
    """

    slots: tuple[BufferSlot, ...]
    offsets: tuple[int, ...]
    pitch: int


def lay_out(slots: Sequence[BufferSlot]) -> Layout:
    """Places each buffer at a multiple of ALIGNMENT with at least GUARD bytes before and after it."""
    offsets = []
    position = GUARD
    for slot in slots:
        offsets.append(position)
        position = -(-(position + slot.bytes + GUARD) // ALIGNMENT) * ALIGNMENT
    return Layout(tuple(slots), tuple(offsets), position)


def fill(layout: Layout, dispatches: Sequence[Dispatch]) -> np.ndarray:
    """What memory holds before the dispatches run: uint8 of shape (dispatches, pitch)."""
    image = np.empty((len(dispatches), layout.pitch), np.uint8)
    image[:] = poison(layout.pitch)
    for row, dispatch in zip(image, dispatches, strict=True):
        for slot, offset, contents in zip(layout.slots, layout.offsets, dispatch.contents, strict=True):
            row[offset : offset + slot.bytes] = contents
    return image


def judge(layout: Layout, before: np.ndarray, after: np.ndarray) -> list[Outcome]:
    """The outcome of each dispatch.

    Args:
        layout: of the buffers.
        before: as made by ``fill``.
        after: what memory holds after the run, of the same shape. Outputs are views of it.
    """
    changed = before != after
    written = [(slot, offset) for slot, offset in zip(layout.slots, layout.offsets, strict=True) if slot.written]
    for slot, offset in written:
        changed[:, offset : offset + slot.bytes] = False
    astray = changed.any(axis=1)
    outcomes = []
    for row, bad, mask in zip(after, astray, changed, strict=True):
        outputs = {slot.name: row[offset : offset + slot.bytes] for slot, offset in written}
        outcomes.append(Outcome(outputs, _stray(layout, np.flatnonzero(mask)) if bad else ()))
    return outcomes


def _stray(layout: Layout, positions: np.ndarray) -> tuple[StrayWrite, ...]:
    """What the changed bytes at ``positions`` of a dispatch's range are, each told of the buffer nearest to it."""
    starts = np.array(layout.offsets)
    ends = starts + np.array([slot.bytes for slot in layout.slots])
    distance = np.maximum(np.maximum(starts - positions[:, None], positions[:, None] - ends + 1), 0)
    nearest = distance.argmin(axis=1)
    found = []
    for index, slot in enumerate(layout.slots):
        relative = positions[nearest == index] - starts[index]
        parts: tuple[tuple[Where, np.ndarray], ...] = (
            ("before", relative[relative < 0]),
            ("read-only", relative[(relative >= 0) & (relative < slot.bytes)]),
            ("after", relative[relative >= slot.bytes]),
        )
        for where, part in parts:
            if part.size:
                found.append(StrayWrite(slot.name, where, int(part[0]), int(part.size)))
    return tuple(found)
