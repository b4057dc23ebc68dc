"""The caches between the waves of one dispatch and memory: what a wave sees of others' stores, and when others see its own.

Each compute unit has a cache (AMD calls it L0 or vector cache). The model's cache does all that a program must be prepared for. It has
every line as memory was when the dispatch began, as if other waves had loaded it, until the line is invalidated or a load goes past the
cache. A store is in the cache at once, and in memory when it is published.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cts.devices.executed.arrays import Array

LINE = 128
"""Bytes of a line."""

Scratch = dict[int, list[tuple[Array, Array]]]
"""Arrays for lines that nothing uses, by their size: the first of a pair has any bytes, the second is all false."""


OLD, ABSENT, PRESENT = range(3)
"""What a cache has of a line: the bytes with which the dispatch began, not copied yet; nothing; the copy."""


class Lines:
    """Copies of some lines of a buffer, which has a whole number of lines.

    Attributes:
        data: the buffer's bytes.
        copy: as many bytes, of which the lines are there that ``state`` says.
        state: of each line: OLD, ABSENT or PRESENT.
        dirty: which bytes were stored and are not in memory yet.
        stored: the places of all stores since the last ``write_back``.
    """

    __slots__ = ("copy", "data", "dirty", "state", "stored")

    def __init__(self, data: Array, state: int, copy: Array, dirty: Array) -> None:
        self.data, self.copy, self.dirty = data, copy, dirty
        self.state = np.full(len(data) // LINE, state, np.uint8)
        self.stored: list[Array] = []

    def fill(self, lines: Array, source: Array) -> None:
        """Copy lines from a source with the buffer's bytes, except bytes that were stored."""
        copy, new = self.copy.reshape(-1, LINE), source.reshape(-1, LINE)[lines]
        copy[lines] = np.where(self.dirty.reshape(-1, LINE)[lines], copy[lines], new) if self.stored else new
        self.state[lines] = PRESENT


class Begun(dict[int, Lines]):
    """The lines that have changed since the dispatch began, with their old bytes, by the identity of the buffer's array.

    Args:
        scratch: where the arrays of all lines of the dispatch come from.
    """

    def __init__(self, scratch: Scratch | None = None) -> None:
        super().__init__()
        self._scratch: Scratch = {} if scratch is None else scratch
        self._made: list[Lines] = []

    def lines(self, data: Array, state: int = OLD) -> Lines:
        """Return new lines of a buffer."""
        # Zeros cost nothing until they are written, even for the largest buffers; but then each page costs more than an access.
        free = self._scratch.setdefault(len(data), [])
        arrays = free.pop() if free else (np.empty(len(data), np.uint8), np.zeros(len(data), bool))
        self._made.append(Lines(data, state, *arrays))
        return self._made[-1]

    def close(self) -> None:
        """Let other dispatches have the arrays, after all that was stored is in memory."""
        for lines in self._made:
            self._scratch[len(lines.data)].append((lines.copy, lines.dirty))


class Uncached:
    """Memory itself: the local data share, and all memory where no other wave can see what a wave stores while the dispatch runs.

    Attributes:
        shared: whether several waves are on the compute unit. Their accesses are in order, so a wave that waits for its own stores waits
            for those of the others, too.
    """

    shared = False

    def read(self, data: Array, places: Array, size: int, past: bool = False) -> Array:  # noqa: ARG002
        """Return bytes among which those of some elements are as the compute unit sees them.

        Args:
            data: the buffer.
            places: the first byte of each element.
            size: bytes of an element.
            past: whether to get the lines from memory again.
        """
        return data

    def write(self, data: Array, places: Array, size: int) -> Array:  # noqa: ARG002
        """Return the bytes to which to write some elements, which are no longer like memory."""
        return data

    def publish(self, data: Array, places: Array, size: int, evict: bool = False) -> None:
        """Write elements to memory if they were stored. With ``evict``, memory may change there, and the cache gets the lines again."""

    def early(self) -> bool:
        """Return whether a store is published before it has to be."""
        return False

    def write_back(self) -> None:
        """Write all that was stored to memory."""

    def invalidate(self) -> None:
        """Forget all lines; bytes that were stored stay."""


class Cache(Uncached):
    """The cache of a compute unit.

    Args:
        begun: shared by the caches of a dispatch.
        early, shared: see Uncached.
    """

    def __init__(self, begun: Begun, early: Callable[[], bool], shared: bool = False) -> None:
        self._begun, self.early, self.shared = begun, early, shared  # type: ignore[method-assign]
        self._buffers: dict[int, Lines] = {}
        self._first = OLD

    def read(self, data: Array, places: Array, size: int, past: bool = False) -> Array:
        """See Uncached."""
        buffer, lines = self._at(data), _lines(places, size)
        if past:
            buffer.state[lines] = ABSENT
        missing = lines[buffer.state[lines] != PRESENT]
        if missing.size:
            begun = self._begun.get(id(data))
            old = missing[buffer.state[missing] == OLD]
            buffer.fill(missing, data)
            if begun is not None and old.size:
                buffer.fill(old[begun.state[old] == PRESENT], begun.copy)
        return buffer.copy

    def write(self, data: Array, places: Array, size: int) -> Array:
        """See Uncached."""
        copy, bytes_ = self.read(data, places, size), _bytes(places, size)
        buffer = self._at(data)
        buffer.dirty[bytes_] = True
        buffer.stored.append(bytes_)
        return copy

    def publish(self, data: Array, places: Array, size: int, evict: bool = False) -> None:
        """See Uncached."""
        buffer, lines, places = self._at(data), _lines(places, size), _bytes(places, size)
        begun = self._begun.get(id(data)) or self._begun.setdefault(id(data), self._begun.lines(data))
        new = lines[begun.state[lines] != PRESENT]
        if new.size:
            begun.fill(new, data)
        places = places[buffer.dirty[places]]
        data[places] = buffer.copy[places]
        buffer.dirty[places] = False
        if evict:
            buffer.state[lines] = ABSENT

    def write_back(self) -> None:
        """See Uncached."""
        for buffer in self._buffers.values():
            if buffer.stored:
                self.publish(buffer.data, np.concatenate(buffer.stored), 1)
                buffer.stored = []

    def invalidate(self) -> None:
        """See Uncached."""
        self._first = ABSENT
        for buffer in self._buffers.values():
            buffer.state[:] = ABSENT

    def _at(self, data: Array) -> Lines:
        return self._buffers.get(id(data)) or self._buffers.setdefault(id(data), self._begun.lines(data, self._first))


def _lines(places: Array, size: int) -> Array:
    first, last = places // LINE, (places + (size - 1)) // LINE
    return np.concatenate((first, last)) if (first != last).any() else first


def _bytes(places: Array, size: int) -> Array:
    return (places[:, np.newaxis] + np.arange(size)).ravel()
