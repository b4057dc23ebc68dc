"""Changes the parameters of a failing case towards their defaults, and finds the ones that matter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import partial

from cts.minimise.ending import Ending
from cts.minimise.labels import applying, replaced, simplest_first
from cts.minimise.search import Budget, Spent, smallest
from cts.verdict.verdict import Verdict
from generators.casebook import Case, Parameter

MOST_LABELS = 8
"""How many labels of one parameter are tried in one round."""

OTHER_LABELS = 3
"""How many further labels of each parameter are tried to tell whether it matters."""

SAYS_NOTHING = frozenset({Verdict.NOT_SUPPORTED, Verdict.ERROR})
"""Endings that do not tell whether a label matters."""


class Part(Enum):
    """Whether a parameter matters to a failure."""

    MATTERS = "matters"
    INDIFFERENT = "does not matter"
    UNKNOWN = "not known"


@dataclass(frozen=True)
class Finding:
    """The findings about one parameter of the smallest case.

    Attributes:
        name, label: the parameter, and its label in the smallest case.
        part: whether it matters: some other label ends differently. It does not matter if all labels that were tried end in the same way.
        endings: other label -> how the case ends with it.
    """

    name: str
    label: str
    part: Part
    endings: dict[str, Ending]


@dataclass(frozen=True)
class Smallest:
    """The result of a walk.

    Attributes:
        case: the smallest case that ends like the first one.
        ending: how it ends.
        findings: the findings about its parameters, as far as there were runs.
        complete: whether there were enough runs.
    """

    case: Case
    ending: Ending
    findings: tuple[Finding, ...]
    complete: bool


class Walk:
    """The search from one case.

    Args:
        judge: runs a case and says how it ended.
        budget: the budget of runs.
        show: is called after each run with the case, its ending, and whether it is the smallest so far.
    """

    def __init__(self, judge: Callable[[Case], Ending], budget: Budget, show: Callable[[Case, Ending, bool], None]) -> None:
        self._judge = judge
        self._budget = budget
        self._show = show
        self._known: dict[str, Ending] = {}

    def smallest(self, case: Case, ending: Ending) -> Smallest:
        """Return the smallest case found that ends like ``case``, which ends in ``ending``."""
        self._known[case.id] = ending
        findings: list[Finding] = []
        complete, best = True, case
        try:
            for found in smallest(case, _steps, lambda other: self._ends_alike(other, ending)):
                best = found
            findings.extend(self._findings(best, ending))
        except Spent:
            complete = False
        return Smallest(best, self._known[best.id], tuple(findings), complete)

    def _ends_alike(self, case: Case, ending: Ending) -> bool:
        return ending.is_like(self._end_of(case, ending))

    def _end_of(self, case: Case, ending: Ending) -> Ending:
        known = self._known.get(case.id)
        if known is None:
            self._budget.take()
            known = self._known[case.id] = self._judge(case)
            self._show(case, known, ending.is_like(known))
        return known

    def _findings(self, case: Case, ending: Ending) -> Iterator[Finding]:
        for number, parameter in applying(case):
            label = case.labels[number]
            endings: dict[str, Ending] = {}
            for other in simplest_first(parameter, label):
                changed = None if other == label else replaced(case, number, other)
                if changed is None:
                    continue
                if len([one for one in endings.values() if one.verdict not in SAYS_NOTHING]) >= OTHER_LABELS or len(endings) >= MOST_LABELS:
                    break
                endings[other] = self._end_of(changed, ending)
            telling = [one for one in endings.values() if one.verdict not in SAYS_NOTHING]
            part = Part.UNKNOWN
            if telling:
                part = Part.INDIFFERENT if all(map(ending.is_like, telling)) else Part.MATTERS
            yield Finding(parameter.name, label, part, endings)


def _steps(case: Case) -> Iterator[Callable[[Case], Iterator[Case]]]:
    """Yield a step for each parameter: the cases with its simpler labels."""
    for number, parameter in applying(case):
        yield partial(_with_simpler_labels, number, parameter)


def _with_simpler_labels(number: int, parameter: Parameter, case: Case) -> Iterator[Case]:
    current = case.labels[number]
    order = simplest_first(parameter, current)
    for label in order[: order.index(current)][:MOST_LABELS]:
        if (other := replaced(case, number, label)) is not None:
            yield other
