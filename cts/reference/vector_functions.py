"""Functions of GLSL.std.450 on the components of cooperative vectors (CV-ARI-04, facts.md C28): the results that Vulkan's "Precision of
GLSL.std.450 Instructions" permits.

A component has one value if the table says "correct result" (minimum, maximum, clamp) or a rounding that is never needed (step), a few
values if a denormal may be flushed, and otherwise a range (cts.reference.function_bounds).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from types import MappingProxyType

import numpy as np

from cts.reference.function_bounds import readings, within_bounds
from cts.reference.values import CERTAIN, Choice, MatrixValue
from cts.verdict.expected import Authority
from generators.errors import GeneratorError, Rule
from generators.numerics.error_free import two_sum
from generators.numerics.formats import denormals, encode, integers, sign_bit, values
from generators.numerics.rounding import neighbours
from generators.program.elementwise import VectorFunction
from generators.program.float_controls import NO_MODES, Modes
from generators.program.scalars import BoundedFunction
from generators.types import ComponentType

BY_FUNCTION = Authority("CV-ARI-04")


def function_of(function: VectorFunction, arguments: Sequence[MatrixValue], modes: Modes = NO_MODES) -> MatrixValue:
    """Return ``function`` of ``arguments``, all of one component type and shape, component by component.

    Args:
        modes: the execution modes for floats of this type.

    Raises:
        GeneratorError: the specification leaves a result undefined, nothing is promised about it, or an argument has a range of values.
    """
    component = arguments[0].component
    if any(one.component is not component or one.bits.shape != arguments[0].bits.shape for one in arguments):
        raise GeneratorError(Rule.TYPES_DIFFER, f"the arguments of {function} are of different types; give them one (CV-ARI-04)")
    if function in _INTEGER:
        return _of_integers(function, arguments)
    if function in _SELECTIONS or function in ("FClamp", "NClamp"):
        return _special(function, arguments, modes) if modes.special else _selected(function, arguments, modes)
    if function == "Fma" and modes.denormals != "free" and modes.rounding == "free" and not modes.special:
        return _fused(arguments, modes)
    return within_bounds(_BOUNDED[function], arguments, BY_FUNCTION, modes)


_BOUNDED: Mapping[VectorFunction, BoundedFunction] = MappingProxyType(
    {"Exp": "Exp", "Log": "Log", "Tanh": "Tanh", "Atan": "Atan", "Fma": "Fma"}
)
"""Functions of floats whose results have bounds."""

# Integers

_INTEGER = ("UMin", "SMin", "UMax", "SMax", "UClamp", "SClamp")


def _of_integers(function: VectorFunction, arguments: Sequence[MatrixValue]) -> MatrixValue:
    """Return the minimum, maximum or clamped number of integers that are read as the function's name says, whatever their type."""
    component = arguments[0].component
    if component.is_float:
        raise GeneratorError("CV-ARI-04", f"{function} is for integers, not for {component} (CV-ARI-04)")
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
    return GeneratorError(Rule.CLAMP_BOUNDS, f"{function} has a minimum above its maximum, so the result is undefined; exchange them")


# Functions that choose one of several floats


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
    """Return a result that is one of the arguments, or 0 or 1: a denormal argument may be flushed to zero, and so may the result."""
    component = arguments[0].component
    if function == "Step" and modes.denormals == "kept":
        # DenormPreserve does not name it.
        modes = NO_MODES
    possible = [tuple(readings(one, modes)) for one in arguments]
    if function.endswith("Clamp") and any((low > high).any() for low, high in product(*possible[1:])):
        raise _undefined_clamp(function)
    select = _clamped if function.endswith("Clamp") else _SELECTIONS[function]
    results: list[np.ndarray] = []
    for chosen in product(*possible):
        result = select(*chosen)
        flushed = denormals(result, component)
        if modes.denormals != "flushed" or not flushed.any():
            results.append(result)
        if flushed.any() and modes.denormals != "kept":
            results.append(np.where(flushed, 0.0, result))
    # Compare numbers, not bits: zeros of either sign are the same value (facts.md C7).
    others: list[np.ndarray] = []
    for result in results[1:]:
        if not any(np.array_equal(result, one) for one in (results[0], *others)):
            others.append(result)
    known = Choice(tuple(encode(component, one) for one in others)) if others else CERTAIN
    tiny = any(denormals(numbers, component).any() for reading in possible for numbers in reading)
    authority = _OF_DENORMALS.get(modes.denormals, BY_FUNCTION) if tiny else BY_FUNCTION
    return MatrixValue(component, encode(component, results[0]), True, known, authority=authority)


_OF_DENORMALS: Mapping[str, Authority] = MappingProxyType({"flushed": Authority("CV-FC-04"), "kept": Authority("CV-FC-05")})

UNNAMED = "F-CV-19"
"""Position that functions treat NaN, infinities and zeros as GLSL.std.450 states."""


def _chosen(second: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return ``y`` where ``second`` holds, otherwise ``x``; if one is NaN, return the other."""
    return np.where(np.isnan(x) | (second & ~np.isnan(y)), y, x)


def _smaller(x: np.ndarray, y: np.ndarray, last: bool) -> np.ndarray:
    """Return the minimum; for equal arguments, the last one if ``last``."""
    return _chosen((y <= x) if last else (y < x), x, y)


def _greater(x: np.ndarray, y: np.ndarray, last: bool) -> np.ndarray:
    return _chosen((x <= y) if last else (x < y), x, y)


def _special(function: str, arguments: Sequence[MatrixValue], modes: Modes) -> MatrixValue:
    """Return the GLSL.std.450 results of minimum, maximum and clamp with NaN, infinities and both zeros.

    A number wins over NaN in the N functions, and either of two zeros may be the result. None of Vulkan's lists names these functions, so
    if an argument is NaN or infinite, any result is permitted, and so is any sign of a zero (F-CV-19).

    Raises:
        GeneratorError: the result is undefined: NaN in another function, a minimum above the maximum; or arguments are denormal where
            nothing says whether they are kept, or have several values.
    """
    component = arguments[0].component
    if function == "Step":
        raise GeneratorError(
            "F-CV-19", "Step of special values is 0 or 1 by comparisons that no execution mode affects; use no mode (F-CV-19)"
        )
    given = [values(one.every_bits[0], component) for one in arguments]
    if any(len(one.every_bits) > 1 for one in arguments):
        raise GeneratorError(
            Rule.SEVERAL_VALUES, f"{function} of special values takes an argument that may have several values; use exact data"
        )
    if modes.denormals != "kept" and any(denormals(one, component).any() for one in given):
        raise GeneratorError(
            Rule.DENORMAL, f"{function} of denormals and special values: declare DenormPreserve, or use one kind (facts.md C29)"
        )
    if function[0] == "F" and any(np.isnan(one).any() for one in given):
        raise GeneratorError(Rule.NAN_OPERAND, f"{function} of NaN is undefined; use the N function")
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
    """Return a * b + c under a denormal mode, with a product and a sum that do not round. So the formula from which its precision is
    inherited has one value, except that intermediate denormals may be flushed unless they are kept, and denormal results are flushed if
    they must be.

    Raises:
        GeneratorError: a product or a sum rounds.
    """
    component = arguments[0].component
    results: list[np.ndarray] = []
    for a, b, c in product(*(tuple(readings(one, modes)) for one in arguments)):
        for inner in _flushed_or_not(component, a * b, modes):
            total, rest = two_sum(inner, c)
            for exact in (inner, total):
                low, high = neighbours(component, exact)
                if ((low != high) | (rest != 0)).any():
                    raise GeneratorError(
                        Rule.INEXACT, "Fma under execution modes rounds; use numbers whose product and sum are exact (facts.md C28)"
                    )
            tiny = denormals(total, component)
            results.append(np.where(tiny, 0.0, total) if modes.denormals == "flushed" else total)
    bits = _distinct([encode(component, one + 0.0) for one in results])
    known = Choice(bits[1:]) if len(bits) > 1 else CERTAIN
    return MatrixValue(component, bits[0], True, known, authority=_OF_DENORMALS[modes.denormals])


def _flushed_or_not(component: ComponentType, numbers: np.ndarray, modes: Modes) -> Iterator[np.ndarray]:
    """Yield intermediate numbers of a formula, and the same numbers with denormals flushed to zero if that is allowed."""
    yield numbers
    tiny = denormals(numbers, component)
    if tiny.any() and modes.denormals != "kept":
        yield np.where(tiny, 0.0, numbers)
