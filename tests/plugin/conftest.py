from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

FAMILY = """\
family: copying
specification: SPV_KHR_cooperative_matrix
builder: copying
covers: [KHR-LOAD-03]
plan: A matrix is loaded and stored.
todo: []
axes:
  number: [n0, n1, n2, n3, n4, n5, n6, n7]
  colour: [red, green, blue]
constraints: []
products:
  - name: all
    why: few
    axes: {number: all}
    smoke: 1
    nightly: 1
  - name: green
    why: more
    axes: {number: [n0, n1, n2, n3], colour: [green]}
    smoke: 0
    nightly: 1
  - name: blue
    why: all
    axes: {number: [n0, n1], colour: [blue]}
    smoke: 0
    nightly: 0
subcases:
  data: [first, second]
"""


@dataclass
class Checkout:
    """A small checkout with one family, and runs of pytest in it on a device that behaves as told."""

    root: Path

    @property
    def family(self) -> Path:
        return self.root / "cases" / "khr_cooperative_matrix" / "copying.yaml"

    def environment(self, behaviours: dict[str, str] | None = None, **more: str) -> dict[str, str]:
        paths = os.pathsep.join((str(REPOSITORY), str(Path(__file__).parent)))
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
        return (
            kept
            | {
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
                "PYTHONPATH": paths,
                "DOUBLES": json.dumps(behaviours or {}),
                "DOUBLES_LOG": str(self.root / "log"),
            }
            | more
        )

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "pytest", "-p", "xdist", "-p", "no:cacheprovider", *arguments]

    def run(self, *arguments: str, behaviours: dict[str, str] | None = None, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            cwd=self.root,
            env=self.environment(behaviours, **more),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def start(self, *arguments: str, behaviours: dict[str, str] | None = None) -> subprocess.Popen[str]:
        """A process that can be interrupted, also where a shell runs the tests in the background and interrupts are ignored."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return subprocess.Popen(
                self.command(*arguments),
                cwd=self.root,
                env=self.environment(behaviours),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        finally:
            signal.signal(signal.SIGINT, before)

    def results(self, directory: str = "out") -> dict[str, str]:
        """Id -> verdict, of the journal; every line must be whole."""
        lines = (self.root / directory / "results.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        records = [json.loads(line) for line in lines if line.endswith("\n")]
        assert len(records) == len(lines)
        assert len({record["id"] for record in records}) == len(records)
        return {record["id"]: record["verdict"] for record in records}

    def log(self) -> list[str]:
        return (self.root / "log").read_text(encoding="utf-8").splitlines()


def make(root: Path) -> Checkout:
    checkout = Checkout(root)
    (root / "cts").mkdir()
    checkout.family.parent.mkdir(parents=True)
    checkout.family.write_text(FAMILY, encoding="utf-8")
    (root / "cases" / "requirements").symlink_to(REPOSITORY / "cases" / "requirements")
    (root / "conftest.py").write_text('pytest_plugins = ["doubles", "cts.plugin"]\n', encoding="utf-8")
    (root / "pytest.ini").write_text("[pytest]\naddopts = -ra --import-mode=importlib\ntestpaths = tests\n", encoding="utf-8")
    return checkout


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return make(tmp_path)


@pytest.fixture(scope="module")
def module_checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return make(tmp_path_factory.mktemp("checkout"))
