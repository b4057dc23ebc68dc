"""Imitates bugs of compilers under a driver, and tells how many of them the suite notices.

    python -m tests.devices.imitated_bugs --device executed:gfx1201 --output gfx1201.tsv
    python -m tests.devices.imitated_bugs --compare gfx1201.tsv llvmpipe.tsv

Each bug makes one mistake in the modules on their way to the driver. Of the cases that it touches and that pass without it, up to --count
run with it, of as many families as possible; if none of them notices it, up to --most. A module that spirv-val refuses does not run. Use it
in a root of `.ci/compile-only-root` or `.ci/lavapipe-root`.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, replace
from itertools import zip_longest
from pathlib import Path
from types import MappingProxyType

from cts.devices.isolation import IsolatedDevice
from cts.devices.requirements import missing_for
from cts.engine.runner import judge
from cts.engine.selection import device_rows
from cts.judges import choose
from cts.kinds.kernel import make_kernels, pinned_missing
from cts.validators.spirv_val import SpirvVal
from cts.verdict.effort import Budget, Effort
from cts.verdict.verdict import Verdict
from generators.casebook import Case, CaseKind, build, expand
from generators.kernel import Dispatch, Kernel, Outcome
from tests.devices.imitated_bugs.bugs import all_bugs
from tests.devices.imitated_bugs.module import Bug, Module
from tests.runner.conftest import holding
from tests.suite import casebook

NOTICED = frozenset({Verdict.FAIL, Verdict.CRASH, Verdict.TIMEOUT, Verdict.DEVICE_LOST, Verdict.RESOURCE_ERROR})
STEP_SECONDS = 30.0


class BuggyDevice(IsolatedDevice):
    """A device whose driver gets the modules of a bug.

    Attributes:
        modules: a module -> the module in its place; other modules stay as they are.
    """

    modules: Mapping[bytes, bytes] = MappingProxyType({})

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        """Run the dispatches; see IsolatedDevice."""
        return super().run(replace(kernel, spirv=self.modules.get(kernel.spirv, kernel.spirv)), dispatches)


@dataclass
class Row:
    """What a bug did: the numbers of cases by what happened. ``invalid`` cases did not run; ``seen_by`` are families that noticed it."""

    bug: str
    touched: int = 0
    run: int = 0
    fail: int = 0
    crash: int = 0
    warning: int = 0
    error: int = 0
    survived: int = 0
    invalid: int = 0
    families: str = ""
    seen_by: str = ""

    @property
    def noticed(self) -> bool:
        """Whether a case failed, or the device did."""
        return self.fail + self.crash > 0

    @property
    def outcome(self) -> str:
        """The outcome in a word."""
        if self.noticed:
            return "noticed"
        return "does not apply" if not self.run else "error" if self.error else "warning" if self.warning else "survives"

    def count(self, verdict: Verdict) -> None:
        """Count a run."""
        self.run += 1
        if verdict in NOTICED:
            self.fail += verdict is Verdict.FAIL
            self.crash += verdict is not Verdict.FAIL
        elif verdict is Verdict.QUALITY_WARNING:
            self.warning += 1
        else:
            self.error += verdict is not Verdict.PASS
            self.survived += verdict is Verdict.PASS


@dataclass
class Trial:
    """Runs cases with bugs on one device."""

    device: BuggyDevice
    validator: SpirvVal
    passes: dict[str, bool] = field(default_factory=dict)

    def verdict(self, case: Case, modules: dict[bytes, bytes]) -> Verdict:
        """Return the verdict of a case with other modules."""
        self.device.modules = modules
        return judge(case, holding(self.device), "spirv", "smoke", effort=Effort(budget=Budget(0))).verdict

    def is_fit(self, case: Case) -> bool:
        """Return whether a case passes without a bug."""
        if case.id not in self.passes:
            self.passes[case.id] = self.verdict(case, {}) is Verdict.PASS
        return self.passes[case.id]

    def row(self, bug: Bug, touched: dict[Case, tuple[bytes, bytes]], count: int, most: int) -> Row:
        """Return what a bug does in the cases that it touches."""
        row = Row(bug.name, len(touched))
        seen: Counter[str] = Counter()
        families: Counter[str] = Counter()
        for case in spread(touched):
            if row.run >= (most if not row.noticed else count):
                break
            module, wrong = touched[case]
            if not self.validator.validate(wrong).accepted:
                row.invalid += 1
                continue
            if self.is_fit(case):
                verdict = self.verdict(case, {module: wrong})
                row.count(verdict)
                families[case.family] += 1
                seen[case.family] += verdict in NOTICED
        row.families = " ".join(families)
        row.seen_by = " ".join(+seen)
        return row


def spread(cases: Iterable[Case]) -> Iterator[Case]:
    """Yield cases, one of each family before the second of any."""
    by_family: dict[str, list[Case]] = {}
    for case in cases:
        by_family.setdefault(case.family, []).append(case)
    return (case for turn in zip_longest(*by_family.values()) for case in turn if case is not None)


def run(selector: str, tier: str, count: int, most: int, seed: int, names: Sequence[str]) -> Iterator[Row]:
    """Yield a row for each bug."""
    choice = choose(selector)
    device = BuggyDevice(choice.spec, STEP_SECONDS, choice.description)
    families = casebook().families.values()
    cases = [case for family in families for case in expand(family, tier, device_rows(choice.description))]
    cases = [case for case in cases if case.definition.kind is CaseKind.KERNEL]
    cases = [case for case in cases if not pinned_missing(case, lambda needs: missing_for(needs, choice.description))]
    random.Random(seed).shuffle(cases)
    bugs = [bug for bug in all_bugs() if not names or any(name in bug.name for name in names)]
    touched: dict[str, dict[Case, tuple[bytes, bytes]]] = {bug.name: {} for bug in bugs}
    for case in cases:
        module = make_kernels(build(case), "spirv")[0].spirv
        read = Module(module)
        for bug in bugs:
            if (wrong := read.with_bug(bug)) != module:
                touched[bug.name][case] = module, wrong
    trial = Trial(device, SpirvVal())
    try:
        for bug in bugs:
            yield trial.row(bug, touched[bug.name], count, most)
    finally:
        device.close()


COLUMNS = tuple(one.name for one in fields(Row))


def line(row: Row) -> str:
    """Return a row as a line of tab-separated values."""
    return "\t".join(str(getattr(row, name)) for name in COLUMNS)


def read(path: Path) -> dict[str, Row]:
    """Return the rows of a file of --output by bug."""
    lines = [text.split("\t") for text in path.read_text(encoding="utf-8").splitlines()[1:]]
    rows = (Row(words[0], *map(int, words[1:9]), *words[9:]) for words in lines)
    return {row.bug: row for row in rows}


def summary(name: str, rows: Iterable[Row]) -> str:
    """Return the totals."""
    outcomes = Counter(row.outcome for row in rows)
    apply = sum(outcomes.values()) - outcomes["does not apply"]
    others = ", ".join(f"{outcomes[one]} {one}" for one in ("warning", "error", "survives"))
    return f"{name}: {outcomes['noticed']} of {apply} bugs noticed; {others}; {outcomes['does not apply']} do not apply"


def compare(paths: Sequence[Path]) -> None:
    """Print the totals of several runs, of the bugs that apply in all of them, and each bug that is not noticed in all."""
    runs = {path.stem: read(path) for path in paths}
    shared = [bug for bug in next(iter(runs.values())) if all(bug in rows and rows[bug].run for rows in runs.values())]
    for name, rows in runs.items():
        print(summary(name, rows.values()))
    print(f"\n{len(shared)} bugs apply to all:")
    for name, rows in runs.items():
        print(summary(name, (rows[bug] for bug in shared)))
    print(f"\n| bug | {' | '.join(runs)} |\n|---|{'---|' * len(runs)}")
    for bug in dict.fromkeys(bug for rows in runs.values() for bug in rows):
        found = [rows.get(bug, Row(bug)) for rows in runs.values()]
        if any(row.run and not row.noticed for row in found):
            print(f"| {bug} | {' | '.join(f'{row.outcome} ({row.fail + row.crash} of {row.run})' for row in found)} |")


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bugs", nargs="*", help="parts of the names of bugs; all by default")
    parser.add_argument("--device", default="executed:gfx1201")
    parser.add_argument("--tier", choices=("smoke", "nightly"), default="smoke")
    parser.add_argument("--count", type=int, default=8, help="cases of each bug")
    parser.add_argument("--most", type=int, default=400, help="cases of a bug that none notices")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, help="a file of tab-separated values")
    parser.add_argument("--compare", type=Path, nargs="+", metavar="FILE", help="compare files of --output; run nothing")
    options = parser.parse_args()
    if options.compare:
        compare(options.compare)
        return 0
    rows = []
    with nullcontext(sys.stdout) if options.output is None else options.output.open("w", encoding="utf-8") as file:
        print("\t".join(COLUMNS), file=file)
        for row in run(options.device, options.tier, options.count, options.most, options.seed, options.bugs):
            rows.append(row)
            print(line(row), file=file, flush=True)
    print(summary(options.device, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
