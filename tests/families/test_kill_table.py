"""The kill table: counts that end early, samples that do not change, and journals that are continued."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from generators.casebook import Tier
from tests.families.kill_table import Choice, chosen, kill_table, seldom, weak

FAMILY = "descriptor_arrays"
ALL = Choice(Tier.SMOKE, sample=6)


def test_a_sample_is_the_same_each_time() -> None:
    first, second = ([case.id for case, _ in chosen(FAMILY, ALL)] for _ in range(2))
    assert first == second
    assert len(first) == ALL.sample


def test_another_seed_draws_other_cases() -> None:
    drawn = [[case.id for case, _ in chosen(FAMILY, Choice(Tier.SMOKE, sample=6, seed=seed))] for seed in (1, 2)]
    assert drawn[0] != drawn[1]


def test_counts_end_where_it_is_enough() -> None:
    every = {kind: shown for _, kind, _, shown, _ in kill_table(FAMILY, ALL)}
    early = {kind: shown for _, kind, _, shown, _ in kill_table(FAMILY, Choice(Tier.SMOKE, sample=6, enough=2))}
    assert any(shown > 2 for shown in every.values())
    assert early == {kind: min(shown, 2) for kind, shown in every.items()}


def test_a_table_of_some_kinds_has_no_others() -> None:
    every = {kind for _, kind, *_ in kill_table(FAMILY, ALL)}
    few = tuple(sorted(every)[:2])
    assert {kind for _, kind, *_ in kill_table(FAMILY, replace(ALL, kinds=few))} == set(few)


def test_an_id_stands_for_all_its_kinds() -> None:
    of_id = {kind for _, kind, *_ in kill_table(FAMILY, ALL) if kind.startswith("load_store.stride_ignored[")}
    assert of_id
    assert {kind for _, kind, *_ in kill_table(FAMILY, replace(ALL, kinds=("load_store.stride_ignored",)))} == of_id


def test_kinds_that_few_cases_of_all_families_show_are_reported() -> None:
    lines = [("one", "load_store.a", 3, 1, "x"), ("two", "load_store.a", 4, 1, "y"), ("two", "load_store.b", 9, 1, "y")]
    found = weak(lines, 2)
    assert ("load_store.b", 9, 1) in found
    assert not any(kind == "load_store.a" for kind, _, _ in found)


def test_entries_that_were_not_looked_for_are_not_reported() -> None:
    assert weak([], 1, ["load_store.first_ignored[access:loaded]"]) == [("load_store.first_ignored", 0, 0)]


def test_kinds_that_a_run_of_some_kinds_shows_seldom_are_returned(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    lines = [["one", "load_store.a", 3, 2, "x"], ["one", "load_store.b", 3, 1, "y"]]
    record = {"choice": {"kinds": ["load_store.a", "load_store.b", "load_store.c"]}, "lines": lines}
    journal.write_text(json.dumps(record) + "\n", encoding="utf-8")
    assert seldom(journal, 2) == ("load_store.b", "load_store.c")


def test_entries_of_the_glossary_that_occur_nowhere_are_reported() -> None:
    assert ("null_constant.ones", 0, 0) in weak([], 1)
