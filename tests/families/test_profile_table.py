"""The counts of cases that show defects, on several profiles."""

from __future__ import annotations

from dataclasses import replace

from generators.casebook import Tier
from tests.families.kill_table import Choice, kill_table
from tests.families.profile_table import Search, Shown, search, summed

FAMILY = "aggregates"
PROFILE = "adreno"
ALL = Search(Tier.SMOKE, (PROFILE,))


def test_the_counts_are_those_of_the_kill_table() -> None:
    lines = kill_table(FAMILY, Choice(Tier.SMOKE, profile=PROFILE))
    assert search(FAMILY, ALL)[PROFILE] == {kind: Shown(cases, shown) for _, kind, cases, shown, _ in lines}


def test_a_search_for_kinds_has_no_others_and_ends_where_it_is_enough() -> None:
    often = next(kind for kind, one in search(FAMILY, ALL)[PROFILE].items() if one.shown > 1)
    found = search(FAMILY, replace(ALL, sought={PROFILE: frozenset({often})}, enough=1))
    assert {kind: one.shown for kind, one in found[PROFILE].items()} == {often: 1}


def test_a_sample_takes_cases_of_each_profile() -> None:
    for kinds in search(FAMILY, Search(Tier.SMOKE, ("nvidia-h200", PROFILE), sample=1)).values():
        assert {one.cases for one in kinds.values()} == {1}


def test_the_counts_of_families_are_added() -> None:
    tables = ({"one": {"load_store.a": Shown(3, 1)}}, {"one": {"load_store.a": Shown(4, 2)}, "two": {"load_store.b": Shown(1, 0)}})
    assert summed(tables) == {"one": {"load_store.a": Shown(7, 3)}, "two": {"load_store.b": Shown(1, 0)}}
