"""Hears of the system calls of RADV in this process, and keeps the buffers and command buffers that they are about."""

from __future__ import annotations

import ctypes
import errno
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import MappingProxyType
from typing import TypeVar

from cts.devices.device import DeviceError
from cts.devices.executed.errors import NotModelled
from cts.devices.executed.memory import Memory

GEM_CLOSE, GEM_CREATE, CS, GEM_VA = 0x09, 0x40, 0x44, 0x48
SYNCOBJ_CREATE, SYNCOBJ_DESTROY, SYNCOBJ_WAIT, SYNCOBJ_RESET, SYNCOBJ_TRANSFER = 0xBF, 0xC0, 0xC3, 0xC4, 0xCC
"""The numbers of the requests that this module hears of, of those that the library tells."""

_GEM_MMAP = 0xC0086441
"""The whole request, DRM_IOCTL_AMDGPU_GEM_MMAP."""

_VA_OPERATIONS = MappingProxyType({1: "map", 2: "unmap", 3: "clear", 4: "replace"})
_CHUNK_IB, _CHUNK_SIGNAL = 1, 9
_WAIT_ALL = 1
_READ_WRITE, _SHARED = 3, 1

_LISTENER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p)

CommandBuffer = tuple[int, int]
"""GPU address and size in bytes."""


class _Va(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_uint32) for name in ("handle", "pad", "operation", "flags")),
        *((name, ctypes.c_uint64) for name in ("address", "offset", "size")),
    )


class _Submission(ctypes.Structure):
    _fields_ = (*((name, ctypes.c_uint32) for name in ("context", "buffers", "chunk_count", "flags")), ("chunks", ctypes.c_uint64))


class _Chunk(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_uint32), ("words", ctypes.c_uint32), ("data", ctypes.c_uint64))


class _IndirectBuffer(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_uint32) for name in ("pad", "flags")),
        ("address", ctypes.c_uint64),
        *((name, ctypes.c_uint32) for name in ("bytes", "type", "instance", "ring")),
    )


class _Point(ctypes.Structure):
    _fields_ = (("handle", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("point", ctypes.c_uint64))


_Part = TypeVar("_Part", _IndirectBuffer, _Point)


class _Wait(ctypes.Structure):
    _fields_ = (("handles", ctypes.c_uint64), ("until", ctypes.c_int64), ("count", ctypes.c_uint32), ("flags", ctypes.c_uint32))


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
            self._signaled.pop(ctypes.c_uint32.from_address(argument).value, None)
        elif number == SYNCOBJ_RESET:
            pointer, count = ctypes.c_uint64.from_address(argument).value, ctypes.c_uint32.from_address(argument + 8).value
            self._signaled |= dict.fromkeys((ctypes.c_uint32 * count).from_address(pointer), False)
        elif number == SYNCOBJ_WAIT:
            wait = _Wait.from_address(argument)
            states = [self._signaled.get(handle, False) for handle in (ctypes.c_uint32 * wait.count).from_address(wait.handles)]
            # All work is done when a submission returns, so nothing happens while one waits.
            return 0 if (all if wait.flags & _WAIT_ALL else any)(states) else errno.ETIME
        elif number == SYNCOBJ_TRANSFER:
            source, target = (ctypes.c_uint32 * 2).from_address(argument)
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
                self._sizes[ctypes.c_uint32.from_address(argument).value] = first
            elif number == GEM_VA:
                self._place(descriptor, _Va.from_address(argument))
            elif number == GEM_CLOSE:
                self._close(first & 0xFFFFFFFF)
            elif number == CS:
                submission = _Submission.from_address(argument)
                self._fences.signal(point.handle for point in _parts(submission, _CHUNK_SIGNAL, _Point))
                self._execute([(buffer.address, buffer.bytes) for buffer in _parts(submission, _CHUNK_IB, _IndirectBuffer)])
            elif number >= SYNCOBJ_CREATE:
                return self._fences.hear(number, argument)
        except Exception as failure:
            self._failures.append(failure)
        return 0

    def _place(self, descriptor: int, va: _Va) -> None:
        operation = _VA_OPERATIONS.get(va.operation, "")
        if operation == "map" and va.handle in self._sizes:
            self._memory.map(va.address, va.size, self._host_address(descriptor, va.handle) + va.offset)
        elif operation == "unmap":
            self._memory.unmap(va.address)
        elif operation != "map":
            raise NotModelled("GEM_VA", f"with operation {va.operation}")

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


def _parts(submission: _Submission, kind: int, of: type[_Part]) -> Iterator[_Part]:
    """Yield the structures in the chunks of a kind."""
    for pointer in (ctypes.c_uint64 * submission.chunk_count).from_address(submission.chunks):
        chunk = _Chunk.from_address(pointer)
        if chunk.kind == kind:
            yield from (of * (4 * chunk.words // ctypes.sizeof(of))).from_address(chunk.data)
