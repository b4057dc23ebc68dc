"""Checks that no kind of wrong address is thin: shown by a small part of the cases in which it can occur, or by hardly any.

    python -m tests.families.thin_kinds [--sample N] [--jobs N] [PROFILE ...]

``thin_kinds.yaml`` has the profiles, the limits, and the kinds that are excused. Prints for each kind in how many of a sample of nightly
cases it can occur, how many of these show it, and their share. A kind that too few of the sample show is sought in all cases. Exit code 1:
a kind is thin.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median

from generators.casebook import CaseKind, Tier
from generators.casebook.document import read_document
from generators.casebook.placement_kinds import load_kinds
from tests.families.kill_table import Choice, Line, kill_table
from tests.suite import casebook

FILE = Path(__file__).with_suffix(".yaml")


@dataclass(frozen=True)
class Limits:
    """What ``thin_kinds.yaml`` demands.

    Attributes:
        profiles: profiles of the embedded device.
        median_percent: the least median of the shares, in percent.
        least: the least number of cases of a tier that show each kind.
        excused: profile -> id -> the reason.
    """

    profiles: tuple[str, ...]
    median_percent: int
    least: Mapping[Tier, int]
    excused: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Shown:
    """How often a kind is shown: in how many cases it can occur, and how many show it."""

    cases: int
    shown: int

    @property
    def percent(self) -> float:
        """The share of the cases that show it."""
        return 100 * self.shown / self.cases


def load_limits() -> Limits:
    """Return the limits.

    Raises:
        CasebookError: the file is malformed.
    """
    fields = read_document(FILE).fields(("profiles", "median_percent", "nightly", "smoke", "excused"))
    excused = {
        profile: {id_: reason.text("a reason") for id_, reason in kinds.entries("a mapping from id to reason").items()}
        for profile, kinds in fields["excused"].entries("a mapping from profile to kinds").items()
    }
    least = {tier: fields[str(tier)].integer(1, 1000) for tier in (Tier.NIGHTLY, Tier.SMOKE)}
    profiles = tuple(item.text("a profile") for item in fields["profiles"].items("profiles"))
    return Limits(profiles, fields["median_percent"].integer(0, 100), least, excused)


def summed(lines: Sequence[Line]) -> dict[str, Shown]:
    """Return how often each kind is shown in all families."""
    possible, shown = Counter[str](), Counter[str]()
    for _, kind, cases, seen, _ in lines:
        possible[kind] += cases
        shown[kind] += seen
    return {kind: Shown(possible[kind], shown[kind]) for kind in sorted(possible)}


def faults(found: Mapping[str, Shown], recounted: Mapping[Tier, Mapping[str, int]], limits: Limits, profile: str) -> Iterator[str]:
    """Yield what is wrong with the kinds of a profile.

    Args:
        found: the sample.
        recounted: for each tier, how many of all its cases show each kind, counted up to the limit.
        limits: the limits.
        profile: the profile.
    """
    kept = [kind for kind in found if kind.partition("[")[0] not in limits.excused.get(profile, {})]
    if not kept:
        yield f"{profile}: no kind can occur"
        return
    middle = median(found[kind].percent for kind in kept)
    if middle < limits.median_percent:
        yield f"{profile}: the median of the shares is {middle:.0f} %, but should be at least {limits.median_percent} %"
    for tier, least in limits.least.items():
        for kind in kept:
            if recounted[tier].get(kind, 0) < least:
                yield f"{profile}: {recounted[tier].get(kind, 0)} {tier} cases show {kind}, but at least {least} should"


def table(pool: ProcessPoolExecutor, choice: Choice) -> list[Line]:
    """Return the kill table of all families that may have such cases."""
    names = [family.name for family in casebook() if family.kind is CaseKind.KERNEL]
    return [line for lines in pool.map(partial(kill_table, choice=choice), names) for line in lines]


def counted(sample: Sequence[Line], choice: Choice, least: int) -> dict[str, int]:
    """Return how many cases show each kind of a sample. Kinds that fewer than ``least`` cases of the sample show are sought in all cases of
    the tier, in one family after the other, until enough are found."""
    found = {kind: one.shown for kind, one in summed(sample).items()}
    seldom = {kind: 0 for kind, shown in found.items() if shown < least}
    # Families whose sample shows a kind probably show it again.
    families = sorted({(-shown, name) for name, kind, _, shown, _ in sample if kind in seldom})
    for name in dict.fromkeys(name for _, name in families):
        sought = tuple(kind for kind, shown in seldom.items() if shown < least)
        if not sought:
            break
        for _, kind, _, shown, _ in kill_table(name, replace(choice, kinds=sought, sample=0, enough=least)):
            seldom[kind] = seldom.get(kind, 0) + shown
    return {**found, **seldom}


def main() -> int:
    """Print the shares and what is wrong with them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=12, metavar="N", help="at most N cases of each family (default: 12)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (default: 2)")
    parser.add_argument("profile", nargs="*", help="profiles of the embedded device (default: those of thin_kinds.yaml)")
    arguments = parser.parse_args()
    limits = load_limits()
    wrong: list[str] = []
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for profile in arguments.profile or limits.profiles:
            choice = Choice(Tier.NIGHTLY, profile=profile, sample=arguments.sample, kinds=load_kinds().defects)
            samples = {tier: table(pool, replace(choice, tier=tier)) for tier in limits.least}
            found = summed(samples[Tier.NIGHTLY])
            for kind, one in found.items():
                print(profile, kind, one.cases, one.shown, f"{one.percent:.0f} %", sep="\t", flush=True)
            recounted = {tier: counted(samples[tier], replace(choice, tier=tier), least) for tier, least in limits.least.items()}
            wrong += faults(found, recounted, limits, profile)
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
