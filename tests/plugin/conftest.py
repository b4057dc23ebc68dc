from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import generators.families.khr_cooperative_matrix as khr
from generators.casebook import load_family
from generators.casebook.tiers import pinned_file
from tests.plugin.processes import Started, run
from tests.suite import REPOSITORY, pin

FAMILY = """\
family: copying
specification: SPV_KHR_cooperative_matrix
builder: copying
covers: [KHR-LOAD-03]
plan: A matrix is loaded and stored.
todo: []
parameters:
  number: [n0, n1, n2, n3, n4, n5, n6, n7]
  colour: [red, green, blue]
constraints: []
products:
  - name: all
    why: few
    parameters: {number: all}
    smoke: 1
    nightly: 1
  - name: green
    why: more
    parameters: {number: [n0, n1, n2, n3], colour: [green]}
    smoke: 0
    nightly: 1
  - name: blue
    why: all
    parameters: {number: [n0, n1], colour: [blue]}
    smoke: 0
    nightly: 0
subcases:
  data: [first, second]
"""


SMOKE = {f"copying[number:n{number}]" for number in range(8)}
FIRST = {f"copying[number:n{number}]" for number in range(4)}
HOLD = dict.fromkeys(sorted(SMOKE - FIRST), "hold")


REQUIREMENT = """\
specification: SPV_KHR_cooperative_matrix
requirements:
  KHR-LOAD-03:
    text: The elements of a row follow each other from Pointer[row * Stride] on.
    place: Cooperative Matrix Layout
    test: [dynamic]
"""


def state_requirement(root: Path) -> None:
    """Write the requirement that the family covers. Each run reads all requirements, and the suite's own take longer than the cases."""
    path = root / "cases" / "requirements" / "khr_cooperative_matrix.yaml"
    path.parent.mkdir()
    path.write_text(REQUIREMENT, encoding="utf-8")


@cache
def tiers_of(text: str) -> str:
    """Return the file that pins the tiers of a description of the family."""
    with TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(khr, "__path__", [*khr.__path__, str(Path(__file__).parent / "families")])
        root = Path(directory)
        path = root / "cases" / "khr_cooperative_matrix" / "copying.yaml"
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
        state_requirement(root)
        pin(load_family(path))
        return pinned_file(root, "copying").read_text(encoding="utf-8")


@dataclass
class Checkout:
    """A small checkout with one family, and runs of pytest in it on a device with given behaviours."""

    root: Path

    @property
    def family(self) -> Path:
        return self.root / "cases" / "khr_cooperative_matrix" / "copying.yaml"

    def describe(self, text: str) -> None:
        """Give the family another description, and pin its tiers."""
        self.family.write_text(text, encoding="utf-8")
        tiers = pinned_file(self.root, "copying")
        tiers.parent.mkdir(parents=True, exist_ok=True)
        tiers.write_text(tiers_of(text), encoding="utf-8")

    def add_plugin(self, name: str, text: str) -> None:
        """Make runs load one more pytest plugin, the module ``name``."""
        (self.root / f"{name}.py").write_text(text, encoding="utf-8")
        conftest = self.root / "conftest.py"
        conftest.write_text(conftest.read_text(encoding="utf-8").replace('"doubles"', f'"doubles", "{name}"'), encoding="utf-8")

    def environment(self, behaviours: dict[str, str] | None = None, **more: str) -> dict[str, str]:
        paths = os.pathsep.join((str(REPOSITORY), str(Path(__file__).parent), str(self.root)))
        # Without a buffer, output fails at once, and less is tested. A preloaded library may open files in each process.
        left_out = ("PYTEST", "COV", "PYTHONUNBUFFERED", "LD_PRELOAD")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
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

    def arguments(self, *arguments: str) -> list[str]:
        return ["-p", "xdist", "-p", "no:cacheprovider", *arguments]

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "pytest", *self.arguments(*arguments)]

    def run(self, *arguments: str, behaviours: dict[str, str] | None = None, **more: str) -> subprocess.CompletedProcess[str]:
        return run(self.arguments(*arguments), self.root, self.environment(behaviours, **more))

    def fork(self, *arguments: str, behaviours: dict[str, str] | None = None) -> Started:
        """Start a run as ``run`` does, and do not wait for its end."""
        return Started(self.arguments(*arguments), self.root, self.environment(behaviours))

    def start(self, *arguments: str, behaviours: dict[str, str] | None = None) -> subprocess.Popen[str]:
        """Start pytest in a new process of Python.

        It can be interrupted even if a shell runs the tests in the background, where interrupts are ignored.
        """
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
        """Return the verdicts in the journal by id; every line must be whole."""
        lines = (self.root / directory / "results.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        assert all(line.endswith("\n") for line in lines)
        records = [record for record in map(json.loads, lines) if "id" in record]
        assert len({record["id"] for record in records}) == len(records)
        return {record["id"]: record["verdict"] for record in records}

    def log(self) -> list[str]:
        path = self.root / "log"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def make(root: Path) -> Checkout:
    checkout = Checkout(root)
    (root / "cts").mkdir()
    checkout.family.parent.mkdir(parents=True)
    state_requirement(root)
    checkout.describe(FAMILY)
    (root / "conftest.py").write_text('pytest_plugins = ["doubles", "cts.run.plugin"]\n', encoding="utf-8")
    (root / "pytest.ini").write_text("[pytest]\naddopts = -ra --import-mode=importlib\ntestpaths = tests\n", encoding="utf-8")
    return checkout


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return make(tmp_path)


@pytest.fixture(scope="module")
def module_checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return make(tmp_path_factory.mktemp("checkout"))


@pytest.fixture
def held(checkout):
    """Return a function that starts a run and waits until each of its processes holds one of the last four cases.

    A process has then judged the cases before it.
    """
    started = []

    def start(*arguments: str, processes: int = 1, by=checkout.fork):
        process = by("cts", "--report-dir", "out", *arguments, behaviours=HOLD)
        started.append(process)
        while len({line.split()[0] for line in checkout.log() if " hold " in line}) < processes:
            assert process.poll() is None, process.communicate()[0]
            time.sleep(0.01)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
