"""Operands of two multiply-adds in a chain: S = Q x K + C becomes an A or B of O = P x V + Z.

Both are exact under every order of summation: S stays so small that P can hold it and the second sum fits its accumulation. Integers wrap,
and every bit matters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.inputs.whole_numbers import budget, few, near, up_to
from generators.numerics.formats import encode, largest_whole
from generators.property_rows import PropertyRow
from generators.types import ComponentType

Elements = dict[str, np.ndarray]


@dataclass(frozen=True)
class UseChain:
    """A chain.

    Attributes:
        first: the row of S = Q x K + C.
        second: the row of O = P x V + Z.
        enters: whether P is the A or the B of that row.
        trips: number of iterations, each with its own K, C and V; their sums add up in O.
        growth: the factor by which S grows before it is converted.
    """

    first: PropertyRow
    second: PropertyRow
    enters: Literal["a", "b"]
    trips: int
    growth: int

    def operand(self, name: str) -> tuple[PropertyRow, str]:
        """Return the row of ``q``, ``k``, ``c``, ``s``, ``v``, ``z`` or ``o``, and the matrix's operand in that row."""
        if name in "qkcs":
            return self.first, {"q": "a", "k": "b", "c": "c", "s": "d"}[name]
        return self.second, {"v": "b" if self.enters == "a" else "a", "z": "c", "o": "d"}[name]


def _anything(component: ComponentType, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    return np.frombuffer(rng.bytes(math.prod(shape) * component.bytes), component.bits_dtype).reshape(shape)


def _signed(*components: ComponentType) -> bool:
    return all(c.is_float or c.is_signed for c in components)


def operands(chain: UseChain, instances: int, rng: np.random.Generator) -> Elements:
    """Draw the bits of ``q`` and ``z`` (instances, 1, rows, columns), and of ``k``, ``c`` and ``v`` (instances, trips, …)."""
    of_s, of_o = chain.first, chain.second
    first, converted, second = of_s.c, of_o.a, of_o.c
    trips = max(1, chain.trips)
    shapes: dict[str, tuple[int, ...]] = {
        "q": (instances, 1, of_s.m, of_s.k),
        "k": (instances, trips, of_s.k, of_s.n),
        "c": (instances, trips, of_s.m, of_s.n),
        "v": (instances, trips, *((of_o.k, of_o.n) if chain.enters == "a" else (of_o.m, of_o.k))),
        "z": (instances, 1, of_o.m, of_o.n),
    }
    limit, found = largest_whole(converted), {}
    if second.is_float:
        most = budget(of_o)
        rest = min(most // 2, largest_whole(second))
        term = max(1, (most - rest) // (of_o.k * trips))
        limit = min(limit, max(1, math.isqrt(4 * term)))
        found["v"] = encode(converted, up_to(min(term // limit, largest_whole(converted)), shapes["v"], rng, _signed(converted)))
        found["z"] = encode(second, near(rest, shapes["z"], rng))
    else:
        found["v"], found["z"] = _anything(converted, shapes["v"], rng), _anything(second, shapes["z"], rng)
    if not first.is_float and not second.is_float:
        return found | {name: _anything(type_, shapes[name], rng) for name, type_ in (("q", of_s.a), ("k", of_s.b), ("c", first))}
    return found | _scores(chain, limit // chain.growth, shapes, rng)


def _scores(chain: UseChain, limit: int, shapes: dict[str, tuple[int, ...]], rng: np.random.Generator) -> Elements:
    """Draw Q, K and C for sums of magnitudes up to ``limit``; a float that becomes an integer has quarters, which the conversion drops."""
    factor, first, converted = chain.first.a, chain.first.c, chain.second.a
    signed = _signed(factor, first, converted)
    parts = 4 if first.is_float and not converted.is_float else 1
    units = max(2, limit * parts)
    if first.is_float:
        units = min(units, budget(chain.first))
    addend = units // 2
    # Q has few nonzero elements, at different places in each row, so K may have more than ones.
    terms = min(chain.first.k, max(1, min(4, (units - addend) // 2)))
    each = max(1, (units - addend) // terms)
    large = min(max(1, math.isqrt(each)), largest_whole(factor))
    q = few(terms, shapes["q"], rng) * up_to(large, shapes["q"], rng, signed)
    k = up_to(min(each // large, largest_whole(factor)), shapes["k"], rng, signed)
    c = up_to(min(addend, largest_whole(first)), shapes["c"], rng, signed)
    return {"q": encode(factor, q / parts if parts > 1 else q), "k": encode(factor, k), "c": encode(first, c / parts if parts > 1 else c)}
