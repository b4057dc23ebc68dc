"""Measures the suite's own cost of a kernel case (emission, input data and expected results), and the cost of the embedded device.

    python -m benchmarks.case_cost [--every N] [--family F ...]

Takes every N-th case of the nightly tier and prints a row for each family, and one for all. A row has the median of each step in
milliseconds per case, then the median and the 95th percentile of all our steps together, and of the embedded device. ``run`` counts the
cases that the embedded device runs; the others have no device time. All times are processor times, so they also hold on a shared machine.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from cts.devices.device import Device
from cts.devices.spec import DEFAULT_PROFILE, DeviceSpec
from cts.kinds.kernel import compile_module
from cts.opening import open_device
from cts.reference.evaluate import evaluate
from cts.verdict.poison import initial_contents
from generators.casebook import Case, CaseKind, build, expand, load_casebook
from generators.dispatch import dispatch, kernel

ROOT = Path(__file__).resolve().parent.parent
OURS = ("program", "SPIR-V", "inputs", "expected")
DEVICE = "embedded"
TITLES = ("cases", "run", *OURS, "ours", "95 %", DEVICE, "95 %")
WIDTHS = (6, 6, 8, 8, 8, 9, 8, 8, 9, 8)

Seconds = dict[str, list[float]]
T = TypeVar("T")


def measure(case: Case, device: Device, seconds: Seconds) -> None:
    """Add the seconds of each step of ``case``, for all its pipelines and subcases together."""

    def timed(step: str, work: Callable[[], T]) -> T:
        start = time.process_time()
        result = work()
        seconds[step].append(time.process_time() - start)
        return result

    program = timed("program", lambda: build(case).program)
    module = timed("SPIR-V", lambda: compile_module(program, "spirv"))
    built = timed("inputs", lambda: [(one, build(case).subcases(one)) for one in program.all])
    expected = timed("expected", lambda: [[evaluate(one, subcase) for subcase in subcases] for one, subcases in built])
    work = []
    for (one, subcases), outcomes in zip(built, expected, strict=True):
        wanted = kernel(one, module)
        if device.missing(wanted):
            return
        pairs = zip(subcases, outcomes, strict=True)
        work.append((wanted, [dispatch(one, subcase, initial_contents(one, subcase, outcome)) for subcase, outcome in pairs]))
    timed(DEVICE, lambda: [device.run(wanted, dispatches) for wanted, dispatches in work])


def row(name: str, cells: Sequence[str]) -> str:
    """Return a line of the table."""
    return f"{name:22}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, WIDTHS, strict=True))


def cells(seconds: Mapping[str, Sequence[float]]) -> list[str]:
    """Return the cells of a row, given the seconds of its cases for each step."""
    ours = np.sum([seconds[step] for step in OURS], axis=0)
    device = seconds.get(DEVICE, ())
    medians = [f"{np.median(seconds[step]) * 1e3:.2f}" for step in OURS]
    return [str(len(ours)), str(len(device)), *medians, *_middle_and_late(ours), *_middle_and_late(device)]


def _middle_and_late(seconds: Sequence[float]) -> list[str]:
    return [f"{value * 1e3:.2f}" for value in np.percentile(seconds, (50, 95))] if len(seconds) else ["-", "-"]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=10, metavar="N", help="take every N-th case of the nightly tier (default: 10)")
    parser.add_argument("--family", action="append", metavar="F", help="only this one; may be given several times")
    arguments = parser.parse_args()
    start = time.process_time()
    casebook = load_casebook(ROOT / "cases")
    families = [casebook.family(name) for name in arguments.family] if arguments.family else list(casebook)
    cases = {family.name: expand(family, "nightly") for family in families if family.kind is CaseKind.KERNEL}
    print(f"load and expand the nightly tier: {time.process_time() - start:.2f} s for {sum(map(len, cases.values()))} kernel cases")
    print(row("milliseconds per case", TITLES))
    device = open_device(DeviceSpec("embedded", DEFAULT_PROFILE))
    total: Seconds = defaultdict(list)
    for name, selected in cases.items():
        seconds: Seconds = defaultdict(list)
        for case in selected[:: arguments.every]:
            measure(case, device, seconds)
        for step, values in seconds.items():
            total[step] += values
        print(row(name, cells(seconds)), flush=True)
    if len(cases) > 1:
        print(row("all", cells(total)))
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
