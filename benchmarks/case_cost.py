"""What a case costs on our side: emission, input data, expected results, and the embedded device.

    python -m benchmarks.case_cost [--every N]

Takes every N-th case of the nightly tier and prints the median and the 95th percentile of each step in milliseconds per case, the
share of each step in the total, and the peak memory of the process.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from cts.devices.choose import choose, open_device
from cts.devices.device import Device
from cts.poison import initial_contents
from cts.reference.evaluate import evaluate
from generators.casebook import Case, CaseKind, build_program, build_subcases, expand, load_casebook
from generators.dispatch import dispatch, kernel
from generators.spirv.emit import emit

ROOT = Path(__file__).resolve().parent.parent
OURS = ("program and SPIR-V", "inputs", "expected")

T = TypeVar("T")


def measure(case: Case, device: Device, seconds: dict[str, list[float]]) -> None:
    """Adds the seconds of each step of ``case``."""

    def timed(step: str, work: Callable[[], T]) -> T:
        start = time.perf_counter()
        result = work()
        seconds[step].append(time.perf_counter() - start)
        return result

    program = build_program(case)
    module = timed("program and SPIR-V", lambda: emit(build_program(case)))
    subcases = timed("inputs", lambda: build_subcases(case, program))
    expected = timed("expected", lambda: [evaluate(program, subcase) for subcase in subcases])
    wanted = kernel(program, module)
    if device.missing(wanted):
        return
    dispatches = [
        dispatch(program, subcase, initial_contents(program, subcase, outcome)) for subcase, outcome in zip(subcases, expected, strict=True)
    ]
    timed("embedded device", lambda: device.run(wanted, dispatches))


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=10, metavar="N", help="take every N-th case of the nightly tier (default: 10)")
    arguments = parser.parse_args()
    start = time.perf_counter()
    casebook = load_casebook(ROOT / "cases")
    families = [family for family in casebook if family.kind is CaseKind.KERNEL]
    cases = {family.name: expand(family, "nightly") for family in families}
    print(f"load and expand the nightly tier: {time.perf_counter() - start:.2f} s for {sum(map(len, cases.values()))} cases")
    device = open_device(choose("embedded").spec)
    for name, selected in cases.items():
        seconds: dict[str, list[float]] = defaultdict(list)
        for case in selected[:: arguments.every]:
            measure(case, device, seconds)
        total = sum(np.median(values) for values in seconds.values())
        print(f"{name}: {len(selected[:: arguments.every])} cases")
        for step, values in seconds.items():
            median, late = np.percentile(values, (50, 95))
            print(
                f"  {step:20} median {median * 1e3:7.2f} ms   95 % below {late * 1e3:7.2f} ms   {median / total:4.0%} of the medians' sum"
            )
        ours = np.sum([seconds[step] for step in OURS], axis=0)
        print(f"  {'our side in all':20} median {np.median(ours) * 1e3:7.2f} ms   95 % below {np.percentile(ours, 95) * 1e3:7.2f} ms")
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
