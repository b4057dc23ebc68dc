"""Runs the suite once for each fault."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cts.engine.case_list import read_case_list
from tests.hostile_driver.forks import Fork, Task, load, load_reports, side_by_side
from tests.hostile_driver.running import Observed, begin, observed
from tests.hostile_driver.scenario import Run
from tests.hostile_driver.sweep.plan import Call, Fault, read_trace

CASES = Path(__file__).with_name("cases.txt")
LONGEST = 90.0
"""The longest time in seconds that a run may take."""

_OPTIONS = ("-p", "tests.hostile_driver.sweep.marks", "--step-timeout", "1")


@dataclass(frozen=True)
class Outcome:
    """The results of a run, and the calls that it made."""

    seen: Observed
    calls: tuple[Call, ...]


def selected() -> tuple[str, ...]:
    """Return the ids of the cases of the sweep."""
    return tuple(read_case_list(CASES))


def prepare(layer: Path) -> None:
    """Load what every run and its reports need, in this process."""
    load()
    one = _begun(layer, None, selected())
    observed(one)
    load_reports(one.folder / "report")


def run_one(layer: Path, cases: Sequence[str] = ()) -> Outcome:
    """Return the outcome of one run without a fault.

    Args:
        layer: the folder where ``build`` put the layer.
        cases: the cases; by default those of the sweep.
    """
    return _outcome(_begun(layer, None, cases or selected()))


def run_all(layer: Path, faults: Sequence[Fault], jobs: int) -> Iterator[tuple[Fault, Outcome]]:
    """Run the suite with each fault; yield the outcomes as they come.

    Args:
        layer: the folder where ``build`` put the layer.
        jobs: the number of runs at once.
    """
    return side_by_side((_run(layer, fault) for fault in faults), jobs)


def _run(layer: Path, fault: Fault) -> Task[tuple[Fault, Outcome]]:
    yield (one := _begun(layer, fault, selected()))
    return fault, _outcome(one)


def _begun(layer: Path, fault: Fault | None, cases: Sequence[str]) -> Fork:
    environment = {"HOSTILE_SWEEP": fault.text if fault else ""}
    run = Run("sweep", (), options=_OPTIONS, environment=environment, seconds=LONGEST)
    return begin(run, Path(tempfile.mkdtemp(dir=layer)), layer, (), cases)


def _outcome(one: Fork) -> Outcome:
    """Wait for a run until its time is over, and return its outcome."""
    seen, trace = observed(one), one.folder / "trace"
    calls = read_trace(trace.read_text(encoding="utf-8")) if trace.exists() else ()
    shutil.rmtree(one.folder)
    return Outcome(seen, calls)
