"""Proof that a float multiply-add gives one value under every order, grouping and rounding of its summation.

If all products and c are multiples of a quantum q and S = sum |a*b| + |c| < 2**p q, every partial sum in every order is a multiple
of q below 2**p q, so it is representable in p bits and no implementation with at least p bits ever rounds. The specification
leaves order and internal precision open (KHR-MAD-04, facts.md C1): only data with this property can be compared bit for bit.

Arrays are float64 (or integers below 2**53): a (..., M, K), b (..., K, N), c (..., M, N); quanta are exponents, q = 2**quantum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from generators.errors import GeneratorError, Rule
from generators.numerics.formats import denormals, largest_finite, smallest_normal
from generators.types import ComponentType

NO_TERM = 8192
"""The quantum exponent of zero, which is a multiple of everything; above the exponent of any product of finite float64."""

FP8_ACCUMULATION = 14
"""Bits of the narrowest known accumulator for 8-bit float inputs: it has 13 fraction bits, whatever the result's type."""

PERMITTED_PRECISION, PERMITTED_PRECISION_OF_BFLOAT16 = 11, 8
"""Bits of significand to which factors, products and sums of a multiply-add may be rounded: with fewer bits, the result would not count as
A x B + C. The second is for multiply-adds whose A, B or Result is bf16."""

_LARGEST_BLOCK = 1 << 22
"""Maximum number of terms for which quanta are computed one by one; beyond that, one quantum serves a row of A and a column of B."""


Types = tuple[ComponentType, ComponentType, ComponentType, ComponentType]
"""Component types of A, B, C and Result."""


@dataclass(frozen=True)
class Exactness:
    """The provable exactness of each element of a result.

    Attributes:
        types: component types of A, B, C and Result.
        precision: p, the bits of the narrowest plausible accumulation.
        quantum: exponent of q, int16, (..., M, N); NO_TERM if every term is zero.
        magnitude: S, float64.
        normal: whether no operand or partial sum is in the denormal range, where flushing is allowed (facts.md C29).
        margin_bits: log2(2**p q / S), float64: at most 0 means that nothing is proved; infinite if every term is zero.
        exact: whether every order and grouping gives the exact value: a positive margin, no overflow, and ``normal``.
    """

    types: Types
    precision: int
    quantum: np.ndarray
    magnitude: np.ndarray
    normal: np.ndarray
    margin_bits: np.ndarray
    exact: np.ndarray

    def with_precision(self, precision: int) -> Exactness:
        """Return what is provable of an accumulation with other bits."""
        return self if precision == self.precision else _proved(self.types, precision, self.quantum, self.magnitude, self.normal)


@dataclass(frozen=True)
class History:
    """The terms already summed in a c, for a chain of multiply-adds: the smallest quantum and the sum of magnitudes per element."""

    quantum: np.ndarray
    magnitude: np.ndarray


def accumulation_precision(a: ComponentType, b: ComponentType, c: ComponentType, result: ComponentType) -> int:
    """Return the significand bits of the narrowest plausible accumulation for a multiply-add of these float types."""
    precision = min(c.precision, result.precision)
    return min(precision, FP8_ACCUMULATION) if min(a.bits, b.bits) == 8 else precision


def permitted_precision(a: ComponentType, b: ComponentType, c: ComponentType, result: ComponentType) -> int:
    """Return the significand bits that a multiply-add of these float types must keep in factors, products and sums, whatever the precision
    of its types."""
    has_bfloat16 = any(component.name == "bf16" for component in (a, b, result))
    least = PERMITTED_PRECISION_OF_BFLOAT16 if has_bfloat16 else PERMITTED_PRECISION
    return min(least, accumulation_precision(a, b, c, result))


def factors_fit(a: np.ndarray, b: np.ndarray, precision: int) -> np.ndarray:
    """Return the elements of ``a`` x ``b`` for which every factor of a nonzero product has at most ``precision`` significant bits; bool,
    (..., M, N)."""
    wide_a, wide_b = (_significant_bits(factor) > precision for factor in (a, b))
    if not wide_a.any() and not wide_b.any():
        return np.ones((*a.shape[:-1], b.shape[-1]), bool)
    present_a, present_b = (a != 0).astype(np.float64), (b != 0).astype(np.float64)
    return np.asarray(wide_a.astype(np.float64) @ present_b + present_a @ wide_b.astype(np.float64) == 0)


def _significant_bits(values: np.ndarray) -> np.ndarray:
    _, exponent = np.frexp(values)
    return np.asarray(np.where(values == 0, 0, exponent - quantum_exponents(values).astype(np.int32)))


def quantum_exponents(values: np.ndarray) -> np.ndarray:
    """Return the exponent of the largest power of two that divides each value, int16; NO_TERM for zero. ``values`` are finite."""
    fraction, exponent = np.frexp(np.asarray(values, np.float64))
    digits = np.ldexp(fraction, 53).astype(np.int64)
    _, lowest = np.frexp((digits & -digits).astype(np.float64))
    return np.asarray(np.where(digits == 0, NO_TERM, exponent + lowest - 54).astype(np.int16))


def product_quanta(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the smallest quantum exponent among the products of each element of ``a`` x ``b``, int16 (..., M, N)."""
    of_a, of_b = quantum_exponents(a), quantum_exponents(b)
    if a.size * b.shape[-1] > _LARGEST_BLOCK:
        quanta = of_a.min(axis=-1)[..., :, None] + of_b.min(axis=-2)[..., None, :]
    else:
        quanta = (of_a[..., :, :, None] + of_b[..., None, :, :]).min(axis=-2)
    return np.asarray(np.where(quanta > NO_TERM // 2, NO_TERM, quanta).astype(np.int16))


def _smallest_terms(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a lower bound of the magnitude of the non-zero products of each element, (..., M, N); infinite if there are none."""
    least_a = np.where(a == 0, np.inf, np.abs(a)).min(axis=-1)
    least_b = np.where(b == 0, np.inf, np.abs(b)).min(axis=-2)
    return np.asarray(least_a[..., :, None] * least_b[..., None, :])


def exactness(
    a: np.ndarray,
    b: np.ndarray,
    c: np.ndarray,
    types: Types,
    history: History | None = None,
    precision: int | None = None,
) -> Exactness:
    """Prove the exactness of ``a`` x ``b`` + ``c`` as far as possible.

    Args:
        a, b, c: finite values.
        types: component types of A, B, C and Result, all floats.
        history: the history of a ``c`` that is itself the sum of earlier products, so the proof holds for the whole chain; its magnitude is
            at least |c|, its quantum divides c.
        precision: bits of the accumulation; by default the bits of the narrowest plausible accumulation.

    Raises:
        GeneratorError: a value is NaN or infinite, for which the specification promises nothing (facts.md C30).
    """
    a, b, c = (np.asarray(values, np.float64) for values in (a, b, c))
    with np.errstate(all="ignore"):
        magnitude = np.abs(a) @ np.abs(b) + (np.abs(c) if history is None else history.magnitude)
    if not np.isfinite(magnitude).all():
        raise GeneratorError(
            Rule.NOT_FINITE,
            "a multiply-add has NaN, infinity or an overflowing sum among its operands; use finite, smaller values (facts.md C30)",
        )
    result = types[3]
    precision = accumulation_precision(*types) if precision is None else precision
    quantum = np.minimum(product_quanta(a, b), quantum_exponents(c) if history is None else history.quantum)
    # A partial sum is a multiple of q. If all terms have one sign, it is also not smaller than the smallest term.
    floor = max(smallest_normal(result), smallest_normal(types[2]))
    normal = np.ldexp(1.0, np.minimum(quantum, 1023).astype(np.int32)) >= floor
    if not normal.all():
        one_sign = np.abs(a @ b + c) == magnitude
        normal |= one_sign & (_smallest_terms(a, b) >= floor)
    tiny_rows = np.asarray(denormals(a, types[0]).any(axis=-1))
    tiny_columns = np.asarray(denormals(b, types[1]).any(axis=-2))
    flushable = tiny_rows[..., :, None] | tiny_columns[..., None, :] | denormals(c, types[2])
    return _proved(types, precision, quantum, magnitude, normal & ~flushable)


def _proved(types: Types, precision: int, quantum: np.ndarray, magnitude: np.ndarray, normal: np.ndarray) -> Exactness:
    """Return the exactness of sums with these properties; for the arguments see ``Exactness``."""
    with np.errstate(divide="ignore"):
        margin_bits = np.where(magnitude == 0, np.inf, precision + quantum - np.log2(magnitude))
    limit = np.ldexp(1.0, np.minimum(precision + quantum.astype(np.int32), 1023))
    fits = (magnitude < limit) & (magnitude <= largest_finite(types[3]))
    return Exactness(types, precision, quantum, magnitude, normal, margin_bits, (fits & normal) | (magnitude == 0))
