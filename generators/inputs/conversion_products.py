"""Operands of a multiply-add that takes a converted matrix, or whose result is converted.

The multiply-add is exact under every order of summation, so only the conversion decides the result.
"""

from __future__ import annotations

import math

import numpy as np

from generators.inputs.conversions import Step
from generators.inputs.whole_numbers import budget, up_to, wide_factors
from generators.numerics.formats import encode, largest_finite, largest_whole
from generators.property_rows import PropertyRow
from generators.types import ComponentType

_PRODUCTS, _WHOLE = 5, 8
"""The products' share in exact sums: 5 of 8, more than half, for factors that need all bits."""

Elements = dict[str, np.ndarray]
"""Bits of ``a`` (instances, M, K), ``b`` (instances, K, N) and ``c`` (instances, M, N)."""


def _shapes(row: PropertyRow, instances: int) -> dict[str, tuple[int, int, int]]:
    return {"a": (instances, row.m, row.k), "b": (instances, row.k, row.n), "c": (instances, row.m, row.n)}


def before(row: PropertyRow, step: Step, use: str, instances: int, rng: np.random.Generator) -> Elements:
    """Draw operands. The operand of ``use`` (``a`` or ``b``) has the bits of ``step``'s source and is exact after the conversion. A float
    source of an integer has fractions, which the conversion drops."""
    shapes = _shapes(row, instances)
    source, target = step.source, step.target
    signed = all(t.is_float or t.is_signed for t in (source, target))
    if target.is_float:
        return _wide(row, source, use, shapes, signed, rng)
    shared, other, addend = min(largest_whole(source) >> 1, largest_whole(target)), largest_whole(target), largest_whole(row.c)
    if not source.is_float and not target.is_float:
        # Integers wrap: every bit counts.
        given = np.frombuffer(rng.bytes(math.prod(shapes[use]) * source.bytes), source.bits_dtype).reshape(shapes[use])
        return _others(row, use, shapes, (other, addend), rng) | {use: given}
    converted = up_to(shared, shapes[use], rng, signed).astype(np.float64)
    if source.is_float and not target.is_float:
        fraction = rng.choice(np.array([0.0, 0.25, 0.5]), shapes[use])
        widened = converted + np.copysign(fraction, converted)
        kept = widened.astype(source.dtype).astype(np.float64) == widened
        converted = np.where(kept, widened, converted)
    return _others(row, use, shapes, (other, addend), rng) | {use: encode(source, converted)}


def _wide(
    row: PropertyRow, source: ComponentType, use: str, shapes: dict[str, tuple[int, int, int]], signed: bool, rng: np.random.Generator
) -> Elements:
    """Draw whole numbers. Factors that are alone in their line have all bits of their type or of the sum."""
    most = budget(row) * _PRODUCTS // _WHOLE
    limits = {name: min(component, largest_whole(source if name == use else row.a)) for name, component in _largest(row).items()}
    a, b = wide_factors((shapes["a"], shapes["b"]), max(row.k, most), (limits["a"], limits["b"]), rng)
    c = up_to(min(budget(row) - most, largest_whole(row.c)), shapes["c"], rng)
    numbers = {"a": a, "b": b}
    if not signed:
        numbers[use] = np.abs(numbers[use])
    encoded = {name: encode(source if name == use else row.a, values.astype(np.float64)) for name, values in numbers.items()}
    return encoded | {"c": encode(row.c, c)}


def _largest(row: PropertyRow) -> dict[str, int]:
    return {"a": largest_whole(row.a), "b": largest_whole(row.b)}


def _others(
    row: PropertyRow, use: str, shapes: dict[str, tuple[int, int, int]], limits: tuple[int, int], rng: np.random.Generator
) -> Elements:
    """Draw the factor that is not converted, and C, with magnitudes up to ``limits``."""
    signed = row.result.is_float or row.result.is_signed
    factor = "b" if use == "a" else "a"
    return {
        factor: encode(row.a, up_to(limits[0], shapes[factor], rng, signed)),
        "c": encode(row.c, up_to(limits[1], shapes["c"], rng, signed)),
    }


def after(row: PropertyRow, step: Step, instances: int, rng: np.random.Generator) -> Elements:
    """Draw operands whose result is in the range of ``step``'s target; float results have fractions."""
    shapes = _shapes(row, instances)
    target = step.target
    # Sums of floats count quarters.
    quarters = 4 if row.result.is_float else 1
    if row.result.is_float:
        limit = min(budget(row) + 1, quarters * int(min(largest_finite(target) if target.is_float else largest_whole(target), 2.0**60)))
    elif target.is_float:
        limit = int(min(largest_finite(target), 2.0**30))
    else:
        limit = 1 << 31
    signed = (row.result.is_float or row.result.is_signed) and (target.is_float or target.is_signed or not row.result.is_float)
    if row.result.is_float and (limit - 1) * _PRODUCTS // _WHOLE >= row.k:
        most = (limit - 1) * _PRODUCTS // _WHOLE
        largest = _largest(row)
        a, b = wide_factors((shapes["a"], shapes["b"]), most, (largest["a"], largest["b"]), rng)
        c = up_to(limit - 1 - most, shapes["c"], rng)
        if not signed:
            a, b, c = np.abs(a), np.abs(b), np.abs(c)
    else:
        half = (limit - 1) // 2
        factor = max(1, min(math.isqrt(half // row.k), largest_whole(row.a)))
        c = up_to(min(half, limit - 1 - row.k * factor * factor), shapes["c"], rng, signed)
        a = up_to(factor, shapes["a"], rng, signed and (row.a.is_float or row.a.is_signed))
        b = up_to(factor, shapes["b"], rng, signed and (row.b.is_float or row.b.is_signed))
    scale = 1 / quarters
    return {
        "a": encode(row.a, a * scale if row.a.is_float else a),
        "b": encode(row.b, b),
        "c": encode(row.c, c.astype(np.float64) * scale if row.result.is_float else c),
    }
