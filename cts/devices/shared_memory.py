"""Memory that a process shares with its child, to pass arrays without a socket: one of them writes it, the other only reads it.

A driver in the child may do anything to the memory, and must not harm the parent with it. So seals keep its size: SIGBUS would end a
process that reads memory that another one has made smaller. All of it is allocated at once, for the same reason. Seals also keep writes
through descriptors away: only the mapping of the process that writes the memory is writable. So what a driver writes to descriptors that
are not its own does not reach the memory.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

SIZE = 1 << 23
"""Bytes in each direction. The arrays of 99 of 100 requests fit; the rest of the others' goes through the socket."""

NONE = np.empty(0, np.uint8)
"""No memory: systems other than Linux, and Linux before 5.1, cannot share it in this way."""
NONE.setflags(write=False)

_SEAL_FUTURE_WRITE = 0x10
"""F_SEAL_FUTURE_WRITE, which older Pythons do not name: only the mappings that exist may write."""


class Shared(NamedTuple):
    """Memory that a process shares with its child.

    Attributes:
        requests: the memory that the process writes, uint8 of shape (SIZE,); or NONE.
        answers: the memory that the child writes; or NONE.
        descriptors: what the child passes to ``accept``; empty without memory. The process closes them after the child has started.
    """

    requests: np.ndarray
    answers: np.ndarray
    descriptors: tuple[int, ...]


def share() -> Shared:
    """Return new memory for a child; none if the system cannot share it safely."""
    if not hasattr(os, "memfd_create"):
        return Shared(NONE, NONE, ())
    made: list[int] = []
    try:
        for _ in range(2):
            made.append(os.memfd_create("cts arrays", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING))
            os.posix_fallocate(made[-1], 0, SIZE)
            fcntl.fcntl(made[-1], fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        requests, answers = made
        return Shared(_written(requests), _read(answers), (requests, answers))
    except OSError:
        for descriptor in made:
            os.close(descriptor)
        return Shared(NONE, NONE, ())


def accept(descriptors: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the memory of the requests and of the answers in the child, where it reads the former and writes the latter.

    Raises:
        OSError: the system cannot map it.
    """
    if not descriptors:
        return NONE, NONE
    requests, answers = descriptors
    try:
        return _read(requests), _written(answers)
    finally:
        os.close(requests)
        os.close(answers)


def _written(descriptor: int) -> np.ndarray:
    memory = np.frombuffer(mmap.mmap(descriptor, SIZE), np.uint8)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEAL_FUTURE_WRITE | fcntl.F_SEAL_SEAL)
    return memory


def _read(descriptor: int) -> np.ndarray:
    return np.frombuffer(mmap.mmap(descriptor, SIZE, prot=mmap.PROT_READ), np.uint8)
