"""Checks that no kind of defect is thin: shown by a small part of the cases in which it can occur, or by hardly any.

    python -m tests.families.thin_kinds [--counts] [--sample N] [--seed S] [--jobs N] [PROFILE ...]

Looks for the kinds of all known defects (cts/defects) on the profiles of ``thin_kinds.yaml``, which also has the limits and the kinds that
are excused; a kind that no test can show (``unseen_defects.py``) is left out. Takes a sample of the nightly cases of each family that a
profile supports. Prints for each kind the profile, in how many of these cases it can occur, how many show it, and their share.

Without options, this is the step of CI: it checks the medians of the shares. With --counts, it also counts the smoke and the nightly cases
that show each kind, up to the least number of nightly cases, which takes seven minutes of CPU time; then an excuse that no longer excuses a
kind is a fault, too. Use --counts --sample 6 after a change of data or of defects. Exit code 1: a kind is thin, or an excuse is needless.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from generators.casebook import CaseKind, Tier
from generators.casebook.placement_kinds import load_kinds
from generators.document import read_document
from tests.families.profile_table import Search, Shown, search, summed
from tests.suite import casebook

FILE = Path(__file__).with_suffix(".yaml")

EVERY_PROFILE = "every profile"
"""The key of kinds that are excused on all profiles."""


@dataclass(frozen=True)
class Limits:
    """What ``thin_kinds.yaml`` demands.

    Attributes:
        profiles: profiles of the embedded device.
        median_percent: the least median of the shares, in percent: of all kinds, and of the kinds that placements are for.
        least: the least number of cases of a tier that show each kind.
        excused: profile, or ``EVERY_PROFILE`` -> id or kind -> the reason.
    """

    profiles: tuple[str, ...]
    median_percent: int
    least: Mapping[Tier, int]
    excused: Mapping[str, Mapping[str, str]]

    @property
    def all_excused(self) -> dict[str, frozenset[str]]:
        """The ids and kinds that each profile excuses."""
        return {profile: frozenset(self._reasons(profile)) for profile in self.profiles}

    def excuse(self, profile: str, kind: str) -> str:
        """Return why hardly any case of a profile need show a kind; empty if some must."""
        reasons = self._reasons(profile)
        return reasons.get(kind) or reasons.get(id_of(kind), "")

    def _reasons(self, profile: str) -> dict[str, str]:
        return {**self.excused.get(EVERY_PROFILE, {}), **self.excused.get(profile, {})}


def id_of(kind: str) -> str:
    """Return the id of the defect of a kind."""
    return kind.partition("[")[0]


def load_limits() -> Limits:
    """Return the limits.

    Raises:
        CasebookError: the file is malformed.
    """
    fields = read_document(FILE).fields(("profiles", "median_percent", "nightly", "smoke", "excused"))
    excused = {
        profile: {id_: reason.text("a reason") for id_, reason in kinds.entries("a mapping from kind to reason").items()}
        for profile, kinds in fields["excused"].entries("a mapping from profile to kinds").items()
    }
    least = {tier: fields[str(tier)].integer(1, 1000) for tier in (Tier.NIGHTLY, Tier.SMOKE)}
    profiles = tuple(item.text("a profile") for item in fields["profiles"].items("profiles"))
    return Limits(profiles, fields["median_percent"].integer(0, 100), least, excused)


def low_medians(found: Mapping[str, Shown], limits: Limits, profile: str) -> Iterator[str]:
    """Yield what is wrong with the shares of a profile's kinds."""
    kept = {kind: one for kind, one in found.items() if not limits.excuse(profile, kind)}
    placed = load_kinds().defects
    for name, group in (("all kinds", list(kept)), ("kinds that placements are for", [kind for kind in kept if id_of(kind) in placed])):
        if not group:
            yield f"{profile}: none of {name} can occur"
            continue
        middle = median(kept[kind].percent for kind in group)
        if middle < limits.median_percent:
            yield f"{profile}: the median share of {name} is {middle:.0f} %, but should be at least {limits.median_percent} %"


def thin(kinds: Mapping[str, Shown], limits: Limits, profile: str, tier: Tier) -> Iterator[str]:
    """Yield the kinds of a profile that too few cases of a tier show."""
    for kind, one in kinds.items():
        if one.shown < limits.least[tier] and not limits.excuse(profile, kind):
            yield f"{profile}: {one.shown} of {one.cases} {tier} cases show {kind}, but at least {limits.least[tier]} should"


def needless(smoke: Mapping[str, Mapping[str, Shown]], limits: Limits) -> Iterator[str]:
    """Yield the excuses of kinds that so many smoke cases show that no tier needs an excuse, and of kinds that cannot occur.

    Args:
        smoke: profile -> kind -> how many smoke cases show it, counted up to the least number of nightly cases or further.
        limits: the excuses.
    """
    for named, reasons in limits.excused.items():
        profiles = limits.profiles if named == EVERY_PROFILE else (named,)
        for excused in reasons:
            counts = [one.shown for profile in profiles for kind, one in smoke[profile].items() if excused in (kind, id_of(kind))]
            if min(counts, default=max(limits.least.values())) >= max(limits.least.values()):
                yield f"{named}: {excused} needs no excuse"


def told(total: Mapping[str, Mapping[str, Shown]]) -> Iterable[tuple[object, ...]]:
    """Yield the lines of a table."""
    for profile, kinds in total.items():
        for kind, one in kinds.items():
            yield profile, kind, one.cases, one.shown, f"{one.percent:.0f} %"


def main() -> int:
    """Print the shares and what is wrong with them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", action="store_true", help="count the cases of each tier that show each kind")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="at most N cases of each family for a profile (default: 1)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="draws the sample (default: 0)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (default: 2)")
    parser.add_argument("profile", nargs="*", help="profiles of the embedded device (default: those of thin_kinds.yaml)")
    arguments = parser.parse_args()
    limits = load_limits()
    limits = replace(limits, profiles=tuple(arguments.profile) or limits.profiles)
    families = tuple(family.name for family in casebook() if family.kind is CaseKind.KERNEL)
    # Excused kinds cost much, because nothing ends the search for them, and the medians leave them out.
    sampled = Search(Tier.NIGHTLY, limits.profiles, families, arguments.sample, arguments.seed, excused=limits.all_excused)
    with ProcessPoolExecutor(arguments.jobs) as pool:

        def total(of: Search) -> dict[str, dict[str, Shown]]:
            return summed(pool.map(search, (replace(of, share=(number, arguments.jobs)) for number in range(arguments.jobs))))

        shares = total(sampled)
        print(*("\t".join(map(str, line)) for line in told(shares)), sep="\n", flush=True)
        wrong = [line for profile, kinds in shares.items() for line in low_medians(kinds, limits, profile)]
        possible = dict(shares)
        for tier in limits.least if arguments.counts else ():
            # Whether an excused kind needs its excuse is visible in smoke.
            excused = limits.all_excused if tier is Tier.NIGHTLY else {}
            counted = total(replace(sampled, tier=tier, sample=0, excused=excused, enough=max(limits.least.values())))
            # Nightly comes first, and has kinds that cannot occur in smoke.
            possible = {profile: {**dict.fromkeys(possible[profile], Shown(0, 0)), **kinds} for profile, kinds in counted.items()}
            wrong += [line for profile, kinds in possible.items() for line in thin(kinds, limits, profile, tier)]
        if arguments.counts and not arguments.profile:
            # These are the counts of smoke, the last tier.
            wrong += needless(possible, limits)
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
