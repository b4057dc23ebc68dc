"""Counts the cases that show each known defect, on several devices at once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from cts.defects.known import known_defects
from cts.devices.spec import DeviceSpec
from cts.diagnosis.shown import prepared
from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.kinds.foretelling import Foreteller
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
        families: names of the families.
        sample: takes at most this many cases of a family for each profile, drawn with ``seed`` and the family's name; 0 for all.
        share: (i, n) takes every n-th of these cases, starting with number i.
        excused: profile -> kinds or ids to count only the cases in which they can occur.
        enough: the search for a kind ends when this many cases show it; 0 for no limit.
    """

    tier: Tier
    profiles: tuple[str, ...]
    families: tuple[str, ...]
    sample: int = 0
    seed: int = 0
    share: tuple[int, int] = (0, 1)
    excused: Mapping[str, frozenset[str]] = field(default_factory=dict)
    enough: int = 0

    def seeks(self, profile: str, kind: str, shown: int) -> bool:
        """Return whether to look for a kind on a profile, if ``shown`` cases have shown it."""
        excused = self.excused.get(profile, frozenset())
        return (not self.enough or shown < self.enough) and excused.isdisjoint((kind, kind.partition("[")[0]))


@dataclass
class _Counts:
    possible: Counter[str] = field(default_factory=Counter)
    shown: Counter[str] = field(default_factory=Counter)


def search(of: Search) -> Table:
    """Return how often cases show each kind that they must show.

    A kind is left out if no test can show it (``unseen_defects.py``).
    """
    counts = {profile: _Counts() for profile in of.profiles}
    for case, profiles in _drawn(of):
        program = build(case).program
        defects = [defect for defect in known_defects(program) if not why_nobody(defect)]
        kinds = {defect.kind for defect in defects}
        for profile in profiles:
            counts[profile].possible.update(kinds)
        sought = {kind for kind in kinds if any(of.seeks(profile, kind, counts[profile].shown[kind]) for profile in profiles)}
        places = list(prepared(case, program)) if sought else []
        for defect in defects:
            if defect.kind in sought and any(is_shown(defect, at) for at in places):
                sought.remove(defect.kind)
                for profile in profiles:
                    counts[profile].shown[defect.kind] += 1
    return {
        profile: {kind: Shown(cases, of_profile.shown[kind]) for kind, cases in sorted(of_profile.possible.items())}
        for profile, of_profile in counts.items()
    }


def _drawn(of: Search) -> Iterator[tuple[Case, list[str]]]:
    """Yield the cases of a table, in any order, with the profiles for which each counts."""
    devices = {profile: _Supporting(EmbeddedDevice(load_profile(profile))) for profile in of.profiles}
    drawn: dict[Case, list[str]] = {}
    for name in of.families:
        cases = expand(casebook().family(name), of.tier)
        # All profiles draw in the same order, so many cases count for several.
        order = random.Random(f"{of.seed} {name}").sample(cases, len(cases))
        if not of.sample:
            drawn.update((case, []) for case in order)
            continue
        for profile, device in devices.items():
            for case in islice(filter(device.supports, order), of.sample):
                drawn.setdefault(case, []).append(profile)
    # Cases of a family show the same kinds, and a kind that few show is found sooner in any order.
    order = random.Random(of.seed).sample(list(drawn), len(drawn))
    for case in islice(order, of.share[0], None, of.share[1]):
        profiles = drawn[case] or [profile for profile, device in devices.items() if device.supports(case)]
        if profiles:
            yield case, profiles


class _Supporting:
    """Tells which cases a device supports."""

    def __init__(self, device: EmbeddedDevice) -> None:
        self._device = device
        self._foreteller = Foreteller(DeviceSpec("embedded", device.description.name), device.description, "spirv")

    def supports(self, case: Case) -> bool:
        """Return whether the device supports a case. A case whose needs depend on the device has none pinned."""
        if pinned_needs(case) is None:
            return is_supported(self._device, build(case).program)
        return self._foreteller.missing(case) is None


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
