"""The suite's own families keep what the casebook promises."""

from __future__ import annotations

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


def occurring(found: list[Row], axes: tuple[int, ...], radix: int) -> set[int]:
    """The combinations of labels on ``axes``, as numbers."""
    columns = np.array(found)[:, axes]
    return set((columns * radix ** np.arange(len(axes))).sum(axis=1).tolist())


@pytest.mark.parametrize(("family", "product"), PRODUCTS)
def test_nightly_has_every_allowed_combination_of_its_strength(family: Family, product: Product) -> None:
    choices = [*product.choices, *(() for _ in family.subcase_axes)]
    whole = rows(family.rules, choices)
    chosen = covering_rows(family.rules, choices, product.nightly)
    free = [axis for axis, labels in enumerate(product.choices) if len(labels) > 1]
    radix = max(len(axis.values) for axis in family.axes)
    assert set(chosen) <= set(whole)
    for axes in combinations(free, min(product.nightly, len(free))):
        assert occurring(chosen, axes, radix) == occurring(whole, axes, radix)


@pytest.mark.parametrize("family", FAMILIES)
def test_tiers_are_parts_of_each_other(family: Family) -> None:
    smoke, nightly, full = ({case.labels for case in expand(family, tier)} for tier in ("smoke", "nightly", "full"))
    assert smoke <= nightly <= full


@pytest.mark.parametrize("family", FAMILIES)
def test_every_nightly_case_is_found_by_its_id_and_has_subcases(family: Family) -> None:
    for case in expand(family, "nightly"):
        assert find_case(book(), case.id) == case
        assert case.subcases
