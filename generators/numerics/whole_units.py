"""Floats as whole numbers of a small unit: sums and products without error, of every float type, and their rounding in every direction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

from generators.numerics.formats import largest_finite, smallest_normal
from generators.types import ComponentType


@dataclass(frozen=True)
class Exact:
    """The number ``count`` * 2**-``places``."""

    count: int
    places: int

    def __add__(self, other: Exact) -> Exact:
        places = max(self.places, other.places)
        return Exact((self.count << places - self.places) + (other.count << places - other.places), places)

    def __mul__(self, other: Exact) -> Exact:
        return Exact(self.count * other.count, self.places + other.places)


def exact(number: float) -> Exact:
    """Return a finite float64 without error."""
    numerator, denominator = number.as_integer_ratio()
    return Exact(numerator, denominator.bit_length() - 1)


@dataclass(frozen=True)
class Rounded:
    """A nonzero number, rounded to a float type.

    Attributes:
        inner, outer: its neighbours, nearer to zero and farther, equal if the type has the number. Beyond the largest finite number is
            infinity.
        nearest: the result of roundTiesToEven (IEEE 754, 4.3.1).
        tiny: whether the number is smaller than the smallest normal one.
    """

    inner: float
    outer: float
    nearest: float
    tiny: bool


@cache
def _smallest_places(component: ComponentType) -> int:
    """Return the ``places`` of the smallest denormal."""
    return component.precision - 1 - math.frexp(smallest_normal(component))[1] + 1


def rounded(component: ComponentType, value: Exact) -> Rounded:
    """Return ``value``, not zero, rounded to ``component``."""
    magnitude = abs(value.count)
    places = _smallest_places(component)
    shift = max(magnitude.bit_length() - component.precision, value.places - places)
    kept, rest = (magnitude >> shift, magnitude & (1 << shift) - 1) if shift > 0 else (magnitude, 0)
    shift = max(shift, 0)
    half = 1 << shift >> 1
    up = bool(rest) and (rest > half or (rest == half and kept % 2 == 1))
    exponent = shift - value.places
    sign = -1.0 if value.count < 0 else 1.0
    inner = min(_scaled(kept, exponent, component), largest_finite(component))
    outer = _scaled(kept + bool(rest), exponent, component)
    nearest = _scaled(kept + up, exponent, component)
    tiny = magnitude.bit_length() <= value.places - places + component.precision - 1
    return Rounded(sign * inner, sign * outer, sign * nearest, tiny)


def _scaled(count: int, exponent: int, component: ComponentType) -> float:
    """Return ``count`` * 2**``exponent``, or infinity beyond the largest finite number."""
    if exponent > 0:
        count, exponent = count << exponent, 0
    whole = count >> -exponent
    if whole > int(largest_finite(component)):
        return math.inf
    # ldexp of a long integer would round twice.
    surplus = max(0, count.bit_length() - 64)
    return math.ldexp(count >> surplus, exponent + surplus)
