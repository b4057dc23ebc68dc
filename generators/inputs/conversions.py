"""Operands of conversions: the valid inputs of each instruction, and values that test its rounding, its limits and its interpretation of
signs.

Every value has a defined result: it is inside the range of an integer result after truncation (facts.md C11), finite (C30), and not minus
zero (C16). Values beyond the largest float of a result have their own patterns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from generators.errors import GeneratorError, Rule
from generators.numerics.formats import encode, integers, largest_finite, values
from generators.program.conversion import Conversion, is_float8
from generators.types import ComponentType

_SIGNED = (Conversion.S_TO_F, Conversion.S_TO_S)


@dataclass(frozen=True)
class Step:
    """One conversion: the types and the instruction."""

    source: ComponentType
    target: ComponentType
    conversion: Conversion


def chosen_steps(
    pairs: Iterable[tuple[ComponentType, ComponentType]], choose: Callable[[ComponentType, ComponentType], Conversion | None]
) -> tuple[Step, ...] | None:
    """Return a conversion for each pair of source and target, by the instruction that ``choose`` returns; None if it returns none."""
    found = []
    for source, target in pairs:
        conversion = choose(source, target)
        if conversion is None:
            return None
        found.append(Step(source, target, conversion))
    return tuple(found)


def conversion_pairs(
    form: str, source: ComponentType, target: ComponentType, third: ComponentType
) -> tuple[tuple[ComponentType, ComponentType], ...]:
    """Return source and target of each conversion of a case.

    Args:
        form: ``back`` converts to ``target`` and back, ``through`` to ``third`` and then to ``target``, and ``both`` to each of them; all
            other forms make one conversion.
        source, target, third: component types.
    """
    match form:
        case "back":
            return (source, target), (target, source)
        case "through":
            return (source, third), (third, target)
        case "both":
            return (source, target), (source, third)
        case _:
            return ((source, target),)


def convertible(steps: tuple[Step, ...] | None, family: str) -> tuple[Step, ...]:
    """Return the conversions of a case of ``family``.

    Raises:
        GeneratorError: ``steps`` is None: no instruction makes one of the conversions.
    """
    if steps is None:
        raise GeneratorError(Rule.CONSTRAINT, f"{family}: the constraint 'convertible' must exclude this case")
    return steps


def numbers(bits: np.ndarray, component: ComponentType, signed: bool) -> np.ndarray:
    """Return the values of ``bits``: float64, or integers of the component's width; ``signed`` tells how to interpret integers."""
    return values(bits, component) if component.is_float else integers(bits, component, signed)


def _float_bits(listed: Iterable[float], component: ComponentType) -> np.ndarray:
    """Return the bits of the nearest floats of ``component``."""
    return encode(component, np.array(list(listed), np.float64))


def plain(bits: np.ndarray, component: ComponentType) -> np.ndarray:
    """Return which of ``bits`` are finite and not minus zero, bool."""
    if not component.is_float:
        return np.ones(bits.shape, bool)
    values = numbers(bits, component, False)
    return np.asarray(np.isfinite(values) & ~((values == 0) & np.signbit(values)))


def _truncated(values: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.asarray(np.trunc(values))


def fits(step: Step, bits: np.ndarray) -> np.ndarray:
    """Return which of ``bits`` have a defined result that does not exceed the target's largest float, bool."""
    values, target = numbers(bits, step.source, step.conversion in _SIGNED), step.target
    match step.conversion:
        case Conversion.F_TO_S:
            whole = _truncated(values)
            inside = (whole >= -(2.0 ** (target.bits - 1))) & (whole < 2.0 ** (target.bits - 1))
        case Conversion.F_TO_U:
            inside = (_truncated(values) >= 0) & (values < 2.0**target.bits)
        case Conversion.F_TO_F | Conversion.S_TO_F | Conversion.U_TO_F:
            inside = np.abs(values.astype(np.float64)) <= largest_finite(target)
        case _:
            inside = np.ones(bits.shape, bool)
    return np.asarray(inside & plain(bits, step.source))


def every_byte(steps: Sequence[Step]) -> np.ndarray:
    """Return all patterns of an 8-bit source that are valid for all ``steps``."""
    bits = np.arange(256, dtype=np.uint8)
    return bits[np.logical_and.reduce([fits(step, bits) for step in steps])]


def _around(values: Iterable[float], source: ComponentType) -> np.ndarray:
    """Return the floats of ``source`` nearest to ``values`` of both signs, and the neighbours of each."""
    listed = list(values)
    bits = _float_bits([*listed, *(-value for value in listed)], source)
    one = source.bits_dtype.type(1)
    return np.concatenate([bits, bits + one, bits - one])


def _landmarks(component: ComponentType) -> list[int]:
    """Return bits of positive floats: the ends of denormals and normals, and values of both parities around one."""
    hidden = 1 << (component.precision - 1)
    one, largest = (int(bits) for bits in _float_bits([1.0, largest_finite(component)], component))
    near_one = [one - 1, one, one + 1, one + hidden // 2, one + hidden // 2 + 1]
    return [0, 1, 2, hidden // 2, hidden - 2, hidden - 1, hidden, hidden + 1, *near_one, largest - 2, largest - 1, largest]


def _ties(source: ComponentType, target: ComponentType) -> list[float]:
    """Return values of the target and values halfway to the next one; of the source, if it has fewer."""
    marked = source if target.precision > source.precision else target
    found = []
    for bits in _landmarks(marked):
        here, following = numbers(np.array([bits, bits + 1]).astype(marked.bits_dtype), marked, False).tolist()
        found += [here, (here + following) / 2] if math.isfinite(following) else [here]
    return found


def _integer_limits(width: int, signed: bool) -> tuple[int, int]:
    return (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)


def _float_edges(step: Step) -> np.ndarray:
    if step.target.is_float:
        own = numbers(np.array(_landmarks(step.source)).astype(step.source.bits_dtype), step.source, False).tolist()
        return np.concatenate([_around(_ties(step.source, step.target), step.source), _around(own, step.source)])
    low, high = _integer_limits(step.target.bits, step.conversion is Conversion.F_TO_S)
    whole = [0, 1, 2, 3, high // 2, high // 2 + 1, high - 1, high, high + 1, -low, -low + 1]
    whole += [1 << k for k in range(2, step.target.bits, max(1, step.target.bits // 8))]
    return _around([float(n) + part for n in whole for part in (0.0, 0.5)], step.source)


def _tie_integers(width: int, precision: int) -> list[int]:
    """Return integers halfway between two floats of the given precision, above an even and above an odd one, and their neighbours."""
    found = []
    for k in range(precision, width):
        spacing = 1 << (k + 1 - precision)
        for base in (1 << k, (1 << k) + spacing, (1 << (k + 1)) - spacing):
            found += [base, base + spacing // 2 - 1, base + spacing // 2, base + spacing // 2 + 1]
    return found


def _integer_edges(step: Step) -> np.ndarray:
    width = step.source.bits
    low, high = _integer_limits(width, step.conversion in _SIGNED)
    wanted = [low, low + 1, high, high - 1, 0x55 * (high // 255), 0x33 * (high // 255)]
    wanted += [(1 << k) + d for k in range(width) for d in (-1, 0, 1)]
    if step.target.is_float:
        wanted += _tie_integers(width, step.target.precision)
        wanted += [int(largest_finite(step.target)) - d for d in range(3)] if largest_finite(step.target) < 1 << 64 else []
    elif step.target.bits < width:
        wanted += [n + (k << step.target.bits) for n in (0x80, 0x7F) for k in (0, 1, 0x5A)]
    both = sorted({n for n in (*wanted, *(-n for n in wanted)) if low <= n <= high})
    return np.array([n % (1 << width) for n in both], np.uint64).astype(step.source.bits_dtype)


def edges(steps: Sequence[Step]) -> np.ndarray:
    """Return ties and their neighbours on both sides, ends of types, denormals and powers of two for each of ``steps``; all steps accept
    them."""
    found = [_float_edges(step) if step.source.is_float else _integer_edges(step) for step in steps]
    bits = np.unique(np.concatenate(found))
    return bits[np.logical_and.reduce([fits(step, bits) for step in steps])]


def random(steps: Sequence[Step], count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw values of any magnitude that the types share, with random lower bits, (count,)."""
    source = steps[0].source
    draws = count * 4
    if source.is_float:
        tops = [math.log2(_largest(step)) for step in steps] + [math.log2(largest_finite(source))]
        bottoms = [_least_exponent(step.target) for step in steps] + [_least_exponent(source)]
        low, high = max(bottoms) - 1, math.ceil(min(tops))
        values = (1 + rng.random(draws)) * np.ldexp(1.0, rng.integers(low, high, draws))
        signed = all(step.conversion is not Conversion.F_TO_U for step in steps)
        bits = _float_bits(values * (rng.choice(np.array([-1.0, 1.0]), draws) if signed else 1.0), source)
    else:
        whole = rng.integers(0, 1 << source.bits, draws, dtype=np.uint64, endpoint=False) if source.bits < 64 else _words(rng, draws)
        magnitudes = [_largest(step) for step in steps if step.target.is_float]
        spare = max(0, source.bits - math.ceil(math.log2(min(magnitudes, default=2.0**64))))
        shifted = whole >> rng.integers(spare, max(spare + 1, source.bits - 2), draws).astype(np.uint64)
        shifted = np.where(rng.integers(0, 2, draws) == 1, shifted, whole >> np.uint64(spare))
        negative = rng.integers(0, 2, draws).astype(bool) & (steps[0].conversion in _SIGNED)
        bits = np.where(negative, ~shifted, shifted).astype(source.bits_dtype)
    usable = bits[np.logical_and.reduce([fits(step, bits) for step in steps])]
    return np.resize(usable, count)


def _words(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.integers(0, (1 << 64) - 1, count, dtype=np.uint64, endpoint=True)


def _largest(step: Step) -> float:
    if step.target.is_float:
        return largest_finite(step.target)
    return 2.0 ** (step.target.bits - (step.conversion is Conversion.F_TO_S))


def _least_exponent(component: ComponentType) -> int:
    """Return the exponent of the smallest denormal; for an integer, of one bit after the point."""
    if not component.is_float:
        return -2
    return int(np.frexp(numbers(np.array([1]).astype(component.bits_dtype), component, False)[0])[1]) - 1


def can_overflow(step: Step) -> bool:
    """Tell whether the source has values beyond the largest float of the target."""
    if not step.target.is_float:
        return False
    top = largest_finite(step.source) if step.source.is_float else float(_integer_limits(step.source.bits, step.conversion in _SIGNED)[1])
    return top > largest_finite(step.target)


def overflowing(step: Step, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw values beyond the largest float of the target, from just beyond to the largest of the source, (count,)."""
    source, largest = step.source, largest_finite(step.target)
    _, exponent = math.frexp(largest)
    spacing = math.ldexp(1.0, exponent - step.target.precision)
    near = [largest + spacing * part for part in (1 / 16, 0.25, 0.5, 0.75, 1, 1.5, 2)]
    if source.is_float:
        far = largest * _spread(0, math.frexp(largest_finite(source))[1] - exponent, count, rng)
        bits = np.concatenate([_around([*near, largest_finite(source)], source), _float_bits([*far, *-far], source)])
    else:
        low, high = _integer_limits(source.bits, step.conversion in _SIGNED)
        far_integers = [int(value) for value in largest * _spread(0, high.bit_length() - exponent, count, rng)]
        listed = [high, low, high - 1, low + 1, *far_integers, *(int(n) + d for n in near for d in (-1, 0, 1))]
        both = [n for n in (*listed, *(-n for n in listed)) if low <= n <= high]
        bits = np.array([n % (1 << source.bits) for n in both], np.uint64).astype(source.bits_dtype)
    beyond = np.abs(numbers(bits, source, step.conversion in _SIGNED).astype(np.float64)) > largest
    return rng.permutation(np.resize(bits[beyond & plain(bits, source)], count))


def _spread(low: int, high: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw values from 2^low to 2^high, at least one octave, equally many of each magnitude, (count,).

    This uses only multiplication: powers and logarithms differ from one processor to another.
    """
    return np.ldexp(1 + rng.random(count), rng.integers(low, max(high, low + 1), count))


def infinite(source: ComponentType, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return infinities of both signs among ones of both signs, (count,)."""
    return rng.permutation(np.resize(_float_bits([math.inf, -math.inf, 1.0, -1.0], source), count))


def has_infinity(step: Step) -> bool:
    """Tell whether the text defines the conversion of the source's infinities: it does so only for 8-bit floats (facts.md C13)."""
    return step.source.is_float and step.source.name != "e4m3" and is_float8(step.target)


def chained(steps: Sequence[Step], count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw values that stay in the range of every type in a chain of conversions, whatever the rounding, (count,)."""
    source = steps[0].source
    types = [source, *(step.target for step in steps)]
    if not any(type_.is_float for type_ in types):
        return np.frombuffer(rng.bytes(count * source.bytes), source.bits_dtype)
    # Unsigned integers have their top bit, and room for the rounding of floats.
    high = min(largest_finite(t) / 2 if t.is_float else 0.75 * 2.0 ** (t.bits - t.is_signed) for t in types)
    low = -high if all(t.is_float or t.is_signed for t in types) else 0.0
    if source.bits == 8:
        every = np.arange(256, dtype=np.uint8)
        values = numbers(every, source, source.is_signed).astype(np.float64)
        bits = every[plain(every, source) & (values >= low) & (values <= high)]
    elif source.is_float:
        # A quarter is in the top octave, whose numbers have the most bits.
        top_octave = high * (1 + rng.random(count)) / 2
        magnitudes = np.where(rng.integers(0, 4, count) == 0, top_octave, _spread(-6, math.frexp(high)[1] - 1, count, rng))
        bits = _float_bits(magnitudes * (rng.choice(np.array([-1.0, 1.0]), count) if low < 0 else 1.0), source)
    else:
        top = min(int(high), (1 << 62) - 1)
        whole = rng.integers(1, top, count, np.int64) >> rng.integers(0, max(1, top.bit_length() - 2), count)
        bits = np.where(rng.integers(0, 2, count) & (low < 0), -whole, whole).astype(np.int64).view(np.uint64).astype(source.bits_dtype)
    return rng.permutation(np.resize(bits, count))


def is_new(pattern: str, part: int, count: int) -> bool:
    """Tell whether part ``part`` of ``count`` values adds any. The first part always does. For lists that are longer than small matrices,
    further parts do until all 256 bytes or 512 edges are covered."""
    seen = part * count
    return seen == 0 or seen < {"bytes": 256, "edges": 512}.get(pattern, 0)


def fill(listed: np.ndarray, count: int, part: int) -> np.ndarray:
    """Return ``count`` values from a list, in an order without the list's symmetry; each part continues where the previous part ended."""
    length = len(listed)
    stride = next(k for k in range(max(1, length * 5 // 13), length + 2) if math.gcd(k, length) == 1)
    at = np.arange(part * count, (part + 1) * count, dtype=np.int64)
    # Each further pass through the list begins at another place, so rows do not repeat.
    return np.asarray(listed[(at + at // length * 3) * stride % length])
