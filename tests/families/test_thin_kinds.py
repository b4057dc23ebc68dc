"""The check for thin kinds of defects fails where it should."""

from __future__ import annotations

from cts.embedded.profile import load_profile
from generators.casebook import Tier
from generators.casebook.placement_kinds import load_kinds
from tests.families.thin_kinds import Limits, Shown, faults, load_limits, summed

_LIMITS = Limits(("one",), 33, {Tier.NIGHTLY: 5, Tier.SMOKE: 1}, {"one": {"load_store.excused": "it cannot occur"}})
_OFTEN = {Tier.NIGHTLY: {"load_store.a": 5, "load_store.b": 5}, Tier.SMOKE: {"load_store.a": 1, "load_store.b": 1}}


def test_kinds_that_many_cases_show_are_no_fault() -> None:
    assert not list(faults({"load_store.a": Shown(9, 6), "load_store.b": Shown(9, 3)}, _OFTEN, _LIMITS, "one"))


def test_a_low_median_is_a_fault() -> None:
    assert len(list(faults({"load_store.a": Shown(100, 30), "load_store.b": Shown(100, 20)}, _OFTEN, _LIMITS, "one"))) == 1


def test_a_kind_that_few_cases_show_is_a_fault_in_each_tier() -> None:
    found = {"load_store.a": Shown(9, 9), "load_store.c": Shown(9, 4)}
    assert len(list(faults(found, {tier: {"load_store.a": 5, "load_store.c": 0} for tier in _OFTEN}, _LIMITS, "one"))) == 2


def test_an_excused_kind_is_no_fault() -> None:
    assert not list(faults({"load_store.a": Shown(9, 9), "load_store.excused[access:loaded]": Shown(9, 0)}, _OFTEN, _LIMITS, "one"))


def test_a_profile_without_any_kind_is_a_fault() -> None:
    assert len(list(faults({}, _OFTEN, _LIMITS, "one"))) == 1


def test_the_counts_of_families_are_added() -> None:
    assert summed([("x", "load_store.a", 3, 1, "-"), ("y", "load_store.a", 4, 2, "-")]) == {"load_store.a": Shown(7, 3)}


def test_profiles_and_excused_kinds_exist() -> None:
    limits = load_limits()
    for profile in limits.profiles:
        load_profile(profile)
    assert all(set(kinds) <= set(load_kinds().defects) for kinds in limits.excused.values())
