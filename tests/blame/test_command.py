"""The command: what it prints and writes, what it refuses, and its help."""

from __future__ import annotations

import json

import pytest

from cts.blame.evidence import Step
from cts.blame.gathering import Bench
from cts.blame.report import read
from cts.cli import main
from cts.commands import blame
from cts.devices.holder import DeviceHolder
from tests.broken_devices.doubles import Broken
from tests.broken_devices.test_broken_devices import with_load_layouts_swapped

CASE = "muladd[row:16x16x16.f16.f16.f32.f32/data:exact]"
COMMAND = ("blame", CASE, "--device", "embedded")


@pytest.fixture
def wrong(monkeypatch):
    """Give the command a driver that exchanges the layouts of loads."""

    def bench(settings, casebook, show):
        return Bench(settings, casebook, lambda _: DeviceHolder(lambda: Broken(module=with_load_layouts_swapped)), lambda _: (), show)

    monkeypatch.setattr(blame, "Bench", bench)


def test_it_prints_the_conclusion_and_each_step(wrong, capsys):
    assert main(COMMAND) == 0
    out = capsys.readouterr().out
    assert "driver, likely: " in out
    assert all(step.words.format(front_end="spirv", other="glsl") in out for step in (Step.FIRST, Step.EMBEDDED, Step.SPIRV_VAL))


def test_json_has_ids_for_all_that_it_says(wrong, capsys):
    assert main([*COMMAND, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    concluded = document["conclusion"]
    assert (concluded["party"], concluded["confidence"], concluded["rule"]) == ("driver", "likely", "wrong_values")
    steps = {one["step"]: one["found"] for one in document["facts"]["evidence"]}
    assert (steps["driver.1"], steps["driver.2"], steps["embedded"], steps["explanation"]) == ("same", "same", "passes", "same")


def test_a_report_directory_keeps_what_can_be_read_again(wrong, tmp_path, capsys):
    for _ in range(2):
        assert main([*COMMAND, "--report-dir", str(tmp_path)]) == 0
    with (tmp_path / "blame.jsonl").open("a") as file:
        file.write('{"id": "torn\n')
    first, second = read(tmp_path)
    assert first == second
    assert first.headline in capsys.readouterr().out


def test_the_folder_has_the_failure_and_the_evidence_and_can_be_written_again(wrong, tmp_path, capsys):
    folder = tmp_path / "repro"
    for _ in range(2):
        assert main([*COMMAND, "--out", str(folder)]) == 0
    assert json.loads((folder / "blame.json").read_text())["id"] == CASE
    readme = (folder / "README.md").read_text()
    assert readme.startswith(f"# {CASE}\n\n## Whose fault it is\n")
    assert readme.count("## What happened") == 1
    assert (folder / "module.spv").exists()


@pytest.mark.parametrize("option", ["--report-dir", "--out"])
def test_a_conclusion_that_cannot_be_written_is_printed(option, wrong, tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main([*COMMAND, option, str(tmp_path / "file" / "folder")]) == 2
    assert "driver, likely: " in capsys.readouterr().out


def test_a_record_after_a_torn_one_can_be_read(wrong, tmp_path):
    (tmp_path / "blame.jsonl").write_text('{"id": "torn')
    assert main([*COMMAND, "--report-dir", str(tmp_path)]) == 0
    assert len(list(read(tmp_path))) == 1


def test_a_case_that_the_device_does_not_support_has_no_conclusion(capsys):
    assert main(["blame", "load_store[component:u32/shape:8x8]", "--device", "embedded:adreno"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "embedded: " not in printed.err


def test_help_names_the_page_with_the_rules(capsys):
    with pytest.raises(SystemExit):
        main(["blame", "--help"])
    out = capsys.readouterr().out
    assert "Exit code" in out
    assert "docs/blame.md" in out
