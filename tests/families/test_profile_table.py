"""The counts of cases that show defects, on several profiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from generators.casebook import Tier
from tests.families.kill_table import Choice, kill_table
from tests.families.profile_table import Search, Shown, search, summed

FAMILY = "aggregates"
PROFILE = "adreno"
ALL = Search(Tier.SMOKE, (PROFILE,), (FAMILY,))


@cache
def whole() -> Mapping[str, Mapping[str, Shown]]:
    """Return what the whole search finds, with which the tests compare other searches."""
    return search(ALL)


def test_the_counts_are_those_of_the_kill_table() -> None:
    lines = kill_table(FAMILY, Choice(Tier.SMOKE, profile=PROFILE))
    assert whole()[PROFILE] == {kind: Shown(cases, shown) for _, kind, cases, shown, _ in lines}


def test_a_search_ends_where_it_is_enough() -> None:
    every = whole()[PROFILE]
    assert search(replace(ALL, enough=1))[PROFILE] == {kind: Shown(one.cases, min(one.shown, 1)) for kind, one in every.items()}


def test_an_excused_kind_is_not_sought() -> None:
    often = next(kind for kind, one in whole()[PROFILE].items() if one.shown)
    assert search(replace(ALL, excused={PROFILE: frozenset({often})}))[PROFILE][often].shown == 0


def test_shares_add_up_to_the_whole() -> None:
    assert summed(search(replace(ALL, share=(number, 2))) for number in range(2)) == whole()


def test_a_sample_takes_cases_of_each_profile() -> None:
    for kinds in search(Search(Tier.SMOKE, ("nvidia-h200", PROFILE), (FAMILY,), sample=1)).values():
        assert {one.cases for one in kinds.values()} == {1}


def test_counts_are_added() -> None:
    tables = ({"one": {"load_store.a": Shown(3, 1)}}, {"one": {"load_store.a": Shown(4, 2)}, "two": {"load_store.b": Shown(1, 0)}})
    assert summed(tables) == {"one": {"load_store.a": Shown(7, 3)}, "two": {"load_store.b": Shown(1, 0)}}
