"""Operands of two multiply-adds in a chain: S = Q x K + C becomes an A or B of O = P x V + Z.

Both are exact under every order of summation: S stays so small that P holds it and that the second sum fits its accumulation. Integers
wrap, and every bit counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from generators.inputs.whole_numbers import few, near, up_to
from generators.numerics.exactness import permitted_precision
from generators.numerics.formats import encode, largest_whole
from generators.types import ComponentType

Elements = dict[str, np.ndarray]


@dataclass(frozen=True)
class UseChain:
    """A chain.

    Attributes:
        factor, first, converted, second: component types of Q and K, of C and S, of P and V, and of Z and O.
        q, k, c, v, z: rows and columns.
        depth: products that enter an element of O in one iteration.
        trips: iterations, each with a K, a C and a V of its own, and sums that add up in O.
        growth: by how much S grows before it is converted.
    """

    factor: ComponentType
    first: ComponentType
    converted: ComponentType
    second: ComponentType
    q: tuple[int, int]
    k: tuple[int, int]
    c: tuple[int, int]
    v: tuple[int, int]
    z: tuple[int, int]
    depth: int
    trips: int
    growth: int


def _anything(component: ComponentType, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    return np.frombuffer(rng.bytes(math.prod(shape) * component.bytes), component.bits_dtype).reshape(shape)


def _signed(*components: ComponentType) -> bool:
    return all(c.is_float or c.is_signed for c in components)


def operands(chain: UseChain, instances: int, rng: np.random.Generator) -> Elements:
    """Bits of ``q`` and ``z`` (instances, 1, rows, columns), and of ``k``, ``c`` and ``v`` (instances, trips, …)."""
    first, converted, second = chain.first, chain.converted, chain.second
    trips = max(1, chain.trips)
    shapes: dict[str, tuple[int, ...]] = {
        "q": (instances, 1, *chain.q),
        "k": (instances, trips, *chain.k),
        "c": (instances, trips, *chain.c),
        "v": (instances, trips, *chain.v),
        "z": (instances, 1, *chain.z),
    }
    limit, found = largest_whole(converted), {}
    if second.is_float:
        budget = (1 << permitted_precision(converted, converted, second, second)) - 1
        rest = min(budget // 2, largest_whole(second))
        term = max(1, (budget - rest) // (chain.depth * trips))
        limit = min(limit, max(1, math.isqrt(4 * term)))
        found["v"] = encode(converted, up_to(min(term // limit, largest_whole(converted)), shapes["v"], rng, _signed(converted)))
        found["z"] = encode(second, near(rest, shapes["z"], rng))
    else:
        found["v"], found["z"] = _anything(converted, shapes["v"], rng), _anything(second, shapes["z"], rng)
    if not first.is_float and not second.is_float:
        return found | {
            name: _anything(type_, shapes[name], rng) for name, type_ in (("q", chain.factor), ("k", chain.factor), ("c", first))
        }
    return found | _scores(chain, limit // chain.growth, shapes, rng)


def _scores(chain: UseChain, limit: int, shapes: dict[str, tuple[int, ...]], rng: np.random.Generator) -> Elements:
    """Q, K and C of sums of magnitudes up to ``limit``; a float that becomes an integer has quarters, which the conversion drops."""
    factor, first = chain.factor, chain.first
    signed = _signed(factor, first, chain.converted)
    parts = 4 if first.is_float and not chain.converted.is_float else 1
    units = max(2, limit * parts)
    if first.is_float:
        units = min(units, (1 << permitted_precision(factor, factor, first, first)) - 1)
    addend = units // 2
    # Q has few elements that are not zero, at other places in each row, so that K may have more than ones.
    terms = min(chain.q[1], max(1, min(4, (units - addend) // 2)))
    each = max(1, (units - addend) // terms)
    large = min(max(1, math.isqrt(each)), largest_whole(factor))
    q = few(terms, shapes["q"], rng) * up_to(large, shapes["q"], rng, signed)
    k = up_to(min(each // large, largest_whole(factor)), shapes["k"], rng, signed)
    c = up_to(min(addend, largest_whole(first)), shapes["c"], rng, signed)
    return {"q": encode(factor, q / parts if parts > 1 else q), "k": encode(factor, k), "c": encode(first, c / parts if parts > 1 else c)}
