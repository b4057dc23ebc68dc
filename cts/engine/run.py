"""A run, as the process sees it that gets all verdicts: counts, findings, the journal, reports and the exit code."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path

from cts.devices.device import Finding
from cts.engine.github import from_environment
from cts.engine.report_writer import report_writer
from cts.engine.reports_beside import CASES, ReportsBeside
from cts.engine.selected import Key, Selected
from cts.engine.session import Settings
from cts.engine.set_aside import SetAside
from cts.engine.tally import Digest, Tally
from cts.exit_codes import FAILED, INCOMPLETE, NOTHING_TESTED, PASSED
from cts.journal.journal import RESULTS, Journal, read, read_meta, write_meta
from cts.journal.record import encode
from cts.journal.run_record import RunRecord, finding_of, finding_record
from cts.printable import printable_line, printable_path
from cts.signals import INTERRUPTED
from cts.verdict.codes import Code
from cts.verdict.verdict import CaseResult, Try, Verdict
from generators.casebook.ids import family_of
from generators.errors import CtsError

TIME = "%Y-%m-%dT%H:%M:%SZ"
"""The format of times, which are in UTC."""


class Run:
    """Counts what is judged, and ends with reports and an exit code.

    Args:
        version: the version of the suite.
        groups: the settings of each group of processes, at least one.
        directory: the report directory, or None.
        selected: the items to judge.
        before: counts of the results that the journal had when the run began.
        retried: other results of the journal, which ``--retry`` judges again if they are selected.
        findings: problems of the device while it ran no case.
        processes: how many processes judge; None if that is not known.
        claim: the descriptor that keeps other runs out of ``directory`` (see cts.journal.journal.claim).
        resuming: see cts.engine.github.

    Attributes:
        journal: the journal that this process writes, or None.
        tally: the counts so far.
        total: how many judgements are to be made.
        stopped: why something stopped the run; empty if nothing did.
        seconds: how long it judged.
        aside: the judgements that wait for the end.
        found_before: the findings that the run had when it was resumed.
        reports: where the reports are, or why they could not be written; empty if none were asked for.
        github: the counts for GitHub, or None.
    """

    def __init__(
        self,
        version: str,
        groups: Sequence[Settings],
        directory: Path | None,
        selected: Selected,
        before: Tally,
        retried: Mapping[Key, Digest],
        findings: list[Finding],
        processes: int | None = 1,
        claim: int | None = None,
        resuming: str = "",
    ) -> None:
        self.version = version
        self.groups = tuple(groups)
        self.settings = groups[0]
        self.directory = directory
        self.selected = selected
        self.findings = findings
        self.tally = Tally()
        self.total = 0
        self.stopped = ""
        self.seconds = 0.0
        self.aside: set[Key] = set()
        self.before = before
        self._retried = dict(retried)
        self._again: set[Key] = set()
        self._claim = claim
        self.github = from_environment(resuming, directory, self.settings.passing)
        self._counted: set[Key] = set()
        self._families: Counter[str] = Counter()
        self.journal = None if directory is None else Journal(directory / RESULTS)
        self._start = 0 if directory is None else (directory / RESULTS).stat().st_size
        earlier: RunRecord = {} if directory is None else read_meta(directory)
        self.found_before = tuple(map(finding_of, earlier.get("findings", ())))
        self.reports = ""
        self._has_several = processes != 1
        self._beside: ReportsBeside | None = None
        self._is_over = self._has_failed = False

    @property
    def header(self) -> list[str]:
        """Lines that say what is judged, and how."""
        settings, description = self.settings, self.settings.description
        isolation = (
            f"held by a child process, {settings.step_timeout:g} s for each step"
            if settings.isolated
            else "held by the process that judges"
        )
        kept = printable_path(self.directory) if self.directory else "not kept (--report-dir DIR keeps them as they are judged)"
        return [
            f"suite: {self.version}, tier {settings.tier}, front end {settings.front_end}",
            f"device: {description.modelled or f'{description.name}, driver {description.driver}'} ({settings.why}); {isolation}",
            *(f"group {group.unit} ({group.why})" for group in self.groups if group.unit),
            *([f"known failures: {settings.known.said}"] if settings.known.names else []),
            f"results: {kept}",
        ]

    def nodeid(self, id_: str) -> str:
        """Return the node id of a case: its family's file, and its id."""
        return f"{self._files[family_of(id_)]}::{id_}"

    @cached_property
    def _files(self) -> Mapping[str, str]:
        """The file of each family, as node ids name it."""
        selection = self.selected.selection
        return {name: selection.file(name) for name in selection.casebook.families}

    def select(self, ids: Sequence[str]) -> None:
        """Set what the run judges: these cases and blocks, and the cases that need no item."""
        self._families = Counter()
        for id_ in (*ids, *self.selected.foretold):
            self._families[family_of(id_)] += self.selected.count(id_)
        self.total = self._families.total()
        if self._retried:
            names = frozenset(ids).union(self.selected.foretold)
            left = self.selected.selection.attempts.left
            here = [key for key in self._retried if key[0] in names or self.selected.home(key[0]) in names]
            self._again |= {(id_, attempt) for id_, attempt in here if attempt in left(id_)}
        if self.directory is not None and self._beside is None and self._has_several and self.total in CASES:
            with suppress(OSError):
                self._beside = ReportsBeside(self.directory, self.selected.selection.casebook.root.parent)

    def count(self, id_: str, digest: Digest) -> bool:
        """Count a verdict, and tell whether it makes the run fail."""
        self._counted.add((id_, digest.attempt))
        self.tally.add(digest)
        if self.github is not None:
            self.github.count(id_, digest)
        return digest.verdict not in self.settings.passing

    def judged_for(self, seconds: float) -> None:
        """Take note of how long the run had judged when the last counted verdict came. If it is the last of all, begin the reports: the
        processes that judge need as long to end."""
        self.seconds = seconds
        beside = self._beside
        if beside is not None and not beside.has_begun and self.is_whole and not self._retried:
            # Only the end of the run makes meta.json say that it has finished.
            self._attempt(lambda directory: beside.begin(self._ended(directory, whole=True)))

    @property
    def is_whole(self) -> bool:
        """Whether all judgements have been made."""
        return self.tally.total >= self.total

    def keep(self, line: bytes) -> None:
        """Write a line to the journal, if there is one.

        Raises:
            JournalError: it cannot be written.
        """
        if self.journal is not None:
            self.journal.append_line(line)

    def died(self, name: str, group: int) -> tuple[list[SetAside], CaseResult | None]:
        """Return what becomes of a case or a block whose process died: the judgements to make again, and the case's verdict, if any.

        The judgements that the process wrote to the journal are counted.

        Args:
            name: the id of a case or the name of a block.
            group: the number of the process's group.
        """
        keys = list(self.selected.keys(name))
        self._count_unreported(frozenset(keys))
        left = [key for key in keys if key not in self._counted and key not in self.aside]
        settings = self.groups[group]
        reason = "the process that judged the case died" + ("" if settings.isolated else " and held the device")
        if settings.isolated or not left:
            first = Try(False, Verdict.CRASH, reason, "", 0.0, Code.CRASH.of())
            return [SetAside(*key, first if key == left[0] else None, group=group) for key in left], None
        id_, attempt = left[0]
        # The case would end this process too; the other cases of its block might not.
        others = [SetAside(*key, None, group=group) for key in left if key[0] != id_]
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
            message=reason,
            attempt=attempt,
            unit=settings.unit,
        )
        self.keep(encode(result))
        return others, result

    def _count_unreported(self, keys: Collection[Key] | None = None) -> None:
        """Count what a process wrote to the journal but did not report before it ended; only these judgements, if they are given."""
        if self.directory is None:
            return
        # The journal also has the earlier verdicts that --retry replaces.
        for result in read(self.directory / RESULTS, start=self._start):
            key = result.id, result.attempt
            if key not in self._counted and (keys is None or key in keys):
                self.count(result.id, Digest.of(result))

    def end(self, code: int) -> int:
        """Begin to write the reports, and return the run's exit code if that works; see ``finish``.

        Args:
            code: the exit code so far: NOTHING_TESTED if no case was judged, and one of the others if something stopped the run.
        """
        if self.journal is not None:
            self.journal.close()
        if self.stopped:
            self._count_unreported()
        for key, digest in self._retried.items():
            if key not in self._again:
                self.before.add(digest)
        self._attempt(partial(self._end_record, whole=code in (PASSED, FAILED, NOTHING_TESTED)))
        return self._exit_code(code)

    def finish(self, code: int) -> int:
        """Wait for the reports, and return the exit code of the process. Only the first call waits.

        Args:
            code: the exit code that ``end`` returned.
        """
        if not self._is_over:
            self._is_over = True
            self._attempt(self._write_reports)
            if self._beside is not None:
                self._beside.end()
            if self.github is not None:
                self.github.write_summary()
        if self._claim is not None:
            os.close(self._claim)
            self._claim = None
        return INCOMPLETE if self._has_failed and code == PASSED else code

    def _exit_code(self, code: int) -> int:
        now, before, passing = self.tally, self.before, self.settings.passing
        if code == NOTHING_TESTED and (before.total or now.total):
            code = PASSED
        if code != PASSED:
            return code
        if before.bad(passing) or now.bad(passing) or not all(finding.outside for finding in (*self.findings, *self.found_before)):
            return FAILED
        if not self.is_whole and not self._out_of_time:
            return INCOMPLETE
        return PASSED if now.tested or before.tested else NOTHING_TESTED

    @property
    def _out_of_time(self) -> bool:
        """Whether a requested time limit has left cases without a verdict."""
        return self.settings.late and not self.stopped and not self.is_whole

    def not_judged(self) -> dict[str, int]:
        """Return how many judgements of each family the time limit left out."""
        judged = self.tally.families
        counts = {family: count - judged.get(family, Counter()).total() for family, count in sorted(self._families.items())}
        return {family: count for family, count in counts.items() if count > 0} if self._out_of_time else {}

    @property
    def warnings(self) -> list[str]:
        """Lines that say that the run is not whole, or not of a real device."""
        return [line for line in (self._stop_line(), self.settings.fallback, self.settings.description.modelled) if line]

    def _stop_line(self) -> str:
        rest = "continue with --resume" if self.directory else "--report-dir DIR keeps the results, and --resume continues from there"
        judged = f"{self.tally.total:,} of {self.total:,} cases"
        if self._out_of_time and self.settings.limit is not None:
            return f"TIME LIMIT of {self.settings.limit.seconds:g} s: {judged} were judged, best coverage first; {rest}"
        # The lines after the first are the last output of a process, which is printed above.
        why = self.stopped.partition("\n")[0]
        return f"STOPPED after {judged}: {why}; {rest}" if self.stopped else ""

    def _attempt(self, part: Callable[[Path], None]) -> None:
        """Do a part of the work on the reports, if there is a directory for them and no earlier part failed."""
        directory = self.directory
        if directory is None or self._has_failed:
            return
        try:
            part(directory)
        except CtsError as error:
            why = f"{error}"
        except Exception as error:
            # The results are safe in the journal; a defect in a report must not hide them.
            why = f"{type(error).__name__}: {error}"
        else:
            return
        self._has_failed = True
        self.reports = (
            f"reports could not be written: {printable_line(why)}; the results are in {printable_path(directory / RESULTS)}; "
            f"to write the reports later, run: cts report {printable_path(directory)}"
        )

    def _end_record(self, directory: Path, whole: bool) -> None:
        """Write what is known of the run to meta.json, and have the process beside it begin the reports, again if anything has changed.

        Args:
            whole: whether nothing stopped the run.
        """
        ended = self._ended(directory, whole)
        write_meta(directory, ended)
        if self._beside is not None:
            self._beside.begin(ended)

    def _ended(self, directory: Path, whole: bool) -> RunRecord:
        """Return what meta.json would have if this run ended now."""
        recorded = read_meta(directory)
        selected = max(int(recorded.get("selected") or 0), self.before.total + self.total)
        now = recorded | {"selected": selected, "seconds": self.seconds, "stopped": self._stop_line()}
        now["not_judged"] = self.not_judged()
        now["findings"] = (*recorded.get("findings", ()), *map(finding_record, self.findings))
        # A resumed run with fewer selected cases does not complete the original run.
        if whole and self.is_whole and self.before.total + self.tally.total >= selected:
            now["finished"] = self._finished
        return now

    @cached_property
    def _finished(self) -> str:
        """When the run was whole."""
        return timestamp()

    def _write_reports(self, directory: Path) -> None:
        try:
            if self._beside is None or not self._beside.write():
                report_writer()(directory / RESULTS, directory, casebook=self.selected.selection.casebook)
        except KeyboardInterrupt as end:
            raise CtsError(str(end) or INTERRUPTED) from None
        self.reports = f"reports: {printable_path(directory / 'index.html')} (also summary.json, summary.md, junit.xml, {RESULTS})"


def timestamp() -> str:
    """Return the current time in UTC, in the format of ISO 8601."""
    return time.strftime(TIME, time.gmtime())
