"""Counts the cases that show each known defect, on several devices at once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice

from cts.defects.known import known_defects
from cts.devices.requirements import missing_for
from cts.diagnosis.shown import prepared
from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.kinds.kernel import pinned_missing
from cts.kinds.pinned_needs import pinned_needs
from generators.casebook import Case, Tier, build, expand
from tests.families.blind_spots import is_shown
from tests.families.kill_table import is_supported
from tests.families.unseen_defects import why_nobody
from tests.suite import casebook


@dataclass(frozen=True)
class Shown:
    """How often a kind is shown: in how many cases it can occur, and how many show it."""

    cases: int
    shown: int

    @property
    def percent(self) -> float:
        """The share of the cases that show it."""
        return 100 * self.shown / self.cases


Table = Mapping[str, Mapping[str, Shown]]
"""Profile -> kind -> how often it is shown."""


@dataclass(frozen=True)
class Search:
    """The cases and kinds of a table.

    Attributes:
        tier: tier of the cases.
        profiles: profiles of the embedded device; a case counts for each that supports it.
        sample: takes at most this many cases of a family for each profile, drawn with ``seed`` and the family's name; 0 for all.
        sought: profile -> the kinds to look for; an id stands for all its kinds. All kinds if None.
        enough: the search for a kind in a family ends when this many cases show it; 0 for no limit.
    """

    tier: Tier
    profiles: tuple[str, ...]
    sample: int = 0
    seed: int = 0
    sought: Mapping[str, frozenset[str]] | None = None
    enough: int = 0

    def takes(self, profile: str, kind: str) -> bool:
        """Return whether the table has the kind on a profile."""
        return self.sought is None or not self.sought.get(profile, frozenset()).isdisjoint((kind, kind.partition("[")[0]))


@dataclass
class _Counts:
    possible: Counter[str] = field(default_factory=Counter)
    shown: Counter[str] = field(default_factory=Counter)


def search(name: str, of: Search) -> Table:
    """Return how often the cases of the family ``name`` show each kind that they must show.

    A kind is left out if no test can show it (``unseen_defects.py``).
    """
    counts = {profile: _Counts() for profile in of.profiles}
    for case, profiles in _drawn(name, of).items():
        program = build(case).program
        defects = [defect for defect in known_defects(program) if not why_nobody(defect)]
        sought: dict[str, list[str]] = {}
        for kind in dict.fromkeys(defect.kind for defect in defects):
            taking = [profile for profile in profiles if of.takes(profile, kind)]
            for profile in taking:
                counts[profile].possible[kind] += 1
            if any(not of.enough or counts[profile].shown[kind] < of.enough for profile in taking):
                sought[kind] = taking
        places = list(prepared(case, program)) if sought else []
        for defect in defects:
            if defect.kind in sought and any(is_shown(defect, at) for at in places):
                for profile in sought.pop(defect.kind):
                    counts[profile].shown[defect.kind] += 1
    return {
        profile: {kind: Shown(cases, of_profile.shown[kind]) for kind, cases in sorted(of_profile.possible.items())}
        for profile, of_profile in counts.items()
    }


def _drawn(name: str, of: Search) -> Mapping[Case, list[str]]:
    """Return the cases of a table, in the order of the tier, with the profiles for which each counts."""
    cases = expand(casebook().family(name), of.tier)
    # All profiles draw in the same order, so many cases count for several.
    order = random.Random(f"{of.seed} {name}").sample(cases, len(cases))
    found: dict[Case, list[str]] = {}
    for profile in of.profiles:
        if of.sought is not None and not of.sought.get(profile):
            continue
        device = EmbeddedDevice(load_profile(profile))
        supported = (case for case in order if _is_supported(case, device))
        for case in islice(supported, of.sample or None):
            found.setdefault(case, []).append(profile)
    return {case: found[case] for case in cases if case in found}


def _is_supported(case: Case, device: EmbeddedDevice) -> bool:
    """Return whether a device supports a case. A case whose needs depend on the device has none pinned."""
    if pinned_needs(case) is None:
        return is_supported(device, build(case).program)
    return not pinned_missing(case, lambda needs: missing_for(needs, device.description))


def summed(tables: Iterable[Table]) -> dict[str, dict[str, Shown]]:
    """Return how often all families together show each kind."""
    total: dict[str, dict[str, Shown]] = {}
    for table in tables:
        for profile, kinds in table.items():
            into = total.setdefault(profile, {})
            for kind, one in kinds.items():
                old = into.get(kind, Shown(0, 0))
                into[kind] = Shown(old.cases + one.cases, old.shown + one.shown)
    return {profile: dict(sorted(kinds.items())) for profile, kinds in total.items()}
