"""Functions of GLSL.std.450 on the components of cooperative vectors (CV-ARI-04, facts.md C28): what Vulkan's "Precision of GLSL.std.450
Instructions" leaves of each result.

A component has one value where the table says "correct result" (minimum, maximum, clamp) or a rounding that nothing needs (step), a few
where a denormal may be flushed, and else a range (cts.reference.function_bounds).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from types import MappingProxyType

import numpy as np

from cts.reference.function_bounds import readings, within_bounds
from cts.reference.values import CERTAIN, Choice, MatrixValue
from cts.verdict.expected import Authority
from generators.errors import GeneratorError
from generators.numerics.formats import denormals, encode, integers
from generators.program.cooperative_vector_elementwise import VectorFunction
from generators.program.extended import BoundedFunction
from generators.program.float_controls import NO_MODES, Modes

BY_FUNCTION = Authority("CV-ARI-04")


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
        return _selected(function, arguments, modes)
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
    # Numbers, not bits: the sign of a zero makes no other value (facts.md C7).
    others: list[np.ndarray] = []
    for result in results[1:]:
        if not any(np.array_equal(result, one) for one in (results[0], *others)):
            others.append(result)
    known = Choice(tuple(encode(component, one) for one in others)) if others else CERTAIN
    return MatrixValue(component, encode(component, results[0]), True, known, authority=BY_FUNCTION)
