"""Lists the defects that the known failures of a driver hide.

    python -m tests.families.masks [--tier smoke|nightly] [--jobs N] [lavapipe|nvidia ...]

A known failure hides a defect if every case that shows the defect fails anyway, because a driver that also gets the defect then has the
same results as before. Prints a line for each known failure and each kind of defect that it hides, separated by tabs: the driver, the known
failure, the kind, the number of cases that show it, and the first of them. Only cases that the driver's device supports count. If a known
failure names defects of the catalogue and permits passes, only the selected cases that show one of these defects count as failing;
otherwise all selected cases do.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType

from cts.defects.defect import Defect
from cts.defects.glossary import EVERY, glossary
from cts.defects.known import known_defects
from cts.diagnosis.shown import prepared
from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.verdict.known_failures import KnownFailure, load_files
from generators.casebook import Case, CaseKind, Tier
from generators.program.program import Program
from tests.families.blind_spots import is_shown
from tests.families.kill_table import is_supported
from tests.suite import REPOSITORY, casebook, programs

PROFILES: Mapping[str, str] = MappingProxyType({"lavapipe": "llvmpipe", "nvidia": "nvidia-h200"})
"""Name of a driver's known failures -> the profile of the embedded device that represents the driver."""


@dataclass(frozen=True)
class Mask:
    """A ``kind`` of defect that a known failure of a driver hides, how many ``cases`` show it, and the first of them."""

    driver: str
    known: str
    kind: str
    cases: int
    example: str


@cache
def _entries(driver: str) -> tuple[KnownFailure, ...]:
    """Return the known failures of kernel cases in the file of a driver."""
    kernels = set(_families())
    listed = load_files(REPOSITORY, casebook())[driver].entries
    return tuple(entry for entry in listed if any(selector.family in kernels for selector in entry.selectors))


def _families() -> list[str]:
    return [family.name for family in casebook() if family.kind is CaseKind.KERNEL]


@cache
def _device(driver: str) -> EmbeddedDevice:
    return EmbeddedDevice(load_profile(PROFILES[driver]))


def _cases(name: str, tier: Tier, driver: str, known: bool) -> Iterator[tuple[Case, Program]]:
    """Yield the cases of a family that a known failure of a driver selects, or all others, including cases that its device does not
    support."""
    for case, program in programs(name, tier):
        if any(entry.selects(case) for entry in _entries(driver)) is known:
            yield case, program


def _shown(case: Case, program: Program, defects: Mapping[str, Sequence[Defect]]) -> set[str]:
    """Return the kinds that a case shows. ``defects`` are the defects of each kind."""
    places = list(prepared(case, program)) if defects else []
    return {kind for kind, alike in defects.items() if any(is_shown(defect, at) for defect in alike for at in places)}


def _by_kind(defects: Iterable[Defect]) -> dict[str, list[Defect]]:
    """Return the defects of a program by kind."""
    found: dict[str, list[Defect]] = {}
    for defect in defects:
        found.setdefault(defect.kind, []).append(defect)
    return found


def _with_lone_mistakes(defects: Mapping[str, list[Defect]]) -> dict[str, list[Defect]]:
    """Return the defects of a program by kind; a mistake in the only operation of the program is also the mistake in all operations."""
    found = dict(defects)
    for lone in (alike[0] for alike in defects.values() if len(alike) == 1):
        for subject in glossary().subjects.keys() & lone.parameters.keys():
            found.setdefault(glossary().kind(lone.id, {**lone.parameters, subject: EVERY}), [lone])
    return found


def seen_elsewhere(name: str, tier: Tier, driver: str, wanted: Set[str]) -> set[str]:
    """Return the kinds in ``wanted`` that are shown by cases of the family ``name`` that no known failure of a driver selects."""
    seen: set[str] = set()
    for case, program in _cases(name, tier, driver, known=False):
        defects = _with_lone_mistakes(_by_kind(known_defects(program)))
        sought = {kind: defects[kind] for kind in (wanted - seen) & defects.keys()}
        if sought and is_supported(_device(driver), program):
            seen |= _shown(case, program, sought)
        if seen == wanted:
            break
    return seen


def seen_by_failing(name: str, tier: Tier, driver: str) -> dict[str, tuple[set[str], set[str]]]:
    """Return, for each case of the family ``name`` that known failures select, the known failures by which it fails, and the kinds of
    defects that it shows."""
    found = {}
    for case, program in _cases(name, tier, driver, known=True):
        if is_supported(_device(driver), program):
            defects = _by_kind(known_defects(program))
            shown = _shown(case, program, defects)
            ids = {defects[kind][0].id for kind in shown}
            found[case.id] = {entry.id for entry in _entries(driver) if entry.selects(case) and _fails(entry, ids)}, shown
    return found


def _fails(entry: KnownFailure, shown: Set[str]) -> bool:
    """Return whether a selected case fails. If only some selected cases fail, a case fails if it shows a defect that the known failure
    names."""
    return not entry.defects or "pass" not in entry.ends or not shown.isdisjoint(entry.defects)


def masks(driver: str, tier: Tier, jobs: int) -> list[Mask]:
    """Return the defects that each known failure of a driver hides.

    Args:
        driver: the name of its file, without ``.yaml``.
        jobs: number of processes.
    """
    with ProcessPoolExecutor(jobs) as pool:
        parts = pool.map(partial(seen_by_failing, tier=tier, driver=driver), _families())
        found = {case: both for part in parts for case, both in part.items()}
        left = set[str]().union(*(kinds for _, kinds in found.values()))
        # Families with known failures come first, since they show most of the kinds.
        own = dict.fromkeys(case.partition("[")[0] for case in found)
        for some in (list(own), [name for name in _families() if name not in own]):
            left -= set[str]().union(*pool.map(partial(seen_elsewhere, tier=tier, driver=driver, wanted=frozenset(left)), some))
    result = []
    for entry in _entries(driver):
        hidden: dict[str, list[str]] = {}
        for case, (fails, kinds) in found.items():
            if entry.id in fails:
                for kind in kinds & left:
                    hidden.setdefault(kind, []).append(case)
        for kind, cases in sorted(hidden.items()):
            others = [case for case, (fails, kinds) in found.items() if kind in kinds and entry.id not in fails]
            if not others and kind.partition("[")[0] not in entry.defects:
                result.append(Mask(driver, entry.id, kind, len(cases), cases[0]))
    return result


def main() -> int:
    """Make the table and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tier", choices=("smoke", "nightly"), default="smoke", help="tier of the cases (default: smoke)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (default: 2)")
    parser.add_argument("driver", nargs="*", choices=[*PROFILES, []], help="names of files of known failures (default: all)")
    arguments = parser.parse_args()
    found = 0
    for driver in arguments.driver or PROFILES:
        for mask in masks(driver, arguments.tier, arguments.jobs):
            print(mask.driver, mask.known, mask.kind, mask.cases, mask.example, sep="\t", flush=True)
            found += 1
    print(f"{found} masks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
