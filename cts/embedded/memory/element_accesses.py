"""Checks the memory accesses of functions of per-element operations (SPV_NV_cooperative_matrix2, 3.49.9).

Calls are unordered and may be repeated (CM2-PE-07). So the contents of a byte are known afterwards only in two cases (F-CM2-10): calls for
just one element write it and no call reads it, or calls update it by one instruction whose updates commute and are idempotent, such as
OpAtomicOr.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cts.embedded.memory.memory import Memory
from generators.spirv.enumerants import Op

Forbid = Callable[[str, str], None]
"""Reports undefined behaviour: takes the broken rule and what happened."""

_RULE = "F-CM2-10"


class ElementAccesses:
    """The accesses of all calls that one instruction makes.

    Args:
        forbid: reports accesses with unspecified results.
    """

    def __init__(self, forbid: Forbid) -> None:
        self._forbid = forbid
        self._writers: dict[int, np.ndarray] = {}
        self._readers: dict[int, np.ndarray] = {}
        self._updates: dict[int, np.ndarray] = {}

    def read(self, memory: Memory, places: np.ndarray | slice) -> None:
        """Note that calls read bytes of a memory.

        Raises:
            Violation: a call writes one of them.
        """
        if not memory.writable:
            return
        writers = self._writers.get(id(memory))
        if (writers is not None and writers[places].any()) or self._is_updated(memory, places):
            self._forbid(_RULE, f"calls for elements read and write '{memory.name}' at one place, and calls may be repeated in any order")
        self._readers.setdefault(id(memory), np.zeros(memory.size, bool))[places] = True

    def write(self, memory: Memory, places: np.ndarray, elements: np.ndarray) -> None:
        """Note that calls write bytes of a memory.

        Args:
            memory: the memory.
            places: the bytes, (calls, bytes).
            elements: number of each call's element, (calls,).

        Raises:
            Violation: calls for several elements write one of them, or a call reads or updates it.
        """
        readers = self._readers.get(id(memory))
        if readers is not None and readers[places].any():
            self._forbid(_RULE, f"calls for elements read and write '{memory.name}' at one place, and calls may be repeated in any order")
        if self._is_updated(memory, places):
            self._forbid(_RULE, f"calls for elements write and update '{memory.name}' at one place, and calls may be repeated in any order")
        writers = self._writers.setdefault(id(memory), np.zeros(memory.size, np.int64))
        own = np.broadcast_to(elements[:, None] + 1, places.shape)
        before = writers[places]
        writers[places] = own
        if ((before != 0) & (before != own)).any() or (writers[places] != own).any():
            self._forbid(_RULE, f"calls for several elements write '{memory.name}' at one place, and which is last is not specified")

    def update(self, memory: Memory, places: np.ndarray, op: Op) -> None:
        """Note that calls update bytes of a memory, and that nothing depends on the old contents.

        Args:
            memory: the memory.
            places: the bytes, (calls, bytes).
            op: the atomic instruction, whose updates commute and are idempotent.

        Raises:
            Violation: a call reads or writes one of them, or updates it by another instruction.
        """
        for others in (self._readers.get(id(memory)), self._writers.get(id(memory))):
            if others is not None and others[places].any():
                what = f"calls for elements access and update '{memory.name}' at one place"
                self._forbid(_RULE, f"{what}, and calls may be repeated in any order")
        updates = self._updates.setdefault(id(memory), np.zeros(memory.size, np.int64))
        before = updates[places]
        if ((before != 0) & (before != op)).any():
            self._forbid(_RULE, f"calls for elements update '{memory.name}' at one place in several ways, and calls have no order")
        updates[places] = op

    def _is_updated(self, memory: Memory, places: np.ndarray | slice) -> bool:
        updates = self._updates.get(id(memory))
        return updates is not None and bool(updates[places].any())
