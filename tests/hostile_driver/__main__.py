"""Runs the scenarios and prints how many were reported correctly: ``python -m tests.hostile_driver [--jobs N] [PART-OF-A-NAME …]``."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.hostile_driver.building import build, obstacle
from tests.hostile_driver.forks import Task, load, load_reports, side_by_side
from tests.hostile_driver.running import execute, undisturbed
from tests.hostile_driver.scenario import Run, case_ids, read_table
from tests.hostile_driver.verification import complaints, records_of


def main() -> int:
    """Print the table, then everything that was not reported correctly."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile_driver", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="PART", help="only runs with names that contain PART")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="runs at once (default: 2)")
    options = parser.parse_args()
    if why := obstacle():
        print(f"this machine lacks what the hostile driver needs: {why}")
        return 2
    chosen = [run for run in read_table() if not options.names or any(name in run.name for name in options.names)]
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        wrong = _judge(chosen, Path(folder), options.jobs)
        seconds = time.monotonic() - began
    print("| what the driver does | injected | right |\n|---|---|---|")
    for run in chosen:
        print(f"| {run.name} | {len(run.scenarios)} | {_right(run, wrong[run.name])} |")
    injected = sum(len(run.scenarios) for run in chosen)
    right = sum(_right(run, wrong[run.name]) for run in chosen)
    print(f"| **all** | **{injected}** | **{right}** |\n\n{len(chosen)} runs in {seconds:.0f} s")
    for texts in wrong.values():
        for scenario, found in texts.items():
            print(f"\n{scenario}:", *found, sep="\n  ")
    return 0 if right == injected else 1


def _right(run: Run, wrong: dict[str, list[str]]) -> int:
    """Return the number of scenarios of a run that were reported correctly; 0 if another case, or the run itself, was not."""
    of_no_scenario = wrong.keys() - {scenario.name for scenario in run.scenarios}
    return 0 if of_no_scenario else len(run.scenarios) - len(wrong)


def _judge(runs: list[Run], folder: Path, jobs: int) -> dict[str, dict[str, list[str]]]:
    """Return what is wrong with each run, in their order.

    Raises:
        RuntimeError: without faults, not every case passes.
    """
    layer, first = folder / "layer", folder / "undisturbed"
    layer.mkdir()
    build(layer)
    load()
    seen = undisturbed(first, layer)
    usual = records_of(seen)
    if seen.exit or {family: record["verdict"] for family, record in usual.items()} != dict.fromkeys(case_ids(), "pass"):
        raise RuntimeError(seen.output.decode(errors="replace"))
    load_reports(first / "report")

    def judged(number: int, run: Run) -> Task[tuple[str, dict[str, list[str]]]]:
        seen, resumed = yield from execute(run, folder / str(number), layer)
        wrong = complaints(run, seen, resumed, usual)
        print(f"{run.name}: {_right(run, wrong)} of {len(run.scenarios)} right, {seen.seconds:.1f} s", file=sys.stderr, flush=True)
        return run.name, wrong

    found = dict(side_by_side((judged(number, run) for number, run in enumerate(runs)), jobs))
    return {run.name: found[run.name] for run in runs}


if __name__ == "__main__":
    sys.exit(main())
