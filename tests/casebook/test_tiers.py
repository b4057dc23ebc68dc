"""The pinned tiers of a family: how they are chosen, read and checked."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from generators.casebook import Family, Tier, expand, load_family
from generators.casebook.cases import expand_ids
from generators.casebook.pinning import TierFaults, choose_tiers, tier_faults
from generators.casebook.tiers import PinnedCase, PinnedTiers, certain_ids, home, pinned_file, read_tiers, write_tiers
from generators.errors import CasebookError

Write = Callable[[str], Path]
REMEDY = "run 'cts golden --update --tiers --family toy'"


def file_of(family: Family) -> Path:
    return pinned_file(home(family), family.name)


def test_a_run_reads_the_pinned_cases_and_no_others(toy: Family) -> None:
    chosen = read_tiers(file_of(toy))
    first = PinnedCase(Tier.SMOKE, chosen.cases[0].id)
    write_tiers(file_of(toy), replace(chosen, cases=(first, PinnedCase(Tier.NIGHTLY, chosen.cases[-1].id))))
    assert [case.id for case in expand(toy, "smoke")] == [first.id]
    assert [case.id for case in expand(toy, "nightly")] == [first.id, chosen.cases[-1].id]


def test_a_run_needs_no_covertable_and_choosing_says_what_to_install(toy: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "covertable", None)
    assert expand(toy, "nightly")
    assert tier_faults(toy, read_tiers(file_of(toy))) == TierFaults((), ())
    with pytest.raises(CasebookError, match=r"pip install -e '\.\[dev\]'"):
        choose_tiers(toy)


def test_a_family_without_pins_says_which_command_pins_it(write: Write, text: str) -> None:
    family = load_family(write(text))
    assert expand(family, "full")
    with pytest.raises(CasebookError, match=f"no cases of 'toy' are pinned: {REMEDY}"):
        expand(family, "smoke")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("use: [a, b]", "use: [a, b, c]"),
        ("columns: [8, 16, 32, 3]", "columns: [16, 8, 32, 3]"),
        ("{bytes: [1], columns: [3]}", "{bytes: [1, 2], columns: [3]}"),
        ("require: {stride: [tight]}", "require: {stride: [padded]}"),
        ("smoke: 0\n    nightly: 1", "smoke: 0\n    nightly: 2"),
        ("columns: [8, 3], stride: all", "columns: [8], stride: all"),
        ("seed: [0, 1]", "seed: [0, 1, 2]"),
        ("  - predicate: short_row\n    because: rows fit in 64 bytes\n", ""),
    ],
)
def test_a_change_of_what_decides_the_tiers_asks_for_new_pins(toy: Family, write: Write, text: str, old: str, new: str) -> None:
    assert expand(toy, "smoke")
    assert old in text
    changed = load_family(write(text.replace(old, new)))
    with pytest.raises(CasebookError, match=f"toy' have changed since its cases were pinned: {REMEDY}"):
        expand(changed, "smoke")
    assert not certain_ids(changed)


@pytest.mark.parametrize(
    ("old", "new"), [("Rows of several", "Columns of several"), ("B is never", "No B is"), ("padded: [16, 32]", "padded: [16]")]
)
def test_a_change_of_prose_or_of_a_value_does_not(toy: Family, write: Write, text: str, old: str, new: str) -> None:
    assert old in text
    changed = load_family(write(text.replace(old, new)))
    ids = [case.id for case in expand(toy, "nightly")]
    assert [case.id for case in expand(changed, "nightly")] == expand_ids(changed, Tier.NIGHTLY) == ids
    assert certain_ids(changed) == set(ids)


@pytest.mark.parametrize(
    "id_",
    [
        "toy[bytes:1/columns:8/use:a/stride:wide]",
        "toy[bytes:1/columns:8/use:a]",
        "toy[1-8-a-tight]",
        "top[bytes:1/columns:8/use:a/stride:tight]",
        "toy[bytes:1/columns:8/use:a/stride:tight",
    ],
)
def test_a_pinned_id_that_names_no_case_is_an_error(toy: Family, id_: str) -> None:
    tiers = read_tiers(file_of(toy))
    write_tiers(file_of(toy), replace(tiers, cases=(PinnedCase(Tier.SMOKE, id_),)))
    with pytest.raises(CasebookError, match=r"is not a case of 'toy': run"):
        expand(toy, "smoke")


@pytest.mark.parametrize(
    "line", ["weekly\ttoy[bytes:1/columns:8/use:a/stride:tight]", "smoke", "toy[bytes:1/columns:8/use:a/stride:tight]"]
)
def test_a_line_of_another_form_is_an_error(tmp_path: Path, line: str) -> None:
    path = tmp_path / "toy.tsv"
    path.write_text(f"outline\t00\n{line}\n")
    with pytest.raises(CasebookError, match=r"toy\.tsv:2: expected a tier, smoke or nightly, and a case id"):
        read_tiers(path)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    tiers = PinnedTiers("0a", (PinnedCase(Tier.SMOKE, "toy[a]", ("1", "-", "2")), PinnedCase(Tier.NIGHTLY, "toy[b]")))
    write_tiers(tmp_path / "golden" / "toy.tsv", tiers)
    assert read_tiers(tmp_path / "golden" / "toy.tsv") == tiers


def test_chosen_tiers_have_no_faults(toy: Family) -> None:
    assert tier_faults(toy, choose_tiers(toy)) == TierFaults((), ())


def test_known_digests_are_kept(toy: Family) -> None:
    chosen = choose_tiers(toy)
    known = {chosen.cases[1].id: ("1", "2", "3")}
    assert [case.digests for case in choose_tiers(toy, known).cases[:3]] == [(), ("1", "2", "3"), ()]


def test_an_allowed_combination_that_no_pinned_case_has_is_a_fault(toy: Family) -> None:
    chosen = choose_tiers(toy)
    kept = tuple(case for case in chosen.cases if not case.id.startswith("toy[bytes:4/columns:8/"))
    notes = tier_faults(toy, replace(chosen, cases=kept)).notes
    assert "no nightly case of the product 'lengths' has bytes: 4, columns: 8" in notes


def test_a_label_that_no_smoke_case_has_is_a_fault_of_that_tier(toy: Family) -> None:
    chosen = choose_tiers(toy)
    later = tuple(case._replace(tier=Tier.NIGHTLY) if case.id.startswith("toy[bytes:2/") else case for case in chosen.cases)
    assert tier_faults(toy, replace(chosen, cases=later)).notes == ("no smoke case of the product 'lengths' has bytes: 2",)


@pytest.mark.parametrize(
    "id_",
    [
        "toy[bytes:1/columns:16/use:a/stride:padded]",
        "toy[bytes:4/columns:32/use:a/stride:tight]",
        "toy[bytes:1/columns:8/use:c/stride:tight]",
    ],
    ids=["in no product", "forbidden", "no such label"],
)
def test_a_pinned_case_that_the_full_tier_does_not_have_is_lost(toy: Family, id_: str) -> None:
    chosen = choose_tiers(toy)
    assert tier_faults(toy, replace(chosen, cases=(*chosen.cases, PinnedCase(Tier.NIGHTLY, id_)))).lost == (id_,)


def test_another_order_is_a_fault(toy: Family) -> None:
    chosen = choose_tiers(toy)
    swapped = replace(chosen, cases=(chosen.cases[1], chosen.cases[0], *chosen.cases[2:]))
    assert tier_faults(toy, swapped).notes == ("the cases are not in the order of the full tier, each once",)
    twice = replace(chosen, cases=(chosen.cases[0], *chosen.cases))
    assert tier_faults(toy, twice).notes == ("the cases are not in the order of the full tier, each once",)


def test_an_outline_that_changed_and_tiers_that_are_not_there_are_faults(toy: Family) -> None:
    chosen = choose_tiers(toy)
    assert "have changed since" in tier_faults(toy, replace(chosen, outline="00")).notes[0]
    assert tier_faults(toy, PinnedTiers()).notes[0] == "no cases are pinned"


def test_a_family_only_of_the_full_tier_pins_no_cases(toy: Family) -> None:
    alone = replace(toy, products=tuple(replace(part, smoke=0, nightly=0) for part in toy.products))
    chosen = choose_tiers(alone)
    assert chosen.cases == ()
    assert tier_faults(alone, chosen) == TierFaults((), ())


def test_the_labels_of_cases_that_nobody_asks_for_are_not_read(toy: Family) -> None:
    chosen = read_tiers(file_of(toy))
    first, *rest = chosen.cases
    write_tiers(file_of(toy), replace(chosen, cases=(first, *(case._replace(id="toy[none]") for case in rest))))
    assert [case.id for case in expand(toy, "nightly", wanted=lambda id_: id_ == first.id)] == [first.id]
    with pytest.raises(CasebookError, match=r"'toy\[none\]' is not a case of 'toy'"):
        expand(toy, "nightly")
