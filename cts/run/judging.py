"""The part of the plugin that collects and judges: in the only process, or in each worker of pytest-xdist."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from cts.devices.device import DeviceError, Finding, Step
from cts.devices.holder import DeviceHolder
from cts.journal.journal import Journal, JournalError
from cts.journal.record import encode
from cts.journal.run_record import FindingRecord
from cts.run.collection import BlockItem, CaseItem, SuiteDirectory, cases_file
from cts.run.confirmation import BATCH, Bench, confirmed
from cts.run.control import LOST, ControlCase, Proven, plain_case, verdict_of_control
from cts.run.costs import Costs, read_costs
from cts.run.first_shader import FirstShader
from cts.run.garbage import all_kept
from cts.run.neighbours import Neighbours
from cts.run.options import is_package
from cts.run.runner import judge
from cts.run.selection import Selection
from cts.run.session import Settings
from cts.run.set_aside import SET_ASIDE, WRONG, SetAside, tried
from cts.run.tally import PASSING, Digest
from cts.verdict.effort import Budget
from cts.verdict.verdict import CaseResult, Verdict
from generators.casebook import Case, CaseKind, find_case
from generators.errors import CasebookError

CONFIRMED_AT_ONCE = 3
"""How many failures each process judges again at once, so they are announced early. The others wait until there are several."""

CONFIRMED = "cts_confirmed"
"""Attribute of a report: the journal's lines of failures that were set aside before and that a fresh process has repeated."""

DIGEST = "cts_digest"
"""Attribute of a report: the Digest of the result, in values that can be sent between processes."""

RECORD = "cts_record"
"""Attribute of a report: the journal's line, if the process that judged cannot write the journal itself."""

ASIDE = "cts_set_aside"
"""Attribute of a report without a verdict: the SetAside of each judgement that must be made alone, in values that can be sent."""

FINDINGS = "cts_findings"
"""Key of the findings that a worker of pytest-xdist sends at its end: the record of each."""


class Judging:
    """Registered only while a run concerns the suite.

    Args:
        root: the root of the checkout.
        holder: the holder of this process's device.
        journal: the journal that this process writes; None if there is none, or if it is on another machine.
        send_records: whether reports carry the records for the controller to write.
        proven: cases that passed before this run, with their seconds.
        group: the number of this process's group.
        processes: how many processes share the cases.
        neighbours: the other processes that share the device; None if there are none.
    """

    def __init__(
        self,
        root: Path,
        settings: Settings,
        selection: Selection,
        holder: DeviceHolder,
        journal: Journal | None,
        send_records: bool = False,
        proven: Iterable[Proven] = (),
        group: int = 0,
        processes: int = 1,
        neighbours: Neighbours | None = None,
    ) -> None:
        self._group = group
        self._processes = processes
        self._neighbours = neighbours
        self._root = root
        self._settings = settings
        self._selection = selection
        self._holder = holder
        self._journal = journal
        self._send_records = send_records
        self._parent = os.getppid()
        self._budget = Budget()
        self._at_once = CONFIRMED_AT_ONCE
        self._held: list[SetAside] = []
        self._losses = 0
        self._control = ControlCase(
            self._rerun,
            settings.retries,
            proven=proven,
            plain=partial(plain_case, selection.casebook),
            renew=holder.discard,
            findings=holder.findings,
            disturbed=self._disturbed,
        )
        self._first = FirstShader(selection.casebook, holder, self._judged_again, settings.retries, self._disturbed)

    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        if is_package(path, self._root):
            return SuiteDirectory.from_parent(parent, path=path, selection=self._selection)
        return None

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        if file_path.suffix != ".yaml":
            return None
        family = self._selection.family(file_path)
        return None if family is None else cases_file(parent, file_path, family, self._selection)

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Iterator[None]:
        with all_kept():
            return (yield)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Put the most informative cases first if there is a time limit; if several processes share the cases, put the longest first."""
        if self._settings.limit is not None:
            items[:] = most_telling_first(items)
        elif self._processes > 1:
            items[:] = begun_early(items, read_costs(self._selection.casebook.root.parent), self._processes)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Iterator[None]:
        try:
            return (yield)
        finally:
            # First close the device: when other processes learn that this one is done, they may judge cases alone.
            self._close(session.config)

    def _close(self, config: pytest.Config) -> None:
        self._holder.close()
        output = getattr(config, "workeroutput", None)
        if output is not None:
            output[FINDINGS] = [finding_record(finding) for finding in self._holder.findings]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Literal[True] | None:
        if isinstance(item, BlockItem):
            self._judge_block(item)
            return True
        if not isinstance(item, CaseItem):
            return None
        self._judge_attempts(item)
        return True

    def _judge_block(self, block: BlockItem) -> None:
        """Judge the cases of a block."""
        try:
            for item in block.cases():
                self._judge_attempts(item)
                if block.session.shouldstop or block.session.shouldfail:
                    return
        except CasebookError as error:
            # If the pinned count is wrong, the cases of the block are unknown.
            block.session.shouldstop = str(error)

    def _judge_attempts(self, item: CaseItem) -> None:
        """Make the remaining judgements of a case."""
        # Skip both hooks in a worker of pytest-xdist: it would send them, and the controller prints them only with -v.
        verbose = not hasattr(item.config, "workerinput") and item.config.get_verbosity() > 0
        if verbose:
            item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for attempt in self._selection.attempts.left(item.case.id):
            if self._settings.late:
                break
            try:
                self._judge(item, attempt)
            except (DeviceError, JournalError) as error:
                item.session.shouldstop = str(error)
            if item.session.shouldstop or item.session.shouldfail:
                break
        if verbose:
            item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def _judge(self, item: CaseItem, attempt: int) -> None:
        """Judge a case once and report it.

        Raises:
            DeviceError, JournalError: nothing more can be judged.
        """
        start = time.time()
        settings = self._settings
        self._check_parent()
        if settings.known.costs_the_device(item.case, settings.front_end):
            aside = SetAside(item.nodeid, attempt, first=None, kept_back=True, group=self._group)
            item.ihook.pytest_runtest_logreport(report=unjudged_report(item.nodeid, [aside]))
            return
        self._losses = 0 if self._neighbours is None else self._neighbours.losses()
        self._first.before(item.case)
        effort = settings.effort(item.case, self._budget, foretold=self._selection.foretold is not None)
        result = judge(item.case, self._holder, settings.front_end, settings.tier, attempt, effort)
        is_lost = result.verdict in SET_ASIDE and not settings.known.settles(result, item.case)
        aside = SetAside(item.nodeid, attempt, tried(result, alone=False), group=self._group)
        if is_lost or (result.verdict in WRONG and not self._is_blamed(result, item.case)):
            item.ihook.pytest_runtest_logreport(report=unjudged_report(item.nodeid, [aside]))
            if is_lost:
                self._control.require(item.case.id)
            return
        if result.verdict in LOST:
            self._control.require(item.case.id)
        if settings.renewable and result.verdict is Verdict.QUALITY_WARNING and not self._control.works(item.case.id):
            # A damaged device may give values that are permitted.
            self._holder.discard()
            item.ihook.pytest_runtest_logreport(report=unjudged_report(item.nodeid, [aside]))
            return
        if settings.renewable and settings.known.judged(result, item.case).verdict is Verdict.FAIL:
            aside = replace(aside, line=encode(replace(result, unit=settings.unit)).decode())
            if not item.config.getoption("maxfail") and not self._at_once:
                self._hold(item, aside)
                return
            self._at_once = max(0, self._at_once - 1)
            confirmation = self._confirm([aside])
            if not confirmation:
                item.ihook.pytest_runtest_logreport(report=unjudged_report(item.nodeid, [aside]))
                return
            ((_, result),) = confirmation
        if result.verdict is Verdict.PASS and item.case.definition.kind is CaseKind.KERNEL:
            self._control.passed(result.id, result.seconds)
        result = settings.known.judged(replace(result, unit=settings.unit), item.case)
        if self._journal is not None:
            self._check_parent()
            self._journal.append(result)
        report = make_report(item.nodeid, result, start, settings.passing)
        if self._send_records:
            setattr(report, RECORD, encode(result))
        item.ihook.pytest_runtest_logreport(report=report)

    def _hold(self, item: CaseItem, aside: SetAside) -> None:
        """Set a failure aside. When there are enough for a fresh process, judge them again; their verdicts come with this report."""
        self._held.append(aside)
        report = unjudged_report(item.nodeid, [aside])
        if len(self._held) < BATCH:
            item.ihook.pytest_runtest_logreport(report=report)
            self._control.failed(item.case.id)
            return
        held, self._held = self._held, []
        setattr(report, CONFIRMED, [encode(result).decode() for _, result in self._confirm(held)])
        item.ihook.pytest_runtest_logreport(report=report)

    def _confirm(self, asides: Sequence[SetAside]) -> list[tuple[SetAside, CaseResult]]:
        """Return the failures that are the same in a fresh process. The others are judged at the end."""
        control = self._control
        bench = Bench(
            self._holder.discard, control.require, control.works, self._judge_again, alone=False, late=lambda: self._settings.late
        )
        found = [(aside, result) for aside, result in confirmed(asides, bench) if result is not None]
        if len(found) < len(asides):
            # A control may have failed, so the next case gets another process.
            self._holder.discard()
        return [] if self._disturbed() else found

    def _disturbed(self) -> bool:
        """Tell whether another process has lost the device since the current case began."""
        return self._neighbours is not None and self._neighbours.lost_since(self._losses)

    def _judge_again(self, aside: SetAside, code: str) -> CaseResult:
        settings, case = self._settings, find_case(self._selection.casebook, aside.id)
        effort = settings.effort(case, self._budget)
        effort = replace(effort, decided=(*effort.decided, code))
        return judge(case, self._holder, settings.front_end, settings.tier, aside.attempt, effort)

    def _is_blamed(self, result: CaseResult, case: Case) -> bool:
        """Tell whether wrong values count against the case.

        A known failure counts. Other values do not count if another process has lost the device meanwhile; nor does a failure if plain
        draws are wrong, too.
        """
        judged = self._settings.known.judged(result, case).verdict
        if judged not in WRONG:
            return True
        if self._disturbed():
            return False
        return judged is not Verdict.FAIL or self._control.draws(case.id)

    def _rerun(self, id_: str) -> Verdict:
        case = find_case(self._selection.casebook, id_)
        return verdict_of_control(self._judged_again(case), self._settings.known, case)

    def _judged_again(self, case: Case) -> CaseResult:
        return judge(case, self._holder, self._settings.front_end, self._settings.tier)

    def _check_parent(self) -> None:
        """Check that the process that started this one still lives. Otherwise another run may own the journal, so nothing may be written.

        Raises:
            JournalError: that process is gone.
        """
        if os.getppid() != self._parent:
            raise JournalError("the process that started this one is gone")

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        self._close(config)
        if self._neighbours is not None:
            self._neighbours.close()
        if self._journal is not None:
            self._journal.close()


def most_telling_first(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return the items in a covering order; items that are not cases of the suite come last."""
    from cts.run.covering_order import covering_order

    families: dict[str, list[CaseItem]] = {}
    for item in items:
        if isinstance(item, CaseItem):
            families.setdefault(item.case.family, []).append(item)
    known = list(families.values())
    ordered = [known[family][case] for family, case in covering_order([[item.case.labels for item in cases] for cases in known])]
    return [*ordered, *(item for item in items if not isinstance(item, CaseItem))]


def begun_early(items: Sequence[pytest.Item], costs: Costs, processes: int) -> list[pytest.Item]:
    """Return the items in an order in which ``processes`` processes begin with the longest ones."""
    from cts.run.longest_first import longest_first

    long = [costs.cases.get(item.case.id) if isinstance(item, CaseItem) else None for item in items]
    return [items[number] for number in longest_first(long, processes)]


def make_report(nodeid: str, result: CaseResult, start: float, passing: Collection[Verdict] = PASSING) -> pytest.TestReport:
    """Return the one report of a judgement. Messages have no traceback: the suite's code does not explain a device's failure.

    Args:
        nodeid: the case's node id.
        result: its result.
        start: when judging began, in seconds since the epoch; it ends now.
        passing: the verdicts that do not make the run fail.
    """
    path = nodeid.partition("::")[0]
    longrepr: str | tuple[str, int, str] | None = None
    outcome: Literal["passed", "failed", "skipped"] = "passed"
    if result.verdict in (Verdict.NOT_SUPPORTED, Verdict.KNOWN_FAIL, Verdict.RESOURCE_ERROR):
        outcome, longrepr = "skipped", (path, 0, result.reason)
    elif result.verdict not in passing:
        outcome, longrepr = "failed", failure_text(result)
    report = pytest.TestReport(
        nodeid,
        (path, None, result.id),
        {},
        outcome,
        longrepr,
        "call",
        duration=result.seconds,
        start=start,
        stop=time.time(),
    )
    setattr(report, DIGEST, msgspec.to_builtins(Digest.of(result)))
    return report


def unjudged_report(nodeid: str, asides: list[SetAside]) -> pytest.TestReport:
    """Return a report without a verdict. To pytest and its plugins it is a successful set-up, after which the test is still to come."""
    path, _, id_ = nodeid.partition("::")
    report = pytest.TestReport(nodeid, (path, None, id_), {}, "passed", None, "setup")
    setattr(report, ASIDE, msgspec.to_builtins(asides))
    return report


def digest_of(report: pytest.TestReport) -> Digest | None:
    """Return the digest of the result in a report; None if the report has no result."""
    values = getattr(report, DIGEST, None)
    return None if values is None else msgspec.convert(values, Digest)


def asides_of(report: pytest.TestReport) -> list[SetAside]:
    """Return the judgements of a report that must be made alone."""
    return msgspec.convert(getattr(report, ASIDE, ()), list[SetAside])


def finding_record(finding: Finding) -> FindingRecord:
    """Return the record of a finding, in values that can be sent between processes."""
    record: FindingRecord = {"step": finding.step.value if finding.step else "", "what": finding.what}
    return {**record, "outside": True} if finding.outside else record


def finding_of(record: FindingRecord) -> Finding:
    """Return the finding that a record holds."""
    # A later version of the suite may know more steps.
    step = next((step for step in Step if step == record["step"]), None)
    return Finding(step, record["what"], record.get("outside", False))


def failure_text(result: CaseResult) -> str:
    """Return the text that is shown for a failed case."""
    # A traceback ends with its reason; a message begins with it.
    lines = [] if result.reason in result.message else [f"{result.verdict}: {result.reason}"]
    lines += [result.message.rstrip()]
    for number, one in enumerate(result.tries, 1):
        where = "alone" if one.alone else "beside others"
        lines.append(f"run {number}, {where}, {one.seconds:.1f} s: {one.verdict}" + (f" ({one.reason})" if one.reason else ""))
    lines += [f"reproduce: cts repro '{result.id}' DIR"]
    return "\n".join(lines)
