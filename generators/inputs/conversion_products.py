"""Operands of a multiply-add that takes a converted matrix, or whose result is converted.

The multiply-add is exact under every order of summation, so that nothing but the conversion decides the result.
"""

from __future__ import annotations

import math

import numpy as np

from generators.inputs.conversions import Step
from generators.inputs.whole_numbers import budget, up_to
from generators.numerics.formats import encode, largest_finite, largest_whole
from generators.property_rows import PropertyRow

Elements = dict[str, np.ndarray]
"""Bits of ``a`` (instances, M, K), ``b`` (instances, K, N) and ``c`` (instances, M, N)."""


def _shapes(row: PropertyRow, instances: int) -> dict[str, tuple[int, int, int]]:
    return {"a": (instances, row.m, row.k), "b": (instances, row.k, row.n), "c": (instances, row.m, row.n)}


def before(row: PropertyRow, step: Step, use: str, instances: int, rng: np.random.Generator) -> Elements:
    """Draw operands of which the operand of ``use`` (``a`` or ``b``) has the bits of ``step``'s source; converted it is exact. A float
    source of an integer has fractions, which the conversion drops."""
    shapes = _shapes(row, instances)
    source, target = step.source, step.target
    if target.is_float:
        # Half of the budget of exact sums for the products, the rest for C.
        most = budget(row) // 2 + 1
        even = math.isqrt(most // row.k)
        shared = max(1, min(even, largest_whole(source), largest_whole(target)))
        other = max(1, min(most // (row.k * shared), largest_whole(row.a)))
        addend = min(most - 1, largest_whole(row.c))
    else:
        shared, other, addend = min(largest_whole(source) >> 1, largest_whole(target)), largest_whole(target), largest_whole(row.c)
    signed = all(t.is_float or t.is_signed for t in (source, target))
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


def _others(
    row: PropertyRow, use: str, shapes: dict[str, tuple[int, int, int]], limits: tuple[int, int], rng: np.random.Generator
) -> Elements:
    """Draw the factor that is not converted, and C, of magnitudes up to ``limits``."""
    signed = row.result.is_float or row.result.is_signed
    factor = "b" if use == "a" else "a"
    return {
        factor: encode(row.a, up_to(limits[0], shapes[factor], rng, signed)),
        "c": encode(row.c, up_to(limits[1], shapes["c"], rng, signed)),
    }


def after(row: PropertyRow, step: Step, instances: int, rng: np.random.Generator) -> Elements:
    """Draw operands whose result is in the range of ``step``'s target; of floats it has fractions."""
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
    half = (limit - 1) // 2
    factor = max(1, min(math.isqrt(half // row.k), largest_whole(row.a)))
    signed = (row.result.is_float or row.result.is_signed) and (target.is_float or target.is_signed or not row.result.is_float)
    addend = up_to(min(half, limit - 1 - row.k * factor * factor), shapes["c"], rng, signed)
    scale = 1 / quarters
    c = addend.astype(np.float64) * scale if row.result.is_float else addend
    a = up_to(factor, shapes["a"], rng, signed and (row.a.is_float or row.a.is_signed)).astype(np.float64)
    b = up_to(factor, shapes["b"], rng, signed and (row.b.is_float or row.b.is_signed))
    return {"a": encode(row.a, a * scale if row.a.is_float else a), "b": encode(row.b, b), "c": encode(row.c, c)}
