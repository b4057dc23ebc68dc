"""Windows of a large buffer: the bytes that a case holds. A shader sees a buffer of gigabytes, but a case holds only kilobytes of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from generators.errors import GeneratorError, Rule

ALIGNMENT = 64
"""Alignment of the ends of every window, in bytes: elements and rows that are aligned in the buffer are also aligned in the held bytes."""


@dataclass(frozen=True)
class Window:
    """``bytes`` bytes of a buffer, starting at ``first``; both are multiples of ALIGNMENT."""

    first: int
    bytes: int

    @property
    def end(self) -> int:
        """The first byte after it."""
        return self.first + self.bytes


@dataclass(frozen=True)
class Windows:
    """The held bytes of a buffer: the bytes of all windows, one window after another.

    Attributes:
        span: size of the buffer in bytes.
        parts: the windows, in ascending order. They neither touch nor overlap.

    Raises:
        GeneratorError: the windows break these rules or exceed the buffer.
    """

    span: int
    parts: tuple[Window, ...]

    def __post_init__(self) -> None:
        """Check the windows."""
        end = -1
        for part in self.parts:
            if part.bytes <= 0 or part.first % ALIGNMENT or part.bytes % ALIGNMENT or part.first <= end or part.end > self.span:
                raise GeneratorError(
                    Rule.WINDOWS,
                    f"the window of {part.bytes:,} bytes at byte {part.first:,} of a buffer of {self.span:,} bytes: windows are in "
                    f"ascending order inside the buffer, do not touch, and begin and end at multiples of {ALIGNMENT} bytes",
                )
            end = part.end

    @property
    def bytes(self) -> int:
        """The number of held bytes."""
        return sum(part.bytes for part in self.parts)

    @cached_property
    def _starts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        firsts = np.array([part.first for part in self.parts], np.int64)
        sizes = np.array([part.bytes for part in self.parts], np.int64)
        return firsts, sizes, np.cumsum(sizes) - sizes

    def held(self, places: np.ndarray) -> np.ndarray:
        """Return the indices of the buffer's bytes among the held bytes, int64 of the same shape; -1 for bytes that are not held.

        Args:
            places: byte offsets in the buffer, int64.
        """
        firsts, sizes, starts = self._starts
        which = np.maximum(np.searchsorted(firsts, places, side="right") - 1, 0)
        inside = (places >= firsts[which]) & (places < firsts[which] + sizes[which])
        return np.where(inside, places - firsts[which] + starts[which], -1)

    def places(self) -> np.ndarray:
        """Return the offset in the buffer of each held byte, int64."""
        return np.concatenate([np.arange(part.first, part.end, dtype=np.int64) for part in self.parts])


def windows_around(span: int, runs: Iterable[tuple[int, int]]) -> Windows:
    """Return windows of a buffer of ``span`` bytes around runs of bytes, with at least ALIGNMENT bytes before and after each if the buffer
    has them.

    Args:
        span: size of the buffer in bytes, a multiple of ALIGNMENT.
        runs: the first byte and the size of each run.

    Raises:
        GeneratorError: a run exceeds the buffer.
    """
    merged: list[tuple[int, int]] = []
    for first, count in sorted(runs):
        if first < 0 or first + count > span:
            raise GeneratorError(
                Rule.OUT_OF_BOUNDS, f"bytes {first:,} to {first + count - 1:,} are not in a buffer of {span:,} bytes; make it longer"
            )
        begin = max(first // ALIGNMENT - 1, 0) * ALIGNMENT
        end = min((-(-(first + count) // ALIGNMENT) + 1) * ALIGNMENT, span)
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((begin, end))
    return Windows(span, tuple(Window(begin, end - begin) for begin, end in merged))
