from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from cts import checkout
from cts.checkout import suite_version
from cts.cli import main
from cts.commands import coverage as coverage_command
from cts.journal.published import published_runs

from .conftest import REPOSITORY

ROOT = ("--root", str(REPOSITORY))


@pytest.fixture(scope="module", autouse=True)
def _journals_read_once() -> Iterator[None]:
    """Give the commands of all tests the published runs, whose journals take seconds to read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coverage_command, "published_runs", cache(published_runs))
        yield


def run(*arguments: str) -> int:
    return main([*ROOT, *arguments])


def test_list_prints_ids_that_show_takes(capsys):
    assert run("list", "--family", "muladd") == 0
    ids = capsys.readouterr().out.splitlines()
    assert len(ids) > 50
    assert run("show", ids[0]) == 0
    assert capsys.readouterr().out.startswith(ids[0])


def test_list_narrows_by_text_and_counts(capsys):
    run("list", "-k", "e4m3 and workgroup", "--json")
    found = json.loads(capsys.readouterr().out)
    assert found
    assert all("e4m3" in case["id"] and "workgroup" in case["id"] for case in found)
    run("list", "--count", "--json", "--tier", "smoke")
    assert set(json.loads(capsys.readouterr().out)) >= {"load_store", "muladd"}


def test_list_finds_defaults_that_ids_leave_out(capsys):
    family = ("list", "--family", "muladd", "--json")
    run(*family)
    cases = json.loads(capsys.readouterr().out)
    for name, label in (("trips", "3"), ("form", "single"), ("layouts", "rrrr")):
        run(*family, "-k", f"{name}:{label}")
        found = [case["id"] for case in json.loads(capsys.readouterr().out)]
        assert found == [case["id"] for case in cases if case["parameters"].get(name, "").startswith(label)]
        assert 0 < len(found) < len(cases)


def test_show_prints_every_reading(case, capsys):
    assert run("show", case.id, "--glsl", "--spirv", "--inputs", "--expected") == 0
    out = capsys.readouterr().out
    assert "coopMatLoad" in out
    assert "OpCooperativeMatrixLoadKHR" in out
    assert "inputs of subcase" in out
    assert "expected of subcase" in out


def test_a_case_shows_only_the_requirements_that_it_exercises(capsys):
    run("list", "--family", "property_queries", "--json")
    listed = {entry["parameters"]["rule"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert listed["stages"]["requirements"] == ["KHR-STG-01"]
    assert listed["count"]["requirements"] == ["KHR-PROP-01"]
    run("show", listed["stages"]["id"])
    assert "  covers KHR-STG-01\n" in capsys.readouterr().out
    run("show", listed["count"]["id"], "--json")
    assert json.loads(capsys.readouterr().out)["requirements"] == ["KHR-PROP-01"]


def test_show_as_json_has_all_values(case, capsys):
    run("show", case.id, "--expected", "--inputs", "--json")
    shown = json.loads(capsys.readouterr().out)
    assert shown["parameters"] == case.named
    assert len(shown["inputs"]) == len(shown["expected"]) == len(case.subcases)


def test_show_follows_an_element_back(capsys):
    case = "muladd[row:8x8x16.f16.f16.f32.f32/data:exact/form:loop]"
    assert run("show", case, "--element", "3,5", "--subcase", "1") == 0
    assert "MatrixMulAdd" in capsys.readouterr().out
    assert run("show", case, "--element", "3,5", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["steps"]) == 4


@pytest.mark.parametrize("element", ["", "3", "99,0", "a,b"])
def test_show_refuses_an_element_that_there_is_not(element):
    assert run("show", "muladd[row:8x8x16.f16.f16.f32.f32/data:exact]", "--element", element) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("muladd", "--element", "0,0"),
        ("muladd[row:8x8x16.f16.f16.f32.f32/data:exact]", "--element", "0,0", "--instance", "-1"),
        ("muladd[row:8x8x16.f16.f16.f32.f32/data:exact]", "--subcase", "1"),
        ("muladd[row:8x8x16.f16.f16.f32.f32/data:exact]", "--device", "embedded"),
    ],
    ids=["of a family", "negative instance", "subcase without element", "device without element"],
)
def test_show_refuses_what_it_would_have_to_ignore(arguments):
    assert run("show", *arguments) == 2


def test_show_says_how_the_case_ended_on_the_device(capsys):
    assert run("show", "muladd[row:8x8x16.f16.f16.f32.f32/data:exact]", "--element", "0,0", "--device", "embedded") == 0
    assert "pass on embedded" in capsys.readouterr().err


def test_show_of_a_family_has_the_values_that_come_from_types(capsys):
    run("show", "load_store")
    out = capsys.readouterr().out
    assert "  component: component type of the matrix\n    f16, f32, f64, bf16," in out
    assert "\nsubcases:\n  pattern: " in out
    run("show", "load_store", "--json")
    shown = json.loads(capsys.readouterr().out)
    labels = {one["name"]: (one["default"], one["labels"]) for one in (*shown["parameters"], *shown["subcases"])}
    assert labels["scope"] == ("subgroup", ["subgroup", "workgroup"])
    assert labels["pattern"] == (None, ["index", "index_high", "bits", "extremes"])


def test_repro_writes_what_a_driver_engineer_needs(case, tmp_path, capsys):
    folder = tmp_path / "repro"
    assert run("repro", case.id, str(folder)) == 0
    description = json.loads((folder / "kernel.json").read_text())
    module = (folder / "module.spv").read_bytes()
    assert module[:4] == b"\x03\x02\x23\x07"
    assert "OpCooperativeMatrixStoreKHR" in (folder / "module.spvasm").read_text()
    assert "coopMatStore" in (folder / "shader.comp").read_text()
    assert case.id in (folder / "README.md").read_text()
    assert "cc -o repro repro.c" in capsys.readouterr().out.splitlines()[-2]
    for dispatch in description["dispatches"]:
        assert len(bytes.fromhex(dispatch["push_constants"])) == description["push_constant_bytes"]
        for buffer in description["buffers"]:
            before = np.fromfile(folder / dispatch["before"][buffer["name"]], np.uint8)
            assert len(before) == buffer["bytes"]
            if buffer["written"]:
                expected = np.fromfile(folder / dispatch["expected"][buffer["name"]], np.uint8)
                assert len(expected) == buffer["bytes"]
                assert (before != expected).any()
        assert (folder / dispatch["allowed"]).read_text().startswith("array,what,instance,row,column,byte,kind")


def test_repro_removes_only_the_files_of_an_earlier_reproduction(case, tmp_path, capsys):
    folder = tmp_path / "repro"
    assert run("repro", case.id, str(folder), "--device", "embedded") == 0
    (folder / "notes.txt").write_text("mine")
    (folder / "7-stale").mkdir()
    assert (folder / "result.json").exists()
    assert run("repro", case.id, str(folder)) == 0
    assert not (folder / "result.json").exists()
    assert not (folder / "7-stale").exists()
    assert not list(folder.glob("*/got"))
    assert (folder / "notes.txt").read_text() == "mine"


def test_report_needs_a_journal(tmp_path, capsys):
    assert run("report", str(tmp_path)) == 2
    assert f"cts: {tmp_path} holds neither results.jsonl nor results.jsonl.gz" in capsys.readouterr().err


def test_report_takes_a_compressed_journal(tmp_path, capsys):
    record = {"id": "f[a]", "family": "f", "verdict": "fail", "reason": "wrong"}
    (tmp_path / "results.jsonl.gz").write_bytes(gzip.compress(json.dumps(record).encode() + b"\n"))
    assert run("report", str(tmp_path)) == 0
    assert "f[a]" in (tmp_path / "index.html").read_text()


def test_report_writes_the_reports_of_a_run_that_was_killed(tmp_path, capsys):
    record = {"id": "f[a]", "family": "f", "verdict": "fail", "reason": "wrong"}
    (tmp_path / "results.jsonl").write_text(json.dumps(record) + '\n{"id":"f[b]","ver')
    assert run("report", str(tmp_path)) == 0
    assert (tmp_path / "index.html").is_file()
    assert (tmp_path / "junit.xml").is_file()


def test_coverage_counts_and_names(capsys):
    tensors = ("--specification", "SPV_NV_tensor_addressing")
    assert run("coverage", *tensors) == 0
    out = capsys.readouterr().out
    assert "SPV_NV_tensor_addressing: 3" in out
    assert run("coverage", *tensors, "--json") == 0
    entries = {entry["id"]: entry for entry in json.loads(capsys.readouterr().out)["requirements"]}
    assert entries["TA-CLM-05"]["status"] == "covered"
    cases = entries["TA-CLM-05"]["cases"]
    assert list(cases) == entries["TA-CLM-05"]["families"]
    assert f"  TA-CLM-05        {', '.join(f'{family} {count}' for family, count in cases.items())}\n" in out


def test_coverage_of_one_specification_is_also_limited_to_it_in_json(capsys):
    assert run("coverage", "--specification", "SPV_NV_cooperative_vector", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document["totals"]) == ["SPV_NV_cooperative_vector"]
    assert {entry["specification"] for entry in document["requirements"]} == {"SPV_NV_cooperative_vector"}


def test_coverage_check_says_each_fault_and_fails(casebook, monkeypatch, capsys):
    from generators.coverage import Status, UnusedLabel, coverage

    tensors = "SPV_NV_tensor_addressing"
    assert run("coverage", "--check", "--open", "--specification", tensors) == 0
    assert "judged by" in capsys.readouterr().out
    monkeypatch.setattr(coverage_command, "published_runs", lambda _: pytest.fail("a check needs no published run"))
    assert run("coverage", "--check", "--specification", tensors) == 0
    assert capsys.readouterr() == ("", "")
    found = coverage(casebook, tensors)
    uncovered = tuple(replace(entry, status=Status.OPEN) if entry.requirement.id == "TA-EXT-01" else entry for entry in found.requirements)
    unused = UnusedLabel("toy", "columns", "5")
    monkeypatch.setattr(
        coverage_command, "coverage", lambda book, specification: replace(found, requirements=uncovered, unused=(unused,), unfinished={})
    )
    assert run("coverage", "--check", "--specification", tensors) == 1
    faults = capsys.readouterr().err.splitlines()
    assert "no product of toy takes '5' of 'columns': use or remove it" in faults
    assert any(fault.startswith("TA-EXT-01 is open") for fault in faults)
    monkeypatch.undo()
    assert run("coverage", "--specification", tensors) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show", "load_store[x]"], "load_store"),
        (["show", "nonesuch[x]"], "nonesuch"),
        (["repro", "nonesuch", "DIR"], "not a case id"),
        (["list", "--tier", "hourly"], "smoke, nightly, full"),
        (["list", "--family", "qqqqqq"], "'cts list --count' lists all"),
        (["spirv-val", "--front-end", "hlsl"], "spirv, glsl, both"),
        (["new-family", "Bad Name", "--specification", "SPV_KHR_cooperative_matrix"], "Bad Name"),
        (["--root", "nonesuch", "list"], "nonesuch"),
        (["golden", "--check", "-n", "0"], "-n 0"),
        (["spirv-val", "-n", "many"], "-n many"),
        (["coverage", "--specification", "nonesuch"], "SPV_KHR_cooperative_matrix"),
    ],
)
def test_bad_input_is_one_line_and_2(arguments, words, capsys):
    assert run(*arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("cts: ")
    assert words in captured.err
    assert captured.out == ""


def test_the_version_is_that_of_reports(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"cts {suite_version()}\n"


@pytest.mark.parametrize("packed", [False, True])
def test_the_version_has_the_commit_even_without_git(tmp_path, monkeypatch, packed):
    commit, git = "0123456789abcdef0123456789abcdef01234567", tmp_path / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    if packed:
        (git / "packed-refs").write_text(f"# pack-refs with: peeled\n{'f' * 40} refs/heads/other\n{commit} refs/heads/main\n")
    else:
        (git / "refs" / "heads" / "main").write_text(f"{commit}\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(checkout, "PACKAGE_ROOT", tmp_path)
    checkout.suite_version.cache_clear()
    try:
        assert suite_version().endswith("+01234567")
    finally:
        checkout.suite_version.cache_clear()


def test_an_unknown_argument_is_refused(capsys):
    with pytest.raises(SystemExit) as stop:
        run("list", "--nonesuch")
    assert stop.value.code == 2


@pytest.mark.parametrize("verb", ["devices", "list", "show", "repro", "report", "coverage", "new-family", "golden", "spirv-val", "run"])
def test_each_verb_has_help(verb, capsys):
    with pytest.raises(SystemExit) as stop:
        main([verb, "--help"])
    assert stop.value.code == 0
    assert f"cts {verb}" in capsys.readouterr().out


def test_a_reader_that_stops_early_sees_no_error():
    # More than a pipe holds
    listing = f"{shlex.quote(sys.executable)} -m cts list --tier nightly --family static_tensor_settings --family static_tensor_types"
    done = subprocess.run(f"{listing} | head -n 1", shell=True, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


@pytest.mark.parametrize("redirection", [">/dev/full", ">&-"])
def test_output_that_cannot_be_written_is_one_line(redirection):
    if redirection == ">/dev/full" and not Path("/dev/full").exists():
        pytest.skip("no device that is always full")
    command = f"{shlex.quote(sys.executable)} -m cts --root {shlex.quote(str(REPOSITORY))} positions {redirection}"
    # A preloaded library may open files in each process, also in place of the standard output.
    kept = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd=REPOSITORY, env=kept, check=False)
    assert done.returncode == 2
    assert re.fullmatch(r"cts: cannot write the output: .+; redirect it elsewhere\n", done.stderr), done.stderr


def test_an_argument_too_many_is_refused_with_the_usage_of_its_verb(capsys):
    with pytest.raises(SystemExit) as end:
        run("positions", "there")
    assert end.value.code == 2
    assert (
        capsys.readouterr().err == "usage: cts positions [-h] [--root DIR] [--json]\ncts positions: error: unrecognized arguments: there\n"
    )


def test_coverage_says_what_judges_each_requirement(capsys):
    tensors = ("--specification", "SPV_NV_tensor_addressing")
    assert run("coverage", *tensors, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert {one["judged"]["by"] for one in document["requirements"]} <= {"devices", "embedded", "validators", "nothing"}
    assert run("coverage", *tensors, "--markdown") == 0
    table = capsys.readouterr().out
    assert all(f"| {one['id']} | {one['text']} ({one['place']}) |" in table for one in document["requirements"])
    assert all(f"* {one['name']}, " in table for one in document["runs"])


def test_a_name_that_is_nearly_right_gets_a_suggestion(capsys):
    assert main(["list", "--family", "muladdd"]) == 2
    assert "did you mean muladd or " in capsys.readouterr().err
