"""What the histories of cases show: where they broke, which are flaky, which became slower."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise, takewhile

import numpy as np

from cts.verdict.verdict import ENDED_WELL, Verdict
from reports.archive.engine import opened
from reports.history.groups import End, Ended, Group, PastRun
from reports.verdicts import WORDING

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


def spells(ended: Iterable[Ended]) -> Iterator[Spell]:
    """Yield the spells of a case, oldest first."""
    for end, those in groupby(ended, lambda one: one.end):
        runs = [run for run, _ in those]
        yield Spell(end, runs[0], runs[-1], len(runs))


def broke(group: Group) -> Iterator[Broke]:
    """Yield where the cases broke that do not end well now. Runs that did not support a case do not count."""
    for place in _not_always_good(group):
        ran = [one for one in group.strip(place) if one.end.verdict is not Verdict.NOT_SUPPORTED]
        bad = list(takewhile(lambda one: not is_good(one.end), reversed(ran)))
        if bad:
            yield Broke(group.cases[place], bad[0].end, ran[-len(bad) - 1].run if len(bad) < len(ran) else None, bad[-1].run)


def flakes(group: Group) -> list[Flake]:
    """Return the flaky cases, highest rate first. A verdict of ``flaky`` makes a case one, and otherwise FEWEST_SWITCHES."""
    found = []
    good = [place for place, end in enumerate(group.ends) if is_good(end) or end.verdict is Verdict.FLAKY]
    may_be = np.asarray(np.isin(group.strips, good).any(axis=1))
    for place in filter(may_be.__getitem__, _not_always_good(group)):
        by_version: dict[tuple[str, str], list[End]] = defaultdict(list)
        for run, end in group.strip(place):
            if end.verdict is not Verdict.NOT_SUPPORTED:
                by_version[run.facts["driver"], run.facts["suite_version"]].append(end)
        for version, ends in by_version.items():
            switches = sum(is_good(before) != is_good(after) for before, after in pairwise(ends))
            if switches >= FEWEST_SWITCHES or any(end.verdict is Verdict.FLAKY for end in ends):
                found.append(Flake(group.cases[place], *version, sum(not is_good(end) for end in ends), len(ends)))
    return sorted(found, key=lambda one: (-one.bad / one.runs, one.case))


def _not_always_good(group: Group) -> Iterator[int]:
    """Yield the places of the cases that ended badly in some run."""
    bad = [place for place, end in enumerate(group.ends) if not is_good(end) and end.verdict is not Verdict.NOT_SUPPORTED]
    yield from np.flatnonzero(np.isin(group.strips, bad).any(axis=1)).tolist()


def growing(archive: str, group: Group, condition: str) -> list[Growth]:
    """Return the cases that became slower, most lost seconds first.

    Args:
        archive: the place of the archive.
        group: the runs.
        condition: the SQL that is true of the selected cases.
    """
    runs = group.runs
    number = min(TIMED_RUNS, len(runs) // 2)
    if not number:
        return []
    ends = (*runs[:number], *runs[-number:])
    with opened(archive, {run.partition for run in ends}) as connection:
        connection.register("timed", {"run": np.array([run.id for run in ends]), "is_last": np.arange(2 * number) >= number})
        rows = connection.execute(
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
