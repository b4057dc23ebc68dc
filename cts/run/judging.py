"""The part of the plugin that collects and judges: in the only process, or in each worker of pytest-xdist."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from cts.devices.device import DeviceError
from cts.engine.covering_order import in_covering_order
from cts.engine.garbage import all_kept
from cts.engine.judging import Event, Judged
from cts.engine.neighbours import Claim
from cts.engine.request import is_package
from cts.engine.set_aside import SetAside
from cts.engine.setup import Worker
from cts.journal.journal import JournalError
from cts.journal.record import encode
from cts.journal.run_record import finding_record
from cts.run import FINDINGS
from cts.run.collection import CasesItem, SuiteDirectory, cases_file
from cts.run.reports import unjudged_report, verdict_report
from generators.errors import CasebookError


class ItemJudging:
    """Registered in each process that judges.

    Args:
        root: the root of the checkout.
    """

    def __init__(self, root: Path, worker: Worker) -> None:
        self._root = root
        self._worker = worker
        self._selection = worker.selection

    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        if is_package(path, self._root):
            return SuiteDirectory.from_parent(parent, path=path, selection=self._selection)
        return None

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        family = self._selection.family(file_path) if file_path.suffix == ".yaml" else None
        return None if family is None else cases_file(parent, file_path, family, self._selection)

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Iterator[None]:
        with all_kept():
            return (yield)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Put the most informative cases first if there is a time limit."""
        if self._worker.settings.limit is not None:
            cases = {item: case for item in items if isinstance(item, CasesItem) and (case := item.case) is not None}
            of_cases = list(cases)
            ordered = [of_cases[number] for number in in_covering_order(list(cases.values()))]
            items[:] = [*ordered, *(item for item in items if item not in cases)]

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Iterator[None]:
        try:
            return (yield)
        finally:
            # First close the device: when other processes learn that this one is done, they may judge cases alone.
            found = self._worker.judging.close_device()
            if (output := getattr(session.config, "workeroutput", None)) is not None:
                output[FINDINGS] = [finding_record(finding) for finding in found]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Literal[True] | None:
        if not isinstance(item, CasesItem):
            return None
        # A worker of pytest-xdist would send both hooks, and the controller prints them only with -v.
        verbose = not hasattr(item.config, "workerinput") and item.config.get_verbosity() > 0
        if verbose:
            item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        try:
            self._judge(item)
        except (DeviceError, JournalError, CasebookError) as error:
            # A wrong count of a block's cases, for example, means that nobody knows which cases it has.
            item.session.shouldstop = str(error)
        if verbose:
            item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def _judge(self, item: CasesItem) -> None:
        """Judge the cases of an item; see cts.engine.judging.Judging.judge."""
        for case in item.cases():
            for event in self._worker.judging.judge(case):
                item.ihook.pytest_runtest_logreport(report=self._report(item.nodeid, event))
                if item.session.shouldstop or item.session.shouldfail:
                    return

    def _report(self, nodeid: str, event: Event) -> pytest.TestReport:
        clock = self._worker.judging.clock
        stretch = clock.stretch() if clock is not None else None
        match event:
            case Judged():
                record = encode(event.result) if self._worker.sends_records else b""
                return verdict_report(nodeid, event, self._worker.settings.passing, record, stretch)
            case SetAside():
                return unjudged_report(nodeid, [event], stretch=stretch)
            case Claim():
                return unjudged_report(nodeid, claim=event, stretch=stretch)

    def pytest_unconfigure(self) -> None:
        self._worker.judging.close()
