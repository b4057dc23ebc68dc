"""Integer multiply-add: exact, wrapping or saturating (KHR-MAD-05 to KHR-MAD-10, facts.md C2, C3)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cts.reference.values import MatrixValue, Range
from cts.verdict.expected import Authority
from generators.errors import GeneratorError
from generators.numerics.formats import integers
from generators.types import ComponentType, MatrixOperands

WRAPPED, SATURATED = Authority("KHR-MAD-06"), Authority("KHR-MAD-08")

CLAMPED_ONCE = "F-KHR-12"
"""Position that only the last addition clamps."""

_FLOAT64_INTEGERS = 1 << 53


def extend(value: MatrixValue, signed: bool) -> np.ndarray:
    """Extend the elements to 64 bits as two's complement, uint64: with the sign if ``signed``, otherwise with zeros. Only the flag matters,
    not the signedness of the component type (KHR-MAD-05)."""
    if not signed:
        return value.bits.astype(np.uint64)
    return integers(value.bits, value.component, True).astype(np.int64).view(np.uint64)


def _numbers(extended: np.ndarray, signed: bool) -> np.ndarray:
    """Return the numbers that the extended elements represent."""
    return extended.view(np.int64) if signed else extended


def _largest(extended: np.ndarray, signed: bool) -> int:
    if extended.size == 0:
        return 0
    if not signed:
        return int(extended.max())
    numbers = extended.view(np.int64)
    return max(abs(int(numbers.min())), abs(int(numbers.max())))


def _product(a: np.ndarray, b: np.ndarray, signed_a: bool, signed_b: bool) -> np.ndarray:
    """Compute ``a`` x ``b`` modulo 2**64, uint64."""
    if _largest(a, signed_a) * _largest(b, signed_b) * a.shape[-1] < _FLOAT64_INTEGERS:
        # float64 can hold every sum, and its matrix product is much faster.
        left, right = _numbers(a, signed_a).astype(np.float64), _numbers(b, signed_b).astype(np.float64)
        return (left @ right).astype(np.int64).view(np.uint64)
    return np.asarray(a @ b)


def _saturated(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, flags: MatrixOperands, result: ComponentType, before: Range | None
) -> tuple[np.ndarray, Range | None]:
    """Return ``a`` x ``b`` + ``c`` with the last addition saturating, in two's complement, uint64, and the permitted values, if there are
    more.

    An implementation that clamps after each term, or after groups of terms, may lose the excess beyond an end, and then move back from that
    end by all terms of the other sign.

    Args:
        a, b, c: extended to 64 bits.
        before: the permitted values of C, if there are more than C.
    """
    signed_a, signed_b = bool(flags & MatrixOperands.A_SIGNED), bool(flags & MatrixOperands.B_SIGNED)
    signed = bool(flags & MatrixOperands.RESULT_SIGNED)
    low, high = (-(1 << (result.bits - 1)), (1 << (result.bits - 1)) - 1) if signed else (0, (1 << result.bits) - 1)
    # Sums below 2**33 need no Python integers.
    narrow = result.bits <= 32 and _largest(c, bool(flags & MatrixOperands.C_SIGNED)) < _FLOAT64_INTEGERS
    number = np.dtype(np.int64 if narrow else object)
    addend = _numbers(c, bool(flags & MatrixOperands.C_SIGNED)).astype(number)
    if addend.size and (addend.min() < low or addend.max() > high):
        raise GeneratorError(
            "KHR-MAD-08",
            "a saturating multiply-add has a C outside the result's range, for which nothing is specified; keep C inside (KHR-MAD-08)",
        )
    if _largest(a, signed_a) * _largest(b, signed_b) * a.shape[-1] < _FLOAT64_INTEGERS:
        left, right = _numbers(a, signed_a).astype(np.float64), _numbers(b, signed_b).astype(np.float64)
        product = (left @ right).astype(np.int64).astype(number)
        total = (np.abs(left) @ np.abs(right)).astype(np.int64).astype(number)
    else:
        exact_a, exact_b = _numbers(a, signed_a).astype(object), _numbers(b, signed_b).astype(object)
        product, total = exact_a @ exact_b, np.abs(exact_a) @ np.abs(exact_b)
    # Some order of summation reaches the sum of the positive products, and some order the sum of the negative products.
    if product.size and (((product + total) // 2).max() > high or ((product - total) // 2).min() < low):
        raise GeneratorError(
            "KHR-MAD-10", "the product of a saturating multiply-add may overflow, which is undefined; make A or B smaller (KHR-MAD-10)"
        )
    clamped = np.clip(product + addend, low, high)
    least, most = (addend, addend) if before is None else (before.low.astype(number), before.high.astype(number))
    rises, falls = (product + total) // 2, (total - product) // 2
    lowest, highest = np.clip(product + least, low, high), np.clip(product + most, low, high)
    lowest = np.where(most + rises > high, np.minimum(lowest, high - falls), lowest)
    highest = np.where(least - falls < low, np.maximum(highest, low + rises), highest)
    permitted = None
    if (lowest != highest).any():
        read = np.dtype(f"{'i' if signed else 'u'}{result.bytes}")
        permitted = Range(np.clip(lowest, low, high).astype(read), np.clip(highest, low, high).astype(read), clamped.astype(read), signed)
    bits = clamped.view(np.uint64) if clamped.dtype == np.int64 else np.asarray(clamped % (1 << 64)).astype(np.uint64)
    return bits, permitted


def multiply_add(a: MatrixValue, b: MatrixValue, c: MatrixValue, result: ComponentType, flags: MatrixOperands) -> MatrixValue:
    """Compute ``a`` x ``b`` + ``c`` for integers: the low-order bits of the exact value, or saturated.

    Raises:
        GeneratorError: the specification leaves a saturating result undefined.
    """
    for operand in (a, b):
        operand.check_operand()
    left = extend(a, bool(flags & MatrixOperands.A_SIGNED))
    right = extend(b, bool(flags & MatrixOperands.B_SIGNED))
    addend = extend(c, bool(flags & MatrixOperands.C_SIGNED))
    if flags & MatrixOperands.SATURATING_ACCUMULATION:
        before = c.permitted if isinstance(c.permitted, Range) else None
        total, permitted = _saturated(left, right, addend, flags, result, before)
        authority = SATURATED if permitted is None else replace(SATURATED, quality=CLAMPED_ONCE)
        return MatrixValue(result, total.astype(result.bits_dtype), authority=authority, permitted=permitted)
    c.check_operand()
    total = _product(left, right, bool(flags & MatrixOperands.A_SIGNED), bool(flags & MatrixOperands.B_SIGNED)) + addend
    return MatrixValue(result, total.astype(result.bits_dtype), authority=WRAPPED)
