"""Permitted results of operations on f64: "the precision of double-precision instructions is at least that of single precision"
(Vulkan, "Precision and Operation of SPIR-V Instructions"; F-KHR-13).

Operands and results may each be rounded to the significand of f32, in any direction; exponents keep the range of f64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np

from cts.reference.values import MatrixValue, Range
from generators.numerics.error_free import two_product, two_sum
from generators.numerics.formats import values
from generators.numerics.rounding import bracket, neighbours_of_integers
from generators.types import COMPONENT_TYPES

POSITION = "F-KHR-13"

_DOUBLE = COMPONENT_TYPES["f64"]
_BITS = COMPONENT_TYPES["f32"].precision
_DIVISION_ULP = 2.5

Ends = tuple[np.ndarray, np.ndarray]
"""The smallest and the largest permitted number of each element, float64."""


def is_wider(value: MatrixValue) -> bool:
    """Return whether single precision permits more values than the expected ones."""
    return value.component is _DOUBLE and isinstance(value.permitted, Range)


def _ends(value: MatrixValue) -> Ends:
    """Return the range of an operand, including its rounding."""
    if isinstance(value.permitted, Range):
        ends = value.permitted.low, value.permitted.high
    else:
        numbers = [values(bits, value.component) for bits in value.expected_bits]
        ends = np.minimum.reduce(numbers), np.maximum.reduce(numbers)
    return bracket(ends[0], 0.0, _BITS)[0], bracket(ends[1], 0.0, _BITS)[1]


def _sum(left: Ends, right: Ends) -> Ends:
    (low, below), (high, above) = (two_sum(x, y) for x, y in zip(left, right, strict=True))
    return bracket(low, below, _BITS)[0], bracket(high, above, _BITS)[1]


def _hull(combine: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]], left: Ends, right: Ends) -> Ends:
    """Return the ends of a combination that is monotone in each operand."""
    brackets = [bracket(*combine(x, y), _BITS) for x, y in product(left, right)]
    return np.minimum.reduce([low for low, _ in brackets]), np.maximum.reduce([high for _, high in brackets])


def _quotient(left: Ends, right: Ends) -> Ends:
    """Return the ends of quotients within 2.5 ULP, of divisors without zero among them."""
    low, high = _hull(lambda x, y: (x / y, np.zeros(x.shape)), left, right)
    step = np.ldexp(1.0, np.frexp(np.maximum(np.abs(low), np.abs(high)))[1] - _BITS)
    return low - _DIVISION_ULP * step, high + _DIVISION_ULP * step


def permitted(expected: MatrixValue, operator: str, left: MatrixValue, right: MatrixValue) -> MatrixValue:
    """Return ``expected``, the expected value of ``left`` (operator) ``right``, with its permitted values; unchanged if it is not f64."""
    if expected.component is not _DOUBLE:
        return expected
    x, y = _ends(left), _ends(right)
    match operator:
        case "add":
            ends = _sum(x, y)
        case "subtract":
            ends = _sum(x, (-y[1], -y[0]))
        case "multiply":
            ends = _hull(two_product, x, y)
        case "divide":
            ends = _quotient(x, y)
        case _:
            raise AssertionError(operator)
    return widened(expected, ends)


def negated(expected: MatrixValue, value: MatrixValue) -> MatrixValue:
    """Return ``expected``, the negation of ``value``, with its permitted values: negation is exact in any precision."""
    if not isinstance(value.permitted, Range):
        return expected
    return widened(expected, (-value.permitted.high, -value.permitted.low))


def converted(expected: MatrixValue, integers: np.ndarray) -> MatrixValue:
    """Return ``expected``, floats converted from integers of any width, with their permitted values; unchanged if they are not f64."""
    if expected.component is not _DOUBLE:
        return expected
    toward, away = neighbours_of_integers(integers, COMPONENT_TYPES["f32"])
    return widened(expected, (np.minimum(toward, away), np.maximum(toward, away)))


def widened(expected: MatrixValue, ends: Ends) -> MatrixValue:
    """Return an f64 value for which any number between ``ends`` is permitted, if these are more than the expected values."""
    numbers = [values(bits, _DOUBLE) for bits in expected.expected_bits] if not isinstance(expected.known, Range) else []
    if isinstance(expected.known, Range):
        numbers = [expected.known.low, expected.known.high]
    low, high = np.minimum.reduce([ends[0], *numbers]), np.maximum.reduce([ends[1], *numbers])
    if (low == high).all() and not isinstance(expected.known, Range):
        return expected
    center = values(expected.bits, _DOUBLE)
    return replace(expected, permitted=Range(low, high, center), authority=replace(expected.authority, quality=POSITION))
