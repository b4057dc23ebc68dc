"""Operands whose results depend on execution modes: numbers between neighbours, denormals, overflows, zeros, infinities and NaN.

Arrays are float64 for numbers, and bits of the component if NaN payloads matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from generators.inputs.whole_numbers import signs
from generators.numerics.formats import encode, largest_finite, smallest_normal, values
from generators.types import ComponentType

Shape = tuple[int, ...]
Pair = tuple[np.ndarray, np.ndarray]

_FRACTIONS = np.array([0.5, 0.5, 0.5, 0.25, 0.75, 0.5 - 2.0**-5, 0.5 + 2.0**-5])
"""Distances of results from the neighbour nearer to zero, in steps: ties and both sides of them."""

_SHORT = np.array([1.5, 1.25, 1.75, 1.125, 1.375])
"""Factors that turn full significands into ties and quarters."""


def _full(component: ComponentType, shape: Shape, rng: np.random.Generator, low: int = 2, high: int = 6) -> np.ndarray:
    """Draw numbers of both signs with full significands, from 2**low to below 2**high."""
    p = component.precision
    digits = rng.integers(1 << p - 1, 1 << p, shape).astype(np.float64)
    return np.asarray(np.ldexp(digits, rng.integers(low, high, shape) - (p - 1)) * signs(shape, rng))


def _step(component: ComponentType, numbers: np.ndarray) -> np.ndarray:
    """Return the distance from normal numbers to the next number away from zero."""
    _, exponent = np.frexp(numbers)
    return np.asarray(np.ldexp(1.0, exponent - component.precision))


def _units(component: ComponentType, shape: Shape, rng: np.random.Generator, low: int, high: int) -> np.ndarray:
    """Draw whole multiples of the smallest denormal, from ``low`` to below ``high``, of both signs."""
    smallest = smallest_normal(component) * 2.0 ** (1 - component.precision)
    return np.asarray(rng.integers(low, high, shape) * smallest * signs(shape, rng))


def _denormal(component: ComponentType, shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """Draw denormals of every size."""
    bits = rng.integers(1, component.precision, shape)
    smallest = smallest_normal(component) * 2.0 ** (1 - component.precision)
    digits = rng.integers(1, 1 << component.precision - 1, shape) >> (component.precision - 1 - bits)
    return np.asarray(np.maximum(digits, 1) * smallest * signs(shape, rng))


def _mixed(choices: list[np.ndarray], rng: np.random.Generator) -> Pair:
    """Take each element from one of pairs of arrays, (2, *shape)."""
    which = rng.integers(0, len(choices), choices[0].shape[1:])
    left, right = (np.choose(which, [choice[side] for choice in choices]) for side in range(2))
    return left, right


def nan_bits(component: ComponentType, shape: Shape, part: int, rng: np.random.Generator) -> np.ndarray:
    """Return bits of NaN.

    For 16 bits, they cycle through every pattern, over as many parts as needed. For wider types, they are each single payload bit, quiet
    and signaling, all bits, both signs, and random payloads. For 8 bits, they are every pattern of the type, NaN or not.
    """
    if component.bits == 8:
        return np.asarray(rng.permutation(np.arange(math.prod(shape)) % 256).reshape(shape).astype(component.bits_dtype))
    payload_bits = component.precision - 1
    top = ((1 << component.bits - 1 - payload_bits) - 1) << payload_bits
    count = math.prod(shape)
    if component.bits == 16:
        payloads = np.arange(1, 1 << payload_bits)
        every = np.concatenate([payloads | top, payloads | top | 1 << 15])
        chosen = every[(np.arange(count) + part * count) % len(every)]
        return np.asarray(rng.permutation(chosen).reshape(shape).astype(component.bits_dtype))
    single = [1 << bit for bit in range(payload_bits)]
    quiet = 1 << payload_bits - 1
    structured = [*single, *(bit | quiet for bit in single), quiet - 1, 2 * quiet - 1]
    signed = [payload | top | sign for payload in structured for sign in (0, 1 << component.bits - 1)]
    sign_bits = rng.integers(0, 2, count, np.uint64) << np.uint64(component.bits - 1)
    drawn = rng.integers(1, 1 << payload_bits, count, np.uint64) | np.uint64(top) | sign_bits
    drawn[: min(count, len(signed))] = rng.permutation(np.array(signed, np.uint64))[:count]
    return np.asarray(rng.permutation(drawn).reshape(shape).astype(component.bits_dtype))


def nan_parts(component: ComponentType, elements: int) -> int:
    """Return how many parts matrices of ``elements`` need for the NaN patterns of ``nan_bits``."""
    match component.bits:
        case 8:
            return -(-256 // elements)
        case 16:
            return -(-2 * ((1 << component.precision - 1) - 1) // elements)
        case _:
            return 2


def _special_bits(component: ComponentType, shape: Shape, rng: np.random.Generator, ordinary: bool = True) -> np.ndarray:
    """Draw bits of zeros, infinities and NaN of both signs, and of some numbers if ``ordinary``."""
    numbers = [0.0, -0.0, np.inf, -np.inf]
    bits = encode(component, np.array(numbers + ([1.5, -1.5, 3.0, -2.0] if ordinary else [])))
    table = np.concatenate([bits, bits[:4], nan_bits(component, (4,), 0, rng)])
    chosen = table[rng.permutation(np.arange(math.prod(shape)) % len(table))]
    return np.asarray(chosen.reshape(shape).astype(component.bits_dtype))


def _between(component: ComponentType, operation: str, shape: Shape, rng: np.random.Generator) -> Pair:
    left = _full(component, shape, rng)
    if operation in ("add", "subtract"):
        return left, _step(component, left) * rng.choice(_FRACTIONS, shape) * signs(shape, rng)
    size = (1,) if operation == "times_scalar" else shape
    return left, np.asarray(rng.choice(_SHORT, size) * signs(size, rng))


def _random(component: ComponentType, operation: str, shape: Shape, rng: np.random.Generator) -> Pair:
    size = (1,) if operation == "times_scalar" else shape
    return _full(component, shape, rng), _full(component, size, rng)


def _denormals(component: ComponentType, operation: str, shape: Shape, part: int, rng: np.random.Generator) -> Pair:
    p, least = component.precision, smallest_normal(component)
    tiny = _denormal(component, shape, rng)
    half = 1 << p - 1
    if operation == "negate":
        return np.where(rng.integers(0, 4, shape) > 0, tiny, _full(component, shape, rng)), tiny
    if operation in ("add", "subtract"):
        near = _units(component, shape, rng, half, half + half // 2)
        away = near + _units(component, shape, rng, 1, half // 4)
        opposite = away if operation == "subtract" else -away
        pairs = [
            np.stack([_units(component, shape, rng, 1, half // 2), _units(component, shape, rng, 1, half // 2)]),
            np.stack([near, opposite]),
            np.stack([near, _units(component, shape, rng, 1, half // 4)]),
        ]
        return _mixed(pairs, rng)
    if operation == "times_scalar":
        factor = np.array([-0.25, 4.0][part])
        units = _units(component, shape, rng, 1, half // 4) if part else _units(component, shape, rng, half, 2 * half)
        ordinary = _full(component, shape, rng)
        return np.where(rng.integers(0, 8, shape) > 0, units, ordinary), factor.reshape(1)
    if operation == "divide":
        divisor = np.ldexp(rng.integers(4, 8, shape).astype(np.float64), rng.integers(6, 8, shape)) * signs(shape, rng)
        quotient = np.where(rng.integers(0, 3, shape) > 0, rng.uniform(2.0**-4, 0.9, shape), rng.uniform(2.0, 32.0, shape)) * least
        return quotient * divisor, divisor
    power = np.ldexp(1.0, rng.integers(1, 5, shape)) * signs(shape, rng)
    result = _units(component, shape, rng, half // 2, half)
    edge = np.stack([signs(shape, rng) * (1 - 2.0**-p), signs(shape, rng) * least])
    grown = np.stack([_units(component, shape, rng, 1, half // 8), power])
    # Small denormals grow, normal numbers become denormal, and a few results are just below the smallest normal number.
    return _mixed([grown, np.stack([result * np.abs(power), 1 / power])] * 3 + [edge], rng)


def _overflow(component: ComponentType, operation: str, shape: Shape, rng: np.random.Generator) -> Pair:
    largest = largest_finite(component)
    sign = signs(shape, rng)
    step = _step(component, np.array(largest))
    if operation in ("add", "subtract"):
        steps, half = rng.choice([0.25, 0.5, 0.75, 1.0], shape) * step, largest / 2 + step * rng.integers(0, 9, shape)
        other = np.where(rng.integers(0, 2, shape) > 0, steps, half)
        left, right = sign * np.where(other > 2 * step, largest / 2 + step * 4, largest), sign * other
        return left, right if operation == "add" else -right
    size = (1,) if operation == "times_scalar" else shape
    factor = rng.choice([1.5, 2.5, 1.25], size) * signs(size, rng)
    return sign * (largest - step * rng.integers(0, 64, shape)), np.asarray(factor)


def _special(component: ComponentType, operation: str, shape: Shape, part: int, rng: np.random.Generator) -> Pair:
    left = _special_bits(component, shape, rng, operation != "divide")
    if operation == "divide":
        return left, encode(component, rng.integers(1, 5, shape) * signs(shape, rng))
    if operation == "times_scalar":
        return left, encode(component, np.array([[-1.5, -0.0, np.inf, np.nan][part]]))
    return left, _special_bits(component, shape, rng)


def operands(component: ComponentType, operation: str, pattern: str, part: int, shape: Shape, rng: np.random.Generator) -> Pair:
    """Return both operands of an operation as bits; the second is a single number for ``times_scalar``.

    Args:
        component: the component type of operands and result.
        operation: ``add``, ``subtract``, ``multiply``, ``divide``, ``negate``, ``times_scalar`` or ``move``, ``negate`` and ``move`` use
            only the first operand.
        pattern: ``between``: exact results are ties and other fractions between neighbours. ``random``: full significands.
            ``denormals``: denormal operands and results. ``overflow``: results from half a step to a binade beyond the largest number.
            ``special``: zeros, infinities, NaN. ``nan``: patterns of NaN.
        part: the index of the part, for ``nan`` and for patterns with a scalar.
        shape: the shape of the matrices.
        rng: draws them.
    """
    if pattern == "nan":
        bits = nan_bits(component, shape, part, rng)
        return bits, bits
    if pattern == "special":
        return _special(component, operation, shape, part, rng)
    if pattern == "denormals":
        left, right = _denormals(component, "negate" if operation == "move" else operation, shape, part, rng)
    else:
        left, right = _DRAWN[pattern](component, operation, shape, rng)
    return encode(component, left), encode(component, right)


_DRAWN: Mapping[str, Callable[[ComponentType, str, Shape, np.random.Generator], Pair]] = MappingProxyType(
    {"between": _between, "random": _random, "overflow": _overflow}
)


def arguments(component: ComponentType, function: str, pattern: str, shape: Shape, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Return three arguments as bits. A minimum or maximum takes the first two; a clamp or Fma takes all. The second and third of a clamp
    are in order, except NaN.

    Args:
        function: the name of the function in GLSL.std.450.
        pattern: ``denormals``: denormal arguments beside others of both signs; for Fma, denormal results that do not round.
            ``special``: zeros and infinities of both signs, NaN if the function's result for it is defined, and ordinary numbers.
    """
    if function == "Fma":
        return _fused(component, shape, rng)
    if pattern == "denormals":
        drawn = [np.where(rng.integers(0, 3, shape) > 0, _denormal(component, shape, rng), _full(component, shape, rng)) for _ in range(3)]
    else:
        drawn = [values(_special_bits(component, shape, rng), component) for _ in range(3)]
        if function[0] == "F":
            drawn = [np.where(np.isnan(one), _full(component, shape, rng), one) for one in drawn]
    if function.endswith("Clamp"):
        if pattern == "denormals":
            # They are in order whether or not denormals are flushed.
            drawn[1:] = -np.abs(drawn[1]), np.abs(drawn[2])
        drawn[1:] = np.where(drawn[1] > drawn[2], drawn[2], drawn[1]), np.where(drawn[1] > drawn[2], drawn[1], drawn[2])
    return tuple(encode(component, one) for one in drawn)


def _fused(component: ComponentType, shape: Shape, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Draw normal a, b and c with denormal a * b + c that does not round: b is a power of two, and c nearly cancels the product."""
    half = 1 << component.precision - 1
    power = np.ldexp(1.0, rng.integers(1, 5, shape)) * signs(shape, rng)
    product = _units(component, shape, rng, half + half // 4, 2 * half - half // 4)
    rest = _units(component, shape, rng, 1, half // 4)
    return tuple(encode(component, one) for one in (product * np.abs(power), 1 / power, rest - np.sign(power) * product))


def converted(source: ComponentType, target: ComponentType, pattern: str, part: int, shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """Return floats to convert, as bits of ``source``; arguments as for ``operands``."""
    if pattern in ("special", "nan"):
        return operands(source, "convert", pattern, part, shape, rng)[0]
    narrow = target if target.precision < source.precision else source
    if pattern == "between":
        numbers = _full(target, shape, rng)
        numbers = numbers + _step(target, numbers) * rng.choice(_FRACTIONS, shape) * np.sign(numbers)
    elif pattern == "random":
        numbers = _full(source, shape, rng)
    elif pattern == "overflow":
        largest = largest_finite(target)
        step = _step(target, np.array(largest))
        near = largest + step * rng.choice([0.25, 0.5, 0.5 - 2.0**-5, 0.75, 1.0], shape)
        numbers = np.where(rng.integers(0, 3, shape) > 0, near, 4 * largest * rng.uniform(1, 2, shape)) * signs(shape, rng)
    else:
        exact = _denormal(narrow, shape, rng)
        smallest = smallest_normal(narrow) * 2.0 ** (1 - narrow.precision)
        more = exact + rng.choice([0.0, 0.25, 0.5, 0.75], shape) * smallest * np.sign(exact) if narrow is target else exact
        own = _denormal(source, shape, rng)
        numbers = np.choose(rng.integers(0, 6, shape), [more, more, more, more, own, _full(narrow, shape, rng)])
    return encode(source, numbers)
