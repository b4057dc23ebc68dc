"""Measures the cost of predicting which cases of the nightly tier a device does not support.

    python -m benchmarks.foretelling [--profile NAME]

Prints the microseconds of processor time per kernel case for two methods, and their ratio: checking all needs of each pipeline separately,
and checking each part of the needs (features, limits, property rows) once for all pipelines that have it. Also checks that both methods
give the same reasons.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from cts.devices.kernel_needs import KernelNeeds
from cts.devices.requirements import missing_for
from cts.devices.spec import DeviceSpec
from cts.embedded.profile import load_profile
from cts.kinds.foretelling import Foreteller
from cts.kinds.kernel import pinned_missing
from cts.kinds.pinned_needs import pinned_needs
from cts.verdict.codes import Reason
from generators.casebook import Case, CaseKind, expand, load_casebook

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", default="nvidia-h200", metavar="NAME", help="profile of the embedded device (default: nvidia-h200)")
    profile = parser.parse_args().profile
    cases = [case for family in load_casebook(ROOT) if family.kind is CaseKind.KERNEL for case in expand(family, "nightly")]
    description = load_profile(profile).description
    foreteller = Foreteller(DeviceSpec("embedded", profile), description, "spirv")

    def whole(needs: KernelNeeds) -> Reason | None:
        return missing_for(needs, description)

    for case in cases:
        # The needs are decoded once, for both methods.
        pinned_needs(case)
    apart, reasons = _timed(cases, lambda case: pinned_missing(case, whole))
    parts, others = _timed(cases, foreteller.missing)
    print(f"{len(cases):,} cases: {apart:.0f} µs whole, {parts:.0f} µs in parts: {apart / parts:.1f} times")
    if differ := sum(one != other for one, other in zip(reasons, others, strict=True)):
        print(f"{differ} of them differ")


def _timed(cases: Sequence[Case], way: Callable[[Case], Reason | None]) -> tuple[float, list[Reason | None]]:
    start = time.process_time()
    found = [way(case) for case in cases]
    return (time.process_time() - start) / len(cases) * 1e6, found


if __name__ == "__main__":
    main()
