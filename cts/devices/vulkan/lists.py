"""Reads lists that a driver returns in two calls, one for the count and one for the entries, and rejects impossible answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cts.devices.device import DriverRefused
from cts.devices.vulkan.api import INCOMPLETE, SUCCESS, CData, check, load

MOST_ENTRIES = 1 << 16
"""The most entries in a list. No driver has a hundredth of that, and they fit in memory."""

_POISON = 0xA5
"""The value of every byte of an entry before a call. An entry of zeros may be right: its component types may all be f16."""

_TRIES = 10
"""How often to query a list that grows each time."""


def bounded(call: str, count: int) -> int:
    """Return a count that a call returned.

    Raises:
        DriverRefused: the count is above MOST_ENTRIES.
    """
    if count > MOST_ENTRIES:
        raise DriverRefused(f"{call} claims to have {count:,} entries; the suite accepts at most {MOST_ENTRIES:,}", call=call)
    return count


def enumerate_all(call: str, function: Any, type_: str, *arguments: CData) -> list[CData]:
    """Return all entries of ``function(*arguments, &count, array)``; see told."""
    return told(call, lambda count, array: function(*arguments, count, array) or SUCCESS, load().ffi, type_)


def told(
    call: str, ask: Callable[[CData, CData], int], ffi: Any, type_: str, prepare: Callable[[CData], None] | None = None
) -> list[CData]:
    """Return the entries of a list. Query it again while it grows.

    Args:
        call: name of the command.
        ask: calls the command with pointers to the count and an array (null to get only the count); returns the VkResult.
        ffi: the cffi instance that declares ``type_``.
        type_: C type of an entry.
        prepare: initializes members of an entry before the call; the others hold poison. None if it needs no initialization.

    Raises:
        DeviceLost, OutOfMemory, DriverRefused: the command fails, returns an impossible count, or does not write an entry.
    """
    count = ffi.new("uint32_t*")
    for _ in range(_TRIES):
        check(call, ask(count, ffi.NULL))
        room = bounded(call, count[0])
        array = ffi.new(f"{type_}[]", max(1, room))
        ffi.memmove(array, bytes([_POISON]) * ffi.sizeof(array), ffi.sizeof(array))
        if prepare is not None:
            for entry in array:
                prepare(entry)
        before = bytes(ffi.buffer(array))
        result = check(call, ask(count, array), INCOMPLETE)
        if count[0] > room:
            raise DriverRefused(f"{call} claims to have written {count[0]:,} entries to an array of {room:,}", call=call, result=result)
        if result == SUCCESS:
            _check_written(call, bytes(ffi.buffer(array)), before, ffi.sizeof(type_), count[0])
            return _kept(ffi, type_, array[0 : count[0]])
    text = f"{call} returned VK_INCOMPLETE {_TRIES} times, each time for an array of the count that it had just returned"
    raise DriverRefused(text, call=call, result=INCOMPLETE)


def _check_written(call: str, after: bytes, before: bytes, size: int, count: int) -> None:
    """Check that each entry differs from its state before the call.

    Raises:
        DriverRefused: one does not.
    """
    for index in range(count):
        entry = slice(index * size, (index + 1) * size)
        if after[entry] == before[entry]:
            raise DriverRefused(
                f"{call} returned VK_SUCCESS and the count {count}, but did not write entry {index}", call=call, result=SUCCESS
            )


def _kept(ffi: Any, type_: str, entries: CData) -> list[CData]:
    """Return the entries. Copy structures, because cffi frees them with the array."""
    if ffi.typeof(type_).kind != "struct":
        return list(entries)
    return [ffi.new(f"{type_}*", entry)[0] for entry in entries]
