"""Verdicts that are known without the device: cases that it does not support.

Such cases have no items of pytest, because an item costs more than the verdict.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from cts.engine.runner import result_of
from cts.engine.selection import Selection
from cts.engine.session import Settings
from cts.kinds.foretelling import Foreteller
from cts.kinds.kind import not_supported
from cts.verdict.codes import Reason
from cts.verdict.verdict import CaseResult
from generators.casebook import Case

Reasons = Mapping[str, Sequence[Reason | None]]
"""For each family, why each of its cases is not supported, in the order of the selection; None if the device must be asked."""


def foretold(selection: Selection, foreteller: Foreteller) -> Reasons:
    """Return why cases of ``selection`` are not supported. One process computes this, and tells the others by ``marks``."""
    return {family.name: tuple(map(foreteller.missing, selection.cases(family))) for family in selection.casebook}


def marks(reasons: Reasons) -> Mapping[str, bytes]:
    """Return, for each family, whether each of its cases is known not to be supported (1) or not (0)."""
    return {name: bytes(reason is not None for reason in of_family) for name, of_family in reasons.items()}


def results(selection: Selection, settings: Settings, cases: Sequence[Case], reasons: Sequence[Reason | None]) -> Iterator[CaseResult]:
    """Yield the results of cases of one family that are not supported.

    Args:
        cases: these cases, in the order of the selection.
        reasons: why each case of the family is not supported; None for the cases that are not among ``cases``.
    """
    for case, reason in zip(cases, filter(None, reasons), strict=True):
        judgement = not_supported(reason)
        for attempt in selection.attempts.left(case.id):
            begin = time.perf_counter()
            result = result_of(case, judgement, settings.description, settings.front_end, settings.tier, attempt)
            yield replace(result, unit=settings.unit, seconds=time.perf_counter() - begin)
