"""The cases in a case list, by family."""

from __future__ import annotations

from cts.engine import selection
from cts.engine.selection import list_ids
from generators.casebook.tiers import Tier, chosen_ids
from tests.suite import casebook


def test_the_ids_of_a_tier_are_not_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr(selection, "find_case", None)
    ids = chosen_ids(casebook().families["muladd"], Tier.NIGHTLY)
    (tmp_path / "list.txt").write_text("\n".join(ids))
    assert list_ids(casebook(), tmp_path / "list.txt") == {"muladd": tuple(ids)}


def test_a_case_that_a_list_names_in_several_ways_is_in_it_once(tmp_path):
    path = tmp_path / "list.txt"
    names = [
        "layouts:cccc/row:8x8x8.u8.u8.u32.u32/data:wrap",
        "row:8x8x8.u8.u8.u32.u32/data:wrap/layouts:rccr",
        "row:8x8x8.u8.u8.u32.u32/data:wrap/layouts:cccc",
    ]
    path.write_text("".join(f"muladd[{name}]\n" for name in names))
    listed = ("muladd[row:8x8x8.u8.u8.u32.u32/data:wrap/layouts:cccc]", "muladd[row:8x8x8.u8.u8.u32.u32/data:wrap/layouts:rccr]")
    assert list_ids(casebook(), path) == {"muladd": listed}
