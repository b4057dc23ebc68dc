"""The visible part of the plugin: header, progress, summary, exit code; in the only process, or in pytest-xdist's controller."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest

from cts.engine.groups import group_of
from cts.engine.judging import Contents
from cts.engine.progress import CATEGORIES, Progress, word
from cts.engine.run import Run
from cts.engine.summary import Explanation, failure_text, shortened, write_summary
from cts.engine.tally import Digest
from cts.printable import printable_path
from cts.run.reports import contents, ended_without_journal, put, unjudged_report
from cts.signals import INTERRUPTED

_UNEXPLAINED = "cts_unexplained"
"""Attribute of a report that is counted but not shown."""


class Overview:
    """Registered only while a run concerns the suite."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._shown = run.settings.log_failures
        self._explained = 0
        self._began = time.monotonic()
        self._progress: Progress | None = None
        self._reporter: pytest.TerminalReporter | None = None
        self._kept = "the reports that --report-dir DIR writes" if run.directory is None else printable_path(run.directory / "index.html")
        self._collected = False
        self._quiet_line = False
        self._verbose = False

    def pytest_report_header(self) -> list[str]:
        return self._run.header

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        verbosity = session.config.get_verbosity()
        self._verbose = verbosity > 0
        reporter = self._reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            self._progress = Progress(reporter, self._shown, silent=verbosity != 0)
            if fallback := self._run.settings.fallback:
                reporter.write_line(fallback, yellow=True)

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_xdist_setupnodes(self) -> None:
        # The first verdicts are given now.
        if self._run.selected.asked is not None:
            self._select(self._run.selected.asked)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Iterator[None]:
        # The controller of pytest-xdist collects nothing itself; its workers report their items later.
        if not session.config.pluginmanager.has_plugin("dsession"):
            self._select(_cases([item.nodeid for item in session.items]))
        self._began = time.monotonic()
        try:
            return (yield)
        finally:
            if not self._run.is_whole:
                self._run.seconds = time.monotonic() - self._began
            if self._progress is not None:
                self._progress.finish(self._run.tally)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        if not self._run.tally.total:
            self._began = time.monotonic()
        if not self._collected:
            self._select(_cases(ids))

    def _select(self, ids: Sequence[str]) -> None:
        self._collected = True
        self._run.select(ids)
        if self._progress is not None:
            self._progress.begin(self._run.total)

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        # Ctrl-C has no message; if pytest or the suite stops the run, there is one.
        self._run.stopped = str(excinfo.value) or INTERRUPTED

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        """Report that a worker died. The cases that it judged are in the journal; the case that it was judging is not."""
        if not _is_case(crashitem):
            return
        node = getattr(report, "node", None)
        group = 0 if node is None else group_of(node.gateway.id, len(self._run.groups))
        with ended_without_journal():
            asides, result = self._run.died(_id(crashitem), group)
        if result is None:
            report.when, report.outcome, report.longrepr = "setup", "passed", None
            put(report, Contents(asides=tuple(asides)))
            return
        if asides and self._reporter is not None:
            self._reporter.config.hook.pytest_runtest_logreport(report=unjudged_report(crashitem, asides))
        report.longrepr = failure_text(result)
        put(report, Contents(result.id, Digest.of(result)))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Iterator[None]:
        said = contents(report)
        digest = None if said is None else said.digest
        if said is not None and digest is not None:
            report.nodeid = self._run.nodeid(said.id)
            self._count(report, said, digest)
        if said is not None and digest is None and hasattr(report, "node"):
            # The verdict will come from this process, not from a worker: pytest's own --junitxml would see two tests.
            del report.node
        if said is not None:
            claimed = said.claim.asides if said.claim is not None else ()
            self._run.aside.update((aside.id, aside.attempt) for aside in (*said.asides, *claimed))
            if self._progress is not None:
                for aside in said.asides:
                    self._progress.set_aside(self._run.nodeid(aside.id), aside)
        self._quiet_line = digest is not None and not self._verbose
        try:
            return (yield)
        finally:
            self._quiet_line = False
            if digest is not None:
                self._forget(report)

    def _count(self, report: pytest.TestReport, said: Contents, digest: Digest) -> None:
        if said.record:
            with ended_without_journal():
                self._run.keep(said.record)
            put(report, msgspec.structs.replace(said, record=b""))
        bad = self._run.count(said.id, digest)
        self._run.judged_for(time.monotonic() - self._began)
        if bad:
            self._explain(report, digest)
        if self._progress is not None:
            self._progress.judged(report.nodeid, digest, bad, self._run.tally)

    def _explain(self, report: pytest.TestReport, digest: Digest) -> None:
        self._explained += 1
        if self._explained <= self._shown:
            report.longrepr = Explanation(shortened(str(report.longrepr), self._kept), digest.reason)  # type: ignore[assignment]
        else:
            report.longrepr = digest.reason
            setattr(report, _UNEXPLAINED, True)

    def _forget(self, report: pytest.TestReport) -> None:
        """Keep only one report of a category that pytest only counts: a run may have millions."""
        reporter = self._reporter
        if reporter is None or reporter.hasopt("p") or reporter.hasopt("P") or reporter.config.getoption("durations", None) is not None:
            return
        for category in ("passed", "not supported", "known failures"):
            kept = reporter.stats.get(category)
            if kept and kept[-1] is report:
                kept[-1] = kept[0]

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, Any] | None:
        said = contents(report)
        if said is None:
            return None
        if said.digest is None:
            return "", "", ""
        verdict = said.digest.verdict
        category = CATEGORIES.get(verdict, "failed") if verdict in self._run.settings.passing else "failed"
        if hasattr(report, _UNEXPLAINED):
            category = "more failed"
        # Without a letter and a word, pytest prints nothing for a case: one line of counts is more useful than a hundred thousand dots.
        return (category, "", "") if self._quiet_line else (category, "", word(verdict))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Iterator[None]:
        collect_only = session.config.option.collectonly
        if not collect_only:
            session.exitstatus = self._run.end(exitstatus)
        try:
            return (yield)
        finally:
            if not collect_only:
                session.exitstatus = self._run.finish(int(session.exitstatus))
            # Print this after pytest's own last line.
            if self._reporter is not None and not collect_only:
                for line in self._run.warnings:
                    self._reporter.write_line(line, yellow=True)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
        if terminalreporter.config.option.collectonly:
            return
        # The reports were written while the other processes ended.
        self._run.finish(exitstatus)
        if all(contents(report) is not None for report in terminalreporter.stats.get("failed", ())):
            # pytest's short summary would repeat the lines above it.
            terminalreporter.reportchars = terminalreporter.reportchars.replace("f", "")
        write_summary(terminalreporter, self._run, self._explained, exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED)


def _id(nodeid: str) -> str:
    return nodeid.partition("::")[2]


def _cases(nodeids: Sequence[str]) -> list[str]:
    return [_id(nodeid) for nodeid in nodeids if _is_case(nodeid)]


def _is_case(nodeid: str) -> bool:
    """Tell whether an item is a case of the suite: a run may also have other tests."""
    return nodeid.partition("::")[0].endswith(".yaml")
