"""Makes a failing case small: changes its parameters towards their defaults as long as it fails in the same way (the same code, the same
defect), and says which of them matter. Then it looks for one dispatch that fails alone, and sets as much of its data to zero as possible
without changing the failure. A crash, a hang or a lost device is minimised like a wrong value, because a Vulkan device always runs in a
separate process."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path

from cts.commands.context import root
from cts.commands.options import add
from cts.commands.repro import next_steps
from cts.devices.spec import DeviceSpec
from cts.engine.plan import at_least_one, checked_settings, seconds_of
from cts.engine.runner import judge
from cts.engine.session import Settings, open_holder
from cts.kinds.kernel_reproduction import Again, Grounds, rules, write_arrangement
from cts.minimise.data import Fewest, fewest
from cts.minimise.ending import BAD, Ending, ending_of
from cts.minimise.search import Budget
from cts.minimise.walk import SAYS_NOTHING, Finding, Part, Smallest, Walk
from cts.printable import printable_path
from cts.repro.folder import README, add_device
from generators.casebook import Case, CaseKind, load_case
from generators.errors import CtsError

RUNS, SECONDS = 200, 600.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.epilog = (
        "Exit code: 0 with the smallest case on standard output, 2 if there is nothing to minimise. Progress is on standard error."
    )
    add(parser, "case")
    add(parser, "--device", "the device on which it fails (see 'cts devices'; default: as in a run)")
    add(parser, "--front-end")
    parser.add_argument("--runs", metavar="N", default=str(RUNS), help=f"most runs of cases and dispatches (default: {RUNS})")
    add(parser, "--time-limit", f"start no run after this many seconds (default: {SECONDS:g})")
    add(parser, "--step-timeout")
    parser.add_argument("--keep-data", action="store_true", help="keep the dispatches and data as they are")
    add(parser, "--out", "also write a folder that reproduces the smallest case, as 'cts repro' does", metavar="DIR")


def run(options: argparse.Namespace) -> int:
    """Print the smallest case and the parameters that matter."""
    case = load_case(root(options), options.case)
    of_a_run = ("tier", "embedded_mapping", "isolation", "validation", "time_limit")
    settings = checked_settings({**vars(options), **dict.fromkeys(of_a_run)})
    budget = Budget(at_least_one("--runs", options.runs), seconds_of("--time-limit", options.time_limit, SECONDS))
    holder = open_holder(settings)

    def judged(one: Case) -> Ending:
        return ending_of(judge(one, holder, settings.front_end, settings.tier))

    def show(what: str, ending: Ending, *, alike: bool) -> None:
        print(
            f"{budget.used} of at most {budget.runs}: {what}: {ending}{', the same failure' if alike else ''}", file=sys.stderr, flush=True
        )

    try:
        ending = _first(case, judged, settings)
        print(f"{case.id}: {ending}", file=sys.stderr, flush=True)
        walk = Walk(judged, budget, lambda one, end, alike: show(one.id, end, alike=alike))
        begin = time.monotonic()
        smallest = walk.smallest(case, ending)
        left = None
        if smallest.complete and not options.keep_data and _has_dispatches(case, settings):
            left = fewest(
                smallest.case,
                smallest.ending,
                holder,
                settings.front_end,
                budget,
                lambda what, end: show(what, end, alike=smallest.ending.is_like(end)),
            )
        print("\n".join(_report(case, smallest, left, settings)))
        print("\n".join(take_away(smallest, left, settings, options.out)))
        print(f"{budget.used} runs in {time.monotonic() - begin:.1f} s", file=sys.stderr)
    finally:
        holder.close()
    if options.out is not None:
        _write(options.out, smallest, left, settings)
    return 0


def _first(case: Case, judged: Callable[[Case], Ending], settings: Settings) -> Ending:
    """Run the case twice, and return its result.

    Raises:
        CtsError: it does not fail, or the two results differ.
    """
    first, second = judged(case), judged(case)
    if first.verdict not in BAD:
        raise CtsError(f"{case.id} ends as {first} on {settings.description.name}: there is nothing to minimise")
    if not first.is_like(second):
        raise CtsError(
            f"{case.id} ended as {first}, and then as {second}: only a case that fails in the same way each time can be minimised"
        )
    return Ending(first.verdict, first.code, first.defects & second.defects)


def _has_dispatches(case: Case, settings: Settings) -> bool:
    return case.definition.kind is CaseKind.KERNEL and isinstance(settings.spec, DeviceSpec) and not settings.spec.compiles_only


def _report(first: Case, smallest: Smallest, left: Fewest | None, settings: Settings) -> list[str]:
    """Return the lines of the final report."""
    lines = [smallest.case.id, f"  {smallest.ending} on {settings.description.name}, driver {settings.description.driver}"]
    before, after = first.named, smallest.case.named
    gone = [f"{name} ({label})" for name, label in before.items() if after.get(name) != label]
    if gone:
        lines.append(f"  simplified, with the same failure: {', '.join(gone)}")
    for part in Part:
        for finding in smallest.findings:
            if finding.part is part:
                lines.append(f"  {part.value}: {_words(finding, smallest.ending)}")
    if not smallest.complete:
        lines.append("  the budget ran out before everything was tried: give more --runs or a longer --time-limit")
    if left is not None:
        lines.append(f"  one dispatch is enough: subcase {left.subcase.name}")
        lines += [f"  elements of {name} that are not zero: {some} of {all_}" for name, (some, all_) in left.elements.items()]
        if not left.complete:
            lines.append("  the budget ran out before all data were tried: give more --runs or a longer --time-limit")
    return lines


def take_away(smallest: Smallest, left: Fewest | None, settings: Settings, out: Path | None) -> list[str]:
    """Return the commands that reproduce the best result: the one dispatch if there is one, otherwise the smallest case."""
    if out is not None:
        return [f"  reproduced in {printable_path(out)}"]
    device = f"--device {shlex.quote(settings.spec.selector)}"
    if settings.front_end != "spirv":
        device += f" --front-end {settings.front_end}"
    whole = f"cts repro '{smallest.case.id}' DIR {device}"
    if left is None:
        return [f"  reproduce: {whole}"]
    return [f"  reproduce this dispatch: cts minimise '{smallest.case.id}' {device} --out DIR", f"  or the whole case: {whole}"]


def _words(finding: Finding, ending: Ending) -> str:
    alike = [label for label, end in finding.endings.items() if ending.is_like(end)]
    others = [f"{label} ({end})" for label, end in finding.endings.items() if not ending.is_like(end) and end.verdict not in SAYS_NOTHING]
    untold = [label for label, end in finding.endings.items() if end.verdict in SAYS_NOTHING]
    text = f"{finding.name}, here {finding.label}"
    if alike:
        text += f"; the same with {', '.join(alike)}"
    if others:
        text += f"; not with {', '.join(others)}"
    if untold:
        text += f"; not judged with {', '.join(untold)}"
    return text


def _write(folder: Path, smallest: Smallest, left: Fewest | None, settings: Settings) -> None:
    """Write the folder of the remaining dispatch, or of the smallest case."""
    from cts.kinds.table import KINDS

    case = smallest.case
    if left is None:
        KINDS[case.definition.kind].reproduce(case, folder, settings.front_end)
    else:
        plan = left.arrangement
        again = Again(f"cts minimise '{case.id}' --device DEVICE", "finding this dispatch once more")
        write_arrangement(case.id, again, left.program, plan, folder, settings.front_end, Grounds(rules(case, plan), case.disputed))
    add_device(folder, settings.description)
    print(folder / README)
    for line in next_steps(folder):
        print(line)
