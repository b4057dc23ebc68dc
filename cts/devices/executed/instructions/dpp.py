"""Data-parallel primitives: a vector instruction reads its first operand from other lanes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from cts.devices.executed.arrays import Array
from cts.devices.executed.encoding.decoder import DPP8, DPP16
from cts.devices.executed.errors import NotModelled
from cts.devices.executed.operands import Read
from cts.devices.executed.wave import Wave

Around = Callable[[Wave], Array]
"""Returns the lanes that the instruction may write."""

_FETCHES_INACTIVE, _BOUND_CONTROL = 1 << 18, 1 << 19


def _row(place: Callable[[Array, int], Array]) -> Callable[[Array, int], Array]:
    return lambda lane, amount: (lane & ~15) + place(lane & 15, amount)


_OUTSIDE = 1 << 10
"""A place in a row that is no lane of it."""

_CONTROLS: tuple[tuple[int, int, Callable[[Array, int], Array]], ...] = (
    (0x000, 0x0FF, lambda lane, selects: (lane & ~3) + (selects >> 2 * (lane & 3) & 3)),
    (0x101, 0x10F, _row(lambda lane, n: np.where(lane + (n & 15) < 16, lane + (n & 15), _OUTSIDE))),
    (0x111, 0x11F, _row(lambda lane, n: np.where(lane >= (n & 15), lane - (n & 15), _OUTSIDE))),
    (0x121, 0x12F, _row(lambda lane, n: lane - (n & 15) & 15)),
    (0x140, 0x140, _row(lambda lane, _: 15 - lane)),
    (0x141, 0x141, _row(lambda lane, _: lane ^ 7)),
    (0x150, 0x15F, _row(lambda lane, n: lane * 0 + (n & 15))),
    (0x160, 0x16F, _row(lambda lane, n: lane ^ (n & 15))),
)
"""First and last control of DPP16, and the lane that each lane reads."""


@cache
def _places(control: int, lanes: int) -> tuple[Array, Array]:
    """Return for each lane the lane that it reads, and whether there is one."""
    found = next((place for first, last, place in _CONTROLS if first <= control <= last), None)
    if found is None:
        raise NotModelled(f"DPP control {control:#x}")
    place = found(np.arange(lanes), control)
    return np.where(place < lanes, place, 0), place < lanes


@cache
def _places_of_8(selects: int, lanes: int) -> Array:
    lane = np.arange(lanes)
    return (lane & ~7) + (selects >> 3 * (lane & 7) & 7)


@cache
def _enabled(masks: int, lanes: int) -> Array:
    """Return the lanes whose row and bank are enabled: the bank's mask in bits 0-3, the row's in bits 4-7."""
    lane = np.arange(lanes)
    found: Array = (masks >> (lane >> 2 & 3) & 1 & masks >> (4 + (lane >> 4)) & 1).astype(bool)
    return found


def moved(read: Read, code: int, word: int) -> tuple[Read, Around]:
    """Return how the operand is read, and the lanes that may be written.

    Args:
        read: reads the register of each lane itself.
        code: what stands in place of the operand: DPP16, or one of both DPP8.
        word: the word that follows the instruction.
    """
    if code in DPP8:
        selects, inactive = word >> 8, code == DPP8[1]

        def of_8(wave: Wave) -> Array:
            place = _places_of_8(selects, wave.lanes)
            value: Array = read(wave)[place]
            return value if inactive or wave.full else np.where(wave.active[place], value, value.dtype.type(0))

        return of_8, lambda wave: wave.active
    assert code == DPP16
    control, masks = word >> 8 & 0x1FF, word >> 24
    zero_outside, inactive = bool(word & _BOUND_CONTROL), bool(word & _FETCHES_INACTIVE)

    def valid(wave: Wave) -> Array:
        place, inside = _places(control, wave.lanes)
        found: Array = inside if inactive or wave.full else inside & wave.active[place]
        return found

    def of_16(wave: Wave) -> Array:
        value = read(wave)[_places(control, wave.lanes)[0]]
        found: Array = np.where(valid(wave), value, value.dtype.type(0))
        return found

    def around(wave: Wave) -> Array:
        enabled: Array = wave.active & _enabled(masks, wave.lanes)
        return enabled if zero_outside else enabled & valid(wave)

    return of_16, around
