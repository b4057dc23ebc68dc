"""Arithmetic of floats under execution modes (KHR-FC-*): the results that Vulkan's "Precision and Operation of SPIR-V Instructions"
permits.

Each element has a set of results, made step by step: operands with and without their denormals, an exact result, its rounding in the
permitted directions, and flushing that is permitted or required.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from cts.reference.quotients import check_divisors, quotients
from cts.reference.state import State
from cts.reference.values import CERTAIN, Certain, Choice, MatrixValue, Range
from cts.verdict.expected import Authority
from generators.errors import GeneratorError, Rule
from generators.numerics.formats import denormals, encode, smallest_normal, values
from generators.numerics.rounding import nearest
from generators.numerics.whole_units import Exact, exact, rounded
from generators.program.float_controls import Modes, modes_of
from generators.types import ComponentType

_MOVED = Authority("KHR-FC-01", "F-KHR-33")
_UNFLUSHED = Authority("KHR-FC-03")
_SPECIAL, _FLUSHED, _PRESERVED = Authority("KHR-FC-02"), Authority("KHR-FC-04"), Authority("KHR-FC-05")
_ROUNDED = {"nearest": Authority("KHR-FC-06"), "toward_zero": Authority("KHR-FC-07")}

Results = Iterator[float]
Combine = Callable[[float, float, Modes, ComponentType], Results]


def modes(state: State, component: ComponentType) -> Modes:
    """Return the program's execution modes for ``component``."""
    return modes_of(state.program.float_controls, component)


def moved(state: State, value: MatrixValue) -> MatrixValue:
    """Return a value that was only moved: with SignedZeroInfNanPreserve it keeps NaN, infinities and the signs of zeros (KHR-FC-01), and
    in any case its denormals (KHR-FC-03)."""
    component = value.component
    if not state.program.float_controls or not component.is_float:
        return value
    numbers = values(value.bits, component)
    if modes(state, component).special and not (np.isfinite(numbers) & (numbers != 0)).all():
        return replace(value, nan_kept=True, authority=_MOVED)
    return replace(value, authority=_UNFLUSHED) if denormals(numbers, component).any() else value


def _authority(left: MatrixValue, results: np.ndarray, modes: Modes, fallback: Authority) -> Authority:
    """Return the basis of results: the mode that they need most."""
    component = left.component
    numbers = values(left.bits, component)
    if modes.special and not (np.isfinite(numbers) & (numbers != 0)).all():
        return _SPECIAL
    tiny = denormals(numbers, component).any() or (np.abs(results) < smallest_normal(component)).any()
    if tiny and modes.denormals != "free":
        return _FLUSHED if modes.denormals == "flushed" else _PRESERVED
    return _ROUNDED.get(modes.rounding, fallback)


def _readings(number: float, component: ComponentType, modes: Modes) -> tuple[float, ...]:
    """Return the possible values of an operand."""
    if modes.denormals == "kept" or number == 0 or not abs(number) < smallest_normal(component):
        return (number,)
    return number, 0.0, -0.0


def _results(value: Exact, component: ComponentType, modes: Modes) -> Results:
    """Yield the permitted results for an exact result other than zero, the most usual first.

    Raises:
        GeneratorError: it may be infinite, and nothing is promised about infinities.
    """
    known = rounded(component, value)
    match modes.rounding:
        case "nearest":
            found = [known.nearest]
        case "toward_zero":
            found = [known.inner]
        case "free":
            found = [known.nearest, known.inner, known.outer]
    if not modes.special and any(math.isinf(each) for each in found):
        raise GeneratorError(
            Rule.OVERFLOW, f"a result may overflow {component} without SignedZeroInfNanPreserve; make the operands smaller (facts.md C30)"
        )
    for each in found:
        normal = abs(each) >= smallest_normal(component)
        if normal or modes.denormals != "flushed":
            yield each
    if known.tiny and modes.denormals != "kept":
        # A number below the smallest normal number before rounding may be flushed even if rounding would make it normal.
        yield math.copysign(0.0, value.count)
        yield -math.copysign(0.0, value.count)


def _sum(x: float, y: float, modes: Modes, component: ComponentType) -> Results:
    if not (math.isfinite(x) and math.isfinite(y)):
        yield x + y
        return
    total = exact(x) + exact(y)
    if total.count:
        yield from _results(total, component, modes)
        return
    yield x + y
    if modes.rounding == "free" and math.copysign(1, x) != math.copysign(1, y):
        # Only rounding toward minus infinity makes it negative (IEEE 754, 6.3), and that direction is free.
        yield -0.0


def _product(x: float, y: float, modes: Modes, component: ComponentType) -> Results:
    if not (math.isfinite(x) and math.isfinite(y)) or x == 0 or y == 0:
        yield x * y
        return
    yield from _results(exact(x) * exact(y), component, modes)


_COMBINE: dict[str, Combine] = {"add": _sum, "multiply": _product}


def _checked(value: MatrixValue, modes: Modes) -> np.ndarray:
    """Return the elements of an operand.

    Raises:
        GeneratorError: it has no single value, or a value about which nothing is promised.
    """
    if not isinstance(value.known, Certain):
        raise GeneratorError(
            Rule.SEVERAL_VALUES, "a float with several allowed values is the operand of arithmetic under execution modes; store it instead"
        )
    numbers = values(value.bits, value.component)
    if not modes.special and not np.isfinite(numbers).all():
        raise GeneratorError(
            Rule.NOT_FINITE, "an operand is NaN or infinite without SignedZeroInfNanPreserve: nothing is promised (facts.md C30)"
        )
    return numbers


def _matrix(component: ComponentType, shape: tuple[int, ...], sets: list[list[float]], modes: Modes, authority: Authority) -> MatrixValue:
    """Return the matrix whose elements are of ``sets``, each a list without repetition."""
    most = max(map(len, sets))
    columns = [encode(component, np.array([each[min(i, len(each) - 1)] for each in sets]).reshape(shape)) for i in range(most)]
    known = Choice(tuple(columns[1:])) if most > 1 else CERTAIN
    return MatrixValue(component, columns[0], computed=not modes.special, known=known, authority=authority)


def _distinct(results: Results, modes: Modes) -> list[float]:
    """Return the distinct results. Zeros differ if their signs matter."""
    found: dict[tuple[float, float] | str, float] = {}
    for each in results:
        sign = math.copysign(1, each) if modes.special else 1.0
        found.setdefault("nan" if math.isnan(each) else (each, sign), each)
    return list(found.values())


def combined(operator: str, left: MatrixValue, right: MatrixValue, modes: Modes, fallback: Authority) -> MatrixValue:
    """Return ``left`` (operator) ``right`` of floats, element by element.

    Args:
        operator: ``add``, ``subtract``, ``multiply`` or ``divide``.
        left, right: the operands, of one component type and shape.
        modes: the execution modes for that type.
        fallback: the basis of results that no mode affects.

    Raises:
        GeneratorError: nothing is promised about an element, or no set describes its permitted values.
    """
    component = left.component
    numbers = _checked(left, modes), _checked(right, modes)
    if operator == "divide":
        return _quotient(component, *numbers, modes, fallback)
    if operator == "subtract":
        numbers = numbers[0], -numbers[1]
    combine = _COMBINE["multiply" if operator == "multiply" else "add"]
    known: dict[tuple[float, float, float, float], list[float]] = {}
    sets = []
    for x, y in zip(*(array.ravel().tolist() for array in numbers), strict=True):
        key = (x, math.copysign(1, x), y, math.copysign(1, y))
        if key not in known:
            readings = product(_readings(x, component, modes), _readings(y, component, modes))
            known[key] = _distinct((each for a, b in readings for each in combine(a, b, modes, component)), modes)
        sets.append(known[key])
    first = np.array([each[0] for each in sets])
    if modes.special and not (np.isfinite(numbers[1]) & (numbers[1] != 0)).all():
        fallback = authority = _SPECIAL
    else:
        authority = _authority(left, first, modes, fallback)
    return _matrix(component, left.bits.shape, sets, modes, authority)


def negated(value: MatrixValue, modes: Modes, fallback: Authority) -> MatrixValue:
    """Return the floats with the other sign. Raises GeneratorError as ``combined``."""
    component = value.component
    sets = []
    for number in _checked(value, modes).ravel().tolist():
        found = [-each for each in _readings(number, component, modes)]
        if modes.denormals == "flushed" and len(found) > 1:
            found = found[1:]
        sets.append(_distinct(iter(found), modes))
    first = np.array([each[0] for each in sets])
    return _matrix(component, value.bits.shape, sets, modes, _authority(value, first, modes, fallback))


def converted(value: MatrixValue, target: ComponentType, source_modes: Modes, modes: Modes, fallback: Authority) -> MatrixValue:
    """Return floats converted to floats.

    Args:
        value: floats of at least 16 bits.
        target: component type of the result, of at least 16 bits.
        source_modes, modes: the execution modes for the operand's and the result's component type.
        fallback: the basis of results that no mode affects.

    Raises:
        GeneratorError: as ``combined``, or the modes of both types differ, and the text does not say which one applies (F-KHR-34).
    """
    both = value.component.has_arithmetic and target.has_arithmetic
    if source_modes.special != modes.special or (both and source_modes != modes):
        raise GeneratorError(
            Rule.WIDTHS_DIFFER,
            "the execution modes of a conversion's two widths differ, and it is unspecified which one applies; give both the same modes",
        )
    sets = []
    for number in _checked(value, modes).ravel().tolist():
        found: list[float] = []
        for each in _readings(number, value.component, source_modes):
            if each == 0 or not math.isfinite(each):
                found.append(each)
            else:
                found += _results(exact(each), target, modes)
        sets.append(_distinct(iter(found), modes))
    first = np.array([each[0] for each in sets])
    return _matrix(target, value.bits.shape, sets, modes, _authority(value, first, modes, fallback))


def _quotient(component: ComponentType, x: np.ndarray, y: np.ndarray, modes: Modes, fallback: Authority) -> MatrixValue:
    """Return quotients: one value each for special numbers divided by finite ones, otherwise values within 2.5 ULP (facts.md C6).

    DenormPreserve does not name OpFDiv, and rounding modes do not apply to results that are not correctly rounded.
    """
    check_divisors(component, y)
    special = ~np.isfinite(x) | (x == 0)
    if special.any():
        if not special.all():
            raise GeneratorError(
                Rule.MIXED_DIVIDENDS,
                "a division has special dividends and ordinary ones, for which the model has no set of results; draw only one kind",
            )
        with np.errstate(all="ignore"):
            quotient = x / y
        return MatrixValue(component, encode(component, quotient), computed=not modes.special, authority=_SPECIAL)
    if denormals(x, component).any():
        raise GeneratorError(Rule.DENORMAL, "a dividend of a division is denormal, and may count as zero; make it larger (facts.md C29)")
    found = quotients(component, x, y)
    tiny = found.most < smallest_normal(component)
    if ((found.least < smallest_normal(component)) & ~(tiny & (modes.denormals == "flushed"))).any():
        raise GeneratorError(
            Rule.DENORMAL_RESULT, "a quotient may be denormal or not, or flushed or not; make it larger, or flush it (facts.md C29)"
        )
    low, high, quotient = (np.where(tiny, 0.0, each) for each in (found.low, found.high, found.center))
    bits = encode(component, nearest(component, quotient))
    return MatrixValue(component, bits, True, Range(low, high, quotient), authority=_FLUSHED if tiny.any() else fallback)
