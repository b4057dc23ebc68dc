"""The contents of a case's page besides its result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cts.blame.report import Blame
from cts.verdict.known_failures import KnownFailure
from cts.verdict.verdict import CaseResult, Verdict
from reports.assessment import Assessment, assessment
from reports.case_sources import CaseSource
from reports.case_walk import CaseWalk
from reports.context import Context
from reports.facts import FACTS, FIELDS, field
from reports.history.groups import Ended
from reports.journals import Key
from reports.links import failure_place
from reports.neighbours import Neighbour

BRIEF = ("device", "driver", "front_end", "suite_version")
"""The facts of the run on a page."""

SHOWN_RUNS = 30
"""Maximum number of runs that the history on a page lists; it lists the newest."""


@dataclass(frozen=True)
class Turn:
    """The position of a page among all pages of the report.

    Attributes:
        number, total: counted from 1.
        previous, next: file names of the pages before and after it; empty at the ends.
    """

    number: int
    total: int
    previous: str
    next: str


@dataclass(frozen=True)
class CasePage:
    """A case that neither passed nor lacked support.

    Attributes:
        result: with all of its failures.
        turn: its position among the pages.
        commands: purpose -> command line.
        neighbours: cases that passed and are similar to this one.
        source: the casebook's information about it.
        issue: the known failure that explains it; None if there is none, or the checkout does not have it.
        ended: how it ended in the runs of a folder, oldest first; empty without one.
        walk: how its first wrong element was computed; None if that is not known.
        defects: the number of failing cases in the run that each defect explains, by id.
        blame: the evidence of whose fault it is that 'cts blame --report-dir' kept; None if there is none.
    """

    result: CaseResult
    turn: Turn
    commands: Mapping[str, str]
    neighbours: Sequence[Neighbour]
    source: CaseSource
    issue: KnownFailure | None
    ended: Sequence[Ended]
    walk: CaseWalk | None
    defects: Mapping[str, int]
    blame: Blame | None = None

    def brief(self, context: Context) -> dict[str, str]:
        """Return the facts of BRIEF and the fields of the result in words, by heading; empty if one says nothing.

        Args:
            context: of the run; it has the facts that are not in the result.
        """
        of_run = {FACTS[key]: vars(self.result).get(key, context.facts[key]) for key in BRIEF}
        lines = {name: one for name, one in FIELDS.items() if isinstance(getattr(self.result, name), str | int | float)}
        return of_run | {one.title: field(self.result, name) for name, one in lines.items() if name not in ("id", "verdict")}

    @property
    def first(self) -> Assessment:
        """What a reader should know first."""
        return assessment(self.result)

    @property
    def others(self) -> dict[str, int]:
        """Defect -> number of other failing cases in the run that it explains."""
        itself = self.result.verdict is Verdict.FAIL
        return {id_: self.defects.get(id_, 0) - (itself and id_ in self.result.defects) for id_ in self.result.defects}

    @property
    def shown_runs(self) -> Sequence[Ended]:
        """The newest runs of the history, newest first."""
        return self.ended[: -SHOWN_RUNS - 1 : -1]


def turns(keys: Sequence[Key]) -> Iterator[tuple[Key, Turn]]:
    """Yield the position of each page; pages are given in order."""
    names = [failure_place(*key).rpartition("/")[2] for key in keys]
    for place, key in enumerate(keys):
        after = names[place + 1] if place + 1 < len(names) else ""
        yield key, Turn(place + 1, len(keys), names[place - 1] if place else "", after)
