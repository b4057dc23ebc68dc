"""Simulated matrix units of known arithmetic, written without the model that is to find them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from cts.fingerprint.dispatching import Unit
from cts.fingerprint.one_operand import OneOperand
from generators.numerics.formats import denormals, largest_finite, sign_bit, values
from generators.property_rows import PropertyRow

Sum = Callable[[list[float], list[float], float], float]


def _numbers(row: PropertyRow, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the factors of each result, (results, K) twice, and C."""
    n, m, k = a.shape
    whole = (n, m, b.shape[2], k)
    left = np.broadcast_to(values(a, row.a)[:, :, None], whole).reshape(-1, k)
    right = np.broadcast_to(values(b, row.b).swapaxes(1, 2)[:, None], whole).reshape(-1, k)
    return left, right, values(c, row.c).reshape(-1)


def _bits(row: PropertyRow, results: np.ndarray, shape: tuple[int, ...], nan: int) -> np.ndarray:
    with np.errstate(all="ignore"):
        native = results.astype(row.result.dtype)
    return np.where(np.isnan(results), row.result.bits_dtype.type(nan), native.view(row.result.bits_dtype)).reshape(shape)


def chain_of_singles(row: PropertyRow, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Add one rounded product after the other to C, in binary32."""
    with np.errstate(all="ignore"):
        left, right, total = (part.astype(np.float32) for part in _numbers(row, a, b, c))
        for k in range(left.shape[1]):
            total = total + left[:, k] * right[:, k]
    return _bits(row, total, c.shape, 0x7FC00000)


def tree_of_singles(row: PropertyRow, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Add neighbours in binary32 until one sum is left, then C; denormal C counts as zero."""
    with np.errstate(all="ignore"):
        left, right, last = (part.astype(np.float32) for part in _numbers(row, a, b, c))
        last = np.where(np.abs(last) < np.finfo(np.float32).smallest_normal, np.float32(0), last)
        terms = left * right
        while terms.shape[1] > 1:
            terms = terms[:, ::2] + terms[:, 1::2]
        return _bits(row, terms[:, 0] + last, c.shape, 0x7FC00000)


def chain_of_halves(row: PropertyRow, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Round each product and each sum to binary16, and add C last; denormal factors count as zero."""
    left, right, last = (part.astype(np.float16) for part in _numbers(row, a, b, c))
    least = np.finfo(np.float16).smallest_normal
    left, right = (np.where(np.abs(part) < least, np.copysign(np.float16(0), part), part) for part in (left, right))
    with np.errstate(all="ignore"):
        total = left[:, 0] * right[:, 0]
        for k in range(1, left.shape[1]):
            total = total + left[:, k] * right[:, k]
        return _bits(row, total + last, c.shape, 0x7E00)


def _exponent(number: float, least: int) -> int:
    return max(math.frexp(number)[1] - 1, least)


def _by_element(total: Sum, nan: int) -> Callable[[PropertyRow, np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    def unit(row: PropertyRow, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        left, right, first = _numbers(row, a, b, c)
        found = np.zeros(len(first))
        with np.errstate(all="ignore"):
            special = ~np.isfinite((left * right).sum(1) + first)
            found[special] = ((left * right).sum(1) + first)[special]
        for i in np.flatnonzero(~special):
            found[i] = total(left[i].tolist(), right[i].tolist(), float(first[i]))
        return _bits(row, found, c.shape, nan)

    return unit


def _cut(terms: list[tuple[float, int]], bits: int, down: bool) -> tuple[int, int]:
    """Return the sum of terms (a number, its exponent), each cut to ``bits`` below the largest exponent, and the exponent of its unit."""
    present = [exponent for number, exponent in terms if number]
    unit = max(present, default=0) - bits
    scaled = [math.ldexp(number, -unit) for number, _ in terms]
    return sum(math.floor(one) if down else math.trunc(one) for one in scaled), unit


def _toward_zero(whole: int, unit: int, precision: int, least: int) -> float:
    """Return a number with ``precision`` bits, at least multiples of 2**``least``."""
    excess = max(whole.bit_length() - precision, least - unit, 0)
    magnitude = abs(whole) >> excess << excess
    return math.ldexp(-magnitude if whole < 0 else magnitude, unit)


def blocks_cut_toward_zero(size: int, bits: int) -> Callable[[PropertyRow, np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    """Return a unit that adds the sum so far and ``size`` products of f16 in one sum of aligned terms, rounded toward zero to binary32."""

    def total(left: list[float], right: list[float], first: float) -> float:
        for start in range(0, len(left), size):
            terms = [(first, _exponent(first, -126))]
            for a, b in zip(left[start : start + size], right[start : start + size], strict=True):
                terms.append((a * b, _exponent(a, -14) + _exponent(b, -14)))
            first = _toward_zero(*_cut(terms, bits, down=False), 24, -149)
        return first

    return _by_element(total, 0x7FFFFFFF)


def products_cut_down(left: list[float], right: list[float], first: float) -> float:
    """Add all products of f16 in one sum of terms cut down to 24 bits, round it to binary32, then add C in the same way."""
    terms = [(a * b, _exponent(a, -14) + _exponent(b, -14)) for a, b in zip(left, right, strict=True)]
    whole, unit = _cut(terms, 24, down=True)
    product = float(np.float32(math.ldexp(whole, unit)))
    whole, unit = _cut([(product, _exponent(product, -126)), (first, _exponent(first, -126))], 24, down=True)
    return math.ldexp(whole, unit)


cut_down = _by_element(products_cut_down, 0x7FC00000)


def _sums(row: PropertyRow | OneOperand, terms: np.ndarray, order: str) -> np.ndarray:
    """Add the last axis in the component's own arithmetic."""
    total = [terms[..., i] for i in range(terms.shape[-1])]
    if order == "reversed":
        total.reverse()
    while len(total) > 1:
        half = len(total) // 2
        if order == "neighbours":
            total = [total[2 * i] + total[2 * i + 1] for i in range(half)]
        elif order == "halves":
            total = [total[i] + total[i + half] for i in range(half)]
        elif order == "two_lanes":
            total = [(total[0] + total[1] + total[4] + total[5]) + (total[2] + total[3] + total[6] + total[7])]
        else:
            total = [total[0] + total[1], *total[2:]]
    return total[0]


def reducing(order: str, wide: bool = False) -> Unit:
    """Return a unit that reduces in an order: in binary32 if ``wide``, otherwise in the component's type, which numpy must have."""

    def unit(row: PropertyRow | OneOperand, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            native = values(a, row.a).astype(np.float32 if wide else row.a.dtype)
            found = _sums(row, native, order).astype(row.result.dtype)
        bits = found.view(row.result.bits_dtype)
        return np.where(np.isnan(found), row.result.bits_dtype.type(sign_bit(row.result) - 1), bits)[..., None]

    return unit


def _bits_of_conversion(row: PropertyRow | OneOperand, results: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return results.astype(row.result.dtype).view(row.result.bits_dtype)


def converting_to_nearest(row: PropertyRow | OneOperand, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Convert as numpy does: to nearest even, with infinity beyond the largest number; NaN becomes the usual one."""
    numbers = values(a, row.a)
    return np.where(np.isnan(numbers), row.result.bits_dtype.type(0x7F), _bits_of_conversion(row, numbers))


def converting_by_cutting(row: PropertyRow | OneOperand, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Convert binary32 to bfloat16 by dropping 16 bits, whatever the number is; NaN that would become infinity stay NaN."""
    high = (a >> 16).astype(np.uint16)
    return np.where(np.isnan(values(a, row.a)), np.uint16(0x7FFF), high)


def converting_saturated(row: PropertyRow | OneOperand, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Convert to nearest even, with the largest number for all beyond, infinity too; NaN keep their signs."""
    numbers, largest = values(a, row.a), largest_finite(row.result)
    bits = _bits_of_conversion(row, np.clip(numbers, -largest, largest))
    sign = row.result.bits_dtype.type(sign_bit(row.result))
    return np.where(np.isnan(numbers), np.where(np.signbit(numbers), sign, 0) | row.result.bits_dtype.type(0x7F), bits)


def converting_without_denormals(row: PropertyRow | OneOperand, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Convert to nearest even; a denormal result becomes zero."""
    numbers = values(a, row.a)
    bits = _bits_of_conversion(row, numbers)
    flushed = np.where(denormals(values(bits, row.result), row.result), bits & sign_bit(row.result), bits)
    return np.where(np.isnan(numbers), row.result.bits_dtype.type(0x7E00), flushed).astype(row.result.bits_dtype)


def converting_twice(row: PropertyRow | OneOperand, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Convert to binary16, then to the result's type, each to nearest even; NaN keep sign and payload, quiet."""
    with np.errstate(all="ignore"):
        bits = _bits_of_conversion(row, values(a, row.a).astype(np.float16))
    payload = a >> 21 & 0x3 | 0x7E | a >> 24 & 0x80
    return np.where(np.isnan(values(a, row.a)), payload.astype(np.uint8), bits)
