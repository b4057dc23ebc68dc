"""The contents of a requirement's page."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest

from cts.verdict.verdict import CaseResult, Verdict
from reports.history.findings import newest_by_device
from reports.history.groups import Group
from reports.requirement_texts import RequirementText
from reports.summary import VerdictCounts
from reports.verdicts import SEVERITY, WORDING

LISTED = 100
"""Cases that the page names; the list of all cases has the rest."""

Judge = tuple[str, str, str]
"""Device, driver and front end."""


@dataclass(frozen=True)
class RequirementPage:
    """A requirement, and the cases of a run that exercise it.

    Attributes:
        id: the requirement's id.
        text: its statement; None if the case files are not available.
        tally: the cases by verdict.
        families: number of cases in each family.
        results: the first results, worst verdict first.
        judges: the outcomes on each device, including the runs of a folder, from the newest run that judged each case.
    """

    id: str
    text: RequirementText | None
    tally: VerdictCounts
    families: Mapping[str, int]
    results: Sequence[CaseResult]
    judges: Mapping[Judge, Mapping[Verdict, int]]

    @property
    def cases(self) -> int:
        """Number of cases that exercise it."""
        return sum(self.tally.values())

    @property
    def shown(self) -> Sequence[Verdict]:
        """The verdicts that occur on any device, worst first."""
        return [verdict for verdict in WORDING if any(verdict in tally for tally in self.judges.values())]


def requirement_pages(
    results: Sequence[CaseResult], requirements: Mapping[str, VerdictCounts], texts: Mapping[str, RequirementText], history: Sequence[Group]
) -> Iterator[RequirementPage]:
    """Yield the page of each requirement that cases of a run exercise.

    Args:
        results: the run's results.
        requirements: id -> its cases by verdict.
        texts: the texts of requirements, by id.
        history: other runs; empty without one.
    """
    exercising: dict[str, list[CaseResult]] = defaultdict(list)
    for result in results:
        for id_ in result.requirements:
            exercising[id_].append(result)
    for id_, tally in requirements.items():
        those = exercising[id_]
        yield RequirementPage(
            id_,
            texts.get(id_),
            tally,
            dict(sorted(Counter(result.family for result in those).items())),
            nsmallest(LISTED, those, key=lambda result: (SEVERITY[result.verdict], result.id, result.attempt)),
            newest_by_device(history, {result.id for result in those}) | _judges(those),
        )


def _judges(results: Sequence[CaseResult]) -> dict[Judge, dict[Verdict, int]]:
    counted: dict[Judge, Counter[Verdict]] = defaultdict(Counter)
    for result in results:
        counted[result.device, result.driver, result.front_end][result.verdict] += 1
    return {judge: {verdict: tally[verdict] for verdict in WORDING if tally[verdict]} for judge, tally in sorted(counted.items())}
