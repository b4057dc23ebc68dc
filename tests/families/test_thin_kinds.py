"""The check for thin kinds of defects fails where it should."""

from __future__ import annotations

from cts.defects.glossary import glossary
from cts.embedded.profile import load_profile
from generators.casebook import Tier
from tests.families.profile_table import Shown
from tests.families.thin_kinds import EVERY_PROFILE, Limits, id_of, load_limits, low_medians, needless, thin

_REASON = "it cannot occur"
_LIMITS = Limits(
    ("one", "two"),
    33,
    {Tier.NIGHTLY: 5, Tier.SMOKE: 1},
    {EVERY_PROFILE: {"loop.runs_once": _REASON}, "one": {"load_store.stride_ignored[access:loaded]": _REASON}},
)
_PLACED = "load_store.first_ignored[access:loaded]"
_SPLAT, _STRIDE, _LOOP = "splat.zero", "load_store.stride_ignored[access:loaded]", "loop.runs_once[every]"


def test_kinds_that_a_third_of_the_cases_show_are_no_fault() -> None:
    assert not list(low_medians({_PLACED: Shown(9, 3), _SPLAT: Shown(9, 6)}, _LIMITS, "one"))


def test_a_low_median_is_a_fault() -> None:
    found = {_PLACED: Shown(100, 90), _SPLAT: Shown(100, 30), _STRIDE: Shown(100, 20)}
    assert len(list(low_medians(found, _LIMITS, "two"))) == 1


def test_a_low_median_of_the_kinds_of_placements_is_a_fault() -> None:
    found = {_PLACED: Shown(100, 30), _SPLAT: Shown(100, 90), _STRIDE: Shown(100, 90)}
    assert len(list(low_medians(found, _LIMITS, "two"))) == 1


def test_a_profile_without_any_kind_is_a_fault() -> None:
    assert len(list(low_medians({}, _LIMITS, "one"))) == 2


def test_a_kind_is_thin_if_fewer_cases_than_its_tier_demands_show_it() -> None:
    kinds = {_PLACED: Shown(9, 5), _SPLAT: Shown(9, 4), _STRIDE: Shown(9, 0)}
    assert [len(list(thin(kinds, _LIMITS, "two", tier))) for tier in (Tier.NIGHTLY, Tier.SMOKE)] == [2, 1]


def test_an_excused_kind_is_not_thin() -> None:
    kinds = {_STRIDE: Shown(9, 0), _LOOP: Shown(9, 0)}
    assert [len(list(thin(kinds, _LIMITS, profile, Tier.NIGHTLY))) for profile in ("one", "two")] == [0, 1]
    assert _LIMITS.all_excused == {"one": {id_of(_LOOP), _STRIDE}, "two": {id_of(_LOOP)}}


def test_an_excuse_is_needless_if_smoke_alone_shows_enough_cases_of_each_of_its_kinds_on_each_of_its_profiles() -> None:
    enough, few = Shown(9, 5), Shown(9, 4)

    def found(one: dict[str, Shown], two: dict[str, Shown]) -> int:
        return len(list(needless({"one": one, "two": two}, _LIMITS)))

    every, other = _LOOP, "loop.runs_once"
    assert found({every: few, _STRIDE: few}, {every: enough}) == 0
    assert found({every: enough, _STRIDE: few}, {every: enough, other: few}) == 0
    assert found({every: enough, _STRIDE: few}, {every: enough, other: enough}) == 1
    assert found({every: enough, _STRIDE: enough}, {every: enough}) == 2


def test_an_excuse_of_a_kind_that_cannot_occur_is_needless() -> None:
    assert len(list(needless({"one": {}, "two": {}}, _LIMITS))) == 2


def test_profiles_and_excused_kinds_exist() -> None:
    limits = load_limits()
    for profile in limits.profiles:
        load_profile(profile)
    assert limits.excused.keys() <= {EVERY_PROFILE, *limits.profiles}
    assert {id_of(kind) for kinds in limits.excused.values() for kind in kinds} <= glossary().entries.keys()
