"""Matrix multiply-accumulate (WMMA), stated as positions: which element each lane and register holds, and one rounding of the exact sum."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from cts.devices.executed.arithmetic import ZERO, rounded
from cts.devices.executed.arrays import Array
from cts.devices.executed.encoding.decoder import Instruction
from cts.devices.executed.errors import NotModelled
from cts.devices.executed.instructions.meaning import Step
from cts.devices.executed.instructions.packed import BF8, FP8
from cts.devices.executed.operands import FIRST_VECTOR, KINDS, constant
from cts.devices.executed.wave import POISON, Wave

SIZE = 16
"""Rows and columns of every matrix."""

SOURCES = ("src0", "src1")
"""The operands A and B."""


_UNPACK: Mapping[str, tuple[np.dtype[np.generic], Callable[[Array], Array]]] = {
    "f16": (np.dtype("<u2"), lambda codes: codes.view(np.float16)),
    "bf16": (np.dtype("<u2"), lambda codes: (codes.astype(np.uint32) << np.uint32(16)).view(np.float32)),
    "fp8": (np.dtype("u1"), lambda codes: FP8[codes]),
    "bf8": (np.dtype("u1"), lambda codes: BF8[codes]),
    "iu8": (np.dtype("u1"), lambda codes: codes),
    "f32": (np.dtype("<u4"), lambda codes: codes.view(np.float32)),
    "i32": (np.dtype("<u4"), lambda codes: codes.view(np.int32)),
}
"""Type -> the codes of elements, and their values."""


@cache
def factors(repeated: bool, lanes: int) -> tuple[Array, Array]:
    """Return for each lane and place the row of A (or column of B) and the K that it has."""
    outer, per_lane = np.arange(lanes)[:, np.newaxis] % SIZE, SIZE * SIZE // lanes
    if repeated:
        return outer, np.tile(np.arange(SIZE), (lanes, 1))
    # Of four parts of K (or of the rows), the second and third are exchanged.
    part = np.arange(lanes) // SIZE if lanes == 2 * SIZE else np.repeat([0, 2, 1, 3], SIZE)
    return outer, per_lane * part[:, np.newaxis] + np.arange(per_lane)


@cache
def results(repeated: bool, lanes: int) -> tuple[Array, Array]:
    """Return for each lane and place the row and column of C and the result that it has."""
    column, row = factors(repeated, lanes)
    if repeated:
        row = lanes // SIZE * np.arange(SIZE * SIZE // lanes) + (np.arange(lanes) // SIZE)[:, np.newaxis]
    return row, column


@dataclass(frozen=True)
class MultiplyAccumulate:
    """v_wmma.

    Attributes:
        result, a, b: the types of the result (and C), A and B.
        repeated: whether lanes 0-15 hold whole rows of A and columns of B, which the other lanes repeat, as in RDNA3.
    """

    result: str
    a: str
    b: str
    repeated: bool

    def __call__(self, instruction: Instruction) -> Step:
        whole = self.result in ("i32", "f32")
        kept_half = instruction["op_sel"] >> 2 & 1 if self.repeated and not whole else None
        signs = instruction["neg"] if self.a == "iu8" else 0
        a, b = (self._factor(instruction, place, bool(signs >> place & 1)) for place in (0, 1))
        c = self._accumulator(instruction, kept_half)
        saturates = bool(instruction["clamp"])
        if saturates and self.result != "i32":
            raise NotModelled(instruction.mnemonic, "with clamp")
        register, encoded, dtype = instruction["vdst"], _ENCODED[self.result], _UNPACK[self.result][0]
        sums = _sums if self.result == "i32" else exact_sums

        def step(wave: Wave) -> None:
            rows, columns = results(self.repeated, wave.lanes)
            if not (wave.full and all(self._repeats(wave, instruction, place) for place in (0, 1))):
                _write(wave, register, np.full((SIZE, SIZE), POISON).astype(dtype)[rows, columns], kept_half)
                return
            total = sums(a(wave), b(wave), c(wave))
            codes = encoded(np.clip(total, -(2.0**31), 2.0**31 - 1) if saturates else total)
            _write(wave, register, codes[rows, columns], kept_half)

        return step

    def _repeats(self, wave: Wave, instruction: Instruction, place: int) -> bool:
        """Return whether all lanes have of A or B what they must have: on RDNA3, lanes from 16 on what lanes 0-15 have."""
        register = instruction[SOURCES[place]] - FIRST_VECTOR
        words = SIZE * _UNPACK[(self.a, self.b)[place]][0].itemsize // 4
        lanes = wave.u32[register : register + words].reshape(words, -1, SIZE)
        return not self.repeated or bool((lanes == lanes[:, :1]).all())

    def _factor(self, instruction: Instruction, place: int, signed: bool) -> Callable[[Wave], Array]:
        """Return what reads A as rows by K, or B as K by columns."""
        register = instruction[SOURCES[place]] - FIRST_VECTOR
        if register < 0:
            raise NotModelled(instruction.mnemonic, "with a constant as A or B")
        dtype, values = _UNPACK[(self.a, self.b)[place]]
        negate = [bool(instruction[field] >> place & 1) and self.a != "iu8" for field in ("neg", "neg_hi")]
        repeated = self.repeated

        def read(wave: Wave) -> Array:
            outer, inner = factors(repeated, wave.lanes)
            codes = _read(wave, register, inner.shape[1], dtype, None)
            found = values(codes.view(np.int8) if signed else codes).astype(np.float64)
            if negate[0] or negate[1]:
                found = found * np.where(np.arange(found.shape[1]) % 2 == 0, 1 - 2 * negate[0], 1 - 2 * negate[1])
            matrix = np.zeros((SIZE, SIZE))
            matrix[outer, inner] = found
            return matrix if place == 0 else matrix.T

        return read

    def _accumulator(self, instruction: Instruction, half: int | None) -> Callable[[Wave], Array]:
        code = instruction["src2"]
        dtype, values = _UNPACK[self.result]
        absolute, negated = bool(instruction["neg_hi"] & 4), bool(instruction["neg"] & 4)
        repeated = self.repeated

        def signs(found: Array) -> Array:
            found = np.abs(found) if absolute else found
            return -found if negated else found

        kind = KINDS[{"bf16": "f32"}.get(self.result, self.result)]
        number = constant(code, kind, instruction.literal)
        if number is not None:
            number = number >> 16 if self.result == "bf16" else number
            value = float(values(np.array([number], dtype))[0])
            return lambda _: signs(np.full((SIZE, SIZE), value))
        register = code - FIRST_VECTOR
        if register < 0:
            raise NotModelled(instruction.mnemonic, "with a scalar register as C")

        def read(wave: Wave) -> Array:
            rows, columns = results(repeated, wave.lanes)
            codes = _read(wave, register, rows.shape[1], dtype, half)
            matrix = np.zeros((SIZE, SIZE))
            matrix[rows, columns] = values(codes)
            return signs(matrix)

        return read


def _read(wave: Wave, register: int, count: int, dtype: np.dtype[np.generic], half: int | None) -> Array:
    """Return the codes of a matrix's elements by lane and place."""
    if half is not None:
        return np.ascontiguousarray(wave.u16[register : register + count, :, half].T)
    return np.ascontiguousarray(wave.u32[register : register + count * dtype.itemsize // 4].T).view(dtype)


def _write(wave: Wave, register: int, codes: Array, half: int | None) -> None:
    if half is not None:
        wave.u16[register : register + codes.shape[1], :, half] = codes.T
        return
    words = np.ascontiguousarray(codes).view(np.uint32)
    wave.u32[register : register + words.shape[1]] = words.T


def _sums(a: Array, b: Array, c: Array) -> Array:
    found: Array = a @ b + c
    return found


def exact_sums(a: Array, b: Array, c: Array) -> Array:
    """Return A * B + C in float64: exact, or rounded to odd."""
    total = _sums(a, b, c)
    if _is_exact(a, b, c) or not np.isfinite(total).all():
        return total
    products = a[:, :, np.newaxis] * b[np.newaxis]
    for row, column in np.ndindex(total.shape):
        terms = [*products[row, :, column].tolist(), float(c[row, column])]
        nearest = math.fsum(terms)
        rest = math.fsum([*terms, -nearest])
        if rest and not int(np.float64(nearest).view(np.uint64)) & 1:
            nearest = math.nextafter(nearest, math.copysign(math.inf, rest))
        total[row, column] = nearest
    return total


def _is_exact(a: Array, b: Array, c: Array) -> bool:
    """Return whether any order of the sum is exact: all terms are multiples of a unit, and their sum has at most 53 bits of it."""
    unit = min(_lowest_bit(a) * _lowest_bit(b), _lowest_bit(c))
    largest = SIZE * float(np.abs(a).max()) * float(np.abs(b).max()) + float(np.abs(c).max())
    return largest < unit * 2.0**53


def _lowest_bit(values: Array) -> float:
    """Return the largest power of two of which all values are multiples."""
    finite = np.isfinite(values) & (values != 0)
    if not finite.any():
        return 2.0**400
    fraction, exponent = np.frexp(values[finite])
    significand = (fraction * 2.0**53).astype(np.int64)
    lowest = np.frexp((significand & -significand).astype(np.float64))[1] - 1 + exponent - 53
    return math.ldexp(1.0, int(lowest.min()))


def _to_bf16(values: Array) -> Array:
    """Return the codes of bf16, rounded to the nearest even from float64 that is exact or rounded to odd."""
    # Round to odd once more, so the second rounding is as good as the only one.
    narrow = rounded(values, np.dtype(np.float32), ZERO)
    bits = narrow.view(np.uint32) | (narrow != values)
    nearest = bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1)) >> np.uint32(16)
    return np.where(np.isnan(values), 0x7FC0, nearest).astype(np.uint16)


_ENCODED: Mapping[str, Callable[[Array], Array]] = {
    "f32": lambda values: values.astype(np.float32).view(np.uint32),
    "f16": lambda values: values.astype(np.float16).view(np.uint16),
    "bf16": _to_bf16,
    "i32": lambda values: values.astype(np.int64).astype(np.uint32),
}


def multiply_accumulate(mnemonic: str, generation: str) -> MultiplyAccumulate:
    """Return the instruction of a generation with a mnemonic."""
    _, _, result, _, *factors_ = mnemonic.split("_")
    return MultiplyAccumulate(result, factors_[0], factors_[-1], repeated=generation != "gfx12")
