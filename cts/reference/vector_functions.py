"""Functions of GLSL.std.450 on the components of cooperative vectors (CV-ARI-04, facts.md C28): what Vulkan's "Precision of GLSL.std.450
Instructions" leaves of each result.

A component has one value where the table says "correct result" (minimum, maximum, clamp) or a rounding that nothing needs (step), a few
where a denormal may be flushed, and else a range that is computed in float64. Its ends move outward by what float64 may lose, 2**-50 of the
result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from types import MappingProxyType

import numpy as np

from cts.reference.values import CERTAIN, Choice, MatrixValue, Range
from cts.verdict.expected import Authority
from generators.errors import GeneratorError
from generators.numerics.error_bounds import least_distance
from generators.numerics.error_free import two_sum
from generators.numerics.formats import denormals, encode, integers, largest_finite, sign_bit, smallest_normal, values
from generators.numerics.rounding import nearest, neighbours, ulp
from generators.program.cooperative_vector_elementwise import VectorFunction
from generators.program.float_controls import NO_MODES, Modes
from generators.types import ComponentType

BY_FUNCTION = Authority("CV-ARI-04")

_LOST = 2.0**-50
"""What float64 functions and the sums of their bounds may lose, relative to the result."""

_DIVISION_ULP = 2.5


@dataclass(frozen=True)
class Bounds:
    """What results may be, float64 arrays of one shape.

    Attributes:
        low, high: the ends, inclusive.
        center: the true value, rounded to float64.
    """

    low: np.ndarray
    high: np.ndarray
    center: np.ndarray


def function_of(function: VectorFunction, arguments: Sequence[MatrixValue], modes: Modes = NO_MODES) -> MatrixValue:
    """Return ``function`` of ``arguments``, all of one component type and shape, component by component.

    Args:
        modes: what execution modes say of floats of this type.

    Raises:
        GeneratorError: the specification leaves a result undefined, nothing is promised of it, or an argument has a range of values.
    """
    component = arguments[0].component
    if any(one.component is not component or one.bits.shape != arguments[0].bits.shape for one in arguments):
        raise GeneratorError(f"the arguments of {function} are of different types; give them one (CV-ARI-04)")
    if function in _INTEGER:
        return _of_integers(function, arguments)
    if function in _SELECTIONS or function in ("FClamp", "NClamp"):
        return _special(function, arguments, modes) if modes.special else _selected(function, arguments, modes)
    if function == "Fma" and modes.denormals != "free" and modes.rounding == "free" and not modes.special:
        return _fused(arguments, modes)
    if modes != NO_MODES:
        raise GeneratorError(f"{function} under execution modes of floats has bounds that nobody has worked out; use none (facts.md C28)")
    if component.bits == 64:
        raise GeneratorError(f"{function} of {component} has bounds that nobody has worked out; use f16 or f32 (facts.md C28)")
    readings = [tuple(_readings(one, modes)) for one in arguments]
    every = [_BOUNDED[function](component, *chosen) for chosen in product(*readings)]
    low, high = np.minimum.reduce([one.low for one in every]), np.maximum.reduce([one.high for one in every])
    return _ranged(component, Bounds(low, high, every[0].center), function)


# Integers

_INTEGER = ("UMin", "SMin", "UMax", "SMax", "UClamp", "SClamp")


def _of_integers(function: VectorFunction, arguments: Sequence[MatrixValue]) -> MatrixValue:
    """Return the minimum, maximum or clamped number of integers that are read as the function's name says, whatever their type."""
    component = arguments[0].component
    if component.is_float:
        raise GeneratorError(f"{function} is for integers, and not for {component} (CV-ARI-04)")
    x, *rest = [integers(one.bits, component, function[0] == "S") for one in arguments]
    if function.endswith("Clamp"):
        low, high = rest
        if (low > high).any():
            raise _undefined_clamp(function)
        found = np.minimum(np.maximum(x, low), high)
    else:
        found = (np.minimum if function.endswith("Min") else np.maximum)(x, rest[0])
    return MatrixValue(component, np.ascontiguousarray(found).view(component.bits_dtype), authority=BY_FUNCTION)


def _undefined_clamp(function: str) -> GeneratorError:
    return GeneratorError(f"{function} has a minimum above its maximum, of which the result is undefined; exchange them")


# Floats of which one is chosen


def _readings(value: MatrixValue, modes: Modes) -> Iterator[np.ndarray]:
    """Yield every float64 array that an argument may stand for: its allowed values, each also with denormals taken for zero (facts.md C29).

    Raises:
        GeneratorError: it has a range of values, or one of which nothing is promised.
    """
    if not value.component.is_float:
        raise GeneratorError(f"a function of floats does not take {value.component} (CV-ARI-04)")
    for bits in value.every_bits:
        numbers = values(bits, value.component)
        if not np.isfinite(numbers).all():
            raise GeneratorError("an argument is NaN or infinite, of which nothing is promised, with N functions too (facts.md C30)")
        yield numbers
        flushed = denormals(numbers, value.component)
        if flushed.any() and modes.denormals != "kept":
            yield np.where(flushed, 0.0, numbers)


_SELECTIONS: Mapping[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = MappingProxyType(
    {
        "FMin": lambda x, y: np.where(y < x, y, x),
        "NMin": lambda x, y: np.where(y < x, y, x),
        "FMax": lambda x, y: np.where(x < y, y, x),
        "NMax": lambda x, y: np.where(x < y, y, x),
        "Step": lambda edge, x: np.where(x < edge, 0.0, 1.0),
    }
)


def _clamped(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.asarray(np.minimum(np.maximum(x, low), high))


def _selected(function: str, arguments: Sequence[MatrixValue], modes: Modes) -> MatrixValue:
    """Return what is one of the arguments, or 0 or 1: each argument may be taken for zero where it is denormal, and so may the result."""
    component = arguments[0].component
    if function == "Step" and modes.denormals == "kept":
        # DenormPreserve does not name it.
        modes = NO_MODES
    readings = [tuple(_readings(one, modes)) for one in arguments]
    if function.endswith("Clamp") and any((low > high).any() for low, high in product(*readings[1:])):
        raise _undefined_clamp(function)
    select = _clamped if function.endswith("Clamp") else _SELECTIONS[function]
    results: list[np.ndarray] = []
    for chosen in product(*readings):
        result = select(*chosen)
        flushed = denormals(result, component)
        if modes.denormals != "flushed" or not flushed.any():
            results.append(result)
        if flushed.any() and modes.denormals != "kept":
            results.append(np.where(flushed, 0.0, result))
    # Numbers, not bits: the sign of a zero makes no other value (facts.md C7).
    others: list[np.ndarray] = []
    for result in results[1:]:
        if not any(np.array_equal(result, one) for one in (results[0], *others)):
            others.append(result)
    known = Choice(tuple(encode(component, one) for one in others)) if others else CERTAIN
    tiny = any(denormals(numbers, component).any() for reading in readings for numbers in reading)
    authority = _OF_DENORMALS.get(modes.denormals, BY_FUNCTION) if tiny else BY_FUNCTION
    return MatrixValue(component, encode(component, results[0]), True, known, authority=authority)


_OF_DENORMALS: Mapping[str, Authority] = MappingProxyType({"flushed": Authority("CV-FC-04"), "kept": Authority("CV-FC-05")})

UNNAMED = "F-CV-19"
"""Position on which it rests that functions give what GLSL.std.450 says of NaN, infinities and zeros."""


def _chosen(second: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return ``y`` where ``second`` says so, else ``x``; the other one where one is NaN."""
    return np.where(np.isnan(x) | (second & ~np.isnan(y)), y, x)


def _smaller(x: np.ndarray, y: np.ndarray, last: bool) -> np.ndarray:
    """Return the minimum, of equal arguments the last one if ``last``."""
    return _chosen((y <= x) if last else (y < x), x, y)


def _greater(x: np.ndarray, y: np.ndarray, last: bool) -> np.ndarray:
    return _chosen((x <= y) if last else (x < y), x, y)


def _special(function: str, arguments: Sequence[MatrixValue], modes: Modes) -> MatrixValue:
    """Return what GLSL.std.450 says of minimum, maximum and clamp with NaN, infinities and both zeros: a number wins over NaN in the N
    functions, and of two zeros either one is the result. No list of Vulkan's names these functions, so where an argument is NaN or
    infinite anything is permitted, and any sign of a zero (F-CV-19).

    Raises:
        GeneratorError: the result is undefined: NaN in another function, a minimum above the maximum; or arguments are denormal where
            nothing says whether they are kept, or have several values.
    """
    component = arguments[0].component
    if function == "Step":
        raise GeneratorError("Step of special values is 0 or 1 by comparisons that no execution mode binds; use no mode (F-CV-19)")
    given = [values(one.every_bits[0], component) for one in arguments]
    if any(len(one.every_bits) > 1 for one in arguments):
        raise GeneratorError(f"{function} of special values takes an argument that may have several values; use exact data")
    if modes.denormals != "kept" and any(denormals(one, component).any() for one in given):
        raise GeneratorError(f"{function} of denormals and special values: declare DenormPreserve, or use one kind (facts.md C29)")
    if function[0] == "F" and any(np.isnan(one).any() for one in given):
        raise GeneratorError(f"{function} of NaN is undefined; use the N function")
    if function.endswith("Clamp"):
        x, low, high = given
        if (low > high).any():
            raise _undefined_clamp(function)
        results = [_smaller(_greater(x, low, first), high, second) for first, second in product((False, True), repeat=2)]
    else:
        left, right = given
        results = [(_smaller if function.endswith("Min") else _greater)(left, right, last) for last in (False, True)]
    bits = [encode(component, one) for one in results]
    known = _distinct(bits)
    sign = component.bits_dtype.type(sign_bit(component))
    flipped = [np.where(one == 0, each ^ sign, each) for one, each in zip(results, bits, strict=True)]
    permitted = _distinct([*bits, *flipped])
    free = ~np.logical_and.reduce([np.isfinite(one) for one in given])
    loose = len(permitted) > len(known) or free.any()
    return MatrixValue(
        component,
        bits[0],
        known=Choice(known[1:]) if len(known) > 1 else CERTAIN,
        permitted=Choice(permitted[1:], free if free.any() else None) if loose else None,
        authority=replace(BY_FUNCTION, quality=UNNAMED) if loose else BY_FUNCTION,
    )


def _distinct(arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    return tuple({array.tobytes(): array for array in arrays}.values())


def _fused(arguments: Sequence[MatrixValue], modes: Modes) -> MatrixValue:
    """Return a * b + c under a mode of denormals, where neither product nor sum rounds: so the formula that it is inherited from gives one
    value, except that denormals inside of it may be flushed unless they are kept, and are in the result if they must be.

    Raises:
        GeneratorError: a product or a sum rounds.
    """
    component = arguments[0].component
    results: list[np.ndarray] = []
    for a, b, c in product(*(tuple(_readings(one, modes)) for one in arguments)):
        for inner in _flushed_or_not(component, a * b, modes):
            total, rest = two_sum(inner, c)
            for exact in (inner, total):
                low, high = neighbours(component, exact)
                if ((low != high) | (rest != 0)).any():
                    raise GeneratorError("Fma under execution modes rounds; use numbers whose product and sum are exact (facts.md C28)")
            tiny = denormals(total, component)
            results.append(np.where(tiny, 0.0, total) if modes.denormals == "flushed" else total)
    bits = _distinct([encode(component, one + 0.0) for one in results])
    known = Choice(bits[1:]) if len(bits) > 1 else CERTAIN
    return MatrixValue(component, bits[0], True, known, authority=_OF_DENORMALS[modes.denormals])


def _flushed_or_not(component: ComponentType, numbers: np.ndarray, modes: Modes) -> Iterator[np.ndarray]:
    """Yield numbers inside of a formula, and those with denormals taken for zero where that is allowed."""
    yield numbers
    tiny = denormals(numbers, component)
    if tiny.any() and modes.denormals != "kept":
        yield np.where(tiny, 0.0, numbers)


# Floats within bounds


def _ranged(component: ComponentType, bounds: Bounds, what: str) -> MatrixValue:
    """Return results within bounds, to which zero belongs wherever one of them may be denormal (facts.md C29); those with equal ends are
    exact.

    Raises:
        GeneratorError: one may overflow.
    """
    tiny = (bounds.low < smallest_normal(component)) & (bounds.high > -smallest_normal(component))
    tiny &= (bounds.low != 0) | (bounds.high != 0)
    low, high = np.where(tiny, np.minimum(bounds.low, 0.0), bounds.low), np.where(tiny, np.maximum(bounds.high, 0.0), bounds.high)
    if (np.maximum(np.abs(low), np.abs(high)) > largest_finite(component)).any():
        raise GeneratorError(f"{what} may overflow {component}; make its arguments smaller (facts.md C30)")
    bits = encode(component, nearest(component, bounds.center))
    known = CERTAIN if (low == high).all() else Range(low, high, bounds.center)
    return MatrixValue(component, bits, True, known, authority=BY_FUNCTION)


def _around(center: np.ndarray, distance: np.ndarray) -> Bounds:
    """Return what is no farther than ``distance`` from results of which ``center`` is the nearest float64."""
    lost = np.abs(center) * _LOST
    return Bounds(center - distance - lost, center + distance + lost, center)


def _exponential_ulp(component: ComponentType, x: np.ndarray, result: np.ndarray) -> np.ndarray:
    """Return the bound of exp(x): 3 + 2|x| ULP in f32, 1 + 2|x| ULP in f16."""
    step = least_distance(component, result)
    # A result above 1 that float64 rounds to 1 is in the upper binade.
    step = np.where((result == 1) & (x > 0), ulp(component, result), step)
    return np.asarray(((1 if component.bits == 16 else 3) + 2 * np.abs(x)) * step)


def _exp(component: ComponentType, x: np.ndarray) -> Bounds:
    with np.errstate(over="ignore"):
        result = np.exp(x)
    if (result > largest_finite(component)).any():
        raise GeneratorError(f"Exp may overflow {component}; make its arguments smaller (facts.md C30)")
    return _around(result, _exponential_ulp(component, x, result))


def _log(component: ComponentType, x: np.ndarray) -> Bounds:
    """3 ULP outside of [0.5, 2]; inside an absolute error below 2**-21 in f32, 2**-7 in f16."""
    if (x < smallest_normal(component)).any():
        raise GeneratorError("Log of a number that is not positive is undefined, and a denormal may be taken for zero; use larger numbers")
    result = np.log(x)
    inside = (x >= 0.5) & (x <= 2.0)
    absolute = 2.0 ** -(7 if component.bits == 16 else 21)
    bounds = _around(result, np.where(inside, absolute, 3 * least_distance(component, result)))
    # The bound itself is excluded, which only matters where the result is exact.
    exact = x == 1.0
    below = np.nextafter(absolute, 0.0)
    return Bounds(np.where(exact, -below, bounds.low), np.where(exact, below, bounds.high), result)


def _atan(component: ComponentType, x: np.ndarray) -> Bounds:
    """4096 ULP in f32, 5 ULP in f16."""
    result = np.arctan(x)
    return _around(result, (5 if component.bits == 16 else 4096) * least_distance(component, result))


def _inherited(exact: np.ndarray, low: np.ndarray, high: np.ndarray) -> Bounds:
    """Return what is no farther from ``exact`` than what a formula may give, from ``low`` to ``high``."""
    return _around(exact, np.maximum(np.abs(exact - low), np.abs(exact - high)))


def _representable(component: ComponentType, bounds: Bounds) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest number of the component type within bounds, zero in place of a denormal."""
    low, high = neighbours(component, bounds.low)[1], neighbours(component, bounds.high)[0]
    return np.where(np.abs(low) < smallest_normal(component), np.minimum(low, 0.0), low), high


def _half(component: ComponentType, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the half of sums between ``low`` and ``high``, each rounded in any direction."""
    return neighbours(component, low)[0] / 2, neighbours(component, high)[1] / 2


def _tanh(component: ComponentType, x: np.ndarray) -> Bounds:
    """Inherited from sinh(x) / cosh(x), which are inherited from (exp(x) - exp(-x)) * 0.5 and (exp(x) + exp(-x)) * 0.5."""
    largest = 2.0 ** (14 if component.bits == 16 else 126)
    # Compared before the function overflows float64.
    if (np.abs(x) > np.log(largest)).any():
        raise GeneratorError("Tanh inherits from a division by more than is promised of; make its arguments smaller (facts.md C6, C28)")
    (up_low, up_high), (down_low, down_high) = (_representable(component, _exp(component, each)) for each in (x, -x))
    sinh = _inherited(np.sinh(x), *_half(component, up_low - down_high, up_high - down_low))
    cosh = _inherited(np.cosh(x), *_half(component, up_low + down_low, up_high + down_high))
    if (cosh.high > largest).any():
        raise GeneratorError("Tanh inherits from a division by more than is promised of; make its arguments smaller (facts.md C6, C28)")
    quotients = [numerator / divisor for numerator in (sinh.low, sinh.high) for divisor in (cosh.low, cosh.high)]
    low, high = np.minimum.reduce(quotients), np.maximum.reduce(quotients)
    return _inherited(
        np.tanh(x), low - _DIVISION_ULP * least_distance(component, low), high + _DIVISION_ULP * least_distance(component, high)
    )


def _fma(component: ComponentType, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> Bounds:
    """Inherited from a multiplication followed by an addition, each correctly rounded in any direction."""
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
    return Bounds(np.where(inexact, np.minimum(bounds.low, low), value), np.where(inexact, np.maximum(bounds.high, high), value), value)


_BOUNDED: Mapping[str, Callable[..., Bounds]] = MappingProxyType({"Exp": _exp, "Log": _log, "Tanh": _tanh, "Atan": _atan, "Fma": _fma})
