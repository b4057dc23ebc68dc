"""Operands: functions that read and write what the fields of instructions name."""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from cts.devices.executed.arrays import Array
from cts.devices.executed.errors import NotModelled
from cts.devices.executed.wave import EXEC, NULL, SCALARS, VCC, Wave, lanes_of, mask_of

Read = Callable[[Wave], Any]
Write = Callable[[Wave, Any], None]

FIRST_VECTOR, LITERAL, SCC = 256, 255, 253
_LAST_LANE_MASK = (VCC, EXEC)
_INTEGERS = {128 + number: number for number in range(65)} | {192 + number: -number for number in range(1, 17)}
_FLOATS = {240: 0.5, 241: -0.5, 242: 1.0, 243: -1.0, 244: 2.0, 245: -2.0, 246: 4.0, 247: -4.0}
_INVERSE_TWO_PI = MappingProxyType({16: 0x3118, 32: 0x3E22F983, 64: 0x3FC45F306DC9C882})
_PACKING = MappingProxyType({16: "<e", 32: "<f", 64: "<d"})


@dataclass(frozen=True)
class Kind:
    """The type of an operand.

    Attributes:
        name: b (bits), u, i or f with the number of bits; ``mask`` is a bit for each lane.
        bits: 1 for a mask.
        dtype: of the array.
    """

    name: str
    bits: int
    dtype: np.dtype[Any]

    @property
    def is_float(self) -> bool:
        """Whether it is a float."""
        return self.name[0] == "f"


_DTYPES = {"b": "u", "u": "u", "i": "i", "f": "f"}
KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        **{
            f"{letter}{bits}": Kind(f"{letter}{bits}", bits, np.dtype(f"<{kind}{bits // 8}"))
            for letter, kind in _DTYPES.items()
            for bits in (16, 32, 64)
        },
        "mask": Kind("mask", 1, np.dtype(bool)),
    }
)


def constant(code: int, kind: Kind, literal: int | None) -> int | None:
    """Return the bits of a constant operand in a type; None if the operand is a register.

    Raises:
        NotModelled: the code is reserved, or names a constant that is not modelled.
    """
    bits = max(kind.bits, 32) if kind.bits != 16 else 16
    if code < SCALARS or code >= FIRST_VECTOR or code == SCC:
        return None
    if code in _INTEGERS:
        return _INTEGERS[code] & (1 << bits) - 1
    if code in _FLOATS:
        return int.from_bytes(struct.pack(_PACKING[bits], _FLOATS[code]), "little")
    if code == 248:
        return _INVERSE_TWO_PI[bits]
    if code == LITERAL and literal is not None:
        if bits != 64:
            return literal & (1 << bits) - 1
        return literal << 32 if kind.is_float else (literal ^ 1 << 31) - (1 << 31) & (1 << 64) - 1 if kind.name == "i64" else literal
    raise NotModelled(f"source operand {code}")


def scalar(code: int, bits: int, literal: int | None = None, signed: bool = False) -> Callable[[Wave], int]:
    """Return a function that reads a scalar operand as a number.

    Raises:
        NotModelled: see ``constant``; or a vector register.
    """
    number = constant(code, KINDS[f"{'i' if signed else 'u'}{bits}"], literal)
    if number is not None:
        value = _signed(number, bits) if signed else number
        return lambda _: value
    if code == SCC:
        return lambda wave: wave.scc
    if code >= FIRST_VECTOR:
        raise NotModelled("a vector register", "as an operand of a scalar instruction")
    if code == NULL:
        return lambda _: 0
    if bits == 64:
        return (lambda wave: _signed(wave.pair(code), 64)) if signed else (lambda wave: wave.pair(code))
    mask = (1 << bits) - 1
    if signed:
        return lambda wave: _signed(wave.scalars[code] & mask, bits)
    return (lambda wave: wave.scalars[code]) if bits == 32 else (lambda wave: wave.scalars[code] & mask)


def _signed(number: int, bits: int) -> int:
    return number - (number >> bits - 1 << bits)


def write_scalar(code: int, bits: int) -> Callable[[Wave, int], None]:
    """Return a function that writes the lowest bits of a number to scalar registers."""
    mask = (1 << bits) - 1

    def write(wave: Wave, value: int) -> None:
        if bits == 64:
            wave.set_pair(code, value)
        else:
            wave.scalars[code] = value & mask
        if code >= EXEC:
            wave.refresh()

    return (lambda *_: None) if code == NULL else write


def vector(code: int, kind: Kind, literal: int | None = None, high: bool = False) -> Read:
    """Return a function that reads an operand of a vector instruction as an array of lanes; one that all lanes share has a single element.

    Args:
        high: whether a 16-bit operand is in the upper half of its register.

    Raises:
        NotModelled: see ``constant``.
    """
    if kind.bits == 1:
        return _lane_mask(code)
    if code >= FIRST_VECTOR:
        return _vector_register(code - FIRST_VECTOR, kind, high)
    number = constant(code, kind, literal)
    unsigned = np.dtype(f"<u{kind.bits // 8}")
    if number is not None:
        value = np.array([number], unsigned).view(kind.dtype)
        value.flags.writeable = False
        return lambda _: value
    read = scalar(code, 64 if kind.bits == 64 else 32)
    shift, mask = 16 * high, (1 << kind.bits) - 1
    return lambda wave: np.array([read(wave) >> shift & mask], unsigned).view(kind.dtype)


def _lane_mask(code: int) -> Read:
    wide, narrow = scalar(code, 64), scalar(code, 32)
    return lambda wave: lanes_of(wide(wave) if wave.lanes == 64 else narrow(wave), wave.lanes)


def _vector_register(register: int, kind: Kind, high: bool) -> Read:
    if kind.bits == 64:
        dtype = kind.dtype

        def pair(wave: Wave) -> Array:
            low, up = wave.u32[register], wave.u32[register + 1]
            both: Array = (low | up.astype(np.uint64) << np.uint64(32)).view(dtype)
            return both

        return pair
    view = operator.attrgetter({"b": "u"}.get(kind.name[0], kind.name[0]) + str(kind.bits))
    if kind.bits == 32:
        return lambda wave: view(wave)[register]
    half = int(high)
    return lambda wave: view(wave)[register, :, half]


def write_vector(register: int, kind: Kind, high: bool = False) -> Write:
    """Return a function that writes an array to the active lanes of a vector register, or of one half of it."""
    if kind.bits == 64:

        def pair(wave: Wave, value: Array) -> None:
            bits = np.ascontiguousarray(value).view(np.uint64)
            low, up = bits.astype(np.uint32), (bits >> np.uint64(32)).astype(np.uint32)
            np.copyto(wave.u32[register], low, where=wave.active)
            np.copyto(wave.u32[register + 1], up, where=wave.active)

        return pair
    read = _vector_register(register, kind, high)
    dtype = kind.dtype

    def write(wave: Wave, value: Array) -> None:
        if wave.full:
            read(wave)[:] = value
        else:
            np.copyto(read(wave), value.astype(dtype, copy=False), where=wave.active)

    return write


def write_mask(code: int) -> Write:
    """Return a function that writes a boolean for each lane to scalar registers; inactive lanes are false."""
    return lambda wave, value: wave.set_mask(code, mask_of(value & wave.active))


def with_signs(read: Read, kind: Kind, absolute: bool, negated: bool) -> Read:
    """Return a function that reads an operand with the modifiers of its sign."""
    if not (absolute or negated) or kind.bits == 1:
        return read
    unsigned = np.dtype(f"<u{kind.bits // 8}")
    sign = unsigned.type(1 << kind.bits - 1)
    keep = unsigned.type(~sign) if absolute else unsigned.type((1 << kind.bits) - 1)
    flip = sign if negated else unsigned.type(0)
    dtype = kind.dtype
    return lambda wave: (read(wave).view(unsigned) & keep ^ flip).view(dtype)
