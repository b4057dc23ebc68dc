"""Probes: multiply-adds of one row of A and one column of B, with operands chosen so that the bits of the result tell of the arithmetic.

A probe is K factors of A, K factors of B, and one element of C. No result of a probe is wrong. Probes whose numbers the row's types cannot
represent are left out. Names say what a probe is for a K of at least 4; with a smaller one, some terms have the same place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cts.fingerprint.one_operand import OneOperand, Row
from generators.numerics.formats import bits_of, encode, largest_finite, sign_bit, smallest_normal, values
from generators.numerics.rounding import ulp
from generators.property_rows import PropertyRow
from generators.types import ComponentType

Term = tuple[float, float]
"""A factor of A, and a factor of B."""


@dataclass(frozen=True)
class Vectors:
    """Operands of ``n`` multiply-adds of one row of A and one column of B: bits.

    Attributes:
        names: a name for each; empty for random operands.
        a, b: (n, K).
        c: (n).
    """

    names: tuple[str, ...]
    a: np.ndarray
    b: np.ndarray
    c: np.ndarray

    def __getitem__(self, which: np.ndarray | slice) -> Vectors:
        """Return some of them, without names."""
        return Vectors((), self.a[which], self.b[which], self.c[which])


@dataclass(frozen=True)
class _Probe:
    name: str
    terms: Mapping[int, Term]
    c: float = 0.0


def probes(row: Row) -> Vectors:
    """Return the probes of a row."""
    if isinstance(row, OneOperand):
        return _reductions(row) if row.mode is not None else _conversions(row)
    if not row.result.is_float:
        return _integers(row)
    return _encoded(row, [one for one in _all(row) if _fits(row, one)], _specials(row))


def _encoded(row: Row, found: Sequence[_Probe], others: Vectors) -> Vectors:
    a, b = np.zeros((len(found), row.k)), np.zeros((len(found), row.k))
    for number, one in enumerate(found):
        for place, (left, right) in one.terms.items():
            a[number, place], b[number, place] = left, right
    c = np.array([one.c for one in found])
    numbers = Vectors(tuple(one.name for one in found), encode(row.a, a), encode(row.b, b), encode(row.c, c))
    return _joined(numbers, others)


def _joined(first: Vectors, second: Vectors) -> Vectors:
    parts = (np.concatenate([getattr(first, name), getattr(second, name)]) for name in ("a", "b", "c"))
    return Vectors(first.names + second.names, *parts)


def _has(component: ComponentType, number: float) -> bool:
    found = float(values(encode(component, np.array([number])), component)[0])
    return found == number


def _fits(row: PropertyRow, probe: _Probe) -> bool:
    places = max(probe.terms, default=0) < row.k
    return places and _has(row.c, probe.c) and all(_has(row.a, a) and _has(row.b, b) for a, b in probe.terms.values())


def _power(row: Row, exponent: int, factor: float = 1.0) -> Term:
    """Return two factors whose product is ``factor`` * 2**``exponent``."""
    half = exponent // 2
    if exponent < 0:
        # The factor of B takes what A cannot hold, if its type has more exponents.
        half = max(half, int(np.log2(smallest_normal(row.a))))
    return factor * 2.0**half, 2.0 ** (exponent - half)


def _all(row: Row) -> Iterator[_Probe]:
    k = row.k
    yield from _ladders(row)
    yield from _masks(row) if isinstance(row, PropertyRow) else ()
    yield from _halves(row)
    high = 2.0 ** int(np.log2(largest_finite(row.a)))
    for exponent in range(0, 50):
        small = _power(row, -exponent)
        yield _Probe(f"swamp/c/{exponent}", dict.fromkeys(range(k), small), 1.0)
        yield _Probe(f"swamp/minus_c/{exponent}", dict.fromkeys(range(k), small), -1.0)
        yield _Probe(f"swamp/first/{exponent}", {0: (1.0, 1.0)} | dict.fromkeys(range(1, k), small))
        yield _Probe(f"swamp/last/{exponent}", {k - 1: (1.0, 1.0)} | dict.fromkeys(range(k - 1), small))
        yield _Probe(f"zero_product/a/{exponent}", {0: (0.0, high), 1: small})
        yield _Probe(f"zero_product/b/{exponent}", {0: (high, 0.0), 1: small})
        yield _Probe(f"zero_product/c/{exponent}", {0: (high, 0.0)}, 2.0**-exponent)
        yield _Probe(f"zero_c/{exponent}", {0: small})
        # The smallest product decides a tie, unless the zero product hides it.
        half = _power(row, -10 - row.result.precision)
        yield _Probe(f"zero_product/tie/{exponent}", {0: (high, 0.0), 1: half, 2: small}, 2.0**-10)
        yield _Probe(f"product_exponent/{exponent}", {0: small, 1: (1.5, 1.5), 2: (-1.5, 1.5)})
        for each in (1.0, 3.0):
            yield _Probe(f"carry/{each:g}/{exponent}", dict.fromkeys(range(k), (each, 1.0)) | {0: small}, each - each * k)
    yield from _small(row)
    yield from _singles(row)
    largest = largest_finite(row.result)
    root = 2.0 ** (int(np.log2(largest)) // 2)
    for name, big in {"square": (root, root), "twice": (root, 2 * root), "four": (2 * root, 2 * root), "most": (largest, 1.0)}.items():
        for sign in (1.0, -1.0):
            signed = (sign * big[0], big[1])
            yield _Probe(f"overflow/{name}/{sign:+.0f}", {0: signed})
            yield _Probe(f"overflow/{name}_and_c/{sign:+.0f}", {0: signed}, sign * largest)
            less = (-sign * big[0], big[1])
            yield _Probe(f"overflow/{name}_two/{sign:+.0f}", {0: signed, 1: signed})
            yield _Probe(f"overflow/{name}_back/{sign:+.0f}", {0: signed, 1: signed, k - 1: less})
            yield _Probe(f"overflow/{name}_far_back/{sign:+.0f}", {0: signed, 1: signed, k - 2: less, k - 1: less})


def _ladders(row: Row) -> Iterator[_Probe]:
    """Yield a small term beside two large ones that cancel: the least that survives tells the width of the alignment."""
    k = row.k
    for exponent in range(0, 64):
        for factor in (1.0, -1.0, 1.5, -1.5, 1.75, -1.75):
            small, end = _power(row, -exponent, factor), f"{factor:+g}/{exponent}"
            for big in (1.0, 16.0):
                plus, minus, size = (big, 1.0), (-big, 1.0), f"{big:g}/{end}"
                yield _Probe(f"ladder/c_large_first/{size}", {0: minus, k - 1: small}, big)
                yield _Probe(f"ladder/first/{size}", {0: small, 1: plus, 2: minus})
                yield _Probe(f"ladder/last/{size}", {0: plus, 1: minus, k - 1: small})
                yield _Probe(f"ladder/before_last/{size}", {0: small, k - 2: plus, k - 1: minus})
                yield _Probe(f"ladder/between/{size}", {0: plus, 1: small, k - 1: minus})
                yield _Probe(f"ladder/c_small/{size}", {0: plus, k - 1: minus}, factor * 2.0**-exponent)
                yield _Probe(f"ladder/c_small_near/{size}", {0: plus, 1: minus}, factor * 2.0**-exponent)
                yield _Probe(f"ladder/c_large_last/{size}", {0: small, k - 1: minus}, big)


def _masks(row: PropertyRow) -> Iterator[_Probe]:
    """Yield two large terms that cancel, and equal small ones: those that survive were added after both, or in another sum (FPRev)."""
    k = row.k
    for name, big, small in (("near", (2.0**7, 2.0**7), (2.0**-7, 2.0**-7)), ("far", (2.0**15, 2.0**15), (2.0**-6, 2.0**-6))):
        for i in range(k):
            for j in range(i + 1, k):
                yield _Probe(f"mask/{name}/{i}/{j}", dict.fromkeys(range(k), small) | {i: big, j: (-big[0], big[1])})
            yield _Probe(f"mask/{name}/{i}/{k}", dict.fromkeys(range(k), small) | {i: big}, -big[0] * big[1])


def _halves(row: Row) -> Iterator[_Probe]:
    """Yield sums between two neighbours of the result's type, in eighths of the distance: final rounding."""
    k, step = row.k, row.result.precision + 2
    for base in (1.0, 1.0 + 2.0 ** (1 - row.result.precision), 2.0, 1.5):
        for eighths in range(16):
            for sign in (1.0, -1.0):
                for other in (1.0, -1.0):
                    small = _power(row, -step, other * sign * eighths)
                    name = f"{base!r}/{sign:+.0f}/{other * eighths:+.0f}"
                    yield _Probe(f"rounding/c/{name}", {k // 2: small}, sign * base)
                    yield _Probe(f"rounding/product/{name}", {0: (sign * base, 1.0), 1: small})
                    yield _Probe(f"rounding/far_product/{name}", {0: (sign * base, 1.0), k - 1: small})


def _small(row: Row) -> Iterator[_Probe]:
    """Yield denormal factors, C and results, and sums near the least exponents."""
    k = row.k
    for which, component in (("a", row.a), ("b", row.b), ("c", row.c)):
        least = smallest_normal(component)
        for number in (least, least / 2, 1.5 * least, least * 2.0 ** (1 - component.precision), -least / 2):
            for other in (1.0, 2.0**10, -1.0):
                terms = {"a": {0: (number, other)}, "b": {0: (other, number)}, "c": {}}[which]
                yield _Probe(f"denormal/{which}/{number!r}/{other!r}", terms, number if which == "c" else 0.0)
                if which == "c":
                    yield _Probe(f"denormal/{which}_and_product/{number!r}/{other!r}", {0: _power(row, -12, other)}, number)
    low = int(np.log2(smallest_normal(row.result)))
    least = low - row.result.precision + 1
    for exponent in range(least - 34, least):
        # Just below the least number, and just below half of it more: what is far below decides, unless an alignment cuts it.
        for sign in (1.0, -1.0):
            below = _power(row, exponent, -sign)
            yield _Probe(f"tiny/below_least/{sign:+g}/{exponent}", {0: below}, sign * 2.0**least)
            yield _Probe(f"tiny/below_tie/{sign:+g}/{exponent}", {0: _power(row, least - 1, sign), k - 1: below}, sign * 2.0**least)
    for exponent in range(least - 5, low + 6):
        for factor in (1.0, -1.0, 1.5, 1.75):
            small, place = _power(row, exponent, factor), f"{factor:+g}/{exponent}"
            yield _Probe(f"tiny/one/{place}", {0: small})
            yield _Probe(f"tiny/c/{place}", {}, factor * 2.0**exponent)
            yield _Probe(f"tiny/one_and_c/{place}", {0: small}, factor * 2.0**exponent)
            yield _Probe(f"tiny/two/{place}", {0: small, 1: small})
            yield _Probe(f"tiny/all/{place}", dict.fromkeys(range(k), small))
            yield _Probe(f"tiny/first_and_last/{place}", {0: small, k - 1: small})
            yield _Probe(f"tiny/with_least/{place}", {0: small}, 2.0**least)


def _singles(row: Row) -> Iterator[_Probe]:
    """Yield single products of full significands at each place, alone and with C: rounding of products."""
    rng = np.random.default_rng(1)
    for number in range(96):
        numbers = rng.uniform(1, 2, 3) * rng.choice([1.0, -1.0], 3)
        a, b, c = (float(values(encode(t, np.array([x])), t)[0]) for t, x in zip((row.a, row.b, row.c), numbers, strict=True))
        yield _Probe(f"product/alone/{number}", {number % row.k: (a, b)})
        yield _Probe(f"product/and_c/{number}", {number % row.k: (a, b)}, c)
        yield _Probe(f"product/c_alone/{number}", {}, c)
        yield _Probe(f"product/and_small_c/{number}", {number % row.k: (a, b)}, c * 2.0**-4)


def _specials(row: Row) -> Vectors:
    """Return NaN with payloads, infinities and signed zeros, by bits."""
    names: list[str] = []
    lines: list[tuple[Sequence[int], Sequence[int], int]] = []

    def add(name: str, terms: Mapping[int, tuple[int, int]], c: int) -> None:
        names.append(f"special/{name}")
        lines.append(([terms.get(i, (0, 0))[0] for i in range(row.k)], [terms.get(i, (0, 0))[1] for i in range(row.k)], c))

    parts = {"a": unusual(row.a), "b": unusual(row.b), "c": unusual(row.c)}
    ones = tuple(bits_of(component, 1.0) for component in (row.a, row.b, row.c))
    for name, bits in parts["a"].items():
        for place in {0, row.k - 1}:
            add(f"a/{name}/{place}", {place: (bits, ones[1])}, 0)
            add(f"a_and_c/{name}/{place}", {place: (bits, ones[1])}, ones[2])
        add(f"a_by_zero/{name}", {0: (bits, 0)}, 0)
        for second, other in parts["a"].items():
            if row.k > 1:
                add(f"a_twice/{name}/{second}", {0: (bits, ones[1]), row.k - 1: (other, ones[1])}, 0)
        for second, other in parts["c"].items():
            add(f"a_with_c/{name}/{second}", {0: (bits, ones[1])}, other)
        for second, other in parts["b"].items():
            add(f"a_by_b/{name}/{second}", {0: (bits, other)}, 0)
    for name, bits in parts["b"].items():
        add(f"b/{name}", {0: (ones[0], bits)}, 0)
        add(f"b_by_zero/{name}", {0: (0, bits)}, 0)
    for name, bits in parts["c"].items():
        add(f"c/{name}", {}, bits)
        add(f"c_and_product/{name}", {0: (ones[0], ones[1])}, bits)
    minus_a, minus_c = 1 << (row.a.bits - 1), 1 << (row.c.bits - 1)
    every = dict.fromkeys(range(row.k), (minus_a, ones[1]))
    add("zero/products_minus_c_minus", every, minus_c)
    add("zero/products_minus_c_plus", every, 0)
    add("zero/products_plus_c_minus", {}, minus_c)
    add("zero/one_minus_c_minus", {0: (minus_a, ones[1])}, minus_c)
    add("zero/cancelled_c", {0: (ones[0], ones[1])}, ones[2] | minus_c)
    add("zero/cancelled_minus_c", {0: (ones[0] | minus_a, ones[1])}, ones[2])
    types = (row.a, row.b, row.c)
    a, b, c = (np.array([line[i] for line in lines], t.bits_dtype) for i, t in enumerate(types))
    return Vectors(tuple(names), a, b, c)


def unusual(component: ComponentType) -> dict[str, int]:
    """Return bits of unusual numbers: by encoding, so types without infinities have fewer."""
    sign, fraction = 1 << (component.bits - 1), component.precision - 1
    infinity = bits_of(component, np.inf)
    found = {"minus_zero": sign, "largest": bits_of(component, largest_finite(component))}
    if not np.isinf(values(np.array([infinity], component.bits_dtype), component))[0]:
        return found | {"nan": infinity, "minus_nan": infinity | sign}
    quiet = infinity | 1 << (fraction - 1)
    return found | {
        "infinity": infinity,
        "minus_infinity": infinity | sign,
        "nan": quiet,
        "minus_nan": quiet | sign,
        "payload": quiet | 1,
        "signalling": infinity | 1,
    }


def _integers(row: PropertyRow) -> Vectors:
    """Return products of limits, and limits of C: they saturate or wrap."""
    names, lines = [], []
    for i, a in enumerate(row.a.limits):
        for j, b in enumerate(row.b.limits):
            for c in {*row.c.limits, 0, 1}:
                names.append(f"limits/{i}/{j}/{c}")
                lines.append((a, b, c))
    left, right, added = (encode(t, np.array([line[i] for line in lines])) for i, t in enumerate((row.a, row.b, row.c)))
    return Vectors(tuple(names), np.repeat(left[:, None], row.k, 1), np.repeat(right[:, None], row.k, 1), added)


def _of_one_operand(row: OneOperand, names: Sequence[str], a: np.ndarray) -> Vectors:
    """Return probes whose elements have the bits ``a``, (n, k)."""
    return Vectors(tuple(names), a, np.full(a.shape, bits_of(row.a, 1.0), a.dtype), np.zeros(len(a), a.dtype))


def _reductions(row: OneOperand) -> Vectors:
    """Return those probes of multiply-adds that are sums alone, of products that one element can be; and masks of all pairs of places."""
    sums = []
    for one in _all(row):
        terms = {place: (a * b, 1.0) for place, (a, b) in one.terms.items()}
        if not one.c and max(terms, default=0) < row.k and all(_has(row.a, number) for number, _ in terms.values()):
            sums.append(replace(one, terms=terms))
    specials = _specials(row)
    alone = (specials.c == 0) & ((specials.b == bits_of(row.a, 1.0)) | (specials.a == 0) & (specials.b == 0)).all(1)
    names = [name for name, kept in zip(specials.names, alone, strict=True) if kept]
    found = _encoded(row, sums, _of_one_operand(row, names, specials.a[alone]))
    pairs = np.array([(i, j) for i in range(row.k) for j in range(i + 1, row.k)])
    # The sum of all small elements is less than half the last bit of the large ones: in the type itself, or (far) in binary32.
    for name, precision in {"near": row.a.precision, "far": 24}.items():
        big = 2.0 ** min(int(np.log2(largest_finite(row.a))), 40)
        small = big * 2.0 ** -(precision + 1 + (row.k - 1).bit_length())
        if name == "near" or (row.a.precision < precision and _has(row.a, small)):
            numbers = np.full((len(pairs), row.k), small)
            np.put_along_axis(numbers, pairs, np.array([[big, -big]]), 1)
            found = _joined(found, _of_one_operand(row, [f"mask/{name}/{i}/{j}" for i, j in pairs], encode(row.a, numbers)))
    return Vectors(found.names, found.a, _of_one_operand(row, (), found.a).b, found.c)


def _conversions(row: OneOperand) -> Vectors:
    """Return all numbers of a type of at most 16 bits. Of f32: those between two neighbours of the result's type, in eighths of the
    distance, with their own neighbours; those around the limits of both types; and NaN."""
    target, top = row.result, sign_bit(row.a)
    if row.a.bits <= 16:
        magnitudes = np.arange(top)
    else:
        largest, normal = (bits_of(target, number) for number in (largest_finite(target), smallest_normal(target)))
        near = [np.arange(edge - 12, edge + 12) for edge in (0, normal, largest)] + [np.random.default_rng(1).integers(0, largest, 200)]
        numbers = values(np.unique(np.concatenate(near).clip(0, largest)).astype(target.bits_dtype), target)
        parts = [numbers + ulp(target, numbers) * eighths / 8 for eighths in range(17)] + [largest_finite(target) * 2.0 ** np.arange(40)]
        edges = [bits_of(row.a, number) for number in (0.0, smallest_normal(row.a), np.inf)]
        chosen = [encode(row.a, np.concatenate(parts)).astype(np.int64), np.array(edges), np.arange(edges[-1], top, top >> 14)]
        magnitudes = np.unique(np.add.outer(np.hstack(chosen), np.arange(-2, 3)).clip(0, top - 1))
    names = []
    for bits, number in zip(magnitudes.tolist(), values(magnitudes.astype(row.a.bits_dtype), row.a).tolist(), strict=True):
        if number <= largest_finite(target):
            place = number / float(ulp(target, np.array(number))) % 1
            kind = {0.0: "kept", 0.5: "tie"}.get(place, "between") + ("_denormal" if number < smallest_normal(target) else "")
        else:
            kind = "overflow" if np.isfinite(number) else "special"
        names += [f"{kind}/plus/{bits:#x}", f"{kind}/minus/{bits:#x}"]
    return _of_one_operand(row, names, np.add.outer(magnitudes, [0, top]).reshape(-1, 1).astype(row.a.bits_dtype))
