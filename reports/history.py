"""How each case ended in the runs of a folder, oldest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from cts.journal.journal import PACKED, RESULTS
from cts.journal.outline import Outline
from cts.verdict.verdict import ENDED_WELL, Verdict
from generators.errors import CtsError
from reports.comparison.runs import names, read_run
from reports.verdicts import WORDING


class HistoryError(CtsError):
    """The folder has no runs; the message says which folder to name."""


@dataclass(frozen=True)
class End:
    """The outcome of a case in one run, without text."""

    verdict: Verdict
    code: str = ""
    known: str = ""


@dataclass(frozen=True)
class PastRun:
    """A run of the folder.

    Attributes:
        name: as in reports.comparison.runs.names.
        folder: its report directory.
        facts: facts by the keys of reports.comparison.runs.COMPARED.
        verdicts: the verdicts of all its cases, worst first.
        notes: why cases may be missing.
    """

    name: str
    folder: Path
    facts: Mapping[str, str]
    verdicts: Mapping[Verdict, int]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Ended:
    """A run, and the outcome of one case in it."""

    run: PastRun
    end: End


@dataclass(frozen=True)
class Broke:
    """Where a case broke that has failed since, on one device with one front end.

    Attributes:
        last_good: the last run in which it ended well; None if there is none.
        first_bad: the first run after that in which it did not.
    """

    last_good: PastRun | None
    first_bad: PastRun


@dataclass(frozen=True)
class History:
    """The runs of a folder.

    Attributes:
        runs: oldest first, by their recorded start, then by name.
        ends: id of a case -> its outcome in each run, None if it was not judged.
    """

    runs: tuple[PastRun, ...]
    ends: Mapping[str, tuple[End | None, ...]]

    def of(self, id_: str) -> tuple[Ended, ...]:
        """Return the runs that judged a case, oldest first."""
        return tuple(Ended(run, end) for run, end in zip(self.runs, self.ends.get(id_, ()), strict=False) if end is not None)

    def broke(self, id_: str) -> Iterator[Broke]:
        """Yield where a case broke, for each device and front end with which it fails now. Runs that did not support it do not count."""
        runs: dict[tuple[str, str], list[Ended]] = {}
        for ended in self.of(id_):
            if ended.end.verdict is not Verdict.NOT_SUPPORTED:
                runs.setdefault((ended.run.facts["device"], ended.run.facts["front_end"]), []).append(ended)
        for each in runs.values():
            bad = list(takewhile(lambda ended: ended.end.verdict not in ENDED_WELL, reversed(each)))
            if bad:
                yield Broke(each[-len(bad) - 1].run if len(bad) < len(each) else None, bad[-1].run)

    def changed(self) -> Iterator[str]:
        """Yield in order the ids of the cases whose outcome differs between the runs that judged them."""
        yield from (id_ for id_, ends in self.ends.items() if len({end for end in ends if end is not None}) > 1)


def read_history(folder: Path, renames: Mapping[str, str]) -> History:
    """Read the runs of a folder: every journal in it, or in a folder below it.

    Args:
        folder: holds report directories.
        renames: id that a case had in an older version of the suite -> its id.

    Raises:
        HistoryError: there is no journal.
        JournalError: one cannot be read.
    """
    paths = sorted({path.parent: path for path in (*folder.rglob(RESULTS + PACKED), *folder.rglob(RESULTS))}.values())
    if not paths:
        raise HistoryError(f"{folder} and the folders in it hold no {RESULTS}: name the folder that holds report directories")
    made: dict[End, End] = {}
    read = []
    for name, path in zip(names(paths), paths, strict=True):
        run = read_run(name, path, renames)
        about = PastRun(run.name, path.parent, run.facts, run.verdicts, run.notes)
        # Equal outcomes share one object: a folder may hold millions of results.
        read.append((about, {id_: made.setdefault(end, end) for id_, one in run.cases.items() for end in (_end(one),)}))
    read.sort(key=lambda pair: (pair[0].facts["started"], pair[0].name))
    ids = sorted({id_ for _, ends in read for id_ in ends})
    return History(tuple(run for run, _ in read), {id_: tuple(ends.get(id_) for _, ends in read) for id_ in ids})


def newest_by_device(history: History, ids: Collection[str]) -> dict[tuple[str, str, str], dict[Verdict, int]]:
    """Return the latest outcomes on each device: device, driver and front end -> verdict -> number of cases, worst first.

    Args:
        history: the runs.
        ids: the ids of the cases.
    """
    counted: dict[tuple[str, str, str], dict[str, Verdict]] = {}
    for place, run in enumerate(history.runs):
        latest = counted.setdefault((run.facts["device"], run.facts["driver"], run.facts["front_end"]), {})
        latest.update({id_: end.verdict for id_ in ids if (end := history.ends.get(id_, (None,) * (place + 1))[place]) is not None})
    tallies = {device: Counter(latest.values()) for device, latest in counted.items() if latest}
    return {device: {verdict: tally[verdict] for verdict in WORDING if tally[verdict]} for device, tally in tallies.items()}


def _end(outline: Outline) -> End:
    return End(outline.verdict, outline.code, outline.known)
