"""Earlier contents of a memory, for a device whose loads are as weak as the Vulkan memory model permits.

A read gets the last write only if that is location-ordered before it and nothing between hides it (Vulkan memory model, "Visible-To"): the
write happens before the read, and was made available and visible. If the last write is not, the read may get the value before it, and so on
back to a write that is visible to it, which hides all earlier ones. The specification gives such a race no value at all ("Data Race"); real
caches give one of these.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cts.embedded.memory.ordering import no_records

DEPTH = 4
"""Earlier values of a byte that a read may get."""

_LINE = 32
"""Bytes that one choice is for, as in a line of a cache."""
_UNKNOWN = -1
"""In place of a record: there is no such value, or none that is defined. Records are kept with 1 added, so 0 stands for it."""

Races = Callable[[np.ndarray], np.ndarray]
"""Returns which of these records of writes are not visible to a read; the array has one for each byte that it reads."""


class History:
    """The values of each byte before its last writes, and the records of the writes that left them (see ``ordering``; 0: none did).

    Args:
        size: bytes of the memory.
        choices: makes the choices.
    """

    def __init__(self, size: int, choices: np.random.Generator) -> None:
        self._choices = choices
        self._lines = -(-size // _LINE)
        self._values = np.zeros((DEPTH, size), np.uint8)
        self._writers = no_records(DEPTH * size).reshape(DEPTH, size)

    def keep(self, places: np.ndarray | slice, contents: np.ndarray, writers: np.ndarray, is_defined: bool) -> None:
        """Keep what a write replaces: ``contents`` of the whole memory, and the records ``writers`` at ``places``.

        ``is_defined``: whether bytes that nothing has written have a value.
        """
        if not is_defined:
            writers = np.where(writers == 0, _UNKNOWN, writers)
        for kept, latest in ((self._values, contents[places]), (self._writers, writers + 1)):
            kept[1:, places] = kept[:-1, places]
            kept[0, places] = latest

    def seen(self, places: np.ndarray | slice, contents: np.ndarray, racing: np.ndarray, races: Races) -> np.ndarray:
        """Return the contents of the whole memory as an instruction reads them at ``places``, whose last writes may be ``racing``.

        All invocations that read the same byte get the same value, one that each of them may get.
        """
        at = np.arange(contents.size)[places] if isinstance(places, slice) else places
        ages = np.zeros(racing.shape, np.int64)
        hidden = racing
        for age in range(DEPTH):
            writers = self._writers[age][at] - 1
            hidden = hidden & (writers != _UNKNOWN)
            ages[hidden] = age + 1
            hidden = hidden & races(writers)
        oldest = np.full(contents.size, DEPTH)
        np.minimum.at(oldest, at, ages)
        drawn = self._choices.integers(0, DEPTH + 1, self._lines)[at // _LINE]
        chosen = np.minimum(drawn, oldest[at])
        result = contents.copy()
        result[at] = np.where(chosen == 0, contents[at], self._values[np.maximum(chosen, 1) - 1, at])
        return result
