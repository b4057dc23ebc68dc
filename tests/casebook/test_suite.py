"""The suite's own families keep the promises of the casebook."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations
from operator import contains

import numpy as np
import pytest

from generators.casebook import Family, Product, Tier, expand, find_case
from generators.casebook.cases import check_covers, product_choices, within
from generators.casebook.constraints import UNASSIGNED, Row, rows
from tests.suite import casebook

FAMILIES = [pytest.param(family, id=family.name) for family in casebook()]
WITH_NIGHTLY = [(family, products) for family in casebook() if (products := [one for one in family.products if one.nightly])]
DRAWN = [pytest.param(family, random.Random(family.name).choice(products), id=family.name) for family, products in WITH_NIGHTLY]
"""A product of each family. 'cts golden --check' looks for every combination of all products in another way."""

WHOLE = 5_000
"""All rows of a product are enumerated if it has at most this many rows, allowed or not."""

PART, DRAWN_PARTS = 2_000, 4
"""The most rows in a drawn part of a larger product, and the number of parts."""


def occurring(found: np.ndarray, parameters: tuple[int, ...], radix: int) -> np.ndarray:
    """Return, by number, whether a combination of labels on ``parameters`` is in the rows ``found``."""
    numbers = found[:, parameters] @ radix ** np.arange(len(parameters))
    return np.bincount(numbers, minlength=radix ** len(parameters)) > 0


def parts(choices: Sequence[Sequence[int]], rng: random.Random) -> Iterator[list[Sequence[int]]]:
    """Yield all choices if they are few; otherwise draw parts of them, each with some of the labels."""
    if math.prod(len(labels) for labels in choices if labels) <= WHOLE:
        yield list(choices)
        return
    for _ in range(DRAWN_PARTS):
        part = list(choices)
        while math.prod(len(labels) for labels in part if labels) > PART:
            parameter = rng.choice([parameter for parameter, labels in enumerate(part) if len(labels) > 1])
            part[parameter] = sorted(rng.sample(list(part[parameter]), len(part[parameter]) - 1))
        yield part


def is_allowed(family: Family, product: Product, row: Row) -> bool:
    """Return whether a case is one of the product's."""
    only = [*((label,) for label in row), *(() for _ in family.subcase_parameters)]
    return within(family, product, row) and bool(rows(family.rules_of(product), only))


@cache
def pinned_rows(family: Family, tier: Tier) -> list[Row]:
    """Return the pinned cases by label number."""
    return [
        tuple(parameter.numbers[label] for parameter, label in zip(family.parameters, case.labels, strict=True))
        for case in expand(family, tier)
    ]


@pytest.mark.parametrize(("family", "product"), DRAWN)
def test_nightly_has_every_allowed_combination_of_its_strength(family: Family, product: Product) -> None:
    open_ = [UNASSIGNED for _ in family.subcase_parameters]
    choices = [*product.choices, *(() for _ in open_)]
    chosen = [row for row in pinned_rows(family, Tier.NIGHTLY) if within(family, product, row)]
    free = [parameter for parameter, labels in enumerate(product.choices) if len(labels) > 1]
    radix = max(len(parameter.values) for parameter in family.parameters)
    parameters_together = list(combinations(free, min(product.nightly, len(free))))
    # A product on a unit is empty if the constraints allow none of the unit's rows
    assert chosen or product.unit
    table = np.array(chosen, np.int64).reshape(len(chosen), len(family.parameters))
    found = [occurring(table, parameters, radix) for parameters in parameters_together]
    for part in parts(choices, random.Random(1)):
        allowed = rows(family.rules_of(product), part)
        inside = [row for row in chosen if all(map(contains, part, row))]
        assert {(*row, *open_) for row in inside} <= set(allowed)
        if allowed:
            table = np.array(allowed)
            assert all(
                (occurring(table, parameters, radix) <= there).all() for parameters, there in zip(parameters_together, found, strict=True)
            )


@pytest.mark.parametrize("family", FAMILIES)
def test_tiers_are_parts_of_each_other(family: Family) -> None:
    """A case of the full tier is one that a product has and its constraints allow, so the millions of others need no enumeration."""
    smoke, nightly = (set(pinned_rows(family, tier)) for tier in (Tier.SMOKE, Tier.NIGHTLY))
    assert smoke <= nightly
    assert not [row for row in nightly if not any(is_allowed(family, product, row) for product in family.products)]


@pytest.mark.parametrize("family", FAMILIES)
def test_covers_and_products_without_nightly_cases_have_cases(family: Family) -> None:
    check_covers(family)
    for product in family.products:
        assert product.nightly or product.unit or rows(family.rules_of(product), product_choices(family, product)), product.name


@pytest.mark.parametrize("family", FAMILIES)
def test_every_nightly_case_is_found_by_its_id_and_has_subcases_and_a_requirement(family: Family) -> None:
    for case in expand(family, "nightly"):
        assert find_case(casebook(), case.id) == case
        assert case.subcases
        assert case.requirements, case.id
