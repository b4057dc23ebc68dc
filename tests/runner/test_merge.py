"""The report directories of shards are merged into the directory of a whole run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cts.cli import main
from cts.journal.journal import RESULTS, Journal, prepare, read, resumed_meta, write_meta
from cts.journal.merge import MergeError, merge
from cts.journal.run_record import RunRecord
from cts.verdict.verdict import CaseResult, Verdict

META: RunRecord = {
    "suite_version": "1",
    "device": {"name": "D", "driver": "1.0", "uuid": "a"},
    "tier": "smoke",
    "front_end": "spirv",
    "validation": False,
    "embedded_mapping": "",
    "known_failures": "",
    "selection": "abc",
    "repeat": 1,
    "command": "pytest cts",
    "started": "2030-01-01T00:00:00Z",
    "finished": "2030-01-01T00:00:09Z",
    "selected": 2,
    "seconds": 9.0,
}


def result(id_: str, verdict: Verdict = Verdict.PASS) -> CaseResult:
    return CaseResult(
        id=id_, family=id_.partition("[")[0], verdict=verdict, device="D", driver="1.0", front_end="spirv", tier="smoke", seconds=0.5
    )


@pytest.fixture
def shards(tmp_path: Path) -> list[Path]:
    """Make three shards of two cases each."""
    made = []
    for number in range(1, 4):
        directory = tmp_path / f"shard{number}"
        with Journal(prepare(directory, resume=False)) as journal:
            for case in (2 * number, 2 * number + 1):
                journal.append(result(f"a[n:{case}]"))
        write_meta(directory, {**META, "shard": f"{number}/3", "started": f"2030-01-0{number}T00:00:00Z"})
        made.append(directory)
    return made


def change(directory: Path, **more: object) -> None:
    path = directory / "meta.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | more), encoding="utf-8")


def test_a_merged_run_has_the_results_of_all_shards_and_says_what_each_was(shards, tmp_path):
    meta = merge(list(reversed(shards)), tmp_path / "out")
    assert [one.id for one in read(tmp_path / "out" / RESULTS)] == [f"a[n:{number}]" for number in range(2, 8)]
    assert meta["selected"] == 6
    assert "shard" not in meta
    assert [part["shard"] for part in meta["merged"]] == ["1/3", "2/3", "3/3"]
    assert meta["started"] == "2030-01-01T00:00:00Z"
    assert meta["finished"] == META["finished"]


def test_a_run_with_an_unfinished_shard_is_unfinished(shards, tmp_path):
    path = shards[1] / "meta.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"finished"', '"begun"'), encoding="utf-8")
    assert "finished" not in merge(shards, tmp_path / "out")


def test_a_line_that_was_cut_short_costs_no_line_of_the_next_shard(shards, tmp_path):
    with (shards[0] / RESULTS).open("ab") as file:
        file.write(b'{"id": "a[n:')
    merge(shards, tmp_path / "out")
    assert len(list(read(tmp_path / "out" / RESULTS))) == 6


def test_missing_shards_are_named(shards, tmp_path):
    with pytest.raises(MergeError) as caught:
        merge(shards[1:2], tmp_path / "out")
    assert (caught.value.code, caught.value.shards) == ("merge.missing_shard", (1, 3))


def test_a_doubled_shard_is_named(shards, tmp_path):
    with pytest.raises(MergeError) as caught:
        merge([*shards, shards[1]], tmp_path / "out")
    assert (caught.value.code, caught.value.shards) == ("merge.doubled_shard", (2,))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("suite_version", "2"),
        ("device", {"name": "E", "driver": "1.0", "uuid": "a"}),
        ("device", {"name": "D", "driver": "1.1", "uuid": "a"}),
        ("tier", "nightly"),
        ("front_end", "glsl"),
        ("validation", True),
        ("embedded_mapping", "x:1"),
        ("known_failures", "d.yaml"),
        ("selection", "abd"),
        ("repeat", 2),
        ("shard", "2/4"),
    ],
)
def test_a_shard_of_another_run_is_named_with_what_differs(shards, tmp_path, key, value):
    change(shards[1], **{key: value})
    with pytest.raises(MergeError) as caught:
        merge(shards, tmp_path / "out")
    assert (caught.value.code, caught.value.shards) == (f"merge.foreign.{key}", (2,))
    assert caught.value.directories == (shards[1],)


def test_a_run_that_is_not_a_shard_is_not_merged(shards, tmp_path):
    change(shards[1], shard="")
    with pytest.raises(MergeError) as caught:
        merge(shards, tmp_path / "out")
    assert (caught.value.code, caught.value.directories) == ("merge.not_a_shard", (shards[1],))


def test_a_case_in_two_shards_is_named_by_them(shards, tmp_path):
    with Journal(shards[2] / RESULTS) as journal:
        journal.append(result("a[n:3]", Verdict.FAIL))
    with pytest.raises(MergeError) as caught:
        merge(shards, tmp_path / "out")
    assert (caught.value.code, caught.value.shards) == ("merge.doubled_case", (1, 3))


def test_the_command_writes_reports_and_refuses_with_2(shards, tmp_path, capsys):
    out = str(tmp_path / "out")
    assert main(["merge", *map(str, shards[:2]), "--out", out]) == 2
    assert "merge.missing_shard" in capsys.readouterr().err
    assert main(["merge", *map(str, shards), "--out", out]) == 0
    assert json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert main(["merge", *map(str, shards), "--out", out]) == 2


def test_a_directory_with_results_is_refused_without_an_option_that_the_command_lacks(shards, tmp_path, capsys):
    assert main(["merge", *map(str, shards), "--out", str(shards[0])]) == 2
    assert "--resume" not in capsys.readouterr().err


def test_devices_of_one_model_are_one_run_which_each_of_them_can_go_on_with(shards, tmp_path):
    change(shards[1], device={"name": "D", "driver": "1.0", "uuid": "b"})
    merge(shards, tmp_path / "out")
    other: RunRecord = {**META, "device": {"name": "D", "driver": "1.0", "uuid": "b"}}
    assert resumed_meta(tmp_path / "out", other)["device"]["uuid"] == "a"
