"""A model of a matrix unit: a few facts about its arithmetic, from which the bits of every result follow.

Products of all types up to f32 are exact in float64, and so are the sums of aligned terms: an alignment keeps at most ``MOST_ALIGNMENT``
bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from cts.fingerprint.one_operand import OneOperand, Row
from cts.fingerprint.orders import NAMED, postfix
from cts.fingerprint.probes import Vectors
from generators.numerics.error_free import two_sum
from generators.numerics.exactness import exactness, quantum_exponents
from generators.numerics.formats import bits_of, denormals, encode, is_nan, largest_finite, sign_bit, smallest_normal, values
from generators.numerics.rounding import ulp
from generators.numerics.summation import exact_sum
from generators.types import COMPONENT_TYPES, ComponentType

Rounding = Literal["nearest_even", "nearest_away", "toward_zero", "down", "up"]

MOST_ALIGNMENT = 44
_MOST_EXPONENT = 512
_NO_EXPONENT = -(1 << 20)
_F64 = COMPONENT_TYPES["f64"]


def _away(numbers: np.ndarray) -> np.ndarray:
    """Return the nearest whole numbers; of two, the one farther from zero."""
    whole = np.trunc(numbers)
    return np.asarray(np.where(np.abs(numbers - whole) < 0.5, whole, whole + np.copysign(1.0, numbers)))


_ROUNDINGS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = MappingProxyType(
    {"nearest_even": np.rint, "nearest_away": _away, "toward_zero": np.trunc, "down": np.floor, "up": np.ceil}
)


@dataclass(frozen=True)
class UnitModel:
    """How a unit computes A x B + C for a row of floats, reduces a matrix, or converts one.

    A reduction adds its elements in pairs, and a conversion has a sum of one element, which it rounds to its result.

    Attributes:
        block: how many products one sum adds. A unit adds the K products in K / ``block`` sums.
        interleaved: whether the products of a sum are K / ``block`` apart, instead of neighbours.
        alignment: fraction bits that a term keeps below the largest exponent among the terms of its sum; None: the sum is exact.
        alignment_rounding: how a term is cut to these bits.
        product_exponent: the exponent of a product: ``sum`` of the exponents of its factors, or that of the ``value``.
        zeros: whether a product with a zero factor takes part in the largest exponent, with the factor's stored exponent.
        lowest_exponent: the least value of the largest exponent; None: there is none.
        products: the type that each product, or the operand of a conversion, is rounded to before it is added, in ``partial_rounding``;
            None: products are exact.
        accumulator: whether the sum so far is a term ``in_sum`` with the products of the next sum, or is added to them ``after_sum``.
        order: how sums follow each other: ``sequential``, ``reversed`` (the last products first), or ``pairwise`` (a tree of neighbours);
            those of a reduction also by ``halves``, or in an order of cts.fingerprint.orders.
        c: whether C is the accumulator before the ``first`` sum, or is added ``last``.
        partial, partial_rounding: the type of sums before the last, and how they are rounded.
        last_sum: whether the last sum is rounded directly to the ``result`` type, or to the ``partial`` type first.
        final_rounding: how the result is rounded.
        overflow: what a directed rounding makes of a sum beyond the largest number: ``infinity``, or the ``largest`` number;
            or whether every rounding makes the largest number of it (``saturated``), and of infinity, too (``finite``).
        flush_factors, flush_c, flush_sums, flush_result: whether denormal factors, C, sums before the last, and results become zero.
        zero: the sign of zero: ``ieee`` (a sum is minus zero only if all its terms are, and a rounded result keeps its sign), ``plus_sums``
            (a sum that is zero is plus zero), or ``plus`` (a result that rounds to zero is plus zero, too).
        nan: the bits of a NaN result.
        nan_operands: whether NaN among the operands gives these bits too (``ignored``), or the bits of the first one, quiet, in the order
            A, B (place by place), C, or with C first (``products_first``, ``c_first``); or these bits with the sign of the first one
            (``sign``), or the bits of the first one, signalling if it is (``as_they_are``).
    """

    block: int
    interleaved: bool = False
    alignment: int | None = None
    alignment_rounding: Rounding = "toward_zero"
    product_exponent: Literal["sum", "value"] = "sum"
    zeros: bool = False
    lowest_exponent: int | None = None
    products: str | None = None
    accumulator: Literal["in_sum", "after_sum"] = "in_sum"
    order: str = "sequential"
    c: Literal["first", "last"] = "first"
    partial: str = "f32"
    partial_rounding: Rounding = "nearest_even"
    last_sum: Literal["result", "partial"] = "result"
    final_rounding: Rounding = "nearest_even"
    overflow: Literal["infinity", "largest", "saturated", "finite"] = "infinity"
    flush_factors: bool = False
    flush_c: bool = False
    flush_sums: bool = False
    flush_result: bool = False
    zero: Literal["ieee", "plus_sums", "plus"] = "ieee"
    nan: int = 0
    nan_operands: Literal["ignored", "products_first", "c_first", "sign", "as_they_are"] = "ignored"

    def __post_init__(self) -> None:
        # A model may come from a file.
        if self.block < 1 or not 0 <= (self.alignment or 0) <= MOST_ALIGNMENT or abs(self.lowest_exponent or 0) > _MOST_EXPONENT:
            raise ValueError(f"no unit has block {self.block}, alignment {self.alignment}, lowest_exponent {self.lowest_exponent}")
        if not {self.partial, self.products} <= {None, *(name for name, one in COMPONENT_TYPES.items() if one.is_float)}:
            raise ValueError(f"no types of floats: partial {self.partial}, products {self.products}")
        if self.order not in NAMED:
            postfix(self.order, self.order.count("+") + 1)


@dataclass(frozen=True)
class _Terms:
    """Terms of sums: float64 (n, terms), and the exponents by which they are aligned; _NO_EXPONENT if a term takes no part."""

    numbers: np.ndarray
    exponents: np.ndarray

    def __getitem__(self, which: slice) -> _Terms:
        return _Terms(self.numbers[:, which], self.exponents[:, which])

    def and_(self, other: _Terms) -> _Terms:
        return _Terms(np.concatenate([self.numbers, other.numbers], 1), np.concatenate([self.exponents, other.exponents], 1))


def predict(model: UnitModel, row: Row, given: Vectors) -> np.ndarray:
    """Return the bits of the results that a unit of this model has for float operands: (n)."""
    with np.errstate(all="ignore"):
        return _predict(model, row, given)


def _predict(model: UnitModel, row: Row, given: Vectors) -> np.ndarray:
    a, b = _read(given.a, row.a, model.flush_factors), _read(given.b, row.b, model.flush_factors)
    c = _of_type(_read(given.c, row.c, model.flush_c)[:, None], row.c)
    partial = COMPONENT_TYPES[model.partial]
    products = _products(model, row, a, b)
    if model.products is not None:
        products = _of_type(_rounded(COMPONENT_TYPES[model.products], model.partial_rounding, products.numbers, model), partial)
    total = _pairs(model, row.k, products, partial) if isinstance(row, OneOperand) else _blocks(model, row.k, products, c, partial)
    if model.last_sum == "partial":
        total = _rounded(partial, model.partial_rounding, total, model)
    result = _rounded(row.result, model.final_rounding, total, model)
    if model.flush_result:
        result = np.where(denormals(result, row.result), np.copysign(0.0, result), result)
    if model.zero == "plus":
        result = np.where(result == 0, 0.0, result)
    bits = encode(row.result, result)
    return np.asarray(np.where(np.isnan(result), _nans(model, row, given), bits))


def _blocks(model: UnitModel, k: int, products: _Terms, c: _Terms, partial: ComponentType) -> np.ndarray:
    """Return the last sum of ``k`` products and C, not yet rounded."""
    sums = k // model.block
    order = np.arange(k).reshape(model.block, sums).T if model.interleaved else np.arange(k).reshape(sums, model.block)
    blocks = [_Terms(products.numbers[:, places], products.exponents[:, places]) for places in order]
    if model.order == "reversed":
        blocks.reverse()
    return _tree(model, blocks, c, partial) if model.order == "pairwise" else _chain(model, blocks, c, partial)


def _pairs(model: UnitModel, k: int, terms: _Terms, partial: ComponentType) -> np.ndarray:
    """Return the last sum of ``k`` terms that are added in pairs, not yet rounded."""
    stack: list[_Terms] = []
    total = _sum(model, terms) if k == 1 else np.zeros(0)
    for number, step in enumerate(steps := postfix(model.order, k)):
        if step == "+":
            last = stack.pop()
            total = _sum(model, stack.pop().and_(last))
            if number + 1 < len(steps):
                stack.append(_stored(model, total, partial))
        else:
            stack.append(terms[int(step) : int(step) + 1])
    return total


def _nans(model: UnitModel, row: Row, given: Vectors) -> np.ndarray:
    """Return the bits that each result has if it is NaN."""
    usual = np.full(len(given.c), model.nan, np.uint64)
    if model.nan_operands != "ignored":
        parts = ((given.a, row.a), (given.b, row.b), (given.c[:, None], row.c))
        a, b, c = (_moved(bits, component, row.result, model.nan_operands != "as_they_are") for bits, component in parts)
        factors = np.stack([a, b], 2).reshape(len(usual), -1)
        found = np.concatenate([c, factors] if model.nan_operands == "c_first" else [factors, c], 1)
        first = np.take_along_axis(found, (found != 0).argmax(1)[:, None], 1)[:, 0]
        if model.nan_operands == "sign":
            sign = np.uint64(sign_bit(row.result))
            first = np.where(first != 0, first & sign | usual & ~sign, first)
        usual = np.where(first != 0, first, usual)
    return usual.astype(row.result.bits_dtype)


def _moved(bits: np.ndarray, component: ComponentType, result: ComponentType, quiet: bool) -> np.ndarray:
    """Return NaNs as ones of the result's type, with sign and payload; 0 for numbers."""
    wide, shift = bits.astype(np.uint64), result.precision - component.precision
    fraction = wide & np.uint64((1 << component.precision - 1) - 1)
    fraction = fraction << np.uint64(shift) if shift >= 0 else fraction >> np.uint64(-shift)
    sign = wide >> np.uint64(component.bits - 1) << np.uint64(result.bits - 1)
    least = np.uint64(bits_of(result, np.inf) | (1 << result.precision - 2 if quiet else 0))
    return np.where(is_nan(bits, component), sign | least | fraction, np.uint64(0))


def _chain(model: UnitModel, blocks: list[_Terms], c: _Terms, partial: ComponentType) -> np.ndarray:
    """Return the last sum of a sequence, not yet rounded."""

    def stored(total: np.ndarray) -> _Terms:
        return _stored(model, total, partial)

    before = c if model.c == "first" else None
    total = np.zeros(0)
    for number, block in enumerate(blocks):
        if number:
            before = stored(total)
        if before is None:
            total = _sum(model, block)
        elif model.accumulator == "in_sum":
            total = _sum(model, before.and_(block))
        else:
            total = _sum(model, before.and_(stored(_sum(model, block))))
    return total if model.c == "first" else _sum(model, stored(total).and_(c))


def _tree(model: UnitModel, blocks: list[_Terms], c: _Terms, partial: ComponentType) -> np.ndarray:
    """Return the last sum of a tree, not yet rounded: C is a term of the first sum, or is added to the sum of all products."""
    if model.c == "first":
        blocks = [c.and_(blocks[0]), *blocks[1:]]
    totals = [_sum(model, block) for block in blocks]
    while len(totals) > 1:
        halves = [_stored(model, total, partial) for total in totals]
        pairs = [_sum(model, halves[i].and_(halves[i + 1])) for i in range(0, len(halves) - 1, 2)]
        totals = pairs + totals[2 * len(pairs) :]
    return totals[0] if model.c == "first" else _sum(model, _stored(model, totals[0], partial).and_(c))


def _read(bits: np.ndarray, component: ComponentType, flushed: bool) -> np.ndarray:
    numbers = values(bits, component)
    return np.where(denormals(numbers, component), np.copysign(0.0, numbers), numbers) if flushed else numbers


def _exponents(numbers: np.ndarray, component: ComponentType) -> np.ndarray:
    """Return the exponents of numbers as their type stores them: zero and denormals have that of the least normal number."""
    least = int(np.frexp(smallest_normal(component))[1]) - 1
    return np.maximum(np.where(numbers == 0, least, np.frexp(numbers)[1] - 1), least)


def _of_type(numbers: np.ndarray, component: ComponentType) -> _Terms:
    return _Terms(numbers, np.where(numbers == 0, _NO_EXPONENT, _exponents(numbers, component)))


def _products(model: UnitModel, row: Row, a: np.ndarray, b: np.ndarray) -> _Terms:
    numbers = a * b
    by_factors = model.product_exponent == "sum"
    exponents = _exponents(a, row.a) + _exponents(b, row.b) if by_factors else np.frexp(numbers)[1] - 1
    return _Terms(numbers, exponents if model.zeros else np.where(numbers == 0, _NO_EXPONENT, exponents))


def _stored(model: UnitModel, total: np.ndarray, partial: ComponentType) -> _Terms:
    """Return sums as an accumulator of type ``partial`` keeps them."""
    kept = _rounded(partial, model.partial_rounding, total, model)
    if model.flush_sums:
        kept = np.where(denormals(kept, partial), np.copysign(0.0, kept), kept)
    return _Terms(kept[:, None], kept[:, None]) if model.alignment is None else _of_type(kept[:, None], partial)


def _sum(model: UnitModel, terms: _Terms) -> np.ndarray:
    """Return the sum of terms: exact, or of what alignment keeps of them. An exact sum with more than 53 bits ends with an odd bit."""
    numbers = terms.numbers
    finite = np.isfinite(numbers).all(1)
    special = numbers.sum(1)
    numbers = np.where(finite[:, None], numbers, 0.0)
    if model.alignment is None:
        total = _exact(numbers)
    else:
        largest = terms.exponents.max(1)
        if model.lowest_exponent is not None:
            largest = np.maximum(largest, model.lowest_exponent)
        largest = np.where(largest == _NO_EXPONENT, 0, largest)
        shift = model.alignment - largest
        kept = _ROUNDINGS[model.alignment_rounding](np.ldexp(numbers, shift[:, None]))
        total = np.ldexp(kept.sum(1), -shift)
    minus = np.signbit(numbers).all(1) & (model.zero == "ieee")
    total = np.where(total == 0, np.where(minus, -0.0, 0.0), total)
    return np.asarray(np.where(finite, total, special))


def _exact(numbers: np.ndarray) -> np.ndarray:
    if numbers.shape[1] == 1:
        return numbers[:, 0]
    if numbers.shape[1] == 2:
        value, rest = two_sum(numbers[:, 0], numbers[:, 1])
        is_odd = (value.view(np.int64) & 1).astype(bool)
        return np.where((rest == 0) | is_odd, value, np.nextafter(value, np.copysign(np.inf, rest)))
    total = numbers.sum(1)
    highest = np.frexp(np.abs(numbers).max(1))[1] + numbers.shape[1].bit_length()
    wide = highest - quantum_exponents(numbers).min(1).astype(np.int32) > _F64.precision
    if wide.any():
        terms = numbers[wide][:, None, :]
        ones, zero = np.ones((len(terms), numbers.shape[1], 1)), np.zeros((len(terms), 1, 1))
        center, _ = exact_sum(terms, ones, zero, exactness(terms, ones, zero, (_F64, _F64, _F64, _F64)))
        total[wide] = center.reshape(-1)
    return np.asarray(total)


def _rounded(component: ComponentType, rounding: Rounding, numbers: np.ndarray, model: UnitModel) -> np.ndarray:
    """Return numbers rounded to a type."""
    if component is _F64:
        return numbers
    step, largest = ulp(component, numbers), largest_finite(component)
    found = _ROUNDINGS[rounding](numbers / step) * step
    is_largest = model.overflow in ("saturated", "finite") or (model.overflow == "largest" and not rounding.startswith("nearest"))
    found = np.where(np.abs(found) > largest, np.copysign(largest if is_largest else np.inf, found), found)
    infinite = np.copysign(largest, numbers) if model.overflow == "finite" else numbers
    return np.where(np.isfinite(numbers), found, np.where(np.isnan(numbers), numbers, infinite))
