"""Measures the cost of comparing two runs: seconds of processor time, and memory.

    python -m benchmarks.comparison [--cases N]

Writes two journals of N invented cases (100,000) in a temporary folder, half a percent of them changed, and compares them as 'cts compare'
does: as text, JSON and HTML. The last line compares the time with the time for only parsing the same lines as JSON.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from reports.comparison.compare import compare

FAMILIES = 60
STEPS = {"emit": 0.002, "inputs": 0.001, "expect": 0.002, "device": 0.05, "pipeline": 0.04, "dispatch": 0.001, "compare": 0.001}


def write(folder: Path, cases: int, seed: int, changed: float) -> Path:
    """Write a journal like a nightly run's: half of the cases not supported, a few known failures.

    Args:
        folder: is created.
        cases: number of cases.
        seed: determines the times and the changes.
        changed: the share of cases that fail.
    """
    draw = random.Random(seed)
    folder.mkdir()
    with (folder / "results.jsonl").open("w", encoding="utf-8") as file:
        file.write('{"schema":4}\n')
        for number in range(cases):
            file.write(json.dumps(_record(number, draw, changed), separators=(",", ":")) + "\n")
    (folder / "meta.json").write_text(json.dumps({"started": "2027-03-01", "finished": "2027-03-01"}), encoding="utf-8")
    return folder


def _record(number: int, draw: random.Random, changed: float) -> dict[str, Any]:
    family = f"family_{number % FAMILIES}"
    parameters = {"row": "16x16x32.s8.s8.s32.s32", "form": "loop", "layouts": "rrrr", "storage": "storage_buffer", "number": str(number)}
    record: dict[str, Any] = {
        "id": f"{family}[row:16x16x32.s8.s8.s32.s32/form:loop/storage:storage_buffer/number:{number}]",
        "family": family,
        "verdict": "not_supported" if number % 2 else "pass",
        "reason": "feature cooperativeMatrixReductions" if number % 2 else "",
        "device": "Example GPU 9000",
        "driver": "example 1.2.3",
        "front_end": "spirv",
        "tier": "nightly",
        "requirements": ["KHR-MAD-01", "KHR-MAD-03", "KHR-MAD-06"],
        "subcases": 3,
        "seconds": 0.06,
        "message": "",
        "policy": "",
        "steps": {name: seconds * draw.lognormvariate(0, 0.3) for name, seconds in STEPS.items()},
        "failures": [],
        "positions": ["F-KHR-1", "F-KHR-4"],
        "step": "",
        "attempt": 1,
        "tries": [],
        "code": "missing.feature.cooperativeMatrixReductions" if number % 2 else "",
        "known": "",
        "parameters": parameters,
    }
    if draw.random() < changed:
        record |= {"verdict": "fail", "code": "fail.value", "reason": "wrong value", "message": "two\nlines"}
    return record


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000, metavar="N", help="number of cases in each run (default: 100000)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        runs = [write(folder / "a", arguments.cases, 1, 0.0), write(folder / "b", arguments.cases, 2, 0.005)]
        start = time.process_time()
        for run in runs:
            with (run / "results.jsonl").open("rb") as file:
                for line in file:
                    json.loads(line)
        parsing = time.process_time() - start
        start = time.process_time()
        found = compare(runs, {}, folder / "page.html")
        json.dumps(found.document)
        seconds = time.process_time() - start
    print(f"{arguments.cases:,} cases of each run, {found.regressions:,} regressions: {seconds:.1f} s of processor time")
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")
    print(f"{seconds / parsing:.2f} times as long as parsing the lines with the json module alone ({parsing:.1f} s)")


if __name__ == "__main__":
    main()
