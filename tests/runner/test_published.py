"""The results of published runs by requirement, and the resulting coverage."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from cts.commands.judged import Judge, judged
from cts.journal.published import published_runs
from generators.casebook import Casebook
from generators.coverage import RequirementCoverage, Status

SCHEMA_1 = [
    {"id": "muladd[16x16-exact]", "verdict": "expected_fail", "requirements": ["KHR-MAD-04"]},
    {"id": "muladd[16x16-wrap]", "verdict": "not_supported", "reason": "no row has f64", "requirements": ["KHR-MAD-01", "KHR-MAD-04"]},
]
SCHEMA_4 = [
    {"id": "muladd[row:16x16x16.f16.f16.f32.f32]", "verdict": "quality_warning", "requirements": ["KHR-MAD-04"]},
    {"id": "muladd[row:16x16x16.s8.s8.s32.s32]", "verdict": "resource_error", "requirements": ["KHR-MAD-05"]},
]


def line(record: dict[str, object], device: str) -> str:
    family = str(record["id"]).partition("[")[0]
    return json.dumps({"family": family, "device": device, "driver": "one 1", "seconds": 0.1, "subcases": 1, **record}) + "\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    old, new = (tmp_path / "reports" / "published" / name for name in ("a-old", "b-new"))
    for folder in (old, new):
        folder.mkdir(parents=True)
    (old / "results.jsonl.gz").write_bytes(gzip.compress("".join(line(record, "Old") for record in SCHEMA_1).encode()))
    (new / "results.jsonl").write_text('{"schema":4}\n' + "".join(line(record, "New") for record in SCHEMA_4) + "no result\n")
    (tmp_path / "reports" / "published" / "empty").mkdir()
    return tmp_path


def publish(checkout: Path, name: str, kind: str, *records: dict[str, object]) -> None:
    """Publish a run whose ``meta.json`` names a device of this kind."""
    folder = checkout / "reports" / "published" / name
    folder.mkdir()
    (folder / "meta.json").write_text(json.dumps({"device": {"name": name, "kind": kind}}))
    (folder / "results.jsonl").write_text('{"schema":4}\n' + "".join(line(record, name) for record in records))


def entry(casebook: Casebook, id_: str, *families: str) -> RequirementCoverage:
    status = Status.COVERED if families else Status.NOT_TESTABLE
    return RequirementCoverage(casebook.requirements[id_], dict.fromkeys(families, 1), status, "" if families else "nothing shows it")


def test_journals_of_the_first_and_the_last_schema_count(checkout: Path) -> None:
    old, new = published_runs(checkout)
    assert (old.name, old.device, dict(old.cases), old.unread) == ("a-old", "Old", {"KHR-MAD-04": 1}, 0)
    assert (new.name, new.device, dict(new.cases), new.unread) == ("b-new", "New", {"KHR-MAD-04": 1}, 1)
    assert old.lacking["KHR-MAD-01"] == {"no row has f64": 1}


def test_a_run_says_which_kind_of_device_judged(checkout: Path) -> None:
    publish(checkout, "c-embedded", "embedded", {"id": "muladd[row:a]", "verdict": "pass", "requirements": ["KHR-MAD-01"]})
    assert [run.kind for run in published_runs(checkout)] == ["", "", "embedded"]


@pytest.mark.parametrize(
    ("id_", "families", "by", "words"),
    [
        ("KHR-MAD-04", ["muladd"], Judge.DEVICES, "Old, one 1 (1); New, one 1 (1)"),
        ("KHR-MAD-01", ["muladd"], Judge.EMBEDDED, "the embedded device alone: for 1 of 1 cases of published runs no row has f64"),
        ("KHR-MAD-05", ["muladd"], Judge.EMBEDDED, "the embedded device alone: no published run has a case of it"),
        ("KHR-TYPE-01", ["static_types"], Judge.VALIDATORS, "validators alone: its cases are modules that a validator accepts or rejects"),
        ("KHR-MAD-12", [], Judge.NOTHING, "nothing: nothing shows it"),
    ],
)
def test_a_requirement_says_what_judges_it(
    checkout: Path, casebook: Casebook, id_: str, families: list[str], by: Judge, words: str
) -> None:
    found = judged(entry(casebook, id_, *families), published_runs(checkout), casebook)
    assert (found.by, str(found)) == (by, words)


def test_a_published_run_of_the_embedded_device_does_not_count_for_a_driver(checkout: Path, casebook: Casebook) -> None:
    publish(checkout, "c-embedded", "embedded", {"id": "muladd[row:a]", "verdict": "pass", "requirements": ["KHR-MAD-01", "KHR-MAD-04"]})
    runs = published_runs(checkout)
    found = judged(entry(casebook, "KHR-MAD-01", "muladd"), runs, casebook)
    assert (found.by, found.on[0].cases) == (Judge.EMBEDDED, 1)
    assert found.why == "for 1 of 1 cases of published runs no row has f64"
    assert judged(entry(casebook, "KHR-MAD-04", "muladd"), runs, casebook).by is Judge.DEVICES


def test_a_published_run_of_a_validator_does_not_count_for_a_driver(checkout: Path, casebook: Casebook) -> None:
    record = {"id": "static_types[rule:a]", "verdict": "pass", "requirements": ["KHR-TYPE-01"]}
    publish(checkout, "c-embedded", "embedded", {**record, "verdict": "not_supported", "reason": "static rules are for others"})
    publish(checkout, "d-validator", "spirv-val", record)
    found = judged(entry(casebook, "KHR-TYPE-01", "static_types"), published_runs(checkout), casebook)
    assert (found.by, [one.run for one in found.on]) == (Judge.VALIDATORS, ["d-validator"])
