"""Measures the cost of finding that a case is not supported, from its pinned needs and from its module.

    python -m benchmarks.not_supported [--every N]

Takes every N-th kernel case of the nightly tier on the universal profile without property rows. Prints the microseconds of processor time
per case for both methods, and their ratio. Also checks that both give the same messages and codes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from cts.devices.requirements import missing_for
from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.kinds.kernel import compile_module
from cts.kinds.pinned_needs import pinned_needs
from cts.verdict.codes import Reason
from generators.casebook import Case, CaseKind, build, expand, load_casebook
from generators.dispatch import kernel

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=10, metavar="N", help="take every N-th case of the nightly tier (default: 10)")
    every = parser.parse_args().every
    kernels = [case for family in load_casebook(ROOT) if family.kind is CaseKind.KERNEL for case in expand(family, "nightly")]
    cases = kernels[::every]
    device = EmbeddedDevice(replace(load_profile("universal"), rows=(), vector_rows=()))

    def by_needs(case: Case) -> list[Reason | None]:
        return [missing_for(needs, device.description) for _, needs in pinned_needs(case) or ()]

    def by_module(case: Case) -> list[Reason | None]:
        program = build(case).program
        module = compile_module(program, "spirv")
        return [device.missing(kernel(one, module)) for one in program.all]

    def timed(way: Callable[[Case], list[Reason | None]]) -> tuple[float, list[list[Reason | None]]]:
        start = time.process_time()
        found = [way(case) for case in cases]
        return (time.process_time() - start) / len(cases) * 1e6, found

    # Reading the files is a cost of the run, not of a case.
    by_needs(cases[0])
    needs, told = timed(by_needs)
    module, other = timed(by_module)
    print(f"{len(cases):,} cases: {needs:.0f} µs by pinned needs, {module:.0f} µs by the module: {module / needs:.1f} times")
    if differ := sum(one != another for one, another in zip(told, other, strict=True)):
        print(f"{differ} of them differ: run 'cts golden --check'")


if __name__ == "__main__":
    main()
