"""Lists the cases that show each known defect.

    python -m tests.families.kill_table [--tier smoke|nightly] [--jobs N] [--share I/N] [--sample N [--seed S]] [--enough K]
                                        [--defects WORD] [--device PROFILE] [--journal FILE] [--below K]
                                        [--weak-in FILE] [FAMILY ...]

Takes all families of kernel cases, and the family of layout conversions. Prints a line for each family and each kind of defect that can
occur in it, separated by tabs: the family, the kind, the number of cases in which it can occur, the number of cases that show it, and the
first of these. A kind is a defect's id, and those of its parameters that make it a different mistake. A case shows a defect if an expected
result changes, or if the reference model cannot evaluate it: then the defect stores to a wrong place, or its sums are not exact, and both
would show on a device.

Options for the whole catalogue over the smoke tier: with --enough 2, the search for a kind ends as soon as two cases of a family show it,
and cases with nothing left to look for cost nothing. --sample 20 limits the cost of kinds that no case shows. --journal writes each family
when it is done; a second run with the same file and the same choices skips these families. --below 2 also prints the kinds that fewer than
two cases of all families show, and the entries of the glossary that occur in no case. --weak-in takes the journal of such a run, and looks
only for these kinds: in all cases instead of a sample, or in the next tier.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from cts.defects.glossary import glossary
from cts.defects.known import known_defects
from cts.devices.device import Device
from cts.diagnosis.shown import prepared
from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from generators.casebook import Case, CaseKind, Tier, build, expand
from generators.dispatch import kernel
from generators.program.program import Program
from generators.spirv.emit import emit
from tests.families.blind_spots import is_shown
from tests.families.conversion_spans import FAMILY as CONVERSIONS
from tests.families.conversion_spans import conversion_kill_table
from tests.suite import casebook

Line = tuple[str, str, int, int, str]


@dataclass(frozen=True)
class Choice:
    """The cases and defects of a table.

    Attributes:
        tier: tier of the cases.
        share: (i, n) takes every n-th case, starting with the i-th; conversions are always all taken.
        word: takes only kinds that contain it.
        profile: takes only cases that the embedded device supports with this profile; all if empty.
        sample: takes at most this many cases of a family, drawn with ``seed`` and the family's name; 0 for all.
        enough: the search for a kind ends when this many cases of a family show it, so no count is higher; 0 for no limit.
        kinds: takes only these kinds, and all kinds of the ids among them; all if empty.
    """

    tier: Tier
    share: tuple[int, int] = (1, 1)
    word: str = ""
    profile: str = ""
    sample: int = 0
    seed: int = 0
    enough: int = 0
    kinds: tuple[str, ...] = ()

    def takes(self, kind: str) -> bool:
        """Return whether the table includes a kind."""
        return self.word in kind and (not self.kinds or kind in self.kinds or kind.partition("[")[0] in self.kinds)


def chosen(name: str, choice: Choice) -> Iterator[tuple[Case, Program]]:
    """Yield the cases of the family ``name`` that the table includes, in the order of the tier."""
    number, count = choice.share
    cases = [case for position, case in enumerate(expand(casebook().family(name), choice.tier)) if position % count == number - 1]
    if 0 < choice.sample < len(cases):
        drawn = random.Random(f"{choice.seed} {name}").sample(range(len(cases)), choice.sample)
        cases = [cases[position] for position in sorted(drawn)]
    return ((case, build(case).program) for case in cases)


def kill_table(name: str, choice: Choice) -> list[Line]:
    """Return the lines of the family ``name``, by kind."""
    if name == CONVERSIONS:
        return [line for line in conversion_kill_table(choice.tier) if choice.takes(line[1])]
    device = EmbeddedDevice(load_profile(choice.profile)) if choice.profile else None
    possible, shown = Counter[str](), Counter[str]()
    first: dict[str, str] = {}
    for case, program in chosen(name, choice):
        defects = [defect for defect in known_defects(program) if choice.takes(defect.kind)]
        if not defects or (device is not None and not is_supported(device, program)):
            continue
        possible.update({defect.kind for defect in defects})
        sought = [defect for defect in defects if not choice.enough or shown[defect.kind] < choice.enough]
        places = list(prepared(case, program)) if sought else []
        seen: dict[str, bool] = {}
        for defect in sought:
            if not seen.get(defect.kind):
                seen[defect.kind] = any(is_shown(defect, at) for at in places)
        for kind, is_seen in seen.items():
            shown[kind] += is_seen
            if is_seen:
                first.setdefault(kind, case.id)
    return [(name, kind, possible[kind], shown[kind], first.get(kind, "-")) for kind in sorted(possible)]


def is_supported(device: Device, program: Program) -> bool:
    """Return whether a device supports all pipelines of a case."""
    return not any(device.missing(kernel(one, emit(one))) for one in program.all)


def weak(lines: Iterable[Line], below: int, kinds: Iterable[str] = ()) -> list[tuple[str, int, int]]:
    """Return the kinds that fewer than ``below`` cases of all families show: the kind, how many cases it can occur in, how many show it.

    Entries of the glossary that occur in no case are added with zeros. If ``kinds`` are given, the lines have only these kinds, and only
    their entries are added.
    """
    possible, shown = Counter[str](), Counter[str]()
    for _, kind, cases, seen, _ in lines:
        possible[kind] += cases
        shown[kind] += seen
    asked = {kind.partition("[")[0] for kind in kinds} or set(glossary().entries)
    absent = asked - {kind.partition("[")[0] for kind in possible}
    found = [(kind, possible[kind], shown[kind]) for kind in possible if shown[kind] < below]
    return sorted([*found, *((id_, 0, 0) for id_ in absent)])


def journalled(path: Path | None, choice: Choice) -> dict[str, list[Line]]:
    """Return the lines of the families that the journal ``path`` has for the same choice."""
    if path is None or not path.exists():
        return {}
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {record["family"]: [tuple(line) for line in record["lines"]] for record in records if record["choice"] == told(choice)}


def seldom(path: Path, below: int) -> tuple[str, ...]:
    """Return the kinds that the run of the journal ``path`` looked for, but that fewer than ``below`` of its cases show."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    asked = {kind for record in records for kind in record["choice"].get("kinds", ())}
    return tuple(kind for kind, _, _ in weak([tuple(line) for record in records for line in record["lines"]], below, asked))


def told(choice: Choice) -> dict[str, object]:
    """Return a choice as a JSON object."""
    return {**vars(choice), "tier": str(choice.tier), "share": list(choice.share), "kinds": list(choice.kinds)}


def timed(name: str, choice: Choice) -> tuple[str, list[Line], float]:
    """Return a family's name, its lines, and the processor seconds that they took."""
    begin = time.process_time()
    return name, kill_table(name, choice), time.process_time() - begin


def main() -> int:
    """Make the table and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tier", choices=("smoke", "nightly"), default="smoke", help="tier of the cases (default: smoke)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (default: 2)")
    parser.add_argument("--share", default="1/1", metavar="I/N", help="every N-th case of a family, starting with the I-th (default: 1/1)")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="at most N cases of each family (default: all)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the sample (default: 0)")
    parser.add_argument("--enough", type=int, default=0, metavar="K", help="end the search for a kind when K cases of a family show it")
    parser.add_argument("--defects", default="", metavar="WORD", help="only kinds that contain WORD (default: all)")
    parser.add_argument("--device", default="", metavar="PROFILE", help="only cases that the embedded device supports with PROFILE")
    parser.add_argument(
        "--journal", type=Path, metavar="FILE", help="write a line of JSON for each family, and skip families that have one"
    )
    parser.add_argument("--below", type=int, default=0, metavar="K", help="also print the kinds that fewer than K cases show")
    parser.add_argument("--weak-in", type=Path, metavar="FILE", help="only kinds that fewer than --below cases of this journal show")
    parser.add_argument("family", nargs="*", help="only these families")
    arguments = parser.parse_args()
    if arguments.weak_in is not None and not (arguments.below and arguments.weak_in.exists()):
        parser.error("--weak-in needs the journal of an earlier run, and --below")
    kinds = seldom(arguments.weak_in, arguments.below) if arguments.weak_in is not None else ()
    number, _, count = arguments.share.partition("/")
    choice = Choice(
        Tier(arguments.tier),
        (int(number), int(count)),
        arguments.defects,
        arguments.device,
        arguments.sample,
        arguments.seed,
        arguments.enough,
        kinds,
    )
    names = arguments.family or [family.name for family in casebook() if family.kind in (CaseKind.KERNEL, CaseKind.CONVERSION)]
    done = {name: lines for name, lines in journalled(arguments.journal, choice).items() if name in names}
    found = [line for lines in done.values() for line in lines]
    for line in found:
        print(*line, sep="\t", flush=True)
    with ProcessPoolExecutor(arguments.jobs) as pool:
        running = [pool.submit(timed, name, choice) for name in names if name not in done]
        for future in as_completed(running):
            name, lines, seconds = future.result()
            found += lines
            for line in lines:
                print(*line, sep="\t", flush=True)
            if arguments.journal is not None:
                record = {"family": name, "choice": told(choice), "seconds": round(seconds, 1), "lines": lines}
                with arguments.journal.open("a", encoding="utf-8") as journal:
                    journal.write(json.dumps(record) + "\n")
    if arguments.below:
        print(f"# kinds that fewer than {arguments.below} cases show: kind, cases in which it can occur, cases that show it")
        for kind, cases, shown in weak(found, arguments.below, choice.kinds):
            print(kind, cases, shown, sep="\t")
    return 0


if __name__ == "__main__":
    sys.exit(main())
