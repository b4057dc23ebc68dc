"""The summary at the end of a run: counts, causes, findings, the place of the results, and the cases without a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

from cts.devices.device import Finding
from cts.engine.progress import word
from cts.engine.session import Settings
from cts.engine.tally import Tally, phrase
from cts.journal.journal import RESULTS
from cts.printable import printable_path
from cts.verdict.verdict import Verdict

MESSAGE_LINES = 20
"""How many lines of a message the summary shows; the journal and the reports have the whole message."""

LAST_LINES = 5
"""How many of them are the last lines of the message, which say what to do."""

REASONS = 15
"""Reasons for not_supported that the summary lists."""


@dataclass(frozen=True)
class RunEnd:
    """A run when it ends.

    Attributes:
        settings: the settings of its first group of processes.
        tally: the counts of its verdicts.
        before: the counts that the journal already had when it began.
        selected: how many judgements were to be made.
        not_judged: how many of each family the time limit left out.
        stopped: whether something stopped it.
        is_empty: whether no case was selected.
        findings: what the device did wrong while it ran no case.
        found_before: the findings that the run had when it was resumed.
        explained: how many failures there are.
        shown: how many of them are shown in full, at most.
        directory: the report directory, or None.
        reports: where the reports are, or why they could not be written; empty if none were asked for.
        seconds: how long it took.
    """

    settings: Settings
    tally: Tally
    before: Tally
    selected: int
    not_judged: Mapping[str, int]
    stopped: bool
    is_empty: bool
    findings: tuple[Finding, ...]
    found_before: tuple[Finding, ...]
    explained: int
    shown: int
    directory: Path | None
    reports: str
    seconds: float


class Terminal(Protocol):
    """The output of a run: pytest.TerminalReporter."""

    def section(self, title: str, sep: str) -> None: ...
    def line(self, msg: str, **markup: bool) -> None: ...
    def write_sep(self, sep: str, title: str, **markup: bool) -> None: ...


def write_summary(out: Terminal, end: RunEnd) -> None:
    """Write the summary for a user: counts first, warnings last."""
    out.section("conformance", "=")
    _write_counts(out, end.tally)
    _write_causes(out, end)
    _write_findings(out, end)
    _write_results(out, end)
    _write_warnings(out, end)


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


def _write_causes(out: Terminal, end: RunEnd) -> None:
    tally = end.tally
    if tally.known:
        out.line(f"known failures of the driver, by {end.settings.known.said}:")
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


def _write_findings(out: Terminal, end: RunEnd) -> None:
    tally = end.tally
    if tally.compiling:
        out.line(f"{tally.compiling} of the timeouts happened during the creation of a pipeline, which breaks no rule", yellow=True)
    for part, findings in (("", end.findings), (" of an earlier part of this run", end.found_before)):
        for finding in findings:
            fault = " (not the driver's: it does not count)" if finding.outside else ""
            out.line(f"finding{part}, outside of any case{fault}: {finding.what}", red=not finding.outside, yellow=finding.outside)
    if tally.verdicts[Verdict.ERROR]:
        out.line(f"{tally.verdicts[Verdict.ERROR]} errors are the suite's own: they say nothing about the device", red=True)


def _write_results(out: Terminal, end: RunEnd) -> None:
    """Write where the results are, and how fast the run was."""
    if end.explained > end.shown:
        kept = end.directory and printable_path(end.directory / RESULTS)
        where = f"are in {kept}" if kept else "are not (--report-dir DIR keeps them all)"
        out.line(f"{end.shown} failures are shown above (--log-failures N); {end.explained - end.shown} more {where}")
    if end.before.total:
        out.line(f"judged before, by the run that this one resumed: {end.before.phrase()}")
    if end.tally.total:
        out.line(_speed(end))
    if end.reports:
        out.line(end.reports)


def _write_warnings(out: Terminal, end: RunEnd) -> None:
    tally = end.tally
    if end.is_empty and not end.before.total:
        out.write_sep("!", "NO CASE WAS SELECTED: look at -k and --case-list; 'cts list' names the cases of a tier", yellow=True, bold=True)
    if end.not_judged:
        left = ", ".join(f"{count} of {family}" for family, count in end.not_judged.items())
        out.line(f"not judged because of the time limit: {left}", yellow=True)
    if tally.total < end.selected and not end.stopped and not end.not_judged:
        rest = "--resume judges the rest" if end.directory else "nothing is known about the rest"
        out.write_sep("!", f"NOT THE WHOLE RUN: {tally.total:,} of {end.selected:,} cases were judged; {rest}", yellow=True, bold=True)
    if tally.total and not tally.tested:
        name = end.settings.description.name
        text = f"NOTHING WAS TESTED: {name} supports none of the {tally.total} cases, or has too little memory for them"
        out.write_sep("!", text, yellow=True, bold=True)


def _speed(end: RunEnd) -> str:
    tally = end.tally
    text = f"speed: {tally.total} cases in {end.seconds:.1f} s, {tally.total / max(end.seconds, 1e-9):,.0f} cases/s"
    if tally.seconds:
        text += f"; of the time spent on cases the device took {100 * tally.device / tally.seconds:.0f} %"
        if tally.pipeline:
            text += f" (pipeline creation {100 * tally.pipeline / tally.seconds:.0f} %)"
    return text


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
    """Return a message of at most MESSAGE_LINES lines: its beginning and its end.

    Args:
        kept: where the whole message is.
    """
    lines = text.splitlines()
    left_out = len(lines) - MESSAGE_LINES + 1
    if left_out <= 1:
        return text
    told = f"… {left_out} lines more, in {kept}"
    return "\n".join([*lines[: MESSAGE_LINES - LAST_LINES - 1], told, *lines[-LAST_LINES:]])
