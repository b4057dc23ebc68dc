"""The suite's own families keep what the casebook promises."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from generators.casebook import Casebook, Family, Product, expand, find_case, load_casebook
from generators.casebook.constraints import Row, rows
from generators.casebook.covering import covering_rows

CHECKOUT = Path(__file__).parents[2]


@cache
def book() -> Casebook:
    return load_casebook(CHECKOUT)


FAMILIES = [pytest.param(family, id=family.name) for family in book()]
PRODUCTS = [pytest.param(family, product, id=f"{family.name}-{product.name}") for family in book() for product in family.products]


WHOLE = 50_000
"""Rows of a product, allowed or not, up to which all are enumerated."""

PART, DRAWN_PARTS = 2_000, 12
"""Rows of a drawn part of a larger product, and how many parts are drawn."""


def occurring(found: list[Row], axes: tuple[int, ...], radix: int) -> set[int]:
    """The combinations of labels on ``axes``, as numbers."""
    columns = np.array(found)[:, axes]
    return set((columns * radix ** np.arange(len(axes))).sum(axis=1).tolist())


def parts(choices: Sequence[Sequence[int]], rng: random.Random) -> Iterator[list[Sequence[int]]]:
    """All choices where they are few; else, of so many that nobody enumerates them, those of some labels each, drawn."""
    if math.prod(len(labels) for labels in choices if labels) <= WHOLE:
        yield list(choices)
        return
    for _ in range(DRAWN_PARTS):
        part = list(choices)
        while math.prod(len(labels) for labels in part if labels) > PART:
            axis = rng.choice([axis for axis, labels in enumerate(part) if len(labels) > 1])
            part[axis] = sorted(rng.sample(list(part[axis]), len(part[axis]) - 1))
        yield part


@pytest.mark.parametrize(("family", "product"), PRODUCTS)
def test_nightly_has_every_allowed_combination_of_its_strength(family: Family, product: Product) -> None:
    choices = [*product.choices, *(() for _ in family.subcase_axes)]
    chosen = covering_rows(family.rules, choices, product.nightly)
    free = [axis for axis, labels in enumerate(product.choices) if len(labels) > 1]
    radix = max(len(axis.values) for axis in family.axes)
    axes_together = list(combinations(free, min(product.nightly, len(free))))
    found = [occurring(chosen, axes, radix) for axes in axes_together]
    for part in parts(choices, random.Random(1)):
        allowed = rows(family.rules, part)
        inside = [row for row in chosen if all(label in labels for label, labels in zip(row, part, strict=True) if labels)]
        assert set(inside) <= set(allowed)
        if allowed:
            assert all(occurring(allowed, axes, radix) <= there for axes, there in zip(axes_together, found, strict=True))


@pytest.mark.parametrize("family", FAMILIES)
def test_tiers_are_parts_of_each_other(family: Family) -> None:
    smoke, nightly, full = ({case.labels for case in expand(family, tier)} for tier in ("smoke", "nightly", "full"))
    assert smoke <= nightly <= full


@pytest.mark.parametrize("family", FAMILIES)
def test_every_nightly_case_is_found_by_its_id_and_has_subcases_and_a_requirement(family: Family) -> None:
    for case in expand(family, "nightly"):
        assert find_case(book(), case.id) == case
        assert case.subcases
        assert case.requirements, case.id
