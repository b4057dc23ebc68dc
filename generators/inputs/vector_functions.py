"""Arguments of bit operators and of GLSL.std.450 functions on cooperative vectors: no undefined result, no overflow, no denormals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from generators.inputs import elementwise
from generators.inputs.elementwise import Pair, Shape
from generators.numerics.formats import largest_finite, smallest_normal
from generators.program.elementwise import ARGUMENTS, BitOperator, VectorFunction
from generators.types import ComponentType

Arguments = tuple[np.ndarray, ...]
"""The arguments of a function, of the component's dtype and of one shape."""

_LARGEST_EXPONENT: Mapping[int, float] = MappingProxyType({16: 10.9, 32: 88.0})
"""By bits of a float: an argument of exp whose result is still finite, including the error that Vulkan allows."""

_LEAST_EXPONENT: Mapping[int, float] = MappingProxyType({16: -9.7, 32: -87.0})
"""By bits of a float: an argument of exp whose result is still normal."""

_LARGEST_TANH: Mapping[int, float] = MappingProxyType({16: 9.0, 32: 86.0})
"""By bits of a float: an argument of tanh whose hyperbolic cosine is a divisor in the ordinary range (facts.md C6)."""


def _neighbourhood(component: ComponentType, values: list[float], signs: tuple[int, ...] = (1, -1)) -> np.ndarray:
    """Return the numbers nearest to ``values`` (positive) and both neighbours of each, with each of ``signs``."""
    near = np.array(values, component.dtype)
    around = np.concatenate([near, np.nextafter(near, near * 2), np.nextafter(near, near / 2)])
    return np.concatenate([around * component.dtype.type(sign) for sign in signs])


def _dealt(table: np.ndarray, shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """Return rows of ``table`` in random order, equally often, and all of them if there is room."""
    count = math.prod(shape)
    rounds = [rng.permutation(len(table)) for _ in range(-(-count // len(table)))]
    return np.asarray(table[np.concatenate(rounds)[:count]].reshape(*shape, *table.shape[1:]))


def bit_operands(component: ComponentType, operator: BitOperator, pattern: str, shape: Shape, rng: np.random.Generator) -> Pair:
    """Draw operands of a bit operator, integers of the component's dtype.

    Args:
        pattern: ``random`` bits, or ``edges``: pairs of the ends of the type, or the ends shifted by each defined distance.
    """
    left, right = elementwise.integers(component, "add", pattern, shape, rng)
    if operator.startswith("shift"):
        right = _dealt(np.arange(component.bits), shape, rng).astype(component.dtype)
    return left, right


def _special_floats(component: ComponentType) -> np.ndarray:
    """Return zero, the ends of normal numbers, and numbers of both signs that differ in the last bit."""
    ends = [smallest_normal(component), largest_finite(component)]
    values = np.array([0.0, *ends, *(-end for end in ends)], component.dtype)
    return np.concatenate([values, _neighbourhood(component, [1.0, 3.0])])


def _many_floats(component: ComponentType, count: int, shape: Shape, rng: np.random.Generator) -> list[np.ndarray]:
    """Draw full significands in every binade of normal numbers."""
    pairs = [elementwise.floats(component, "negate", "range", shape, rng) for _ in range(-(-count // 2))]
    return [one for pair in pairs for one in pair][:count]


def _of_integers(component: ComponentType, count: int, pattern: str, shape: Shape, rng: np.random.Generator) -> list[np.ndarray]:
    pairs = [elementwise.integers(component, "add", pattern, shape, rng) for _ in range(-(-count // 2))]
    return [one for pair in pairs for one in pair][:count]


def _ordered(low: np.ndarray, high: np.ndarray, signed: bool) -> Pair:
    """Return two limits with the lower one first; ``signed`` tells how to compare integers."""
    if np.issubdtype(low.dtype, np.floating):
        return np.minimum(low, high), np.maximum(low, high)
    kind = f"{'i' if signed else 'u'}{low.dtype.itemsize}"
    least, most = np.minimum(low.view(kind), high.view(kind)), np.maximum(low.view(kind), high.view(kind))
    return least.view(low.dtype), most.view(low.dtype)


def _selected(component: ComponentType, function: VectorFunction, pattern: str, shape: Shape, rng: np.random.Generator) -> Arguments:
    count = ARGUMENTS[function]
    if not component.is_float:
        found = _of_integers(component, count, pattern, shape, rng)
    elif pattern == "edges":
        special = _special_floats(component)
        pairs = _dealt(np.array([(x, y) for x in special for y in special], component.dtype), shape, rng)
        found = [pairs[..., 0], pairs[..., 1], _dealt(special, shape, rng)][:count]
    else:
        found = _many_floats(component, count, shape, rng)
    if function.endswith("Clamp"):
        found[1:] = _ordered(found[1], found[2], function[0] == "S")
    return tuple(np.ascontiguousarray(one) for one in found)


def _scaled(component: ComponentType, low: float, high: float, shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """Draw numbers from ``low`` to ``high``, equally many of each magnitude down to 2**-8 times these limits."""
    spread = low + (high - low) * rng.random(shape)
    return np.asarray(np.ldexp(spread, -rng.integers(0, 9, shape)).astype(component.dtype))


def _powers(component: ComponentType, pattern: str, shape: Shape, rng: np.random.Generator) -> np.ndarray:
    low, high = _LEAST_EXPONENT[component.bits], _LARGEST_EXPONENT[component.bits]
    if pattern == "range":
        return _scaled(component, low, high, shape, rng)
    ends = np.array([0.0, low, high, smallest_normal(component), -smallest_normal(component)], component.dtype)
    return _dealt(np.concatenate([ends, _neighbourhood(component, [0.5, 0.6931471805599453, 1.0, 2.0, 5.0, 9.0])]), shape, rng)


def _logarithms(component: ComponentType, pattern: str, shape: Shape, rng: np.random.Generator) -> np.ndarray:
    if pattern == "range":
        return np.asarray(np.abs(_many_floats(component, 1, shape, rng)[0]))
    ends = np.array([smallest_normal(component), largest_finite(component)], component.dtype)
    return _dealt(np.concatenate([ends, _neighbourhood(component, [0.5, 1.0, 2.0, 2.718281828459045, 1000.0], (1,))]), shape, rng)


def _angles(component: ComponentType, pattern: str, shape: Shape, rng: np.random.Generator) -> np.ndarray:
    if pattern == "range":
        every, near = _many_floats(component, 1, shape, rng)[0], _scaled(component, -8.0, 8.0, shape, rng)
        return np.asarray(np.where(rng.integers(0, 2, shape) == 1, every, near))
    return _dealt(np.concatenate([_special_floats(component), _neighbourhood(component, [0.5, 1.7320508075688772])]), shape, rng)


def _hyperbolic(component: ComponentType, pattern: str, shape: Shape, rng: np.random.Generator) -> np.ndarray:
    high = _LARGEST_TANH[component.bits]
    if pattern == "range":
        return _scaled(component, -high, high, shape, rng)
    ends = np.array([0.0, high, -high, smallest_normal(component), -smallest_normal(component)], component.dtype)
    return _dealt(np.concatenate([ends, _neighbourhood(component, [0.25, 0.5, 1.0, 2.0, 4.0])]), shape, rng)


_OF_ONE: Mapping[str, Callable[[ComponentType, str, Shape, np.random.Generator], np.ndarray]] = MappingProxyType(
    {"Exp": _powers, "Log": _logarithms, "Atan": _angles, "Tanh": _hyperbolic}
)


def _fused(component: ComponentType, pattern: str, shape: Shape, rng: np.random.Generator) -> Arguments:
    if pattern == "rounding":
        first = elementwise.floats(component, "multiply", "rounding", shape, rng)
        return *first, elementwise.floats(component, "multiply", "rounding", shape, rng)[0]
    bits = (component.precision - 1) // 2
    signs = rng.choice(np.array([-1.0, 1.0]), (3, *shape))
    factors = rng.integers(1, 1 << bits, (2, *shape)) * signs[:2]
    addend = rng.integers(1, 1 << 2 * bits, shape) * signs[2]
    return tuple(one.astype(component.dtype) for one in (*factors, addend))


def patterns(function: VectorFunction, component: ComponentType) -> tuple[str, ...]:
    """Return the patterns of arguments that a function of this component type has."""
    if function == "Fma":
        return "exact", "rounding"
    return ("range", "edges") if component.is_float else ("random", "edges")


def arguments(function: VectorFunction, component: ComponentType, pattern: str, shape: Shape, rng: np.random.Generator) -> Arguments:
    """Draw the arguments of a function, in its order.

    Args:
        pattern: one of ``patterns``. ``range``: every magnitude; ``random``: any bits; ``edges``: ends of the type and of the function's
            domain, zero, equal arguments and arguments that differ in the last bit. For Fma, ``exact``: results that the type can
            represent, and ``rounding``: full significands.
    """
    if function in _OF_ONE:
        return (_OF_ONE[function](component, pattern, shape, rng),)
    if function == "Fma":
        return _fused(component, pattern, shape, rng)
    return _selected(component, function, pattern, shape, rng)
