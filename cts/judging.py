"""The plugin's part that collects and judges: in the only process, or in each worker of pytest-xdist."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal

import pytest

from cts.collection import CaseItem, CasesFile, SuiteDirectory
from cts.devices.device import DeviceError
from cts.journal import Journal, JournalError, encode
from cts.runner import judge
from cts.selection import Selection
from cts.session import DeviceHolder, Settings
from cts.tally import PASSING, Digest
from cts.verdict import CaseResult, Verdict

DIGEST = "cts_digest"
"""Attribute of a report: Digest.wire()."""

RECORD = "cts_record"
"""Attribute of a report: the journal's line, where the process that judged cannot write the journal itself."""


class Judging:
    """Registered only while a run concerns the suite.

    Args:
        root: of the checkout.
        holder: of this process's device.
        journal: that this process writes; None if there is none, or if it lies on another machine.
        send_records: whether reports carry the records for the controller to write.
    """

    def __init__(
        self,
        root: Path,
        settings: Settings,
        selection: Selection,
        holder: DeviceHolder,
        journal: Journal | None,
        send_records: bool = False,
    ) -> None:
        self._root = root
        self._settings = settings
        self._selection = selection
        self._holder = holder
        self._journal = journal
        self._send_records = send_records

    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        if path == self._root / "cts":
            return SuiteDirectory.from_parent(parent, path=path, selection=self._selection)
        return None

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        if file_path.suffix != ".yaml":
            return None
        family = self._selection.family(file_path)
        return None if family is None else CasesFile.from_parent(parent, path=file_path, family=family, selection=self._selection)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Literal[True] | None:
        if not isinstance(item, CaseItem):
            return None
        # A worker of pytest-xdist would send both of these, and the controller only prints them with -v.
        verbose = not hasattr(item.config, "workerinput") and item.config.get_verbosity() > 0
        if verbose:
            item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        start = time.time()
        settings = self._settings
        try:
            result = judge(item.case, self._holder, settings.front_end, settings.tier)
            if self._journal is not None:
                self._journal.append(result.record())
        except (DeviceError, JournalError) as error:
            item.session.shouldstop = str(error)
            return True
        report = make_report(item, result, start)
        if self._send_records:
            setattr(report, RECORD, encode(result.record()))
        item.ihook.pytest_runtest_logreport(report=report)
        if verbose:
            item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def pytest_unconfigure(self) -> None:
        self._holder.close()
        if self._journal is not None:
            self._journal.close()


def make_report(item: CaseItem, result: CaseResult, start: float) -> pytest.TestReport:
    """The one report of a case. Messages stand alone: no traceback of ours explains a device's failure."""
    longrepr: str | tuple[str, int, str] | None = None
    outcome: Literal["passed", "failed", "skipped"] = "passed"
    if result.verdict is Verdict.NOT_SUPPORTED or result.verdict is Verdict.EXPECTED_FAIL:
        outcome, longrepr = "skipped", (str(item.path), 0, result.reason)
    elif result.verdict not in PASSING:
        outcome, longrepr = "failed", failure_text(result)
    report = pytest.TestReport(
        item.nodeid,
        (item.location[0], None, item.name),
        {},
        outcome,
        longrepr,
        "call",
        duration=result.seconds,
        start=start,
        stop=time.time(),
    )
    if result.verdict in (Verdict.EXPECTED_FAIL, Verdict.UNEXPECTED_PASS):
        report.wasxfail = result.reason
    setattr(report, DIGEST, Digest.of(result).wire())
    return report


def failure_text(result: CaseResult) -> str:
    """What is shown of a failed case."""
    lines = [] if result.message.startswith(result.reason) else [f"{result.verdict}: {result.reason}"]
    lines += [result.message.rstrip()]
    lines += [f"reproduce: cts repro '{result.id}' DIR"]
    return "\n".join(lines)
