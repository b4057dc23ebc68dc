"""Finds the model that fits the results of a unit best, and tells what the model does not predict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np

from cts.fingerprint.measuring import Measured
from cts.fingerprint.model import UnitModel, predict
from cts.fingerprint.one_operand import OneOperand, Row
from cts.fingerprint.orders import NAMED, canonical, from_masks, postfix
from cts.fingerprint.probes import Vectors, unusual
from cts.fingerprint.samples import kind_of, kinds_of, matrices_as_vectors, sampled
from generators.numerics.formats import is_nan, values
from generators.types import COMPONENT_TYPES

_SAMPLED = 3000
"""Random results by which models are compared."""
_FIRST = 300
"""The same for the first choice among many."""
_KEPT = 8
"""Models that are improved."""
_CHUNK = 64
"""Matrices predicted at once; more if they have few results."""

_CHOICES: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {
        "interleaved": (False, True),
        "alignment": (None, *range(7, 41)),
        "alignment_rounding": ("toward_zero", "down", "nearest_even"),
        "product_exponent": ("sum", "value"),
        "zeros": (False, True),
        "products": (None, "bf16", "f16", "f32"),
        "accumulator": ("in_sum", "after_sum"),
        "order": ("sequential", "reversed", "pairwise"),
        "c": ("first", "last"),
        "partial": ("f32", "f16", "bf16", "f64"),
        "partial_rounding": ("nearest_even", "toward_zero", "down", "up"),
        "last_sum": ("result", "partial"),
        "final_rounding": ("nearest_even", "toward_zero", "down", "up"),
        "overflow": ("infinity", "largest"),
        "flush_factors": (False, True),
        "flush_c": (False, True),
        "flush_sums": (False, True),
        "flush_result": (False, True),
        "zero": ("ieee", "plus_sums", "plus"),
        "nan_operands": ("ignored", "products_first", "c_first"),
        "lowest_exponent": (None, *range(-150, -125), *range(-30, -10)),
    }
)
"""The values of each field that are tried, the plainest first: it stays if another fits no better."""

_WAYS: tuple[Mapping[str, Any], ...] = ({}, {"accumulator": "after_sum"}, {"c": "last"}, {"order": "pairwise", "c": "last"})
"""Ways to add that are tried with each block length before anything is improved."""

_PAIRS = (("partial_rounding", "final_rounding"), ("alignment", "alignment_rounding"), ("order", "c"), ("partial", "last_sum"))
_REDUCTION = (
    *("partial", "partial_rounding", "last_sum", "final_rounding", "overflow", "flush_factors", "flush_sums", "flush_result"),
    *("zero", "nan_operands"),
)
_CONVERSION = ("final_rounding", "flush_factors", "flush_result", "zero")
"""Fields that are also changed together."""


@dataclass(frozen=True)
class Fit:
    """A model, and how far it fits.

    Attributes:
        model: the model; None for integers, whose results are exact: modulo the width of the result, or saturated if the row says so.
        probes, random: the shares of probes and of random results whose bits it predicts, from 0 to 1.
        kinds: kind of random operands -> its share.
        missed: kind of probes -> how many results differ.
        undecided: fields of the model for which another value fits as well.
    """

    model: UnitModel | None
    probes: float
    random: float
    kinds: Mapping[str, float]
    missed: Mapping[str, int]
    undecided: tuple[str, ...] = ()


class _Search:
    """The operands and results by which models are compared."""

    def __init__(self, measured: Measured) -> None:
        self.row = measured.row
        rng = np.random.default_rng(1)
        size = measured.random.size
        elements = np.sort(rng.choice(size, min(size, _SAMPLED), replace=False))
        random = sampled(self.row, measured.seed, elements)
        wanted = measured.random[elements]
        compared = _compared(measured)
        self._parts = ((measured.probes[compared], measured.results[compared]), (random, wanted))
        some = rng.permutation(len(wanted))[:_FIRST]
        self._few = ((random[some], wanted[some]),)
        self._seen: dict[UnitModel, float] = {}
        self.choices = choices(measured)

    def score(self, model: UnitModel) -> float:
        """Return how well a model fits: 1 if it predicts everything."""
        if model not in self._seen:
            self._seen[model] = self._score(model, self._parts)
        return self._seen[model]

    def first_score(self, model: UnitModel) -> float:
        """Return how well a model fits a few results."""
        return self._score(model, self._few)

    def _score(self, model: UnitModel, parts: tuple[tuple[Vectors, np.ndarray], ...]) -> float:
        return float(np.mean([_share(predict(model, self.row, given) == wanted) for given, wanted in parts]))


def _compared(measured: Measured) -> np.ndarray:
    """Return which probes models are compared by: of the masks of a reduction, only those of the first place and of neighbours."""
    masks, first, second, _ = _masks(measured)
    return np.delete(np.arange(measured.results.size), masks[(first > 0) & (second - first > 1)])


def _share(fits: np.ndarray) -> float:
    return float(fits.mean()) if fits.size else 1.0


def infer(measured: Measured) -> Fit:
    """Return the model that fits the results of a row best."""
    if not measured.row.result.is_float:
        return judge(None, measured)
    search = _Search(measured)
    starts = _starts(search, _usual_nan(measured))
    best = starts[0]
    for start in starts[:_KEPT]:
        if search.score(best) < 1:
            best = max(best, _improved(search, start), key=search.score)
    best = _plain(search, best)
    return replace(judge(best, measured), undecided=_undecided(search, best))


def judge(model: UnitModel | None, measured: Measured) -> Fit:
    """Return how far a model fits all results of a row."""
    row = measured.row
    wrong = _results(model, row, measured.probes) != measured.results
    missed = Counter("/".join(measured.probes.names[i].split("/")[:2]) for i in np.flatnonzero(wrong))
    size = row.m * row.n
    fits = np.zeros(measured.random.size, bool)
    chunk = max(_CHUNK, _CHUNK * 256 // size)
    for first in range(0, measured.random.size // size, chunk):
        given = matrices_as_vectors(row, measured.seed, first, min(chunk, measured.random.size // size - first))
        own = slice(first * size, first * size + len(given.c))
        fits[own] = _results(model, row, given) == measured.random[own]
    kinds = kind_of(row, np.arange(fits.size))
    shares = {name: _share(fits[kinds == number]) for number, name in enumerate(kinds_of(row))}
    return Fit(model, _share(~wrong), _share(fits), shares, dict(missed))


def _results(model: UnitModel | None, row: Row, given: Vectors) -> np.ndarray:
    if model is not None:
        return predict(model, row, given)
    a, b, c = (values(bits, t).astype(object) for bits, t in ((given.a, row.a), (given.b, row.b), (given.c, row.c)))
    total = (a * b).sum(1) + c
    if row.saturating:
        total = np.clip(total, *row.result.limits)
    return np.asarray((total % (1 << row.result.bits)).astype(row.result.bits_dtype))


def _usual_nan(measured: Measured) -> int:
    row, given = measured.row, measured.probes
    made = is_nan(measured.results, row.result)
    from_numbers = made & ~is_nan(given.a, row.a).any(1) & ~is_nan(given.b, row.b).any(1) & ~is_nan(given.c, row.c)
    found = measured.results[from_numbers if from_numbers.any() else made]
    return Counter(found.tolist()).most_common(1)[0][0] if found.size else 0


def _starts(search: _Search, nan: int) -> list[UnitModel]:
    """Return models to begin with, the best first: one for each block length and way to add."""
    found = []
    usable = search.choices
    ways = _WAYS if "c" in usable else [{"order": order} for order in usable.get("order", ("sequential",))]
    for block in usable.get("block", (1,)):
        for way in ways:
            plain = replace(UnitModel(block, nan=nan), **way)
            types = dict.fromkeys(("f32", search.row.result.name, "f64"))
            parts = product((None, 13, 24) if "alignment" in usable else (None,), types, _CHOICES["final_rounding"][:2])
            same = (replace(plain, alignment=bits, partial=type_, partial_rounding=how, final_rounding=how) for bits, type_, how in parts)
            found.append(max(same, key=search.first_score))
    return sorted(found, key=search.first_score, reverse=True)


def _divisors(k: int) -> tuple[int, ...]:
    return tuple(size for size in range(1, k + 1) if k % size == 0)


def _improved(search: _Search, model: UnitModel) -> UnitModel:
    """Return a model of which no change of a field, or of a pair of fields, fits better."""
    while (before := search.score(model)) < 1:
        for name in search.choices:
            model = _best(search, model, (replace(model, **{name: value}) for value in _values(search, model, name)))
        if search.score(model) == before:
            for one, other in (pair for pair in _PAIRS if {*pair} <= {*search.choices}):
                for value in _values(search, model, one):
                    changed = replace(model, **{one: value})
                    model = _best(search, model, (replace(changed, **{other: second}) for second in _values(search, model, other)))
        if search.score(model) == before:
            break
    return model


def _plain(search: _Search, model: UnitModel) -> UnitModel:
    """Return the model with the plainest values of all fields, as far as it fits as well."""
    for name in search.choices:
        plainer = model if name == "block" else replace(model, **{name: search.choices[name][0]})
        if search.score(plainer) >= search.score(model):
            model = plainer
    return model


def _values(search: _Search, model: UnitModel, name: str) -> tuple[Any, ...]:
    return (None,) if name == "lowest_exponent" and model.alignment is None else search.choices[name]


def choices(measured: Measured) -> Mapping[str, tuple[Any, ...]]:
    """Return the fields that the model of a row has, except ``nan``, and their values, the plainest first."""
    row = measured.row
    if not isinstance(row, OneOperand):
        return {"block": _divisors(row.k), **_CHOICES}
    if row.mode is None:
        between = (name for name in ("bf16", "f16") if row.result.precision < COMPONENT_TYPES[name].precision < row.a.precision)
        found = {name: _CHOICES[name] for name in _CONVERSION} | {
            "final_rounding": ("nearest_even", "nearest_away", *_CHOICES["final_rounding"][1:]),
            "overflow": ("infinity", "saturated", "finite"),
            # A type without infinities has one NaN of each sign.
            "nan_operands": ("ignored", "sign", "products_first", "as_they_are")[: 4 if "infinity" in unusual(row.result) else 2],
        }
        return found | ({"products": (None, *types)} if (types := tuple(between)) else {})
    wide = tuple(name for name in _CHOICES["partial"] if COMPONENT_TYPES[name].precision >= row.result.precision)
    own = {"order": _orders(measured), "partial": wide, "nan_operands": ("ignored", "products_first")}
    return {name: _CHOICES[name] for name in _REDUCTION} | own


def _masks(measured: Measured) -> tuple[np.ndarray, ...]:
    """Return which probes are masks of a reduction, the places of their large elements, and their small ones."""
    named = np.array([name.startswith("mask/") for name in measured.probes.names], bool)
    masks = np.flatnonzero(named & isinstance(measured.row, OneOperand))
    numbers = values(measured.probes.a[masks], measured.row.a)
    return masks, numbers.argmax(1), numbers.argmin(1), np.sort(numbers, 1)[:, measured.row.k // 2]


def _orders(measured: Measured) -> tuple[str, ...]:
    """Return the orders of a reduction that differ: those with a name, and those that masks show."""
    k = measured.row.k
    found: dict[str, str] = {}
    for name in NAMED:
        found.setdefault(canonical(postfix(name, k)), name)
    masks, first, second, small = _masks(measured)
    with np.errstate(all="ignore"):
        left = values(measured.results[masks], measured.row.result) / small
    together = np.where((left >= 0) & (left <= k), k - left, 0).astype(int)
    for unit in np.unique(small):
        own = small == unit
        places = zip(first[own].tolist(), second[own].tolist(), strict=True)
        shown = from_masks(dict(zip(places, together[own].tolist(), strict=True)), range(k))
        if shown is not None:
            text = canonical(shown.split())
            found.setdefault(text, text)
    return tuple(found.values())


def _best(search: _Search, model: UnitModel, others: Iterator[UnitModel]) -> UnitModel:
    """Return the first of the models that fit best; the given model if none fits better."""
    for other in others:
        if search.score(other) > search.score(model):
            model = other
    return model


def _undecided(search: _Search, model: UnitModel) -> tuple[str, ...]:
    """Return the fields that have only one value, or another one with the same results wherever models were compared."""
    found = []
    for name in search.choices:
        others = [replace(model, **{name: value}) for value in _values(search, model, name) if value != getattr(model, name)]
        if not others or any(search.score(other) == search.score(model) for other in others):
            found.append(name)
    return tuple(found)
