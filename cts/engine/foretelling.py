"""Verdicts that are known without the device: cases that it does not support.

Such cases have no items of pytest, because an item costs more than the verdict.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from cts.engine.keyword_expression import COMMAND, named
from cts.engine.runner import result_of
from cts.engine.selection import Selection
from cts.engine.session import Settings
from cts.kinds.foretelling import Foreteller
from cts.kinds.kind import not_supported
from cts.verdict.codes import Reason
from cts.verdict.verdict import CaseResult
from generators.casebook import Case

Told = Mapping[str, Sequence[tuple[Case, Reason]]]
"""The cases of each family that are not supported, and why, in the order of the selection."""


def foretold(
    selection: Selection, foreteller: Foreteller, words: str = "", deselected: tuple[str, ...] = ()
) -> tuple[Told, Mapping[str, tuple[str, ...]]]:
    """Return the cases of ``selection`` that are known not to be supported, and the ids of all others by family. One process computes this,
    and tells the others the ids.

    Args:
        words: a correct expression of ``-k``, which selects among the cases.
        deselected: beginnings of node ids that ``--deselect`` leaves out.
    """
    told: dict[str, list[tuple[Case, Reason]]] = {}
    asked: dict[str, tuple[str, ...]] = {}
    for family in selection.casebook:
        file = selection.file(family)
        cases = named(selection, family, words, (COMMAND, family.path.name)) if words else selection.cases(family)
        left = (case for case in cases if not (deselected and f"{file}::{case.id}".startswith(deselected)))
        reasons = [(case, foreteller.missing(case)) for case in left]
        told[family.name] = [(case, reason) for case, reason in reasons if reason is not None]
        asked[family.name] = tuple(case.id for case, reason in reasons if reason is None)
    return told, asked


def results(selection: Selection, settings: Settings, told: Sequence[tuple[Case, Reason]]) -> Iterator[CaseResult]:
    """Yield the results of cases that are not supported."""
    for case, reason in told:
        judgement = not_supported(reason)
        for attempt in selection.attempts.left(case.id):
            begin = time.perf_counter()
            result = result_of(case, judgement, settings.description, settings.front_end, settings.tier, attempt)
            yield replace(result, unit=settings.unit, seconds=time.perf_counter() - begin)
