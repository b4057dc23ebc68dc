"""Literal numbers of a module: words of a scalar type, and their text."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from typing import NamedTuple

from generators.spirv.enumerants import FPEncoding
from generators.spirv.reader import Instruction

_HEXADECIMAL = re.compile(r"(-?)0x([01])(?:\.([0-9a-f]+))?p([+-]\d+)")


class NumberType(NamedTuple):
    """A scalar type: OpTypeInt (``signed``) or OpTypeFloat (``encoding`` None is IEEE 754)."""

    is_float: bool
    bits: int
    signed: bool = False
    encoding: int | None = None


def number_type(type_: Instruction) -> NumberType:
    """Return the number type that an OpTypeInt or OpTypeFloat declares."""
    words = type_.operands
    if type_.op.name == "TypeInt":
        return NumberType(False, words[1], bool(words[2]))
    return NumberType(True, words[1], encoding=words[2] if len(words) > 2 else None)


def number_text(type_: NumberType, words: tuple[int, ...]) -> str:
    """Return a literal as spirv-dis writes it: decimal, or hexadecimal floating point if decimal is not exact for every value of the type
    (narrow types, infinities, NaNs, subnormals)."""
    bits = sum(word << 32 * i for i, word in enumerate(words)) & (1 << type_.bits) - 1
    if not type_.is_float:
        return str(bits - (1 << type_.bits) if type_.signed and bits >> type_.bits - 1 else bits)
    if type_.encoding is None and type_.bits in (32, 64):
        value = struct.unpack("<f" if type_.bits == 32 else "<d", bits.to_bytes(type_.bits // 8, "little"))[0]
        tiny = 2.0**-126 if type_.bits == 32 else 2.0**-1022
        if value == 0 or (math.isfinite(value) and abs(value) >= tiny):
            return f"{value:.{9 if type_.bits == 32 else 17}g}"
    fraction_bits = _FRACTION_BITS.get((type_.bits, type_.encoding))
    return f"{bits:#x}" if fraction_bits is None else _hexadecimal(bits, type_.bits, fraction_bits)


_FRACTION_BITS: Mapping[tuple[int, int | None], int] = {
    (16, None): 10,
    (32, None): 23,
    (64, None): 52,
    (16, FPEncoding.BFloat16KHR): 7,
    (8, FPEncoding.Float8E4M3EXT): 3,
    (8, FPEncoding.Float8E5M2EXT): 2,
}
"""Float formats by width and encoding."""


def _hexadecimal(bits: int, width: int, fraction_bits: int) -> str:
    exponent_bits = width - 1 - fraction_bits
    bias = (1 << exponent_bits - 1) - 1
    sign = "-" if bits >> width - 1 else ""
    fraction = bits & (1 << fraction_bits) - 1
    exponent = bits >> fraction_bits & (1 << exponent_bits) - 1
    if exponent == 0 and fraction == 0:
        return f"{sign}0x0p+0"
    power = exponent - bias
    if exponent == 0:
        shift = fraction_bits + 1 - fraction.bit_length()
        fraction = fraction << shift & (1 << fraction_bits) - 1
        power = 1 - bias - shift
    digits = -(-fraction_bits // 4)
    text = f"{fraction << 4 * digits - fraction_bits:0{digits}x}".rstrip("0")
    return f"{sign}0x1{'.' + text if text else ''}p{power:+d}"


def hexadecimal_bits(type_: NumberType, text: str) -> int | None:
    """Return the bits of hexadecimal floating point as ``number_text`` writes it; None for any other text."""
    match = _HEXADECIMAL.fullmatch(text)
    if match is None:
        return None
    sign, leading, digits, power = match.groups()
    fraction_bits = _FRACTION_BITS[type_.bits, type_.encoding]
    bias = (1 << type_.bits - 2 - fraction_bits) - 1
    width = 4 * -(-fraction_bits // 4)
    bits = int((digits or "0").ljust(width // 4, "0"), 16) >> width - fraction_bits
    exponent = int(power) + bias
    if leading == "0":
        bits = 0
    elif exponent > 0:
        bits |= exponent << fraction_bits
    else:
        bits = (bits | 1 << fraction_bits) >> 1 - exponent
    return bits | (1 << type_.bits - 1 if sign else 0)
