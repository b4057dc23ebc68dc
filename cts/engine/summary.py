"""The summary at the end of a run: counts, causes, findings, the place of the results, and the cases without a verdict."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Protocol

from cts.engine.progress import word
from cts.engine.run import Run
from cts.engine.since_start import seconds_since_start
from cts.engine.tally import Tally, phrase
from cts.journal.journal import RESULTS
from cts.printable import printable_path
from cts.verdict.verdict import CaseResult, Verdict

MESSAGE_LINES = 20
"""How many lines of a message the summary shows; the journal and the reports have the whole message."""

LAST_LINES = 5
"""How many of them are the last lines of the message, which say what to do."""

REASONS = 15
"""Reasons for not_supported that the summary lists."""


class Terminal(Protocol):
    """The output of a run: pytest.TerminalReporter."""

    def section(self, title: str, sep: str) -> None: ...
    def line(self, msg: str, **markup: bool) -> None: ...
    def write_sep(self, sep: str, title: str, **markup: bool) -> None: ...


def write_summary(out: Terminal, run: Run, explained: int, is_empty: bool) -> None:
    """Write the summary of a run that has ended: counts first, warnings last.

    Args:
        explained: how many failures there are.
        is_empty: whether no case was selected.
    """
    out.section("conformance", "=")
    _write_counts(out, run.tally)
    _write_causes(out, run)
    _write_findings(out, run)
    _write_results(out, run, explained)
    _write_warnings(out, run, is_empty)
    for line in run.github.lines if run.github is not None else ():
        out.line(line)


def _write_counts(out: Terminal, tally: Tally) -> None:
    out.line(f"verdicts: {tally.phrase()}")
    for family, verdicts in sorted(tally.families.items()):
        out.line(f"  {family}: {phrase(verdicts)}")
    if tally.missing:
        out.line(f"not supported, by reason ({tally.verdicts[Verdict.NOT_SUPPORTED]} cases):")
        for lack, count in sorted(tally.missing.items(), key=lambda entry: (-entry[1], entry[0].code, entry[0].text))[:REASONS]:
            out.line(f"  {count:6d}  {lack.text} ({lack.code})")
        if len(tally.missing) > REASONS:
            out.line(f"          and {len(tally.missing) - REASONS} more reasons")


def _write_causes(out: Terminal, run: Run) -> None:
    tally = run.tally
    if tally.known:
        out.line(f"known failures of the driver, by {run.settings.known.said}:")
    for (verdict, known), count in sorted(tally.known.items()):
        out.line(f"  {count:6d}  {word(verdict).lower()}: {known}", yellow=verdict is Verdict.UNEXPECTED_PASS)
    if tally.defects:
        out.line(f"defects that explain failing cases ({tally.verdicts[Verdict.FAIL]} fail; several may explain one):")
    for defect, count in sorted(tally.defects.items(), key=lambda entry: (-entry[1], entry[0]))[:REASONS]:
        out.line(f"  {count:6d}  {defect}")
    if tally.quality:
        out.line("permitted by the specification, but not expected by this suite; by position:", yellow=True)
        for position, count in sorted(tally.quality.items()):
            out.line(f"  {count:6d}  {position or 'no position'}", yellow=True)
    if tally.otherwise:
        out.line(
            "compiled to other code than a twin, which must give the same values; this proves no mistake; by what differs:", yellow=True
        )
        for parameter, count in sorted(tally.otherwise.items()):
            out.line(f"  {count:6d}  {parameter}", yellow=True)


def _write_findings(out: Terminal, run: Run) -> None:
    tally = run.tally
    if tally.compiling:
        out.line(f"{tally.compiling} of the timeouts happened during the creation of a pipeline, which breaks no rule", yellow=True)
    for part, findings in (("", run.findings), (" of an earlier part of this run", run.found_before)):
        for finding in findings:
            fault = " (not the driver's: it does not count)" if finding.outside else ""
            out.line(f"finding{part}, outside of any case{fault}: {finding.what}", red=not finding.outside, yellow=finding.outside)
    if tally.verdicts[Verdict.ERROR]:
        out.line(f"{tally.verdicts[Verdict.ERROR]} errors are the suite's own: they say nothing about the device", red=True)


def _write_results(out: Terminal, run: Run, explained: int) -> None:
    """Write where the results are, and how fast the run was."""
    shown = run.settings.log_failures
    if explained > shown:
        kept = run.directory and printable_path(run.directory / RESULTS)
        where = f"are in {kept}" if kept else "are not (--report-dir DIR keeps them all)"
        out.line(f"{shown} failures are shown above (--log-failures N); {explained - shown} more {where}")
    if run.before.total:
        out.line(f"judged before, by the run that this one resumed: {run.before.phrase()}")
    if run.tally.total:
        out.line(speed(run, seconds_since_start()))
    if run.reports:
        out.line(run.reports)


def _write_warnings(out: Terminal, run: Run, is_empty: bool) -> None:
    tally, not_judged = run.tally, run.not_judged()
    if is_empty and not run.before.total:
        out.write_sep("!", "NO CASE WAS SELECTED: look at -k and --case-list; 'cts list' names the cases of a tier", yellow=True, bold=True)
    if not_judged:
        left = ", ".join(f"{count} of {family}" for family, count in not_judged.items())
        out.line(f"not judged because of the time limit: {left}", yellow=True)
    if tally.total < run.total and not run.stopped and not not_judged:
        rest = "--resume judges the rest" if run.directory else "nothing is known about the rest"
        out.write_sep("!", f"NOT THE WHOLE RUN: {tally.total:,} of {run.total:,} cases were judged; {rest}", yellow=True, bold=True)
    if tally.total and not tally.tested:
        name = run.settings.description.name
        text = f"NOTHING WAS TESTED: {name} supports none of the {tally.total} cases, or has too little memory for them"
        out.write_sep("!", text, yellow=True, bold=True)


def speed(run: Run, waited: float | None) -> str:
    """Return the speed of a run in words.

    Args:
        waited: the seconds since the command began, of which judging took ``run.seconds``; None if that is not known.
    """
    tally, judging = run.tally, run.seconds
    whole = max(judging if waited is None else waited, 1e-9)
    text = f"speed: {tally.total} cases in {whole:.1f} s, {tally.total / whole:,.0f} cases/s"
    if tally.dispatches:
        text += f" and {tally.dispatches / whole:,.0f} compared dispatches/s"
    if waited is not None:
        text += f"; judging took {judging:.1f} s of that, {tally.total / max(judging, 1e-9):,.0f} cases/s"
    if tally.seconds:
        text += f"; of the time spent on cases the device took {100 * tally.device / tally.seconds:.0f} %"
        if tally.pipeline:
            text += f" (pipeline creation {100 * tally.pipeline / tally.seconds:.0f} %)"
    return text


def failure_text(result: CaseResult) -> str:
    """Return the text that is shown for a failed case."""
    # A traceback ends with its reason; a message begins with it.
    lines = [] if result.reason in result.message else [f"{result.verdict}: {result.reason}"]
    lines += [result.message.rstrip()]
    for number, one in enumerate(result.tries, 1):
        where = "alone" if one.alone else "beside others"
        lines.append(f"run {number}, {where}, {one.seconds:.1f} s: {one.verdict}" + (f" ({one.reason})" if one.reason else ""))
    # An exception of the suite would also end 'cts repro'.
    again = f"judge it again: cts run '{result.id}'" if result.verdict is Verdict.ERROR else f"reproduce: cts repro '{result.id}' DIR"
    lines.append(again)
    return "\n".join(lines)


class Explanation:
    """A failure's message, with the line that pytest's short summary shows."""

    def __init__(self, text: str, reason: str) -> None:
        self.text = text
        self.reprcrash = SimpleNamespace(message=reason)

    def __str__(self) -> str:
        return self.text

    def toterminal(self, tw: Any) -> None:
        for line in self.text.splitlines():
            tw.line(line)


def shortened(text: str, kept: str) -> str:
    """Return a message of at most MESSAGE_LINES lines: its beginning and its run.

    Args:
        kept: where the whole message is.
    """
    lines = text.splitlines()
    left_out = len(lines) - MESSAGE_LINES + 1
    if left_out <= 1:
        return text
    told = f"… {left_out} lines more, in {kept}"
    return "\n".join([*lines[: MESSAGE_LINES - LAST_LINES - 1], told, *lines[-LAST_LINES:]])
