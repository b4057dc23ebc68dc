"""The output of a run for GitHub's workflows: annotations on the page of the workflow, and a summary of the step.

Both are bounded: GitHub shows ten annotations of a kind for each step, and refuses a summary of more than 1 MiB.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from cts.engine.progress import word
from cts.engine.tally import Digest, Tally, phrase
from cts.output import STOP
from cts.printable import printable_line
from cts.verdict.verdict import Verdict

ANNOTATIONS = 10
"""The most annotations; the last one says how many causes have none."""

SUMMARY_BYTES = 1 << 20
"""The largest summary of a step."""

_CAUSES = 10_000
"""The most causes that are kept: a run may have millions of failures."""

_DEFECTS = 3
"""How many of the defects that explain a failure an annotation names."""

_TITLE_CHARACTERS = 200
_MESSAGE_CHARACTERS = 1_000
_CUT = "\n\n… the rest is in `summary.md` of the report directory.\n"


@dataclass
class _Cause:
    """Failures of one family that ended in the same way. ``names`` are the code and the defects of the first of them."""

    verdict: Verdict
    family: str
    reason: str
    first: str
    cases: int = 0
    names: tuple[str, ...] = ()


class GitHub:
    """Counts the causes of failures, if this process is a step of a workflow.

    Args:
        resuming: the word of ``commands_stopped``.
        summary: the file of the step's summary (GITHUB_STEP_SUMMARY), or None.
        reports: the report directory, whose ``summary.md`` it copies, or None.
        passing: verdicts that do not make the run fail.
    """

    def __init__(self, resuming: str, summary: Path | None, reports: Path | None, passing: Collection[Verdict]) -> None:
        self._summary = summary
        self._reports = reports
        self._passing = passing
        self._tally = Tally()
        self._causes: dict[tuple[Verdict, str, str], _Cause] = {}
        self._problem = ""
        self._resuming = resuming

    def count(self, id_: str, digest: Digest) -> None:
        """Count a verdict."""
        self._tally.add(digest)
        key = (digest.verdict, digest.family, digest.code or digest.reason)
        if digest.verdict in self._passing or (key not in self._causes and len(self._causes) >= _CAUSES):
            return
        names = tuple(filter(None, (digest.code, *digest.defects[:_DEFECTS])))
        self._causes.setdefault(key, _Cause(digest.verdict, digest.family, digest.reason, id_, 0, names)).cases += 1

    def write_summary(self) -> None:
        """Write the summary, after the reports."""
        if self._summary is None:
            return
        try:
            written = self._summary.stat().st_size if self._summary.exists() else 0
            with self._summary.open("ab") as file:
                file.write(bounded(self._text(), SUMMARY_BYTES - written))
        except OSError as error:
            self._problem = f"GITHUB_STEP_SUMMARY: cannot write {self._summary}: {error.strerror}"

    def _text(self) -> str:
        made = self._reports and self._reports / "summary.md"
        if made and made.is_file():
            return made.read_text(encoding="utf-8")
        families = "\n".join(f"| `{family}` | {phrase(counts)} |" for family, counts in sorted(self._tally.families.items()))
        return f"## Conformance\n\n{self._tally.phrase()}\n\n| family | verdicts |\n|---|---|\n{families}\n"

    @property
    def lines(self) -> list[str]:
        """The annotations, most cases first, in the lines between which GitHub obeys commands."""
        causes = annotated(sorted(self._causes.values(), key=lambda cause: (-cause.cases, cause.family, cause.first)))
        return [f"::{self._resuming}::", *causes, f"{STOP}{self._resuming}", *([self._problem] if self._problem else [])]


def annotated(causes: list[_Cause]) -> list[str]:
    """Return workflow commands: an annotation for each cause, at most ANNOTATIONS."""
    shown = causes if len(causes) <= ANNOTATIONS else causes[: ANNOTATIONS - 1]
    lines = [
        _error(
            f"{word(cause.verdict)}: {cause.family}, {cause.cases:,} case{'s' * (cause.cases != 1)}",
            f"{': '.join(filter(None, (', '.join(cause.names), cause.reason)))} (for example {cause.first}; cts run '{cause.first}')",
        )
        for cause in shown
    ]
    if rest := causes[len(shown) :]:
        cases = sum(cause.cases for cause in rest)
        lines.append(_error(f"{len(rest):,} more causes", f"{cases:,} cases failed in other ways: see the log and the reports"))
    return lines


def bounded(text: str, room: int) -> bytes:
    """Return ``text`` in UTF-8, cut at the end of a line to ``room`` bytes with a note."""
    content = text.encode("utf-8", errors="backslashreplace")
    if len(content) <= room:
        return content
    note = _CUT.encode()
    kept = content[: max(0, room - len(note))]
    return kept[: kept.rfind(b"\n") + 1] + note if room > len(note) else b""


def _error(title: str, message: str) -> str:
    head = _escaped(title[:_TITLE_CHARACTERS]).replace(":", "%3A").replace(",", "%2C")
    return f"::error title={head}::{_escaped(message[:_MESSAGE_CHARACTERS])}"


def _escaped(text: str) -> str:
    return printable_line(text).replace("%", "%25")


def from_environment(resuming: str, reports: Path | None, passing: Collection[Verdict]) -> GitHub | None:
    """Return the counts for GitHub if this process is a step of a workflow, else None. The word ``resuming`` is then not empty."""
    if not resuming:
        return None
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    return GitHub(resuming, Path(summary) if summary else None, reports, passing)
