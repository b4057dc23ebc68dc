"""Runs of some of the cases, and of blocks of the full tier."""

from __future__ import annotations

import json

import pytest

from cts.journal.merge import merge
from tests.plugin.conftest import SMOKE

FULL = SMOKE | {f"copying[number:n{number}/colour:green]" for number in range(4)} | {f"copying[number:n{n}/colour:blue]" for n in range(2)}


@pytest.fixture
def blocks(checkout):
    """Pin the full tier of the family in three blocks."""
    path = checkout.root / "golden" / "full" / "copying.tsv"
    path.parent.mkdir()
    tiers = (checkout.root / "golden" / "tiers" / "copying.tsv").read_text(encoding="utf-8")
    outline = next(line for line in tiers.splitlines() if line.startswith("outline"))
    counts = [f"{3 if number < 2 else 2 if number < 4 else 1}\tnumber:n{number}" for number in range(8)]
    path.write_text("\n".join([outline, *counts]) + "\n", encoding="utf-8")
    return checkout


def meta(checkout, directory: str = "out"):
    return json.loads((checkout.root / directory / "meta.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("more", [(), ("-n", "2")])
def test_the_shards_of_a_tier_judge_each_case_once(checkout, more):
    found = []
    for number in range(1, 4):
        done = checkout.run("cts", "--shard", f"{number}/3", "--report-dir", f"out{number}", *more)
        assert done.returncode == 0, done.stdout
        found += checkout.results(f"out{number}")
        assert meta(checkout, f"out{number}")["shard"] == f"{number}/3"
    assert sorted(found) == sorted(SMOKE)


def test_k_and_what_was_judged_before_change_no_shard(checkout):
    done = checkout.run("cts", "--shard", "1/2", "--report-dir", "whole")
    assert done.returncode == 0
    checkout.run("cts", "--shard", "1/2", "-k", "n1 or n2 or n3", "--report-dir", "some")
    assert set(checkout.results("some")) == {id_ for id_ in checkout.results("whole") if id_[-2] in "123"}
    done = checkout.run("cts", "--shard", "1/2", "--report-dir", "some", "--resume")
    assert set(checkout.results("some")) == set(checkout.results("whole"))


def test_a_case_list_is_sharded(checkout):
    (checkout.root / "list").write_text("\n".join(sorted(FULL)), encoding="utf-8")
    found = []
    for number in (1, 2):
        checkout.run("cts", "--case-list", "list", "--shard", f"{number}/2", "--report-dir", f"out{number}")
        found += checkout.results(f"out{number}")
    assert sorted(found) == sorted(FULL)


def test_a_folder_of_one_shard_is_not_gone_on_with_as_another(checkout):
    checkout.run("cts", "--shard", "1/2", "--report-dir", "out")
    done = checkout.run("cts", "--shard", "2/2", "--report-dir", "out", "--resume")
    assert done.returncode == 2
    assert "--shard" in done.stdout + done.stderr


def test_a_shard_that_is_none_ends_with_2(checkout):
    done = checkout.run("cts", "--shard", "3/2")
    assert done.returncode == 2


@pytest.mark.parametrize("more", [(), ("-n", "2")])
def test_the_full_tier_is_judged_by_blocks(blocks, more):
    done = blocks.run("cts", "--tier", "full", "--report-dir", "out", *more, behaviours={"copying[number:n1/colour:green]": "fail"})
    assert done.returncode == 1, done.stdout
    assert blocks.results() == dict.fromkeys(FULL, "pass") | {"copying[number:n1/colour:green]": "fail"}
    assert "14 of 14 cases" in done.stdout
    assert meta(blocks)["selected"] == 14


@pytest.mark.parametrize("more", [(), ("-n", "2")])
def test_a_run_of_blocks_goes_on_with_what_is_left(blocks, more):
    blocks.run("cts", "--tier", "full", "-k", "n0 or n3", "--report-dir", "out")
    done = blocks.run("cts", "--tier", "full", "--report-dir", "out", "--resume", *more)
    assert done.returncode == 0
    assert set(blocks.results()) == FULL
    assert "9 of 9 cases" in done.stdout


def test_a_worker_that_dies_in_a_block_costs_one_case(blocks):
    done = blocks.run("cts", "--tier", "full", "--report-dir", "out", "-n", "1", behaviours={"copying[number:n0/colour:green]": "kill"})
    assert done.returncode == 1
    assert blocks.results() == dict.fromkeys(FULL, "pass") | {"copying[number:n0/colour:green]": "crash"}


def test_k_selects_among_the_cases_of_blocks(blocks):
    done = blocks.run("cts", "--tier", "full", "-k", "n0 and not green", "--collect-only", "-q")
    assert [line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line] == [
        "copying[number:n0]",
        "copying[number:n0/colour:blue]",
    ]


def test_blocks_of_wrong_counts_stop_the_run_and_say_what_to_do(blocks):
    path = blocks.root / "golden" / "full" / "copying.tsv"
    path.write_text(path.read_text(encoding="utf-8").replace("3\tnumber:n1", "4\tnumber:n1"), encoding="utf-8")
    done = blocks.run("cts", "--tier", "full")
    assert done.returncode == 2
    assert "cts golden --update --tiers --family copying" in done.stdout


def test_shards_merged_are_a_run_that_can_be_resumed(checkout):
    behaviours = {"copying[number:n0]": "fail", "copying[number:n5]": "not_supported"}
    checkout.run("cts", "--report-dir", "one", behaviours=behaviours)
    checkout.run("cts", "--shard", "1/2", "--report-dir", "out1", behaviours=behaviours)
    checkout.run("cts", "--shard", "2/2", "-x", "--report-dir", "out2", behaviours=behaviours)
    merge([checkout.root / "out2", checkout.root / "out1"], checkout.root / "out")
    done = checkout.run("cts", "--report-dir", "out", "--resume", behaviours=behaviours)
    assert done.returncode == 1
    assert checkout.results("out") == checkout.results("one")
    assert meta(checkout)["finished"]
