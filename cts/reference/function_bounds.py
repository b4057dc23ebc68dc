"""Functions of GLSL.std.450 on floats whose results have bounds (facts.md C28): the results that Vulkan's "Precision of GLSL.std.450
Instructions" permits, for scalars and for the components of vectors.

Ranges are computed in float64. Their ends move outward by the possible float64 error, 2**-50 of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from types import MappingProxyType

import numpy as np

from cts.reference.values import CERTAIN, MatrixValue, Range
from cts.verdict.expected import Authority
from generators.errors import GeneratorError, Rule
from generators.numerics.error_bounds import least_distance
from generators.numerics.error_free import two_sum
from generators.numerics.formats import denormals, encode, largest_finite, smallest_normal, values
from generators.numerics.rounding import nearest, neighbours, ulp
from generators.program.float_controls import NO_MODES, Modes
from generators.program.scalars import BoundedFunction
from generators.types import ComponentType

_LOST = 2.0**-50
"""Maximum error of float64 functions and of the sums of their bounds, relative to the result."""

_DIVISION_ULP = 2.5


def within_bounds(
    function: BoundedFunction, arguments: Sequence[MatrixValue], authority: Authority, modes: Modes = NO_MODES
) -> MatrixValue:
    """Return ``function`` of ``arguments``, all of one component type and shape, element by element.

    Args:
        authority: the basis of the elements.
        modes: the execution modes for floats of this type.

    Raises:
        GeneratorError: the specification leaves a result undefined, nothing is promised about it, or an argument has a range of values.
    """
    component = arguments[0].component
    if modes != NO_MODES:
        raise GeneratorError(
            Rule.UNKNOWN_BOUND,
            f"{function} under execution modes of floats has bounds that this model does not know; use no modes (facts.md C28)",
        )
    if component.bits == 64:
        raise GeneratorError(
            Rule.UNKNOWN_BOUND, f"{function} of {component} has bounds that this model does not know; use f16 or f32 (facts.md C28)"
        )
    possible = [tuple(readings(one, modes)) for one in arguments]
    every = [_BOUNDED[function](component, *chosen) for chosen in product(*possible)]
    low, high = np.minimum.reduce([one.low for one in every]), np.maximum.reduce([one.high for one in every])
    return ranged(component, Range(low, high, every[0].center), function, authority)


def readings(value: MatrixValue, modes: Modes) -> Iterator[np.ndarray]:
    """Yield every possible float64 array of an argument: its allowed values, each also with denormals flushed to zero (facts.md C29).

    Raises:
        GeneratorError: it has a range of values, or a value about which nothing is promised.
    """
    if not value.component.is_float:
        raise GeneratorError("CV-ARI-04", f"a function of floats does not take {value.component} (CV-ARI-04)")
    for bits in value.every_bits:
        numbers = values(bits, value.component)
        if not np.isfinite(numbers).all():
            raise GeneratorError(
                Rule.NOT_FINITE, "an argument is NaN or infinite, for which nothing is promised, even for the N functions (facts.md C30)"
            )
        yield numbers
        flushed = denormals(numbers, value.component)
        if flushed.any() and modes.denormals != "kept":
            yield np.where(flushed, 0.0, numbers)


def ranged(component: ComponentType, bounds: Range, what: str, authority: Authority) -> MatrixValue:
    """Return results within bounds. The bounds include zero if a result may be denormal (facts.md C29); results with equal ends are exact.

    Raises:
        GeneratorError: one may overflow.
    """
    tiny = (bounds.low < smallest_normal(component)) & (bounds.high > -smallest_normal(component))
    tiny &= (bounds.low != 0) | (bounds.high != 0)
    low, high = np.where(tiny, np.minimum(bounds.low, 0.0), bounds.low), np.where(tiny, np.maximum(bounds.high, 0.0), bounds.high)
    if (np.maximum(np.abs(low), np.abs(high)) > largest_finite(component)).any():
        raise GeneratorError(Rule.OVERFLOW, f"{what} may overflow {component}; make its arguments smaller (facts.md C30)")
    bits = encode(component, nearest(component, bounds.center))
    known = CERTAIN if (low == high).all() else Range(low, high, bounds.center)
    return MatrixValue(component, bits, True, known, authority=authority)


def _around(center: np.ndarray, distance: np.ndarray) -> Range:
    """Return the bounds at ``distance`` from results whose nearest float64 is ``center``."""
    lost = np.abs(center) * _LOST
    return Range(center - distance - lost, center + distance + lost, center)


def _exponential_ulp(component: ComponentType, x: np.ndarray, result: np.ndarray) -> np.ndarray:
    """Return the bound of exp(x): 3 + 2|x| ULP in f32, 1 + 2|x| ULP in f16."""
    step = least_distance(component, result)
    # A result above 1 that float64 rounds to 1 is in the upper binade.
    step = np.where((result == 1) & (x > 0), ulp(component, result), step)
    return np.asarray(((1 if component.bits == 16 else 3) + 2 * np.abs(x)) * step)


def _exp(component: ComponentType, x: np.ndarray, function: np.ufunc = np.exp, name: BoundedFunction = "Exp") -> Range:
    with np.errstate(over="ignore"):
        result = function(x)
    if (result > largest_finite(component)).any():
        raise GeneratorError(Rule.OVERFLOW, f"{name} may overflow {component}; make its arguments smaller (facts.md C30)")
    return _around(result, _exponential_ulp(component, x, result))


def _exp2(component: ComponentType, x: np.ndarray) -> Range:
    """Return the bounds of exp2, which has the error bound of exp."""
    return _exp(component, x, np.exp2, "Exp2")


def _inverse_sqrt(component: ComponentType, x: np.ndarray) -> Range:
    """Return the bounds of the inverse square root: 2 ULP."""
    if (x < smallest_normal(component)).any():
        raise GeneratorError(
            Rule.FUNCTION_DOMAIN, "InverseSqrt of a number that is not positive is undefined, and a denormal may count as zero"
        )
    result = 1.0 / np.sqrt(x)
    return _around(result, 2 * least_distance(component, result))


def _log(component: ComponentType, x: np.ndarray) -> Range:
    """Return the bounds of log: 3 ULP outside [0.5, 2]; inside, an absolute error below 2**-21 in f32, 2**-7 in f16."""
    if (x < smallest_normal(component)).any():
        raise GeneratorError(
            Rule.FUNCTION_DOMAIN,
            "Log of a number that is not positive is undefined, and a denormal may count as zero; use larger numbers",
        )
    result = np.log(x)
    inside = (x >= 0.5) & (x <= 2.0)
    absolute = 2.0 ** -(7 if component.bits == 16 else 21)
    bounds = _around(result, np.where(inside, absolute, 3 * least_distance(component, result)))
    # The bound itself is excluded, which only matters where the result is exact.
    exact = x == 1.0
    below = np.nextafter(absolute, 0.0)
    return Range(np.where(exact, -below, bounds.low), np.where(exact, below, bounds.high), result)


def _atan(component: ComponentType, x: np.ndarray) -> Range:
    """Return the bounds of atan: 4096 ULP in f32, 5 ULP in f16."""
    result = np.arctan(x)
    return _around(result, (5 if component.bits == 16 else 4096) * least_distance(component, result))


def _inherited(exact: np.ndarray, low: np.ndarray, high: np.ndarray) -> Range:
    """Return the bounds around ``exact`` at the distance of a formula's results, which are between ``low`` and ``high``."""
    return _around(exact, np.maximum(np.abs(exact - low), np.abs(exact - high)))


def _representable(component: ComponentType, bounds: Range) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest number of the component type within bounds, with zero instead of a denormal."""
    low, high = neighbours(component, bounds.low)[1], neighbours(component, bounds.high)[0]
    return np.where(np.abs(low) < smallest_normal(component), np.minimum(low, 0.0), low), high


def _half(component: ComponentType, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return half of the sums between ``low`` and ``high``, each rounded in any direction."""
    return neighbours(component, low)[0] / 2, neighbours(component, high)[1] / 2


def _tanh(component: ComponentType, x: np.ndarray) -> Range:
    """Return the bounds of tanh, inherited from sinh(x) / cosh(x), which are inherited from (exp(x) - exp(-x)) * 0.5 and (exp(x) + exp(-x))
    * 0.5."""
    largest = 2.0 ** (14 if component.bits == 16 else 126)
    # Compare before the function overflows float64.
    if (np.abs(x) > np.log(largest)).any():
        raise GeneratorError(
            Rule.DIVISOR_RANGE,
            "Tanh inherits from a division whose divisor is beyond the promised range; make its arguments smaller (facts.md C6, C28)",
        )
    (up_low, up_high), (down_low, down_high) = (_representable(component, _exp(component, each)) for each in (x, -x))
    sinh = _inherited(np.sinh(x), *_half(component, up_low - down_high, up_high - down_low))
    cosh = _inherited(np.cosh(x), *_half(component, up_low + down_low, up_high + down_high))
    if (cosh.high > largest).any():
        raise GeneratorError(
            Rule.DIVISOR_RANGE,
            "Tanh inherits from a division whose divisor is beyond the promised range; make its arguments smaller (facts.md C6, C28)",
        )
    quotients = [numerator / divisor for numerator in (sinh.low, sinh.high) for divisor in (cosh.low, cosh.high)]
    low, high = np.minimum.reduce(quotients), np.maximum.reduce(quotients)
    return _inherited(
        np.tanh(x), low - _DIVISION_ULP * least_distance(component, low), high + _DIVISION_ULP * least_distance(component, high)
    )


def _fma(component: ComponentType, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> Range:
    """Return the bounds of Fma, inherited from a multiplication followed by an addition, each correctly rounded in any direction."""
    exact = a * b
    value, rest = two_sum(exact, c)
    lows, highs = [], []
    products = neighbours(component, exact)
    for rounded in (*products, *(np.where(denormals(each, component), 0.0, each) for each in products)):
        low, high = neighbours(component, *two_sum(rounded, c))
        lows.append(low)
        highs.append(high)
    low, high = np.minimum.reduce(lows), np.maximum.reduce(highs)
    inexact = (low != value) | (high != value) | (rest != 0)
    bounds = _inherited(value, low, high)
    return Range(np.where(inexact, np.minimum(bounds.low, low), value), np.where(inexact, np.maximum(bounds.high, high), value), value)


_BOUNDED: Mapping[BoundedFunction, Callable[..., Range]] = MappingProxyType(
    {"Exp": _exp, "Exp2": _exp2, "Log": _log, "InverseSqrt": _inverse_sqrt, "Tanh": _tanh, "Atan": _atan, "Fma": _fma}
)
