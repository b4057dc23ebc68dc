"""Ways in which devices may check the bounds of matrix accesses, legal and illegal.

Each is a fault of an embedded device. A legal way checks several elements at once; if one of them is out of bounds, all of them count as
out of bounds: loads give zeros, and stores are dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cts.embedded.faults import Fault, Faults
from cts.embedded.instructions.matrices.load_store import robust_load, robust_store
from cts.embedded.memory.memory import Memory

FAR_OUT = -1 << 40
"""An offset that is out of bounds of every memory."""

GroupsOf = Callable[[Memory, np.ndarray], np.ndarray]
"""Takes the memory and the offsets, and returns a number for each element of a matrix; elements with the same number are checked at
once."""


def in_chunks(size: int) -> GroupsOf:
    """Return groups of ``size`` bytes at addresses that are multiples of it."""
    return lambda memory, offsets: np.asarray((memory.base + offsets) // size)


def in_lines(axis: int) -> GroupsOf:
    """Return the elements with one index along an axis as a group."""
    return lambda _, offsets: np.broadcast_to(np.expand_dims(np.arange(offsets.shape[axis]), 1 - axis), offsets.shape)


def whole_matrix(_: Memory, offsets: np.ndarray) -> np.ndarray:
    """Return one group of all elements."""
    return np.zeros(offsets.shape, int)


def _out_of_bounds(memory: Memory, offsets: np.ndarray, size: int) -> np.ndarray:
    return np.asarray((offsets < 0) | (offsets + size > memory.size))


def _in_groups(groups_of: GroupsOf, size_of: Callable[[Any], int]) -> Fault:
    """Return a fault that makes a load or store check groups of elements; ``size_of`` returns an element's bytes from the last
    parameter."""

    def fault(right: Callable[..., Any]) -> Callable[..., Any]:
        def checked(memory: Memory, offsets: np.ndarray, what: Any) -> Any:
            if not memory.robust:
                return right(memory, offsets, what)
            groups = groups_of(memory, offsets)
            beyond = np.isin(groups, groups[_out_of_bounds(memory, offsets, size_of(what))])
            return right(memory, np.where(beyond, FAR_OUT, offsets), what)

        return checked

    return fault


def checking(groups_of: GroupsOf) -> Faults:
    """Return the faults of a device that checks the elements of a group at once."""
    load = _in_groups(groups_of, lambda number: int(number.bytes))
    store = _in_groups(groups_of, lambda data: int(data.itemsize))
    return Faults(operations={robust_load: load, robust_store: store})


def loading(change: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Faults:
    """Return the faults of a device that changes the result of loads: ``change`` takes the elements, and which of them are out of
    bounds."""

    def fault(right: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
        def broken(memory: Memory, offsets: np.ndarray, number: Any) -> np.ndarray:
            found = right(memory, offsets, number)
            return change(found, _out_of_bounds(memory, offsets, number.bytes)) if memory.robust else found

        return broken

    return Faults(operations={robust_load: fault})


def _other_bits(elements: np.ndarray) -> np.ndarray:
    """Return different bits, but not the complement, which buffers hold before a dispatch."""
    return (np.ascontiguousarray(elements).view(np.uint8) ^ 0x11).view(elements.dtype)


def last_in_bounds(found: np.ndarray, beyond: np.ndarray) -> np.ndarray:
    """Replace each element out of bounds by the last element in bounds."""
    return found if beyond.all() else np.where(beyond, found[~beyond][-1], found)


def with_other_bits(found: np.ndarray, beyond: np.ndarray) -> np.ndarray:
    """Change the bits of the elements in bounds if the matrix exceeds the range."""
    return np.where(beyond, found, _other_bits(found)) if beyond.any() else found


def memory_beyond(found: np.ndarray, beyond: np.ndarray) -> np.ndarray:
    """Return nonzero bytes for elements out of bounds, like those of memory after the buffer."""
    return np.where(beyond, np.full(found.shape, 0x2A, np.uint8).astype(found.dtype), found)


def writing_beyond() -> Faults:
    """Return the faults of a device that moves stores out of bounds to the start of the buffer."""

    def fault(right: Callable[..., None]) -> Callable[..., None]:
        def broken(memory: Memory, offsets: np.ndarray, data: np.ndarray) -> None:
            right(memory, offsets, data)
            if memory.robust and _out_of_bounds(memory, offsets, data.itemsize).any():
                right(memory, np.zeros(1, np.int64), data.ravel()[:1])

        return broken

    return Faults(operations={robust_store: fault})


def spoiling_in_bounds() -> Faults:
    """Return the faults of a device that writes wrong bits to the elements in bounds if a matrix exceeds the range."""

    def fault(right: Callable[..., None]) -> Callable[..., None]:
        def broken(memory: Memory, offsets: np.ndarray, data: np.ndarray) -> None:
            cut = memory.robust and _out_of_bounds(memory, offsets, data.itemsize).any()
            right(memory, offsets, _other_bits(data) if cut else data)

        return broken

    return Faults(operations={robust_store: fault})
