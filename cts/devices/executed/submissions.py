"""Hears of the system calls of RADV in this process, and keeps the buffers and command buffers that they are about."""

from __future__ import annotations

import ctypes
import errno
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence

from cts.devices.device import DeviceError
from cts.devices.executed.errors import NotModelled
from cts.devices.executed.memory import Memory

GEM_CLOSE, GEM_CREATE, CS, GEM_VA = 0x09, 0x40, 0x44, 0x48
SYNCOBJ_CREATE, SYNCOBJ_DESTROY, SYNCOBJ_WAIT, SYNCOBJ_RESET, SYNCOBJ_TRANSFER = 0xBF, 0xC0, 0xC3, 0xC4, 0xCC
"""The numbers of the requests that this module hears of, of those that the library tells."""

_GEM_MMAP = 0xC0086441
"""The whole request, DRM_IOCTL_AMDGPU_GEM_MMAP."""

_MAP, _UNMAP = 1, 2
_CHUNK_IB, _CHUNK_SIGNAL = 1, 9
_WAIT_ALL = 1
_READ_WRITE, _SHARED = 3, 1

_LISTENER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p)

CommandBuffer = tuple[int, int]
"""GPU address and size in bytes."""


# What Linux's amdgpu_drm.h and drm.h call these structures, in the notation of the module struct.
_VA = "4I3Q"
_SUBMISSION = "4IQ"
_CHUNK = "2IQ"
_INDIRECT_BUFFER = "2IQ4I"
_POINT = "2IQ"
_WAIT = "2Q2I"


class Fences:
    """The synchronization objects of the driver. The null kernel driver gives all of them one handle, and calls all signaled."""

    def __init__(self) -> None:
        self._signaled: dict[int, bool] = {}
        self._last = 0

    def hear(self, number: int, argument: int) -> int:
        """Carry out a request; return the number of the error with which it ends, or 0.

        Raises:
            NotModelled: the request is not modelled.
        """
        if number == SYNCOBJ_CREATE:
            self._last += 1
            given = (ctypes.c_uint32 * 2).from_address(argument)
            given[0] = self._last
            self._signaled[self._last] = bool(given[1] & 1)
        elif number == SYNCOBJ_DESTROY:
            (handle,) = _structure("I", argument)
            self._signaled.pop(handle, None)
        elif number == SYNCOBJ_RESET:
            handles, count = _structure("QI", argument)
            self._signaled |= dict.fromkeys(_structure(f"{count}I", handles), False)
        elif number == SYNCOBJ_WAIT:
            handles, _, count, flags = _structure(_WAIT, argument)
            states = [self._signaled.get(handle, False) for handle in _structure(f"{count}I", handles)]
            # All work is done when a submission returns, so nothing happens while one waits.
            return 0 if (all if flags & _WAIT_ALL else any)(states) else errno.ETIME
        elif number == SYNCOBJ_TRANSFER:
            source, target = _structure("2I", argument)
            self._signaled[target] = self._signaled.get(source, False)
        else:
            raise NotModelled(f"request {number:#x}", "of synchronization objects")
        return 0

    def signal(self, handles: Iterable[int]) -> None:
        """Signal these objects."""
        self._signaled |= dict.fromkeys(handles, True)


class Submissions:
    """The listener of the preloaded library. It maps each buffer into GPU memory and hands on each submission.

    Args:
        execute: executes command buffers one after another, before the system call returns.

    Raises:
        DeviceError: the library is not preloaded.
    """

    def __init__(self, memory: Memory, execute: Callable[[Sequence[CommandBuffer]], None]) -> None:
        self._memory, self._execute = memory, execute
        self._library = ctypes.CDLL(None)
        if not hasattr(self._library, "executed_listen"):
            raise DeviceError("this process does not preload the library that shows submissions: name --device executed:CHIP")
        self._library.mmap.restype = ctypes.c_void_p
        self._library.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_int64)
        self._library.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
        self._sizes: dict[int, int] = {}
        self._mapped: dict[int, int] = {}
        self._fences = Fences()
        self._failures: list[Exception] = []
        # The library calls it until close, so it must not be collected.
        self._listener = _LISTENER(self._hear)
        self._library.executed_listen(self._listener)

    def close(self) -> None:
        """Hear no more."""
        self._library.executed_listen(_LISTENER())

    def raise_failure(self) -> None:
        """Raise the first exception since the last call: a system call cannot raise it."""
        failures, self._failures = self._failures, []
        if failures:
            raise failures[0]

    def _hear(self, descriptor: int, number: int, first: int, argument: int) -> int:
        try:
            if number == GEM_CREATE:
                (handle,) = _structure("I", argument)
                self._sizes[handle] = first
            elif number == GEM_VA:
                self._place(descriptor, argument)
            elif number == GEM_CLOSE:
                self._close(first & 0xFFFFFFFF)
            elif number == CS:
                self._fences.signal(handle for handle, _, _ in _parts(argument, _CHUNK_SIGNAL, _POINT))
                self._execute([(address, size) for _, _, address, size, *_ in _parts(argument, _CHUNK_IB, _INDIRECT_BUFFER)])
            elif number >= SYNCOBJ_CREATE:
                return self._fences.hear(number, argument)
        except Exception as failure:
            self._failures.append(failure)
        return 0

    def _place(self, descriptor: int, argument: int) -> None:
        handle, _, operation, _, address, offset, size = _structure(_VA, argument)
        if operation == _UNMAP:
            self._memory.unmap(address)
        elif operation != _MAP:
            raise NotModelled("GEM_VA", f"with operation {operation}")
        elif handle in self._sizes:
            self._memory.map(address, size, self._host_address(descriptor, handle) + offset)

    def _host_address(self, descriptor: int, handle: int) -> int:
        if handle not in self._mapped:
            offset = ctypes.c_uint64(handle)
            if self._library.ioctl(descriptor, ctypes.c_ulong(_GEM_MMAP), ctypes.byref(offset)):
                raise DeviceError(f"the null kernel driver does not map buffer {handle}: GEM_MMAP fails")
            self._mapped[handle] = self._library.mmap(None, self._sizes[handle], _READ_WRITE, _SHARED, descriptor, offset.value)
        return self._mapped[handle]

    def _close(self, handle: int) -> None:
        size = self._sizes.pop(handle, 0)
        if handle in self._mapped:
            self._library.munmap(self._mapped.pop(handle), size)


def _parts(submission: int, kind: int, layout: str) -> Iterator[tuple[int, ...]]:
    """Yield the structures in the chunks of a kind."""
    _, _, count, _, chunks = _structure(_SUBMISSION, submission)
    for pointer in _structure(f"{count}Q", chunks):
        own, words, data = _structure(_CHUNK, pointer)
        if own == kind:
            yield from struct.iter_unpack(f"={layout}", ctypes.string_at(data, 4 * words))


def _structure(layout: str, address: int) -> tuple[int, ...]:
    """Return the numbers of a structure in memory."""
    return struct.unpack(f"={layout}", ctypes.string_at(address, struct.calcsize(f"={layout}")))
