"""The plugin's part that a user sees: header, progress, summary, exit code; in the only process, or in pytest-xdist's controller."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cts.journal import RESULTS, Journal, judged_ids, read_meta, write_meta
from cts.judging import DIGEST, RECORD, failure_text
from cts.progress import Progress, word
from cts.report_writer import report_writer
from cts.session import Settings
from cts.tally import PASSING, Digest, Tally, phrase
from cts.verdict import CaseResult, Verdict
from generators.errors import CtsError

EXPLAINED = 50
"""Failures whose whole message is printed at the end; the rest are in the journal and the reports."""

UNEXPLAINED = "cts_unexplained"
"""Attribute of a report that is counted and not shown."""

_CATEGORIES = {
    Verdict.PASS: "passed",
    Verdict.EXPECTED_FAIL: "xfailed",
    Verdict.UNEXPECTED_PASS: "xpassed",
    Verdict.NOT_SUPPORTED: "not supported",
}

_ENDED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
"""How pytest ends where nothing stopped it."""

BAD_OUTPUT = 2
"""Exit code where nothing failed and the reports that were asked for could not be written."""

REASONS = 15
"""Reasons for not_supported that the summary lists."""


class Overview:
    """Registered only while a run concerns the suite.

    Args:
        version: of the suite.
        directory: for reports, or None.
        judged_before: what the journal already had when the run began.
        claim: descriptor that keeps other runs out of ``directory`` (see cts.journal.claim).
    """

    def __init__(self, version: str, settings: Settings, directory: Path | None, judged_before: Tally, claim: int | None = None) -> None:
        self._claim = claim
        self._version = version
        self._settings = settings
        self._directory = directory
        self._before = judged_before
        self._tally = Tally()
        self._explained = 0
        self._began = self._elapsed = 0.0
        self._progress: Progress | None = None
        self._journal = None if directory is None else Journal(directory / RESULTS)
        self._reports = ""
        self._selected = 0
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
            "results: " + (f"{self._directory}" if self._directory else "not kept (--report-dir DIR keeps them as they are judged)"),
        ]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        self._progress = None if reporter is None else Progress(reporter)
        self._verbose = session.config.get_verbosity() > 0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Any:
        self._selected = session.testscollected
        if self._progress is not None:
            self._progress.begin(session.testscollected)
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
        self._selected = len(ids)
        if self._progress is not None and not self._progress.total:
            self._progress.begin(len(ids))

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        """A worker died. What it judged is in the journal; the case that it was judging is not."""
        id_ = crashitem.partition("::")[2]
        if not id_ or not crashitem.partition("::")[0].endswith(".yaml"):
            return
        settings = self._settings
        verdict = Verdict.ERROR if settings.isolated else Verdict.CRASH
        reason = "the process that judged the case died" + ("" if settings.isolated else " and held the device")
        result = CaseResult(
            id=id_,
            family=id_.partition("[")[0],
            verdict=verdict,
            reason=reason,
            device=settings.description.name,
            driver=settings.description.driver,
            front_end=settings.front_end,
            tier=settings.tier,
            requirements=(),
            subcases=0,
            seconds=0.0,
            message=reason,
        )
        report.longrepr = failure_text(result)
        setattr(report, DIGEST, Digest.of(result).wire())
        if self._journal is not None and id_ not in judged_ids(self._journal.path):
            self._journal.append(result.record())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Any:
        values = getattr(report, DIGEST, None)
        if values is not None:
            self._count(report, values)
        self._quiet_line = values is not None and not self._verbose
        try:
            return (yield)
        finally:
            self._quiet_line = False

    def _count(self, report: pytest.TestReport, values: list[Any]) -> None:
        digest = Digest.unwire(values)
        line = report.__dict__.pop(RECORD, None)
        if line is not None and self._journal is not None:
            self._journal.append_line(line)
        self._tally.add(digest)
        bad = digest.verdict not in PASSING
        if bad:
            self._explain(report, digest)
        if self._progress is not None:
            self._progress.judged(report.nodeid, digest, bad, self._tally)

    def _explain(self, report: pytest.TestReport, digest: Digest) -> None:
        self._explained += 1
        if self._explained <= EXPLAINED:
            report.longrepr = Explanation(str(report.longrepr), digest.reason)  # type: ignore[assignment]
        else:
            report.longrepr = digest.reason
            setattr(report, UNEXPLAINED, True)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, Any] | None:
        values = getattr(report, DIGEST, None)
        if values is None:
            return None
        verdict = Digest.unwire(values).verdict
        # not_supported is a category of its own: the summary counts the reasons, and -ra need not list them once more.
        category = _CATEGORIES.get(verdict, "failed")
        if hasattr(report, UNEXPLAINED):
            category = "more failed"
        # Without a letter and a word pytest prints nothing for a case: a hundred thousand dots tell less than one line of counts.
        return (category, "", "") if self._quiet_line else (category, "", word(verdict))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self._journal is not None:
            self._journal.close()
        done_before = self._before.total > 0
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and done_before and not session.config.option.collectonly:
            exitstatus = pytest.ExitCode.OK
        if exitstatus == pytest.ExitCode.OK and self._before.bad:
            exitstatus = pytest.ExitCode.TESTS_FAILED
        session.exitstatus = exitstatus
        if self._directory is not None and not session.config.option.collectonly:
            written = self._write_reports(self._directory, whole=exitstatus in _ENDED and self._tally.total >= self._selected)
            if not written and exitstatus == pytest.ExitCode.OK:
                session.exitstatus = BAD_OUTPUT
        if self._claim is not None:
            os.close(self._claim)

    def _write_reports(self, directory: Path, whole: bool) -> bool:
        """Whether that was possible."""
        try:
            meta = read_meta(directory)
            selected = max(int(meta.get("selected") or 0), self._before.total + self._selected)
            # A run that goes on with fewer cases than were once selected does not end that one.
            ended = whole and self._before.total + self._tally.total >= selected
            meta |= {"selected": selected, "seconds": self._elapsed} | ({"finished": timestamp()} if ended else {})
            write_meta(directory, meta)
            report_writer()(directory / RESULTS, directory)
            self._reports = f"reports: {directory / 'index.html'} (also summary.json, summary.md, junit.xml, {RESULTS})"
        except CtsError as error:
            why = f"{error}"
        except Exception as error:
            # The results are safe in the journal; a defect in a report must not hide them.
            why = f"{type(error).__name__}: {error}"
        else:
            return True
        self._reports = (
            f"reports could not be written: {why}; the results are in {directory / RESULTS}: "
            f"mend that, then write them with: cts report {directory}"
        )
        return False

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
        if terminalreporter.config.option.collectonly:
            return
        out = terminalreporter
        out.section("conformance", "=")
        tally = self._tally
        out.line(f"verdicts: {tally.phrase()}")
        for family, verdicts in sorted(tally.families.items()):
            out.line(f"  {family}: {phrase(verdicts)}")
        if tally.reasons:
            out.line(f"not supported, by reason ({tally.verdicts[Verdict.NOT_SUPPORTED]} cases):")
            for reason, count in sorted(tally.reasons.items(), key=lambda entry: (-entry[1], entry[0]))[:REASONS]:
                out.line(f"  {count:6d}  {reason}")
            if len(tally.reasons) > REASONS:
                out.line(f"          and {len(tally.reasons) - REASONS} further reasons")
        for (verdict, reason), count in sorted(tally.expectations.items()):
            out.line(f"{count:8d}  {word(verdict).lower()}: {reason}", yellow=verdict is Verdict.UNEXPECTED_PASS)
        if tally.verdicts[Verdict.ERROR]:
            out.line(f"{tally.verdicts[Verdict.ERROR]} errors are the suite's own: they say nothing of the device", red=True)
        if self._explained > EXPLAINED:
            where = f"are in {self._directory / RESULTS}" if self._directory else "are not (--report-dir DIR keeps them all)"
            out.line(f"{EXPLAINED} failures are shown above; {self._explained - EXPLAINED} more {where}")
        if self._before.total:
            out.line(f"judged before, by the run that this one resumed: {self._before.phrase()}")
        if tally.total:
            out.line(self._speed())
        if self._reports:
            out.line(self._reports)
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and not self._before.total:
            out.write_sep(
                "!", "NO CASE WAS SELECTED: look at -k and --case-list; 'cts list' names the cases of a tier", yellow=True, bold=True
            )
        if tally.total < self._selected:
            rest = "--resume judges the rest" if self._directory else "nothing is known of the rest"
            out.write_sep(
                "!", f"NOT THE WHOLE RUN: {tally.total:,} of {self._selected:,} cases were judged; {rest}", yellow=True, bold=True
            )
        if tally.total and tally.verdicts[Verdict.NOT_SUPPORTED] == tally.total:
            out.write_sep(
                "!",
                f"NOTHING WAS TESTED: {self._settings.description.name} supports none of the {tally.total} cases",
                yellow=True,
                bold=True,
            )

    def _speed(self) -> str:
        tally = self._tally
        text = f"speed: {tally.total} cases in {self._elapsed:.1f} s, {tally.total / max(self._elapsed, 1e-9):,.0f} cases/s"
        if tally.seconds:
            text += f"; of the time spent on cases the device took {100 * tally.device / tally.seconds:.0f} %"
            if tally.pipeline:
                text += f" (pipeline creation {100 * tally.pipeline / tally.seconds:.0f} %)"
        return text


class Explanation:
    """A failure's message, with the one line that the short summary shows."""

    def __init__(self, text: str, reason: str) -> None:
        self.text = text
        self.reprcrash = SimpleNamespace(message=reason)

    def __str__(self) -> str:
        return self.text

    def toterminal(self, tw: Any) -> None:
        for line in self.text.splitlines():
            tw.line(line)


def timestamp() -> str:
    """Now, in UTC, as ISO 8601 has it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
