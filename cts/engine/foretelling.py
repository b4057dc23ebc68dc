"""Verdicts that are known without the device: cases that it does not support.

Such cases have no items of pytest, because an item costs more than the verdict.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from cts.engine.keyword_expression import COMMAND, named
from cts.engine.runner import result_of
from cts.engine.selection import Selection
from cts.engine.session import Settings
from cts.kinds.foretelling import Foreteller
from cts.kinds.kind import not_supported
from cts.verdict.codes import Reason
from cts.verdict.verdict import CaseResult
from generators.casebook import named_case
from generators.casebook.cases import Identified

Told = Sequence[tuple[Identified, Reason]]
"""Cases that are not supported, and why, in the order of the selection."""


class Foretelling:
    """Finds out, family by family, which cases of a selection are known not to be supported. Only one process of a run does that.

    Args:
        words: a correct expression of ``-k``, which selects among the cases.
        deselected: beginnings of node ids that ``--deselect`` leaves out.

    Attributes:
        cases: family -> its cases, in the order of the selection.
    """

    def __init__(self, selection: Selection, foreteller: Foreteller, words: str = "", deselected: tuple[str, ...] = ()) -> None:
        self._foreteller = foreteller
        self._told: dict[str, Told] = {}
        self._ids: dict[str, frozenset[str]] = {}
        self.cases: dict[str, Sequence[Identified]] = {}
        for family in selection.families:
            file = selection.file(family.name)
            cases: Iterable[Identified] = selection.identified(family)
            if words:
                cases = (Identified(family, case.id) for case in named(selection, family, words, (COMMAND, family.path.name)))
            self.cases[family.name] = [case for case in cases if not (deselected and f"{file}::{case.id}".startswith(deselected))]

    def told(self, family: str) -> Told:
        """Return the cases of a family that are not supported."""
        if family not in self._told:
            reasons = ((case, self._foreteller.missing(case)) for case in self.cases[family])
            self._told[family] = [(case, reason) for case, reason in reasons if reason is not None]
        return self._told[family]

    def told_ids(self) -> frozenset[str]:
        """Return the ids of all cases that are not supported."""
        return frozenset().union(*map(self.told_ids_of, self.cases))

    def told_ids_of(self, family: str) -> frozenset[str]:
        """Return the ids of a family's cases that are not supported."""
        if family not in self._ids:
            self._ids[family] = frozenset(case.id for case, _ in self.told(family))
        return self._ids[family]


def results(selection: Selection, settings: Settings, told: Told) -> Iterator[CaseResult]:
    """Yield the results of cases that are not supported."""
    for one, reason in told:
        judgement, case = not_supported(reason), named_case(selection.casebook, one.id)
        for attempt in selection.attempts.left(one.id):
            begin = time.perf_counter()
            result = result_of(case, judgement, settings.description, settings.front_end, settings.tier, attempt)
            yield replace(result, unit=settings.unit, seconds=time.perf_counter() - begin)
