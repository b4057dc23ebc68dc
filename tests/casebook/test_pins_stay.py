"""Pinned cases stay pinned when their family changes."""

from __future__ import annotations

from dataclasses import replace

from generators.casebook import Family, Tier
from generators.casebook.pinning import choose_tiers, tier_faults


def ids(tiers, tier=None):
    return {case.id for case in tiers.cases if tier is None or case.tier is tier}


def test_a_stronger_product_adds_cases_and_takes_none_away(toy: Family) -> None:
    before = choose_tiers(toy)
    stronger = replace(toy, products=(replace(toy.products[0], nightly=3), *toy.products[1:]))
    after = choose_tiers(stronger, pinned=before)
    assert ids(after) > ids(before)
    assert tier_faults(stronger, after).notes == ()


def test_a_product_that_comes_into_the_smoke_tier_takes_cases_of_the_nightly_tier(toy: Family) -> None:
    before = choose_tiers(toy)
    wider = replace(toy, products=(toy.products[0], replace(toy.products[1], smoke=1)))
    after = choose_tiers(wider, pinned=before)
    assert ids(after) == ids(before)
    assert ids(after, Tier.SMOKE) > ids(before, Tier.SMOKE)


def test_a_case_that_is_not_in_the_full_tier_is_removed(toy: Family) -> None:
    before = choose_tiers(toy)
    narrower = replace(toy, products=toy.products[1:])
    after = choose_tiers(narrower, pinned=before)
    assert ids(after) < ids(before)
    assert tier_faults(narrower, after).lost == ()


def test_pins_that_are_enough_are_kept_as_they_are(toy: Family) -> None:
    before = choose_tiers(toy)
    assert choose_tiers(toy, pinned=before) == before
