"""What the histories of cases show: where they broke, which are flaky, which became slower."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cts.verdict.verdict import ENDED_WELL, Verdict
from reports.archive.engine import Archive
from reports.history.groups import End, Group, PastRun
from reports.verdicts import SEVERITY, WORDING

FEWEST_SWITCHES = 2
"""How often the outcome of a flaky case turns from good to bad or back, with one driver and one version of the suite. A case that turned
once may have been mended, for example in the driver's compiler, which has its own version."""

TIMED_RUNS = 5
"""The number of runs at each end of a group whose times are compared."""

FACTOR = 1.5
LOST_SECONDS = 0.1
"""A case grows if its time, divided by the pace of all cases, is FACTOR times as long, and this much longer."""


@dataclass(frozen=True)
class Spell:
    """Runs after one another in which a case ended alike. Runs that did not judge it do not count.

    Attributes:
        first, last: the first and the last of them.
        runs: their number.
    """

    end: End
    first: PastRun
    last: PastRun
    runs: int


@dataclass(frozen=True)
class Broke:
    """Where a case broke that does not end well now.

    Attributes:
        case: its id.
        now: its last outcome.
        last_good: the last run in which it ended well; None if there is none.
        first_bad: the first run after that in which it did not.
    """

    case: str
    now: End
    last_good: PastRun | None
    first_bad: PastRun


@dataclass(frozen=True)
class Flake:
    """A case that ended well in some runs and not in others, with one driver and one version of the suite.

    Attributes:
        case: its id.
        driver, suite_version: of these runs.
        bad, runs: in how many it did not end well, of how many that judged it.
    """

    case: str
    driver: str
    suite_version: str
    bad: int
    runs: int


@dataclass(frozen=True)
class Growth:
    """A case that became slower.

    Attributes:
        case: its id.
        before, after: seconds, the median of the first and of the last TIMED_RUNS runs.
        ratio: factor by which it took longer, beyond the pace of all cases.
    """

    case: str
    before: float
    after: float
    ratio: float


def is_good(end: End) -> bool:
    """Tell whether a case ended well."""
    return end.verdict in ENDED_WELL


def spells(group: Group, place: int) -> Iterator[Spell]:
    """Yield the spells of the case at a place in a group's ``cases``, oldest first."""
    judged = np.flatnonzero(group.strips[place] >= 0)
    ends = group.strips[place, judged]
    begins = np.flatnonzero(np.diff(ends, prepend=-1)).tolist()
    for begin, after in pairwise([*begins, len(judged)]):
        yield Spell(group.ends[ends[begin]], group.runs[judged[begin]], group.runs[judged[after - 1]], after - begin)


def broke(group: Group) -> list[Broke]:
    """Return where the cases broke that do not end well now, newest first, and the worst first of those that broke in the same run. Runs
    that did not support a case do not count."""
    places = _not_always_good(group)
    strips, runs = group.strips[places], np.arange(len(group.runs))
    counts, good = _counts(group)[strips], _is_good(group)[strips]
    last = np.where(counts, runs, -1).max(axis=1, initial=-1)
    last_good = np.where(good, runs, -1).max(axis=1, initial=-1)
    first_bad = np.argmax(counts & (runs > last_good[:, np.newaxis]), axis=1)
    found = []
    for row in np.flatnonzero(last > last_good):
        end, before = group.ends[strips[row, last[row]]], last_good[row]
        one = Broke(group.cases[places[row]], end, group.runs[before] if before >= 0 else None, group.runs[first_bad[row]])
        found.append((-first_bad[row], SEVERITY[end.verdict], one))
    return [one for *_, one in sorted(found, key=lambda found: found[:2])]


def flakes(group: Group) -> list[Flake]:
    """Return the flaky cases, highest rate first. A verdict of ``flaky`` makes a case one, and otherwise FEWEST_SWITCHES."""
    places = _not_always_good(group)
    is_flaky = _true_of(group, lambda end: end.verdict is Verdict.FLAKY)
    versions: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, run in enumerate(group.runs):
        versions[run.facts["driver"], run.facts["suite_version"]].append(number)
    found = []
    for version, runs in versions.items():
        strips = group.strips[places][:, runs]
        counts, good = _counts(group)[strips], _is_good(group)[strips]
        # For each run the last one before it that counts.
        before = np.maximum.accumulate(np.where(counts, np.arange(len(runs)), -1), axis=1)[:, :-1]
        turned = counts[:, 1:] & (before >= 0) & (good[:, 1:] != np.take_along_axis(good, before, axis=1))
        bad, judged = (counts & ~good).sum(axis=1), counts.sum(axis=1)
        for row in np.flatnonzero((turned.sum(axis=1) >= FEWEST_SWITCHES) | is_flaky[strips].any(axis=1)):
            found.append(Flake(group.cases[places[row]], *version, int(bad[row]), int(judged[row])))
    return sorted(found, key=lambda one: (-one.bad / one.runs, one.case))


def _not_always_good(group: Group) -> NDArray[np.intp]:
    """Return the places of the cases that ended badly in some run."""
    bad = _counts(group) & ~_is_good(group)
    return np.flatnonzero(bad[group.strips].any(axis=1))


def _counts(group: Group) -> NDArray[np.bool_]:
    """Return for each end whether it counts: whether the case was supported."""
    return _true_of(group, lambda end: end.verdict is not Verdict.NOT_SUPPORTED)


def _is_good(group: Group) -> NDArray[np.bool_]:
    """Return for each end whether it counts and is good."""
    return _true_of(group, lambda end: is_good(end) and end.verdict is not Verdict.NOT_SUPPORTED)


def _true_of(group: Group, condition: Callable[[End], bool]) -> NDArray[np.bool_]:
    """Return for each end whether the condition is true. The last element, which index -1 of a strip finds, is false."""
    return np.array([*map(condition, group.ends), False])


def growing(archive: Archive, group: Group, condition: str) -> list[Growth]:
    """Return the cases that became slower, most lost seconds first.

    Args:
        archive: the archive of the runs.
        group: the runs.
        condition: the SQL that is true of the selected cases.
    """
    runs = group.runs
    number = min(TIMED_RUNS, len(runs) // 2)
    if not number:
        return []
    ends = (*runs[:number], *runs[-number:])
    archive.show({run.partition for run in ends})
    archive.connection.register("timed", {"run": np.array([run.id for run in ends]), "is_last": np.arange(2 * number) >= number})
    rows = archive.connection.execute(
        f"""
        WITH times AS (SELECT case_id, unnest(runs) AS run, unnest(seconds) AS seconds FROM outcomes
            WHERE {condition} AND verdict NOT IN ('not_supported', 'compiled')),
        medians AS (SELECT case_id, median(seconds) FILTER (NOT is_last) AS before, median(seconds) FILTER (is_last) AS after
            FROM times JOIN timed USING (run) GROUP BY case_id)
        SELECT case_id, before, after, after / before / pace AS ratio
        FROM (SELECT *, median(after / before) OVER () AS pace FROM medians WHERE before > 0 AND after > 0)
        WHERE ratio >= {FACTOR} AND after - before * pace >= {LOST_SECONDS} ORDER BY after - before * pace DESC, case_id
        """
    ).fetchall()
    return [Growth(*row) for row in rows]


def newest_by_device(groups: Sequence[Group], ids: Collection[str]) -> dict[tuple[str, str, str], dict[Verdict, int]]:
    """Return the latest outcomes on each device: device, driver and front end -> verdict -> number of cases, worst first.

    Args:
        groups: the runs.
        ids: the ids of the cases.
    """
    found = {}
    for group in groups:
        latest: dict[str, dict[str, Verdict]] = defaultdict(dict)
        for id_ in ids:
            for run, end in group.of(id_):
                latest[run.facts["driver"]][id_] = end.verdict
        for driver, cases in latest.items():
            tally = Counter(cases.values())
            found[group.device, driver, group.front_end] = {verdict: tally[verdict] for verdict in WORDING if tally[verdict]}
    return found
