"""Finds the cases whose results a device gets right, or nearly right, without running anything.

    python -m tests.families.null_device [--tier smoke|nightly] [--jobs N] [FAMILY ...]

A device on which nothing runs leaves every buffer as it was. This command compares such results with the permitted and the expected ones,
for each dispatch of each case that runs a shader, and for each case that converts matrices. It includes the cases that the property rows
of the embedded device's profiles add. Each case must fail. One of its dispatches may get a warning, if all of its values are permitted but
not expected; none may pass. The command prints what breaks this rule, and ends with exit code 1 if anything does.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from cts.devices.device import DeviceDescription
from cts.devices.layout_conversion import ConversionAnswer, ConversionCall
from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.engine.selection import device_rows
from cts.kinds.conversion import judge
from cts.kinds.kernel import Arrangement, arrange
from cts.kinds.kind import Stopwatch
from cts.verdict.compare import compare_quality, is_permitted
from cts.verdict.effort import Effort
from cts.verdict.verdict import Verdict
from generators.casebook import Case, CaseKind, Tier, build, expand
from generators.kernel import Outcome
from generators.program.memory import Array
from tests.suite import casebook

PROFILES = "universal", "nvidia-h200", "nvidia-h200-decode-vector", "llvmpipe", "adreno", "maintenance1"
"""The profiles whose property rows add cases."""

JUDGED = frozenset({CaseKind.KERNEL, CaseKind.CONVERSION})
"""The kinds of cases whose results are in memory."""


class NothingRuns:
    """A device that answers queries, and whose commands leave all memory as it was."""

    def __init__(self) -> None:
        self._device = EmbeddedDevice(load_profile("universal"))

    @property
    def description(self) -> DeviceDescription:
        return self._device.description

    def convert(self, call: ConversionCall) -> list[ConversionAnswer]:
        """Return the sizes of a device that works, and the memory as it was."""
        answers = self._device.convert(call)
        regions = ((info.source, info.destination) for info in call.infos)
        return [
            ConversionAnswer(answer.result, answer.size, source and source.memory, destination and destination.memory)
            for answer, (source, destination) in zip(answers, regions, strict=True)
        ]

    def close(self) -> tuple[()]:
        return self._device.close()


@dataclass(frozen=True)
class Found:
    """What a case makes of a device on which nothing runs.

    Attributes:
        id: the case's id.
        dispatches: how many dispatches it has; 1 for a case of conversions.
        missed: the dispatches that do not fail, and their verdicts.
    """

    id: str
    dispatches: int
    missed: Mapping[str, Verdict]

    @property
    def verdict(self) -> Verdict:
        """The verdict on the case."""
        if len(self.missed) < self.dispatches:
            return Verdict.FAIL
        return Verdict.QUALITY_WARNING if Verdict.QUALITY_WARNING in self.missed.values() else Verdict.PASS

    @property
    def is_noticed(self) -> bool:
        """Tell whether the case fails and none of its dispatches passes."""
        return self.verdict is Verdict.FAIL and Verdict.PASS not in self.missed.values()


def verdicts(plan: Arrangement) -> Iterator[tuple[str, Verdict]]:
    """Yield the name of each dispatch, and the verdict if it changes nothing."""
    for program, subcase, want, before in zip(plan.programs, plan.subcases, plan.expected, plan.before, strict=True):
        outcome = nothing(program.arrays, before)
        if not is_permitted(program, want, before, {**before, **outcome.outputs}):
            yield subcase.name, Verdict.FAIL
        else:
            yield subcase.name, Verdict.QUALITY_WARNING if compare_quality(want, before, outcome) else Verdict.PASS


def nothing(arrays: Sequence[Array], before: Mapping[str, np.ndarray]) -> Outcome:
    """Return the outcome of a dispatch that does nothing: every buffer that the shader may write has the contents that it had."""
    return Outcome({array.name: before[array.name] for array in arrays if array.role != "input" and array.name in before})


def found(case: Case) -> Found:
    """Judge a case on a device on which nothing runs."""
    if case.definition.kind is CaseKind.CONVERSION:
        verdict = judge(case, NothingRuns(), "spirv", Stopwatch(), Effort()).verdict
        return Found(case.id, 1, {} if verdict is Verdict.FAIL else {"only": verdict})
    judged = list(verdicts(arrange(build(case))))
    return Found(case.id, len(judged), {name: verdict for name, verdict in judged if verdict is not Verdict.FAIL})


def cases(family: str, tier: Tier) -> list[Case]:
    """Return the cases of a family, each once, including those on rows of profiles."""
    rows = sorted({row for name in PROFILES for row in device_rows(load_profile(name).description)})
    return expand(casebook().family(family), tier, rows)


def families() -> list[str]:
    """Return the names of the families whose results are in memory."""
    return [family.name for family in casebook() if family.kind in JUDGED]


def _of_family(family: str, tier: Tier) -> list[Found]:
    return [found(case) for case in cases(family, tier)]


def main() -> int:
    """Judge and print. Return 1 if a case does not notice that nothing runs, else 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tier", type=Tier, choices=(Tier.SMOKE, Tier.NIGHTLY), default=Tier.SMOKE, help="tier of the cases")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (default: 2)")
    parser.add_argument("family", nargs="*", help="only these")
    arguments = parser.parse_args()
    begin = time.monotonic()
    count = Counter[Verdict]()
    dispatches = warned = missed = 0
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for family in pool.map(partial(_of_family, tier=arguments.tier), arguments.family or families()):
            for one in family:
                count[one.verdict] += 1
                dispatches += one.dispatches
                warned += len(one.missed)
                if not one.is_noticed:
                    missed += 1
                    dispatched = ", ".join(f"{name}: {verdict}" for name, verdict in one.missed.items())
                    print(f"{one.id}: {one.verdict} ({dispatched})", flush=True)
    told = ", ".join(f"{number} {verdict}" for verdict, number in count.items())
    print(f"{sum(count.values())} cases ({told}), {dispatches} dispatches, {warned} of which do not fail, {time.monotonic() - begin:.0f} s")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
