"""Vector instructions on two halves of a register, and on operands of mixed formats."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from cts.devices.executed.arithmetic import F16, F32, OVERFLOW_TO_LARGEST, modal
from cts.devices.executed.arrays import Array
from cts.devices.executed.encoding.decoder import Instruction
from cts.devices.executed.errors import NotModelled
from cts.devices.executed.instructions.floats import FLOATS
from cts.devices.executed.instructions.integers import INTEGERS
from cts.devices.executed.instructions.meaning import Meaning, Step
from cts.devices.executed.instructions.vector import Vector, computing, saturated
from cts.devices.executed.operands import FIRST_VECTOR, KINDS, LITERAL, Kind, Read, constant, vector, with_signs, write_vector
from cts.devices.executed.wave import Wave

SOURCES = ("src0", "src1", "src2")


def half(code: int, kind: Kind, literal: int | None, high: bool) -> Read:
    """Return a function that reads half of an operand. The upper half of an inline constant is that of 32 bits: 0 for a float."""
    bits = constant(code, kind if kind.is_float and code != LITERAL else KINDS["u32"], literal)
    if bits is None:
        return vector(code, kind, literal, high)
    value = np.array([bits >> 16 * high & 0xFFFF], np.uint16).view(kind.dtype)
    return lambda _: value


def selects(instruction: Instruction, place: int) -> tuple[bool, bool]:
    """Return which half of an operand is used for the lower, and for the upper half of the result."""
    upper = instruction["op_sel_hi"] | instruction["op_sel_hi_2"] << 2
    return bool(instruction["op_sel"] >> place & 1), bool(upper >> place & 1)


@dataclass(frozen=True)
class Packed:
    """The same instruction on both halves of 32-bit registers.

    Attributes:
        single: the instruction on one half.
    """

    single: Vector

    def __call__(self, instruction: Instruction) -> Step:
        result, _, operands = self.single.signature.partition(" <- ")
        low, high = (self._half(instruction, upper, operands.split()) for upper in (False, True))
        kind = KINDS[result]
        write_low, write_high = (write_vector(instruction["vdst"], kind, upper) for upper in (False, True))

        def step(wave: Wave) -> None:
            of_low, of_high = low(wave), high(wave)
            write_low(wave, of_low)
            write_high(wave, of_high)

        return step

    def _half(self, instruction: Instruction, upper: bool, operands: list[str]) -> Read:
        negations = instruction["neg_hi"] if upper else instruction["neg"]
        reads = []
        for place, name in enumerate(operands):
            kind = KINDS[name]
            read = half(instruction[SOURCES[place]], kind, instruction.literal, selects(instruction, place)[upper])
            reads.append(with_signs(read, kind, False, bool(negations >> place & 1)))
        if instruction["clamp"]:
            return _clamped(self.single.function, reads, KINDS[operands[0]])
        return computing(self.single.function, reads, self.single.modal)


def _clamped(function: Callable[..., Any], reads: list[Read], kind: Kind) -> Read:
    if kind.is_float:
        return lambda wave: np.clip(np.nan_to_num(function(wave, *(read(wave) for read in reads)), nan=0.0), 0, 1)
    return saturated(function, reads, kind)


@dataclass(frozen=True)
class Mixed:
    """A fused multiply-add of f32, whose operands may be halves in f16.

    Attributes:
        result: None for f32; else whether the f16 result goes to the upper half.
    """

    result: bool | None

    def __call__(self, instruction: Instruction) -> Step:
        reads = [self._operand(instruction, place) for place in range(3)]
        fused = FLOATS["v_fma_f32"].function
        narrowed = modal(F16, lambda a: a, lambda a: a.astype(np.float16), F32)
        kind = KINDS["f32" if self.result is None else "f16"]
        write = write_vector(instruction["vdst"], kind, bool(self.result))
        if instruction["clamp"]:
            raise NotModelled(instruction.mnemonic, "with clamp")

        def step(wave: Wave) -> None:
            total = fused(wave, *(read(wave) for read in reads))
            write(wave, total if self.result is None else narrowed(wave, total))

        return step

    def _operand(self, instruction: Instruction, place: int) -> Read:
        upper, is_half = selects(instruction, place)
        kind = KINDS["f16" if is_half else "f32"]
        code = instruction[SOURCES[place]]
        read = half(code, kind, instruction.literal, upper) if is_half else vector(code, kind, instruction.literal)
        # The bits that negate upper halves elsewhere make operands absolute here.
        signed = with_signs(read, kind, bool(instruction["neg_hi"] >> place & 1), bool(instruction["neg"] >> place & 1))
        return (lambda wave: signed(wave).astype(np.float32)) if is_half else signed


def _accumulated(instruction: Instruction) -> Step:
    """Prepare a packed fused multiply-add to the destination, whose encoding has neither a third operand nor modifiers."""
    third = {"src1": instruction["vsrc1"] + FIRST_VECTOR, "src2": instruction["vdst"] + FIRST_VECTOR}
    plain = {"op_sel": 0, "op_sel_hi": 3, "op_sel_hi_2": 1, "neg": 0, "neg_hi": 0, "clamp": 0}
    return Packed(FLOATS["v_fma_f16"])(replace(instruction, fields=MappingProxyType({**instruction.fields, **third, **plain})))


def packed(mnemonic: str) -> Packed:
    """Return the instruction on two halves with a mnemonic."""
    single = re.sub("^v_pk_(add|sub)_(?=[ui])", r"v_\1_nc_", mnemonic).replace("v_pk_", "v_")
    return Packed({**FLOATS, **INTEGERS}[single])


def _values(exponent_bits: int, significand_bits: int, has_infinity: bool) -> Array:
    """Return the values of all codes of an 8-bit float."""
    codes = np.arange(256)
    exponent, significand = codes >> significand_bits & (1 << exponent_bits) - 1, codes & (1 << significand_bits) - 1
    bias = (1 << exponent_bits - 1) - 1
    scale = 1 << significand_bits
    value = np.where(exponent == 0, significand, significand + scale) / scale * 2.0 ** (np.maximum(exponent, 1) - bias)
    highest = exponent == (1 << exponent_bits) - 1
    if has_infinity:
        value = np.where(highest, np.where(significand == 0, np.inf, np.nan), value)
    else:
        value = np.where(highest & (significand == scale - 1), np.nan, value)
    return np.where(codes & 0x80, -value, value).astype(np.float32)


FP8, BF8 = _values(4, 3, has_infinity=False), _values(5, 2, has_infinity=True)


def _encoded(values: Array, wave: Wave, a: Array) -> Array:
    """Return the codes of the nearest values, of two as near that with an even code."""
    positive = values[:128][np.isfinite(values[:128])].astype(np.float64)
    # Half way beyond the largest value overflow begins.
    places = np.append(positive, 2 * positive[-1] - positive[-2])
    half_ways = (places[1:] + places[:-1]) / 2
    lower, upper = (np.searchsorted(half_ways, np.abs(a.astype(np.float64)), side) for side in ("left", "right"))
    overflow = len(positive) - bool(wave.mode & OVERFLOW_TO_LARGEST)
    code = np.minimum(np.where(lower % 2, upper, lower), overflow)
    code = np.where(np.isnan(a), 0x7F, code)
    return (code | np.where(np.signbit(a), 0x80, 0)).astype(np.uint16)


def _to_bytes(values: Array) -> Vector:
    return Vector("b16 <- f32 f32", lambda wave, a, b: _encoded(values, wave, a) | _encoded(values, wave, b) << np.uint16(8), modal=True)


def _from_bytes(values: Array) -> Vector:
    def both(a: Array) -> Array:
        low, high = (values[a >> shift & 0xFF].view(np.uint32).astype(np.uint64) for shift in (0, 8))
        found: Array = low | high << np.uint64(32)
        return found

    return Vector("b64 <- b16", both)


PACKED: Mapping[str, Meaning] = MappingProxyType(
    {
        "v_pk_fmac_f16": _accumulated,
        "v_fma_mix_f32": Mixed(None),
        "v_fma_mixlo_f16": Mixed(False),
        "v_fma_mixhi_f16": Mixed(True),
        "v_cvt_pk_fp8_f32": _to_bytes(FP8),
        "v_cvt_pk_bf8_f32": _to_bytes(BF8),
        "v_cvt_pk_f32_fp8": _from_bytes(FP8),
        "v_cvt_pk_f32_bf8": _from_bytes(BF8),
        "v_cvt_f32_fp8": Vector("f32 <- u32", lambda a: FP8[a & 0xFF]),
        "v_cvt_f32_bf8": Vector("f32 <- u32", lambda a: BF8[a & 0xFF]),
    }
)
