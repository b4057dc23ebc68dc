"""Runs the suite on the hostile driver, and collects the results."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.hostile_driver.building import LAYER
from tests.hostile_driver.scenario import FOLDER, Run, case_ids
from tests.hostile_driver.shaders import filled
from tests.lavapipe import manifest

ROOT = FOLDER.parents[1]
_STATE = "HOSTILE_STATE"
_LIMITS = ("--step-timeout", "2", "--open-timeout", "2", "--open-attempts", "2", "--open-pause", "0.05")


@dataclass(frozen=True)
class Observed:
    """The results of a run.

    Attributes:
        exit: its exit code; None if it had to be killed.
        output: standard output and error, as they came.
        lines: the lines of the journal, decoded; None for a line that is not JSON.
        meta: the contents of meta.json.
        reports: the contents of the files in the report directory, by name.
        struck: whether each fault struck, in the order of the scenarios' faults.
        left: command lines of processes that outlived the run.
        seconds: wall time.
    """

    exit: int | None
    output: bytes
    lines: tuple[dict[str, Any] | None, ...]
    meta: dict[str, Any]
    reports: Mapping[str, bytes]
    struck: tuple[bool, ...]
    left: tuple[str, ...]
    seconds: float


def environment(run: Run, folder: Path, layer: Path, faults: Sequence[str]) -> dict[str, str]:
    """Return the environment variables of a run."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "VK_", "HOSTILE"))}
    hostile = {
        "HOSTILE": ";".join(faults),
        _STATE: str(folder),
        "VK_ADD_LAYER_PATH": str(layer),
        "VK_INSTANCE_LAYERS": LAYER,
        "VK_DRIVER_FILES": str(manifest()),
        "VK_LOADER_LAYERS_DISABLE": "~implicit~",
        # The cache of compiled shaders is kept between runs, so each shader is compiled once.
        "MESA_SHADER_CACHE_DIR": str(layer / "shader_cache"),
        "GALLIVM_PERF": "nopt",
        "PYTHONDONTWRITEBYTECODE": "",
        "COLUMNS": "200",
    }
    places = {"two_drivers": _two_drivers(layer)}
    return kept | hostile | {name: value.format(**places) for name, value in (run.environment or {}).items()}


def _two_drivers(folder: Path) -> str:
    """Return two manifests of the same driver, so the loader finds two physical devices."""
    lavapipe = manifest()
    assert lavapipe is not None
    copies = [folder / f"driver_{number}.json" for number in range(2)]
    for copy in copies:
        copy.write_bytes(lavapipe.read_bytes())
    return os.pathsep.join(map(str, copies))


def command(run: Run, report: Path, cases: Path) -> list[str]:
    """Return the command line of a run that judges the cases in the file ``cases``."""
    options = ["--case-list", str(cases), "--report-dir", str(report), *_LIMITS, *run.options]
    options += ["--device", run.device] if run.device else []
    return [sys.executable, "-m", "pytest", "cts", "-q", "-p", "no:cacheprovider", *options]


def _survivors(folder: Path) -> list[tuple[int, str]]:
    """Return the processes that were started with the state of this run."""
    mark = f"{_STATE}={folder}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdecimal() and mark in (entry / "environ").read_bytes().split(b"\0"):
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if words:
                    found.append((int(entry.name), words))
    return found


def _settled(folder: Path) -> list[tuple[int, str]]:
    """Return the processes that still exist after giving the others time to end."""
    for _ in range(20):
        if not (left := _survivors(folder)):
            break
        time.sleep(0.05)
    return left


def _execute(command: list[str], environment: dict[str, str], folder: Path, seconds: float) -> tuple[int | None, bytes]:
    path = folder / "output"
    with path.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            status = None
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    with path.open("rb") as output:
        return status, output.read(1 << 22)


def _json(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _results(journal: bytes) -> tuple[dict[str, Any] | None, ...]:
    """Return the lines of results, without the lines that begin a run; None for a line that is not JSON."""
    lines = map(_json, journal.splitlines(keepends=True))
    return tuple(line for line in lines if line is None or "id" in line)


def observed(folder: Path, report: Path, faults: int, ended: tuple[int | None, bytes], began: float) -> Observed:
    """Return the results of a run that has ended, and end the processes that it left.

    Args:
        faults: the number of its faults.
        ended: its exit code and output.
        began: when it began, by time.monotonic.
    """
    seconds = time.monotonic() - began
    left = _settled(folder)
    for number, _ in left:
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    journal, meta = report / "results.jsonl", report / "meta.json"
    return Observed(
        *ended,
        lines=_results(journal.read_bytes()) if journal.exists() else (),
        meta=(_json(meta.read_bytes()) or {}) if meta.exists() else {},
        reports={path.name: path.read_bytes() for path in sorted(report.glob("*")) if path.is_file()},
        struck=tuple((folder / f"struck-{index}").exists() for index in range(faults)),
        left=tuple(words for _, words in left),
        seconds=seconds,
    )


def execute(run: Run, folder: Path, layer: Path) -> tuple[Observed, Observed | None]:
    """Return the results of a run, and of its resumption if the table asks for one.

    Args:
        folder: an empty folder for this run.
        layer: the folder where ``build`` put the layer.
    """
    faults = [fault for scenario in run.scenarios for fault in filled(scenario)]
    first = _once(run, folder, layer, faults, ())
    return first, _once(run, folder, layer, [], ("--resume",)) if run.resumed else None


def _once(run: Run, folder: Path, layer: Path, faults: list[str], more: tuple[str, ...]) -> Observed:
    cases, report = folder / "cases.txt", folder / "report"
    cases.write_text("\n".join(case_ids(run.cases).values()) + "\n", encoding="utf-8")
    line = [*command(run, report, cases), *more]
    began = time.monotonic()
    ended = _execute(line, environment(run, folder, layer, faults), folder, run.seconds)
    return observed(folder, report, len(faults), ended, began)


def undisturbed(folder: Path, layer: Path) -> Observed:
    """Return the results of a run without faults."""
    # This run compiles every shader, because the cache is still empty.
    return _once(Run("no faults", (), exit=0, seconds=300.0), folder, layer, [], ())
