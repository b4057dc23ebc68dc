"""The checks of a family: each notices what it is for, and says how to mend it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cts.cli import main
from cts.commands import check_family
from generators.skeleton import TODO
from tests.suite import REPOSITORY

NAME = "get_coordinate"
FAMILY = f"cases/ext_cooperative_matrix_maintenance1/{NAME}.yaml"
FACTS = ("skeleton", "labels", "tiers", "claims", "proofs", "bug_classes")


@pytest.fixture
def checked(capsys) -> Callable[..., dict[str, list[str]]]:
    """Return a function that returns the faults that some checks find in a checkout, by the id of the check."""

    def faults(root: Path, *ids: str) -> dict[str, list[str]]:
        code = main(["--root", str(root), "check-family", NAME, "--json", *(word for id_ in ids for word in ("--only", id_))])
        told = json.loads(capsys.readouterr().out)
        assert code == any(one["faults"] for one in told)
        assert all(bool(one["mend"]) == bool(one["faults"]) for one in told)
        return {one["id"]: one["faults"] for one in told}

    return faults


def test_a_whole_family_lacks_nothing(checked):
    assert checked(REPOSITORY, *FACTS) == {id_: [] for id_ in FACTS}


@pytest.mark.parametrize(
    ("id_", "file", "old", "new"),
    [
        ("skeleton", FAMILY, r"\nparameters:\n", f"\ntodo:\n  - {TODO}\nparameters:\n"),
        ("labels", FAMILY, r"shape: \[16x16, 24x40\]", "shape: [16x16]"),
        ("tiers", f"golden/tiers/{NAME}.tsv", r"\n[^\n]+\n\Z", "\n"),
        ("tiers", f"golden/needs/{NAME}.tsv", r"\n[^\n]+\n\Z", "\n"),
        ("claims", FAMILY, r"- M1-COORD-01\n", "- M1-COORD-01\n  - {id: M1-USE-01, when: {shape: [8x8], scope: [workgroup]}}\n"),
        ("proofs", "golden/proofs.tsv", rf"\nM1-COORD-01\t{NAME}.*", ""),
        ("bug_classes", "cases/bug_classes.yaml", rf" +{NAME}: .*\n", ""),
    ],
)
def test_what_is_missing_is_found(checked, tmp_path, id_, file, old, new):
    (tmp_path / "cts").mkdir()
    for folder in ("cases", "golden"):
        shutil.copytree(REPOSITORY / folder, tmp_path / folder)
    path = tmp_path / file
    text, changes = re.subn(old, new, path.read_text(encoding="utf-8"))
    assert changes == 1
    path.write_text(text, encoding="utf-8")
    (faults,) = checked(tmp_path, id_).values()
    assert faults


def test_what_runs_cases_waits_until_they_are_pinned(tmp_path, capsys):
    (tmp_path / "cts").mkdir()
    for folder in ("cases", "golden"):
        shutil.copytree(REPOSITORY / folder, tmp_path / folder)
    (tmp_path / "golden" / "tiers" / f"{NAME}.tsv").unlink()
    assert main(["--root", str(tmp_path), "check-family", NAME, "--only", "null_device", "--only", "tiers", "--json"]) == 1
    tiers, waits = json.loads(capsys.readouterr().out)
    assert (bool(tiers["faults"]), waits["faults"], waits["missing"]) == (True, [], ["pinned case"])


def with_python(monkeypatch, tmp_path: Path, script: str) -> None:
    """Run a script instead of the interpreter."""
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    python.chmod(0o755)
    monkeypatch.setattr(check_family.sys, "executable", str(python))


def test_what_a_command_says_last_is_its_fault(checked, monkeypatch, tmp_path):
    with_python(monkeypatch, tmp_path, 'echo "$@"; echo wrong; exit 1')
    assert checked(REPOSITORY, "null_device") == {"null_device": [f"-m tests.families.null_device {NAME} --tier nightly", "wrong"]}


def test_a_command_without_a_fault_is_none(checked, monkeypatch, tmp_path):
    with_python(monkeypatch, tmp_path, "echo all well")
    assert checked(REPOSITORY, "embedded", "blind_spots.smoke") == {"embedded": [], "blind_spots.smoke": []}


def test_a_check_whose_program_is_not_installed_is_named(monkeypatch, capsys):
    monkeypatch.setattr(check_family, "_PROGRAMS", {"spirv-val": lambda: None, "glslang": lambda: None})
    assert main(["--root", str(REPOSITORY), "check-family", NAME, "--only", "spirv_val"]) == 0
    assert "spirv-val" in capsys.readouterr().out


def test_a_check_of_other_kinds_of_families_is_left_out(checked):
    assert checked(REPOSITORY, "static") == {}


@pytest.mark.parametrize("given", [["no_such_family"], [NAME, "--only", "nothing"]])
def test_what_does_not_exist_is_refused(given):
    assert main(["--root", str(REPOSITORY), "check-family", *given]) == 2
