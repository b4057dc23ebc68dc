"""Scalars with a range of permitted values: results of functions with bounds, and values computed from them.

Such a scalar is a MatrixValue of one row and one column, in ``State.matrices`` under the scalar's name. Operations that do not accept
ranges refuse it, because ``State.scalar`` does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from cts.reference.function_bounds import ranged, within_bounds
from cts.reference.state import State
from cts.reference.values import MatrixValue, Range
from cts.verdict.expected import NO_AUTHORITY
from generators.errors import GeneratorError, Rule
from generators.numerics.formats import values
from generators.numerics.rounding import neighbours
from generators.program.scalars import BoundedFunction, ExtendedName, ScalarOperator
from generators.program.values import Scalar, ScalarValue
from generators.types import ComponentType

_LOST = 2.0**-50
"""Relative error of a sum or product in float64."""

_OPERATORS: Mapping[ScalarOperator, Callable[[np.ndarray, np.ndarray], np.ndarray]] = MappingProxyType(
    {"add": np.add, "subtract": np.subtract, "multiply": np.multiply}
)


def has_range(state: State, *scalars: ScalarValue) -> bool:
    """Return whether one of the scalars has a range."""
    return any(state.has_range(value) for value in scalars)


def define_scalar(state: State, result: Scalar, value: MatrixValue) -> None:
    """Define a scalar, whose value may be a range."""
    if value.is_certain:
        state.scalars[result.name] = value.bits.reshape(-1).astype(np.uint64)
    else:
        state.matrices[result.name] = value


def elements(state: State, value: ScalarValue) -> MatrixValue:
    """Return a scalar as a MatrixValue of one row and one column."""
    if state.has_range(value):
        return state.matrices[value.name]
    bits = state.scalar(value).astype(value.type.bits_dtype)
    return MatrixValue(value.type, bits[:, None, None])


def bounds(state: State, value: ScalarValue) -> Range:
    """Return the ends of a float scalar, (instances,)."""
    if state.has_range(value):
        known = state.matrices[value.name].known
        assert isinstance(known, Range), "a scalar has one value or a range"
        return Range(known.low.reshape(-1), known.high.reshape(-1), known.center.reshape(-1))
    exact = values(state.scalar(value).astype(value.type.bits_dtype), value.type)
    return Range(exact, exact, exact)


def _elements(component: ComponentType, ends: Range, name: str) -> MatrixValue:
    """Return a scalar with these ends as a MatrixValue. Raises GeneratorError as ``ranged``."""
    return ranged(component, _each(lambda end: end[:, None, None], ends), name, NO_AUTHORITY)


def _each(function: Callable[..., np.ndarray], *given: Range) -> Range:
    """Return the results of a function for the low ends, the high ends and the true values."""
    lows, highs, centers = zip(*((one.low, one.high, one.center) for one in given), strict=True)
    return Range(function(*lows), function(*highs), function(*centers))


def bounded(state: State, result: Scalar, function: BoundedFunction, operands: Sequence[ScalarValue]) -> None:
    """Set ``result`` to the bounds of a function. Raises GeneratorError as ``within_bounds``."""
    define_scalar(state, result, within_bounds(function, [elements(state, one) for one in operands], NO_AUTHORITY))


def combined(state: State, result: Scalar, operator: ScalarOperator, left: ScalarValue, right: ScalarValue) -> None:
    """Set ``result`` to every possible result of the operator, rounded in any direction.

    This includes the result of a contraction, which does not round the number that is combined here.

    Raises:
        GeneratorError: the operator has no ranges, or a result may overflow.
    """
    if operator not in _OPERATORS:
        raise GeneratorError(Rule.VALUE_RANGE, f"{result.name}: {operator} does not accept a number with a range; use exact data")
    x, y = bounds(state, left), bounds(state, right)
    combine, component = _OPERATORS[operator], result.type
    corners = [combine(one, other) for one in (x.low, x.high) for other in (y.low, y.high)]
    low, high = np.minimum.reduce(corners), np.maximum.reduce(corners)
    low, high = low - np.abs(low) * _LOST, high + np.abs(high) * _LOST
    ends = Range(neighbours(component, low)[0], neighbours(component, high)[1], combine(x.center, y.center))
    define_scalar(state, result, _elements(component, ends, result.name))


def chosen(state: State, result: Scalar, which: ExtendedName, operands: Sequence[ScalarValue]) -> None:
    """Set ``result`` to the minimum, maximum or clamped value of operands, one of which has a range.

    Raises:
        GeneratorError: it is another instruction, or a lower bound may be above the upper one.
    """
    given = [bounds(state, one) for one in operands]
    if which == "clamp" and (given[1].high > given[2].low).any():
        raise GeneratorError(Rule.CLAMP_BOUNDS, f"{result.name}: a clamp whose lower bound is above the upper one is undefined")
    if which not in ("minimum", "maximum", "clamp"):
        raise GeneratorError(Rule.VALUE_RANGE, f"{result.name}: {which} does not accept a number with a range; use exact data")

    if which == "clamp":
        ends = _each(lambda value, least, greatest: np.minimum(np.maximum(value, least), greatest), *given)
    else:
        ends = _each(np.minimum if which == "minimum" else np.maximum, *given)
    define_scalar(state, result, _elements(result.type, ends, result.name))


def chosen_range(state: State, result: Scalar, taken: np.ndarray, then: ScalarValue, otherwise: ScalarValue) -> None:
    """Set ``result`` to the value of ``then`` where ``taken`` holds and of ``otherwise`` elsewhere; one of them has a range."""
    ends = _each(lambda one, other: np.asarray(np.where(taken, one, other)), bounds(state, then), bounds(state, otherwise))
    define_scalar(state, result, _elements(result.type, ends, result.name))
