"""Runs the suite on the hostile driver, and collects the results."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.hostile_driver.building import LAYER
from tests.hostile_driver.forks import Fork, Task, begun, ended
from tests.hostile_driver.scenario import Run, case_ids
from tests.hostile_driver.shaders import filled
from tests.lavapipe import manifest

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


def begin(run: Run, folder: Path, layer: Path, faults: Sequence[str], cases: Sequence[str], more: Sequence[str] = ()) -> Fork:
    """Begin a run whose report directory is ``report`` in its folder.

    Args:
        folder: a folder for this run.
        layer: the folder where ``build`` put the layer.
        cases: the ids of the cases to judge.
        more: further options of the command line.
    """
    listed = folder / "cases.txt"
    listed.write_text("\n".join(cases) + "\n", encoding="utf-8")
    options = ["--case-list", str(listed), "--report-dir", str(folder / "report"), *_LIMITS, *run.options, *more]
    options += ["--device", run.device] if run.device else []
    return begun(["cts", "-q", "-p", "no:cacheprovider", *options], environment(run, folder, layer, faults), folder, run.seconds)


def _survivors(one: Fork) -> list[tuple[int, str]]:
    """Return the processes that a run has left: they are in its session or have its state in their environment."""
    mark = f"{_STATE}={one.folder}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if not entry.name.isdecimal():
                continue
            if os.getsid(int(entry.name)) == one.pid or mark in (entry / "environ").read_bytes().split(b"\0"):
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if words:
                    found.append((int(entry.name), words))
    return found


def _settled(one: Fork) -> list[tuple[int, str]]:
    """Return the processes of a run that still exist after giving the others time to end."""
    for _ in range(20):
        if not (left := _survivors(one)):
            break
        time.sleep(0.05)
    return left


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


def observed(one: Fork, faults: int = 0) -> Observed:
    """Return the results of a run, and end the processes that it left. Waits until it has ended or is overdue.

    Args:
        faults: the number of its faults.
    """
    status, output = ended(one)
    seconds = time.monotonic() - one.began
    left = _settled(one)
    for number, _ in left:
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    report = one.folder / "report"
    journal, meta = report / "results.jsonl", report / "meta.json"
    return Observed(
        status,
        output,
        lines=_results(journal.read_bytes()) if journal.exists() else (),
        meta=(_json(meta.read_bytes()) or {}) if meta.exists() else {},
        reports={path.name: path.read_bytes() for path in sorted(report.glob("*")) if path.is_file()},
        struck=tuple((one.folder / f"struck-{index}").exists() for index in range(faults)),
        left=tuple(words for _, words in left),
        seconds=seconds,
    )


def execute(run: Run, folder: Path, layer: Path) -> Task[tuple[Observed, Observed | None]]:
    """Run the suite with the faults of a run, and again if the table asks for its resumption; return the results of both.

    Args:
        folder: a folder for this run; it is made.
        layer: the folder where ``build`` put the layer.
    """
    folder.mkdir()
    faults = [fault for scenario in run.scenarios for fault in filled(scenario)]
    cases = tuple(case_ids(run.cases).values())
    yield (one := begin(run, folder, layer, faults, cases))
    first = observed(one, len(faults))
    if not run.resumed:
        return first, None
    yield (one := begin(run, folder, layer, (), cases, ("--resume",)))
    return first, observed(one)


def undisturbed(folder: Path, layer: Path) -> Observed:
    """Return the results of a run without faults, in a folder that is made."""
    folder.mkdir()
    # This run compiles every shader, because the cache is still empty.
    run = Run("no faults", (), exit=0, seconds=300.0)
    return observed(begin(run, folder, layer, (), tuple(case_ids().values())))
