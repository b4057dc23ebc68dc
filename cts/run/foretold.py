"""The part of the plugin that gives verdicts known without the device, in the main process.

It gives the first of them before there are workers, and the others while workers start. These cases have no items of pytest: an item costs
more than its verdict.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cts.journal.journal import Journal, JournalError
from cts.journal.record import encode
from cts.kinds.foretelling import Foreteller
from cts.kinds.kind import not_supported
from cts.run.judging import make_report
from cts.run.runner import result_of
from cts.run.selected import Selected
from cts.run.selection import Selection
from cts.run.session import Settings
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


class Foretold:
    """Registered in the main process only.

    Args:
        root: the root of the checkout.
        selected: the items of the run.
        reasons: why cases are not supported.
        journal: the journal that this process writes, or None.
    """

    def __init__(self, root: Path, settings: Settings, selected: Selected, reasons: Reasons, journal: Journal | None) -> None:
        self._root = root
        self._settings = settings
        self._selected = selected
        self._reasons = reasons
        self._journal = journal
        self._told: dict[str, int] = {}
        self._ended: KeyboardInterrupt | None = None

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self, config: pytest.Config) -> None:
        """Give the verdicts of one family before pytest-xdist starts its processes; the verdicts of all families would delay them."""
        first = next((name for name, cases in self._selected.told.items() if cases), None)
        if first is not None:
            self._tell(config, first)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionstart(self) -> Iterator[None]:
        """Write summary and reports if a run is ended while its processes start; pytest would write neither."""
        try:
            return (yield)
        except KeyboardInterrupt as error:
            if not self._told:
                raise
            self._ended = error

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Iterator[None]:
        if self._ended is not None:
            raise self._ended
        for name in self._selected.told:
            if name not in self._told:
                self._tell(session.config, name)
        try:
            return (yield)
        finally:
            # Without a counted test, pytest would say that no tests ran.
            session.testscollected += sum(self._told.values())

    def _tell(self, config: pytest.Config, name: str) -> None:
        """Give the verdicts of the cases of one family."""
        selected = self._selected
        file, cases = selected.selection.casebook.families[name].path, selected.told[name]
        self._told[name] = 0
        begin, start = time.perf_counter(), time.time()
        results = list(self._results(cases, filter(None, self._reasons[name])))
        if not results:
            return
        seconds = (time.perf_counter() - begin) / len(results)
        results = [replace(result, seconds=seconds) for result in results]
        path = file.relative_to(self._root).as_posix()
        for result in results:
            # One by one: if the run is ended here, its counts agree with its journal.
            try:
                if self._journal is not None:
                    self._journal.append_line(encode(result))
            except JournalError as error:
                raise pytest.Session.Interrupted(str(error)) from None
            report = make_report(f"{path}::{result.id}", result, start, self._settings.passing)
            config.hook.pytest_runtest_logreport(report=report)
        self._told[name] = len(results)

    def _results(self, cases: Iterable[Case], reasons: Iterable[Reason]) -> Iterator[CaseResult]:
        settings = self._settings
        for case, reason in zip(cases, reasons, strict=True):
            judgement = not_supported(reason)
            for attempt in self._selected.selection.attempts.left(case.id):
                result = result_of(case, judgement, settings.description, settings.front_end, settings.tier, attempt)
                yield replace(result, unit=settings.unit)
