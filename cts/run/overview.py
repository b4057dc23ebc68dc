"""The visible part of the plugin: header, progress, summary, exit code; in the only process, or in pytest-xdist's controller."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cts.devices.device import Finding
from cts.journal.journal import RESULTS, Journal, JournalError, read, read_meta, write_meta
from cts.journal.record import encode
from cts.journal.run_record import RunRecord
from cts.printable import printable_line, printable_path
from cts.run.groups import group_of
from cts.run.judging import ASIDE, DIGEST, FINDINGS, RECORD, asides_of, digest_of, failure_text, finding_of, finding_record, unjudged_report
from cts.run.progress import Progress, word
from cts.run.report_writer import report_writer
from cts.run.selected import Key, Selected
from cts.run.session import Settings
from cts.run.set_aside import SetAside
from cts.run.summary import Explanation, RunEnd, shortened, write_summary
from cts.run.tally import Digest, Tally
from cts.verdict.codes import Code
from cts.verdict.verdict import CaseResult, Try, Verdict
from generators.casebook.ids import family_of
from generators.errors import CtsError

UNEXPLAINED = "cts_unexplained"
"""Attribute of a report that is counted but not shown."""

_CATEGORIES = {
    Verdict.PASS: "passed",
    Verdict.QUALITY_WARNING: "quality warnings",
    Verdict.KNOWN_FAIL: "known failures",
    Verdict.NOT_SUPPORTED: "not supported",
    Verdict.RESOURCE_ERROR: "out of memory",
}

_ENDED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
"""pytest's exit codes if nothing stopped it."""

INCOMPLETE = 2
"""Exit code if nothing failed, but the requested reports could not be written or some cases have no verdict."""

NOT_KEPT = "not kept (--report-dir DIR keeps them as they are judged)"


class Overview:
    """Registered only while a run concerns the suite.

    Args:
        version: the version of the suite.
        groups: the settings of each group of processes, at least one.
        directory: the report directory, or None.
        selected: the items to judge.
        judged_before: results that the journal had when the run began.
        retried: other results of the journal, which ``--retry`` judges again if they are selected.
        findings: problems of the device while it ran no case.
        claim: the descriptor that keeps other runs out of ``directory`` (see cts.journal.journal.claim).

    Attributes:
        journal: the journal that this process writes, or None.
    """

    def __init__(
        self,
        version: str,
        groups: Sequence[Settings],
        directory: Path | None,
        selected: Selected,
        judged_before: Tally,
        retried: Mapping[tuple[str, int], Digest],
        findings: list[Finding],
        claim: int | None = None,
    ) -> None:
        self._shown = groups[0].log_failures
        self._claim = claim
        self._items = selected
        self._attempts = selected.selection.attempts
        self._findings = findings
        self._stopped = ""
        self._counted: set[tuple[str, int]] = set()
        self._version = version
        self._groups = tuple(groups)
        self._settings = groups[0]
        self._directory = directory
        self._before = judged_before
        self._retried = dict(retried)
        self._again: set[tuple[str, int]] = set()
        self._aside: set[tuple[str, int]] = set()
        self._tally = Tally()
        self._explained = 0
        self._began = self._elapsed = 0.0
        self._progress: Progress | None = None
        self._reporter: pytest.TerminalReporter | None = None
        self.journal = None if directory is None else Journal(directory / RESULTS)
        self._start = 0 if directory is None else (directory / RESULTS).stat().st_size
        earlier: RunRecord = {} if directory is None else read_meta(directory)
        self._found_before = tuple(map(finding_of, earlier.get("findings", ())))
        self._reports = ""
        self._kept = "the reports that --report-dir DIR writes" if directory is None else printable_path(directory / "index.html")
        self._selected = 0
        self._collected = False
        self._families: Counter[str] = Counter()
        self._quiet_line = False
        self._verbose = False

    def pytest_report_header(self) -> list[str]:
        settings = self._settings
        description = settings.description
        isolation = (
            f"held by a child process, {settings.step_timeout:g} s for each step"
            if settings.isolated
            else "held by the process that judges"
        )
        return [
            f"suite: {self._version}, tier {settings.tier}, front end {settings.front_end}",
            f"device: {description.name}, driver {description.driver} ({settings.why}); {isolation}",
            *(f"group {group.unit} ({group.why})" for group in self._groups if group.unit),
            *([f"known failures: {settings.known.said}"] if settings.known.names else []),
            "results: " + (printable_path(self._directory) if self._directory else NOT_KEPT),
        ]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        reporter = self._reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        self._progress = None if reporter is None else Progress(reporter, self._shown)
        self._verbose = session.config.get_verbosity() > 0
        if reporter is not None and self._settings.fallback:
            reporter.write_line(self._settings.fallback, yellow=True)

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_xdist_setupnodes(self) -> None:
        # The first verdicts are given now.
        if self._items.asked is not None:
            self._select(self._items.asked)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Any:
        # The controller of pytest-xdist collects nothing itself; its workers report their items later.
        if not session.config.pluginmanager.has_plugin("dsession"):
            self._select(_cases([item.nodeid for item in session.items]))
        self._began = time.monotonic()
        try:
            return (yield)
        finally:
            self._elapsed = time.monotonic() - self._began
            if self._progress is not None:
                self._progress.finish(self._tally)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        if not self._tally.total:
            self._began = time.monotonic()
        if not self._collected:
            self._select(_cases(ids))

    def _select(self, ids: Sequence[str]) -> None:
        self._collected = True
        self._families = Counter()
        for id_ in (*ids, *self._items.foretold):
            self._families[family_of(id_)] += self._items.count(id_)
        self._selected = self._families.total()
        if self._retried:
            names = frozenset(ids).union(self._items.foretold)
            here = [key for key in self._retried if key[0] in names or self._items.home(key[0]) in names]
            self._again |= {(id_, attempt) for id_, attempt in here if attempt in self._attempts.left(id_)}
        if self._progress is not None:
            self._progress.begin(self._selected)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        found = getattr(node, "workeroutput", None) or {}
        self._findings += map(finding_of, found.get(FINDINGS, ()))

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        # Ctrl-C has no message; if pytest or the suite stops the run, there is one.
        self._stopped = str(excinfo.value) or "ended by SIGINT"

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        """Report that a worker died. The cases that it judged are in the journal; the case that it was judging is not."""
        if not _is_case(crashitem):
            return
        path = crashitem.partition("::")[0]
        group = group_of(node.gateway.id, len(self._groups)) if (node := getattr(report, "node", None)) is not None else 0
        keys = list(self._items.keys(_id(crashitem)))
        self._count_unreported(frozenset(keys))
        left = [key for key in keys if key not in self._counted and key not in self._aside]
        settings = self._groups[group]
        reason = "the process that judged the case died" + ("" if settings.isolated else " and held the device")
        if settings.isolated or not left:
            first = Try(False, Verdict.CRASH, reason, "", 0.0, Code.CRASH.of())
            asides = [
                SetAside(f"{path}::{id_}", attempt, first if (id_, attempt) == left[0] else None, group=group) for id_, attempt in left
            ]
            report.__dict__.update(unjudged_report(crashitem, asides).__dict__)
            return
        id_, attempt = left[0]
        # The case would end this process too; the other cases of its block might not.
        others = [key for key in left if key[0] != id_]
        if others and self._reporter is not None:
            waiting = [SetAside(f"{path}::{other}", number, None, group=group) for other, number in others]
            self._reporter.config.hook.pytest_runtest_logreport(report=unjudged_report(crashitem, waiting))
        report.nodeid = f"{path}::{id_}"
        result = CaseResult(
            id=id_,
            family=family_of(id_),
            verdict=Verdict.CRASH,
            code=Code.CRASH.of(),
            reason=reason,
            device=settings.description.name,
            driver=settings.description.driver,
            front_end=settings.front_end,
            tier=settings.tier,
            requirements=(),
            subcases=0,
            seconds=0.0,
            message=reason,
            attempt=attempt,
            unit=settings.unit,
        )
        report.longrepr = failure_text(result)
        setattr(report, DIGEST, msgspec.to_builtins(Digest.of(result)))
        self._keep(encode(result))

    def _keep(self, line: bytes) -> None:
        """Write a line to the journal, if there is one. A run that cannot save its results ends."""
        if self.journal is None:
            return
        try:
            self.journal.append_line(line)
        except JournalError as error:
            raise pytest.Session.Interrupted(str(error)) from None

    def _count_unreported(self, keys: Collection[Key]) -> None:
        """Count the judgements among these that a worker wrote to the journal but did not report before it died."""
        if self._directory is None:
            return
        # The journal also has the earlier verdicts that --retry replaces.
        results = read(self._directory / RESULTS, start=self._start)
        for key, digest in Digest.by_attempt(result for result in results if (result.id, result.attempt) in keys).items():
            if key not in self._counted:
                self._counted.add(key)
                self._tally.add(digest)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Any:
        digest = digest_of(report)
        if digest is not None:
            self._count(report, digest)
        for aside in asides_of(report):
            # The verdict will come from this process, not from a worker: pytest's own --junitxml would see two tests.
            report.__dict__.pop("node", None)
            self._aside.add((aside.id, aside.attempt))
            if self._progress is not None:
                self._progress.set_aside(aside)
        self._quiet_line = digest is not None and not self._verbose
        try:
            return (yield)
        finally:
            self._quiet_line = False
            if digest is not None:
                self._forget(report)

    def _forget(self, report: pytest.TestReport) -> None:
        """Keep only one report of a category that pytest only counts: a run may have millions."""
        reporter = self._reporter
        if reporter is None or reporter.hasopt("p") or reporter.hasopt("P"):
            return
        for category in ("passed", "not supported", "known failures"):
            kept = reporter.stats.get(category)
            if kept and kept[-1] is report:
                kept[-1] = kept[0]

    def _count(self, report: pytest.TestReport, digest: Digest) -> None:
        line = report.__dict__.pop(RECORD, None)
        if line is not None:
            self._keep(line)
        self._counted.add((_id(report.nodeid), digest.attempt))
        self._tally.add(digest)
        bad = digest.verdict not in self._settings.passing
        if bad:
            self._explain(report, digest)
        if self._progress is not None:
            self._progress.judged(report.nodeid, digest, bad, self._tally)

    def _explain(self, report: pytest.TestReport, digest: Digest) -> None:
        self._explained += 1
        if self._explained <= self._shown:
            report.longrepr = Explanation(shortened(str(report.longrepr), self._kept), digest.reason)  # type: ignore[assignment]
        else:
            report.longrepr = digest.reason
            setattr(report, UNEXPLAINED, True)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, Any] | None:
        if hasattr(report, ASIDE):
            return "", "", ""
        digest = digest_of(report)
        if digest is None:
            return None
        verdict = digest.verdict
        # Verdicts that the suite counts by reason have categories of their own, so -ra does not list them again.
        category = _CATEGORIES.get(verdict, "failed") if verdict in self._settings.passing else "failed"
        if hasattr(report, UNEXPLAINED):
            category = "more failed"
        # Without a letter and a word, pytest prints nothing for a case: one line of counts is more useful than a hundred thousand dots.
        return (category, "", "") if self._quiet_line else (category, "", word(verdict))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Any:
        if self.journal is not None:
            self.journal.close()
        collect_only = session.config.option.collectonly
        for key, digest in self._retried.items():
            if key not in self._again:
                self._before.add(digest)
        session.exitstatus = exitstatus if collect_only else self._exit_code(exitstatus)
        if self._directory is not None and not collect_only:
            written = self._write_reports(self._directory, whole=exitstatus in _ENDED and self._tally.total >= self._selected)
            if not written and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = INCOMPLETE
        if self._claim is not None:
            os.close(self._claim)
        try:
            return (yield)
        finally:
            # Print this after pytest's own last line.
            reporter = self._reporter
            if reporter is not None and not collect_only:
                for line in filter(None, (self._stop_line(), self._settings.fallback)):
                    reporter.write_line(line, yellow=True)

    def _exit_code(self, exitstatus: int) -> int:
        """Return the run's exit code; pytest itself would end with ``exitstatus``."""
        now, before, passing = self._tally, self._before, self._settings.passing
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and before.total:
            exitstatus = pytest.ExitCode.OK
        if exitstatus != pytest.ExitCode.OK:
            return exitstatus
        if before.bad(passing) or now.bad(passing) or not all(finding.outside for finding in (*self._findings, *self._found_before)):
            return pytest.ExitCode.TESTS_FAILED
        if now.total < self._selected and not self._out_of_time:
            return INCOMPLETE
        if not now.tested and not before.tested:
            return pytest.ExitCode.NO_TESTS_COLLECTED
        return pytest.ExitCode.OK

    @property
    def _out_of_time(self) -> bool:
        """Whether a requested time limit has left cases without a verdict."""
        limit = self._settings.limit
        return limit is not None and limit.over and not self._stopped and self._tally.total < self._selected

    def _not_judged(self) -> dict[str, int]:
        """Return how many judgements of each family the time limit left out."""
        judged = self._tally.families
        counts = {family: count - judged.get(family, Counter()).total() for family, count in sorted(self._families.items())}
        return {family: count for family, count in counts.items() if count > 0} if self._out_of_time else {}

    def _stop_line(self) -> str:
        if self._out_of_time and self._settings.limit is not None:
            seconds = f"{self._settings.limit.seconds:g} s"
            rest = "continue with --resume" if self._directory else "--report-dir DIR keeps the results, and --resume continues from there"
            return f"TIME LIMIT of {seconds}: {self._tally.total:,} of {self._selected:,} cases were judged, best coverage first; {rest}"
        if not self._stopped:
            return ""
        rest = "continue with --resume" if self._directory else "--report-dir DIR keeps the results, and --resume continues from there"
        # The lines after the first are the last output of a process, which is printed above.
        why = self._stopped.partition("\n")[0]
        return f"STOPPED after {self._tally.total:,} of {self._selected:,} cases: {why}; {rest}"

    def _write_reports(self, directory: Path, whole: bool) -> bool:
        """Write the reports, and tell whether that was possible."""
        try:
            meta = read_meta(directory)
            selected = max(int(meta.get("selected") or 0), self._before.total + self._selected)
            # A resumed run with fewer selected cases does not complete the original run.
            ended = whole and self._before.total + self._tally.total >= selected
            found = list(map(finding_record, self._findings))
            meta |= {"selected": selected, "seconds": self._elapsed, "stopped": self._stop_line()}
            meta["not_judged"] = self._not_judged()
            meta["findings"] = (*meta.get("findings", ()), *found)
            if ended:
                meta["finished"] = timestamp()
            write_meta(directory, meta)
            report_writer()(directory / RESULTS, directory, casebook=self._items.selection.casebook)
            self._reports = f"reports: {printable_path(directory / 'index.html')} (also summary.json, summary.md, junit.xml, {RESULTS})"
        except CtsError as error:
            why = f"{error}"
        except Exception as error:
            # The results are safe in the journal; a defect in a report must not hide them.
            why = f"{type(error).__name__}: {error}"
        else:
            return True
        self._reports = (
            f"reports could not be written: {printable_line(why)}; the results are in {printable_path(directory / RESULTS)}: "
            f"fix that, then run: cts report {printable_path(directory)}"
        )
        return False

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
        if terminalreporter.config.option.collectonly:
            return
        if all(digest_of(report) is not None for report in terminalreporter.stats.get("failed", ())):
            # pytest's short summary would repeat the lines above it.
            terminalreporter.reportchars = terminalreporter.reportchars.replace("f", "")
        end = RunEnd(
            settings=self._settings,
            tally=self._tally,
            before=self._before,
            selected=self._selected,
            not_judged=self._not_judged(),
            stopped=bool(self._stopped),
            is_empty=exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED,
            findings=tuple(self._findings),
            found_before=self._found_before,
            explained=self._explained,
            shown=self._shown,
            directory=self._directory,
            reports=self._reports,
            seconds=self._elapsed,
        )
        write_summary(terminalreporter, end)


def _id(nodeid: str) -> str:
    return nodeid.partition("::")[2]


def _cases(nodeids: Sequence[str]) -> list[str]:
    return [_id(nodeid) for nodeid in nodeids if _is_case(nodeid)]


def _is_case(nodeid: str) -> bool:
    """Tell whether an item is a case of the suite: a run may also have other tests."""
    return nodeid.partition("::")[0].endswith(".yaml")


def timestamp() -> str:
    """Return the current time in UTC, in the format of ISO 8601."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
