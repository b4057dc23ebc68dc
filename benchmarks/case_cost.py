"""Measures the suite's own cost of a kernel case (emission, input data and expected results), and the cost of the embedded device.

    python -m benchmarks.case_cost [--every N] [--family F ...]

Takes every N-th case of the nightly tier and prints a row for each family, and one for all. A row has the median of each step in
milliseconds per case, then the median and the 95th percentile of all our steps together, and of the embedded device. ``run`` counts the
cases that the embedded device runs; the others have no device time. The last columns have the means of what a child process costs that
computes nothing: in this process, and in the child. All times are processor times, so they also hold on a shared machine.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from cts.devices.device import Device, DeviceDescription
from cts.devices.isolation import IsolatedDevice
from cts.devices.spec import DEFAULT_PROFILE, DeviceSpec
from cts.engine.memory import keep_memory
from cts.kinds.kernel import compile_module
from cts.opening import open_device
from cts.reference.evaluate import evaluate
from cts.verdict.poison import initial_contents
from generators.casebook import Case, CaseKind, build, expand, load_casebook
from generators.dispatch import dispatch, kernel
from generators.kernel import Dispatch, Kernel, Outcome

ROOT = Path(__file__).resolve().parent.parent
OURS = ("program", "SPIR-V", "inputs", "expected")
DEVICE = "embedded"
CROSSING = ("parent", "child")
TITLES = ("cases", "run", *OURS, "ours", "95 %", DEVICE, "95 %", *CROSSING)
WIDTHS = (6, 6, 8, 8, 8, 9, 8, 8, 9, 8, 8, 8)

Seconds = dict[str, list[float]]
T = TypeVar("T")


class Null:
    """A device that returns its inputs. It says which process it is in.

    Attributes:
        last_steps: see cts.devices.device.Device.
    """

    description = DeviceDescription("null", "1", str(os.getpid()), "vulkan", "1.3.0", 32, 32, 32, {})

    def __init__(self) -> None:
        self.last_steps: dict[str, float] = {}

    def missing(self, kernel: Kernel) -> None:
        """Return None: it lacks nothing."""

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        """Return the contents of written buffers."""
        pairs = [zip(kernel.buffers, one.contents, strict=True) for one in dispatches]
        return [Outcome({slot.name: contents for slot, contents in own if slot.written}) for own in pairs]

    def close(self) -> tuple[()]:
        """Do nothing."""
        return ()


def _processor_seconds(pid: int) -> float:
    """Return the processor time of a process: Linux numbers the clocks of processes in this way."""
    return time.clock_gettime(~pid << 3 | 2)


def measure(case: Case, device: Device, isolated: IsolatedDevice, seconds: Seconds) -> None:
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
        pairs = zip(subcases, outcomes, strict=True)
        work.append((wanted, [dispatch(one, subcase, initial_contents(one, subcase, outcome)) for subcase, outcome in pairs]))
    child = int(isolated.description.uuid)
    before = _processor_seconds(child)
    timed("parent", lambda: [isolated.run(wanted, dispatches) for wanted, dispatches in work])
    seconds["child"].append(_processor_seconds(child) - before)
    if not any(device.missing(wanted) for wanted, _ in work):
        timed(DEVICE, lambda: [device.run(wanted, dispatches) for wanted, dispatches in work])


def row(name: str, cells: Sequence[str]) -> str:
    """Return a line of the table."""
    return f"{name:22}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, WIDTHS, strict=True))


def cells(seconds: Mapping[str, Sequence[float]]) -> list[str]:
    """Return the cells of a row, given the seconds of its cases for each step."""
    ours = np.sum([seconds[step] for step in OURS], axis=0)
    device = seconds.get(DEVICE, ())
    medians = [f"{np.median(seconds[step]) * 1e3:.2f}" for step in OURS]
    crossing = [f"{np.mean(seconds[side]) * 1e3:.2f}" for side in CROSSING]
    return [str(len(ours)), str(len(device)), *medians, *_middle_and_late(ours), *_middle_and_late(device), *crossing]


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
    keep_memory()
    device = open_device(DeviceSpec("embedded", DEFAULT_PROFILE))
    isolated = IsolatedDevice(DeviceSpec("factory", "benchmarks.case_cost:Null"), 60.0)
    total: Seconds = defaultdict(list)
    for name, selected in cases.items():
        seconds: Seconds = defaultdict(list)
        for case in selected[:: arguments.every]:
            measure(case, device, isolated, seconds)
        for step, values in seconds.items():
            total[step] += values
        print(row(name, cells(seconds)), flush=True)
    if len(cases) > 1:
        print(row("all", cells(total)))
    isolated.close()
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
