"""Lists that a driver tells in two calls, one for the count and one for the entries; a driver that lies is told so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cts.devices.device import DriverRefused
from cts.devices.vulkan.api import INCOMPLETE, SUCCESS, CData, check, load

MOST_ENTRIES = 1 << 16
"""Entries that a list may have: no driver has a hundredth of that, and they fit in memory."""

_TRIES = 10
"""How often a list is asked for that has become longer each time."""


def bounded(call: str, count: int) -> int:
    """Return the count that a call has told.

    Raises:
        DriverRefused: it cannot be true.
    """
    if count > MOST_ENTRIES:
        raise DriverRefused(f"{call} says that there are {count:,} entries: more than {MOST_ENTRIES:,} are not believed", call=call)
    return count


def enumerate_all(call: str, function: Any, type_: str, *arguments: CData) -> list[CData]:
    """Return everything that ``function(*arguments, &count, array)`` tells; see told."""
    return told(call, lambda count, array: function(*arguments, count, array) or SUCCESS, load().ffi, type_)


def told(
    call: str, ask: Callable[[CData, CData], int], ffi: Any, type_: str, prepare: Callable[[CData], None] | None = None
) -> list[CData]:
    """Return the entries of a list, asked for again while they become more.

    Args:
        call: name of the command.
        ask: calls it with a pointer to the count and an array, or null for the count alone; returns the VkResult.
        ffi: which declares ``type_``, the type of an entry.
        type_: of the entries.
        prepare: makes an entry ready to be filled in; None where nothing is to be done.

    Raises:
        DeviceLost, OutOfMemory, DriverRefused: the command fails, or what it says cannot be true.
    """
    count = ffi.new("uint32_t*")
    for _ in range(_TRIES):
        check(call, ask(count, ffi.NULL))
        room = bounded(call, count[0])
        array = ffi.new(f"{type_}[]", max(1, room))
        if prepare is not None:
            for entry in array:
                prepare(entry)
        result = check(call, ask(count, array), INCOMPLETE)
        if count[0] > room:
            raise DriverRefused(
                f"{call} says that it wrote {count[0]:,} entries where there was room for {room:,}", call=call, result=result
            )
        if result == SUCCESS:
            return _kept(ffi, type_, array[0 : count[0]])
    text = f"{call} returned VK_INCOMPLETE {_TRIES} times, always with room for as many entries as it had told just before"
    raise DriverRefused(text, call=call, result=INCOMPLETE)


def _kept(ffi: Any, type_: str, entries: CData) -> list[CData]:
    """Return the entries, which cffi frees with the array where they are structures."""
    if ffi.typeof(type_).kind != "struct":
        return list(entries)
    return [ffi.new(f"{type_}*", entry)[0] for entry in entries]
