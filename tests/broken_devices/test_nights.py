"""Nightly runs of a test farm whose device makes a known mistake."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from cts.cli import main
from tests.plugin.processes import run
from tests.suite import REPOSITORY

CASES = ("cases/khr_cooperative_matrix/muladd.yaml", "--tier", "nightly", "-k", "row:16x16x32.s8 and layouts:cccc")


@dataclass(frozen=True)
class Farm:
    """A checkout, the reports of its nights, and the list of failures from the first night. It has one family, so reading it is quick."""

    folder: Path

    def build(self) -> None:
        (self.folder / "cts").mkdir()
        (self.folder / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n", encoding="utf-8")
        for part in ("cases/requirements", "cases/positions.yaml", "cases/units.yaml", CASES[0], "golden/tiers/muladd.tsv"):
            (self.folder / part).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / part).symlink_to(REPOSITORY / part)

    def night(self, name: str, *options: str, **more: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
        environment = kept | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(REPOSITORY)} | more
        plugins = ("-p", "cts.run.plugin", "-p", "tests.broken_devices.night", "-p", "no:cacheprovider")
        return run([*plugins, *CASES, "--report-dir", name, *options], self.folder, environment)

    def ended(self, name: str, verdict: str) -> set[str]:
        """Return the cases of a night that got the given verdict."""
        lines = (self.folder / name / "results.jsonl").read_text(encoding="utf-8").splitlines()
        return {record["id"] for record in map(json.loads, lines) if record.get("verdict") == verdict}

    @property
    def fails(self) -> Path:
        return self.folder / "gpu-fails.txt"


@pytest.fixture(scope="module")
def farm(tmp_path_factory) -> Farm:
    found = Farm(tmp_path_factory.mktemp("farm"))
    found.build()
    first = found.night("first")
    assert first.returncode == 1, first.stdout + first.stderr
    assert main(["known", "update", str(found.folder / "first"), "--out", str(found.folder / "gpu")]) == 0
    return found


def test_the_list_of_a_night_names_what_failed_and_says_how(farm):
    lines = farm.fails.read_text(encoding="utf-8").splitlines()
    assert {line.removesuffix(",Fail") for line in lines if not line.startswith("#")} == farm.ended("first", "fail")
    assert any("multiply_add.c_overwritten" in line for line in lines if line.startswith("#"))


def test_a_night_with_known_failures_is_green_and_red_as_soon_as_one_case_more_fails(farm, capsys):
    green = farm.night("green", "--known-failures", str(farm.fails))
    assert green.returncode == 0, green.stdout
    assert farm.ended("green", "known_fail") == farm.ended("first", "fail") != set()

    red = farm.night("red", "--known-failures", str(farm.fails), WORSE="1")
    assert red.returncode == 1
    (one,) = farm.ended("red", "fail")
    assert one in farm.ended("green", "pass")

    assert main(["compare", str(farm.folder / "green"), str(farm.folder / "red")]) == 1
    out = capsys.readouterr().out
    assert "1 new failure of 1 cause" in out
    assert re.search(rf"^ +{re.escape(one)}$", out, re.MULTILINE)


def test_a_fixed_case_makes_a_night_red_and_leaves_the_list(farm, capsys):
    text = farm.fails.read_text(encoding="utf-8")
    mended = min(farm.ended("first", "pass"))
    longer = farm.folder / "longer-fails.txt"
    longer.write_text(f"{text}{mended},Fail\n", encoding="utf-8")
    night = farm.night("mended", "--known-failures", str(longer))
    assert (night.returncode, farm.ended("mended", "unexpected_pass")) == (1, {mended})
    assert main(["known", "update", str(farm.folder / "mended"), "--out", str(farm.folder / "longer")]) == 0
    assert f"- {mended},Fail  (passes)" in capsys.readouterr().out
    assert longer.read_text(encoding="utf-8") == text
