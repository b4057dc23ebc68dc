"""Operands of arithmetic on elements: no overflow, no denormals, no undefined divisions, and every bit of both operands matters.

Operands are arrays of the component's dtype. Float operands have as many significant bits as the pattern permits, so arithmetic in a
narrower type is noticed; ``right`` is not zero, so it may divide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from generators.inputs.whole_numbers import signs
from generators.numerics.formats import largest_finite, smallest_normal
from generators.types import COMPONENT_TYPES, ComponentType

Pair = tuple[np.ndarray, np.ndarray]
"""Left and right operand."""

Shape = tuple[int, ...]

FLOAT_PATTERNS = ("exact", "rounding", "cancel", "range")
INTEGER_PATTERNS = ("random", "edges")

_F64_EXPONENTS = 400
"""Limit of the binary exponents of f64 operands, so float64 can compute the exact value of a product."""


def _significands(bits: int, shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """Draw odd whole numbers of exactly ``bits`` significant bits (at least 2) and both signs, float64."""
    magnitude = rng.integers(1 << (bits - 2), 1 << (bits - 1), shape) * 2 + 1
    return np.asarray(magnitude * signs(shape, rng))


def _exponents(component: ComponentType) -> tuple[int, int]:
    """Return the binary exponents of the smallest normal and of the largest binade."""
    low, high = int(np.frexp(smallest_normal(component))[1]) - 1, int(np.frexp(largest_finite(component))[1]) - 1
    return (-_F64_EXPONENTS, _F64_EXPONENTS) if component.bits == 64 else (low, high)


def _values(bits: int, exponents: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw values of ``bits`` significant bits in the binades of ``exponents``, float64."""
    return np.asarray(np.ldexp(_significands(bits, exponents.shape, rng), exponents - (bits - 1)))


def scalar_bits(component: ComponentType) -> int:
    """Return the number of significant bits in the float scalar of a multiplication: half of the type's, which leaves data with exact
    products, but more than bf16 has."""
    return max(component.precision // 2, COMPONENT_TYPES["bf16"].precision + 1)


def scalar(component: ComponentType, rng: np.random.Generator) -> int:
    """Draw a scalar for OpMatrixTimesScalar, as bits: full-width, and neither even nor close to a power of two."""
    return int(scalars(component, 1, rng).view(component.bits_dtype)[0])


def scalars(component: ComponentType, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw ``count`` such scalars, of the component's dtype: the same ones as ``count`` calls of ``scalar`` draw."""
    if not component.is_float:
        odd = rng.integers(1 << (component.bits - 1), 1 << component.bits, count, dtype=np.uint64) | np.uint64(1)
        return odd.astype(component.bits_dtype).view(component.dtype)
    bits = scalar_bits(component)
    # The magnitude and the sign of each, in turn.
    drawn = rng.integers((1 << (bits - 2), 0), (1 << (bits - 1), 2), (count, 2))
    values = np.ldexp((drawn[:, 0] * 2 + 1) * (drawn[:, 1] * 2 - 1), 2 - bits)
    return np.asarray(values.astype(component.dtype))


def _exact(component: ComponentType, operation: str, shape: Shape, rng: np.random.Generator) -> Pair:
    p = component.precision
    exponents = rng.integers(-2, 3, shape)
    right = _values(p // 2, exponents, rng)
    if operation in ("add", "subtract"):
        # Whole multiples of one unit whose sum and difference have at most p bits.
        unit = exponents - 4
        left, right = (np.ldexp(_significands(p - 1, shape, rng) - rng.integers(0, 2, shape), unit) for _ in range(2))
        return left, right
    rest = p - (scalar_bits(component) if operation == "times_scalar" else p // 2)
    left = _values(rest, rng.integers(-2, 3, shape), rng)
    return (left * right, right) if operation == "divide" else (left, right)


def _rounding(component: ComponentType, _: str, shape: Shape, rng: np.random.Generator) -> Pair:
    """Draw full significands, at most four binades apart."""
    p = component.precision
    left, right = (_values(p, rng.integers(-1, 4, shape), rng) for _ in range(2))
    return left, right


def _cancel(component: ComponentType, operation: str, shape: Shape, rng: np.random.Generator) -> Pair:
    """Draw operands of sums (differences) that lose all except the last few bits and are therefore exact."""
    p = component.precision
    digits = _significands(p, shape, rng)
    change = 2.0 * rng.integers(-7, 8, shape)
    opposite = digits + np.where(np.abs(digits) + 16 < 1 << p, change, -np.copysign(np.abs(change), digits))
    unit = rng.integers(-2, 3, shape) - (p // 2)
    return np.ldexp(digits, unit), np.ldexp(opposite if operation == "subtract" else -opposite, unit)


def _range(component: ComponentType, operation: str, shape: Shape, rng: np.random.Generator) -> Pair:
    """Draw full significands in every binade for which operands and results stay normal and finite."""
    p = component.precision
    low, high = _exponents(component)
    # A sum that cancels keeps a unit of its operands, which must be normal.
    least = low + p if operation in ("add", "subtract") else low
    first = rng.integers(least, high, shape)
    if operation in ("add", "subtract", "negate"):
        second = rng.integers(least, high, shape)
    elif operation == "times_scalar":
        first, second = rng.integers(low, high - 2, shape), np.ones(shape, np.int64)
    elif operation == "divide":
        reach = min(high, -low, 126) - 1
        first = rng.integers(low, high + 1, shape)
        second = rng.integers(np.maximum(-reach, first - (high - 1)), np.minimum(reach, first - (low + 2)) + 1)
    else:
        second = rng.integers(np.maximum(low, low - first), np.minimum(high, high - 2 - first) + 1)
    return _values(p, first, rng), _values(p, second, rng)


_FLOATS: Mapping[str, Callable[[ComponentType, str, Shape, np.random.Generator], Pair]] = MappingProxyType(
    {"exact": _exact, "rounding": _rounding, "cancel": _cancel, "range": _range}
)


def floats(component: ComponentType, operation: str, pattern: str, shape: Shape, rng: np.random.Generator) -> Pair:
    """Draw operands of a float operation.

    Args:
        operation: ``add``, ``subtract``, ``multiply``, ``divide``, ``negate`` or ``times_scalar`` (the last two use only left).
        pattern: ``exact``: the result has at most the type's number of bits, and operands have at least half of them. ``rounding``: it has
            more. ``cancel`` (sums and differences): the result consists of the last bits of the operands. ``range``: every binade.
    """
    left, right = _FLOATS[pattern](component, operation, shape, rng)
    return left.astype(component.dtype), right.astype(component.dtype)


def _edges(component: ComponentType) -> np.ndarray:
    top = 1 << (component.bits - 1)
    patterns = [0, 1, 2, top - 1, top, top + 1, 2 * top - 1, 2 * top - 2, top >> 1, 0x55 * ((2 * top - 1) // 255)]
    return np.array(patterns, np.uint64).astype(component.bits_dtype)


def _undefined(component: ComponentType, operation: str, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return a mask of the places where a division of these bits is undefined (facts.md C9)."""
    if operation not in ("signed_divide", "unsigned_divide"):
        return np.zeros(left.shape, bool)
    least, minus_one = 1 << (component.bits - 1), (1 << component.bits) - 1
    overflow = (left == least) & (right == minus_one) if operation == "signed_divide" else False
    return np.asarray((right == 0) | overflow)


def _of_every_width(component: ComponentType, shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """Draw nonzero bits of both signs with evenly distributed widths, for quotients of every size."""
    bits = rng.integers(0, 1 << component.bits, shape, np.uint64)
    width = rng.integers(2, component.bits, shape, np.uint64)
    narrow = (bits | np.uint64(1 << (component.bits - 1))) >> width
    narrow = np.where(rng.integers(0, 2, shape).astype(bool), np.uint64(0) - narrow, narrow)
    return np.asarray(narrow.astype(component.bits_dtype))


def integers(component: ComponentType, operation: str, pattern: str, shape: Shape, rng: np.random.Generator) -> Pair:
    """Draw operands of an integer operation.

    Args:
        operation: ``add``, ``subtract``, ``multiply``, ``signed_divide``, ``unsigned_divide``, ``negate`` or ``times_scalar``.
        pattern: ``random`` bits (divisors of every width), or ``edges``: pairs of the ends of the type.
    """
    if pattern == "edges":
        table = _edges(component)
        pairs = np.array([(x, y) for x in table for y in table], component.bits_dtype)
        pairs = pairs[~_undefined(component, operation, pairs[:, 0], pairs[:, 1])]
        # Every pair occurs equally often, and none has a fixed place.
        count = math.prod(shape)
        chosen = pairs[rng.permutation(np.arange(count) % len(pairs)) if count > len(pairs) else rng.permutation(len(pairs))[:count]]
        left, right = chosen[:, 0].reshape(shape), chosen[:, 1].reshape(shape)
    else:
        left, right = (rng.integers(0, 1 << component.bits, shape, np.uint64).astype(component.bits_dtype) for _ in range(2))
        if operation in ("signed_divide", "unsigned_divide"):
            right = _of_every_width(component, shape, rng)
        left = np.where(_undefined(component, operation, left, right), component.bits_dtype.type(3), left)
    return left.view(component.dtype), right.view(component.dtype)


def chain(component: ComponentType, shape: Shape, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, int]:
    """Draw left, right and a scalar (as bits) for ((left + right) * left) * scalar - right.

    Floats are exact under every contraction and reassociation (facts.md C5): they are whole numbers, and no product or sum of magnitudes
    needs more bits than the type has; for f64 no more than f32 has, since only f32 precision must be kept (F-KHR-13). For integers,
    ``right`` may divide the result: it is neither 0 nor -1.
    """
    if not component.is_float:
        left, right = integers(component, "signed_divide", "random", shape, rng)
        minus_one = right.view(component.bits_dtype) == component.bits_dtype.type((1 << component.bits) - 1)
        return left, np.where(minus_one, component.dtype.type(3), right), scalar(component, rng)
    precision = min(component.precision, COMPONENT_TYPES["f32"].precision)
    factor_bits = precision // 5
    bits = (precision - 2 - factor_bits) // 2
    left, right = (_whole(bits, shape, rng) for _ in range(2))
    value = _significands(factor_bits, (1,), rng).astype(component.dtype)
    return left.astype(component.dtype), right.astype(component.dtype), int(value.view(component.bits_dtype)[0])


def _whole(bits: int, shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """Draw whole numbers below 2**bits, of both signs and not zero."""
    return np.asarray(rng.integers(1, 1 << bits, shape) * signs(shape, rng))


def contraction(component: ComponentType, shape: Shape, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw x, y, z for x * y - z, with z near the rounded product.

    A fused multiply-add keeps the bits that the product must lose, and they are as large as the result. For f64 the result is larger than
    the permitted f32 error of operands and product (F-KHR-13), so a wrong operand is noticed.
    """
    p = component.precision
    x, y = (_values(p, rng.integers(-1, 2, shape), rng) for _ in range(2))
    x, y = x.astype(component.dtype), y.astype(component.dtype)
    product = x * y
    counts = rng.integers(1, 4, shape)
    if component.bits == 64:
        counts = counts + rng.integers(16, 64, shape) * (1 << (p - COMPONENT_TYPES["f32"].precision))
    steps = np.spacing(np.abs(product)) * counts.astype(component.dtype)
    return x, y, (product - np.copysign(steps, product)).astype(component.dtype)
