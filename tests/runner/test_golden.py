from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from cts.cli import main
from cts.kinds.kernel_digests import digest_expected
from cts.verdict.expected import Expected, Interval, Placed, one_set
from generators.digests import digest, digest_inputs
from generators.program.program import Subcase
from generators.types import COMPONENT_TYPES

from .conftest import REPOSITORY


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Make a checkout with one small family."""
    (tmp_path / "cts").mkdir()
    folder = tmp_path / "cases" / "khr_cooperative_matrix"
    folder.mkdir(parents=True)
    for needed in ("requirements", "positions.yaml"):
        (tmp_path / "cases" / needed).symlink_to(REPOSITORY / "cases" / needed)
    whole = (REPOSITORY / "cases" / "khr_cooperative_matrix" / "load_store.yaml").read_text(encoding="utf-8")
    head = whole.split("\nunits: ")[0]
    # So few cases exercise only one requirement.
    before, covers = head.split("\ncovers:\n")
    positions, plan = covers.split("positions:", 1)[1].split("\ndisputed:", 1)[0], covers.split("\nplan:", 1)[1]
    head = f"{before}\ncovers: [KHR-LOAD-08]\npositions:{positions}\nplan:{plan}"
    product = "\nproducts:\n  - name: few\n    why: test\n    parameters: {component: [f16, u8], use: all}\n    smoke: 1\n    nightly: 2\n"
    (folder / "load_store.yaml").write_text(head + product, encoding="utf-8")
    return tmp_path


def golden(checkout: Path, *arguments: str) -> int:
    return main(["--root", str(checkout), "golden", *arguments])


def edit(checkout: Path, old: str, new: str) -> None:
    path = checkout / "cases" / "khr_cooperative_matrix" / "load_store.yaml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_what_was_pinned_is_as_pinned(checkout, capsys):
    assert golden(checkout, "--update") == 0
    assert capsys.readouterr().out == "       6  load_store (6 added, 0 lost)\n"
    assert golden(checkout, "--check") == 0
    assert capsys.readouterr().out == "load_store: as pinned\n"


def test_nothing_pinned_is_bad_input(checkout, capsys):
    assert golden(checkout, "--check") == 2
    assert "cts golden --update" in capsys.readouterr().err


def test_lost_cases_and_combinations_that_no_case_has_are_named(checkout, capsys):
    golden(checkout, "--update")
    edit(checkout, "component: [f16, u8], use: all", "component: [f16, u8, s8], use: [a, b]")
    capsys.readouterr()
    assert golden(checkout, "--check") == 1
    out = capsys.readouterr().out
    assert "load_store: 2 lost, 0 altered" in out
    assert "parameters, constraints or products have changed since the cases were pinned" in out
    assert "no nightly case of the product 'few' has component: s8, use: a" in out
    assert "full tier: 6 cases pinned, 6 now with other ids" in out
    assert "- load_store[component:f16/use:acc]" in out


def test_an_update_counts_added_and_lost_cases_and_fixes_the_check(checkout, capsys):
    golden(checkout, "--update")
    edit(checkout, "component: [f16, u8], use: all", "component: [f16, u8, s8], use: [a, b]")
    capsys.readouterr()
    assert golden(checkout, "--update", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"load_store": {"cases": 6, "added": 2, "lost": 2}}
    assert golden(checkout, "--check") == 0


def test_tiers_are_pinned_without_building_a_case_and_their_digests_are_missed(checkout, capsys, monkeypatch):
    golden(checkout, "--update")
    edit(checkout, "component: [f16, u8], use: all", "component: [f16, u8, s8], use: all")
    with monkeypatch.context() as patch:
        patch.setattr("cts.commands.pinned.find_case", None)
        assert golden(checkout, "--update", "--tiers", "--family", "load_store") == 0
    capsys.readouterr()
    assert golden(checkout, "--check") == 1
    out = capsys.readouterr().out
    assert "load_store: 0 lost, 3 altered" in out
    assert "~ load_store[component:s8] (not pinned yet)" in out
    assert "if this is meant, pin it: cts golden --update --family load_store\n" in out


def test_only_the_named_family_is_pinned(checkout, capsys):
    golden(checkout, "--update")
    text = (checkout / "golden" / "tiers" / "load_store.tsv").read_text(encoding="utf-8")
    assert golden(checkout, "--update", "--family", "load_stare") == 2
    assert "did you mean load_store?" in capsys.readouterr().err
    assert (checkout / "golden" / "tiers" / "load_store.tsv").read_text(encoding="utf-8") == text


def test_tiers_alone_are_not_checked(checkout, capsys):
    assert golden(checkout, "--check", "--tiers") == 2
    assert "--tiers is for --update" in capsys.readouterr().err


def test_altered_cases_say_what_changed(checkout, capsys, monkeypatch):
    golden(checkout, "--update")
    pins = checkout / "golden" / "tiers" / "load_store.tsv"
    lines = pins.read_text(encoding="utf-8").splitlines()
    fields = lines[2].split("\t")
    lines[2] = "\t".join((*fields[:3], "0123456789", fields[4]))
    pins.write_text("\n".join(lines) + "\n", encoding="utf-8")
    capsys.readouterr()
    assert golden(checkout, "--check") == 1
    out = capsys.readouterr().out
    assert "load_store: 0 lost, 1 altered" in out
    assert f"~ {fields[1]} (inputs)" in out


def test_a_family_that_is_gone_is_reported(checkout, capsys):
    golden(checkout, "--update")
    shutil.copy(checkout / "golden" / "tiers" / "load_store.tsv", checkout / "golden" / "tiers" / "gone.tsv")
    full = checkout / "golden" / "tiers" / "full.tsv"
    full.write_text(full.read_text(encoding="utf-8") + "gone\t6\t00\n", encoding="utf-8")
    capsys.readouterr()
    assert golden(checkout, "--check") == 1
    out = capsys.readouterr().out
    assert "gone: 6 lost" in out
    assert "if this is meant, pin it: cts golden --update\n" in out


def test_several_processes_pin_the_same(checkout):
    golden(checkout, "--update")
    pins = checkout / "golden" / "tiers" / "load_store.tsv"
    one = pins.read_text(encoding="utf-8")
    golden(checkout, "--update", "-n", "2")
    assert pins.read_text(encoding="utf-8") == one


def test_digests_tell_every_part_apart():
    assert digest([b"ab", b"c"]) != digest([b"a", b"bc"])
    one = Subcase("s", {"a": np.arange(4, dtype=np.uint8)}, {"n": 1})
    others = [
        Subcase("t", one.inputs, one.operands),
        Subcase("s", {"b": one.inputs["a"]}, one.operands),
        Subcase("s", {"a": np.arange(5, dtype=np.uint8)}, one.operands),
        Subcase("s", one.inputs, {"n": 2}),
    ]
    assert len({digest_inputs([subcase]) for subcase in [one, *others]}) == 5


def interval(low: float, high: float) -> Expected:
    shape = (1, 1, 1)
    allowed = Interval(COMPONENT_TYPES["f32"], np.zeros(shape, np.uint32), np.full(shape, low), np.full(shape, high), np.full(shape, low))
    return Expected((Placed("d", np.zeros(shape, np.int64), one_set(allowed), "D"),))


def test_the_last_bits_of_bounds_do_not_count_and_the_others_do():
    pinned = digest_expected([interval(1.1, 2.3)])
    assert digest_expected([interval(np.nextafter(1.1, 2), np.nextafter(2.3, 0))]) == pinned
    assert digest_expected([interval(1.1, 2.3 * (1 + 2**-18))]) != pinned
