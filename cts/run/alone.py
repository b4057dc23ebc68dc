"""The part of the plugin that judges cases set aside: by the main process, after every other process has closed its device."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import pytest

from cts.devices.device import DeviceUnavailable, Finding
from cts.devices.holder import DeviceHolder
from cts.journal.journal import Journal, JournalError
from cts.journal.record import SEVERAL_LINES, result_of
from cts.journal.strict_json import parse
from cts.run.confirmation import Bench, batches, confirmed, unconfirmed
from cts.run.control import LOST, ControlCase, Proven, StageUnavailable, plain_case, verdict_of_control
from cts.run.judging import CONFIRMED, asides_of, digest_of, make_report
from cts.run.runner import judge
from cts.run.session import Settings
from cts.run.set_aside import WRONG, SetAside, settle
from cts.verdict.effort import Budget
from cts.verdict.verdict import CaseResult, Verdict
from generators.casebook import Casebook, CaseKind, find_case

BRIEFLY = 1.0
"""First time limit, in seconds, for each step of a case that is known not to finish."""


TOLD = 5
"""How many cases a finding names."""


def told_of(ids: Sequence[str]) -> str:
    """Return the finding about cases that failed and are not to blame."""
    more = f" and {len(ids) - TOLD} more" if len(ids) > TOLD else ""
    return f"{len(ids)} failed after other cases in one process, and not in fresh processes: {', '.join(ids[:TOLD])}{more}"


class Alone:
    """Registered in the main process only.

    Args:
        groups: the settings of each group of processes, with an unopened holder of its device for this process.
        journal: the journal that this process writes, or None.
        findings: the list that the findings of the run are added to.
        proven: cases that passed before this run, with their seconds.
    """

    def __init__(
        self,
        casebook: Casebook,
        groups: Sequence[tuple[Settings, DeviceHolder]],
        journal: Journal | None,
        findings: list[Finding],
        proven: Iterable[Proven] = (),
    ) -> None:
        self._casebook = casebook
        self._groups = groups
        self._settings = groups[0][0]
        self._journal = journal
        self._findings = findings
        self._waiting: list[SetAside] = []
        self._session: pytest.Session | None = None
        self._budget = Budget()
        self._controls = [
            ControlCase(
                partial(self._rerun, group),
                settings.retries,
                proven=proven,
                plain=partial(plain_case, casebook),
                renew=holder.discard,
                findings=holder.findings,
            )
            for group, (settings, holder) in enumerate(groups)
        ]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._waiting += asides_of(report)
        for line in getattr(report, CONFIRMED, ()):
            self._take(result_of(parse(line.encode(), SEVERAL_LINES)))
        digest = digest_of(report)
        if digest is None:
            return
        if digest.verdict is Verdict.PASS and self._casebook.families[digest.family].kind is CaseKind.KERNEL:
            for control in self._controls:
                control.passed(report.nodeid.partition("::")[2], digest.seconds)

    def _take(self, result: CaseResult) -> None:
        """Give the verdict of a waiting case that a worker has judged again."""
        (aside,) = (one for one in self._waiting if (one.id, one.attempt) == (result.id, result.attempt))
        self._waiting.remove(aside)
        assert self._session is not None, "cases are judged in the loop"
        try:
            self._report(self._session, aside, result, time.time())
        except JournalError as error:
            raise self._session.Interrupted(str(error)) from None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Iterator[None]:
        self._session = session
        result = yield
        if self._waiting and not session.shouldstop and not session.shouldfail:
            try:
                self._judge_all(session)
            except (DeviceUnavailable, JournalError) as error:
                raise session.Interrupted(str(error)) from None
            finally:
                for _, holder in self._groups:
                    holder.close()
        return result

    def _judge_all(self, session: pytest.Session) -> None:
        """Judge every waiting case.

        Raises:
            StageUnavailable: shaders of a stage no longer finish, or are wrong. Cases of other stages are judged; cases of this stage
                have no verdict from the one that lost it on.
            DeviceUnavailable: the device is gone. The case that lost it, and the cases after it, have no verdict.
            JournalError: a verdict cannot be written.
        """
        kept_back = sum(aside.kept_back for aside in self._waiting)
        if len(self._waiting) > kept_back:
            self._say(session, f"{len(self._waiting) - kept_back} set aside: each is now judged again, alone")
        if kept_back:
            self._say(session, f"{kept_back} kept for the end: according to the driver's known failures, they lose the device")
        wrong_beside_others = 0
        wrong_later: list[str] = []
        gone: dict[tuple[int, str], StageUnavailable] = {}
        left = [aside for aside in self._waiting if not aside.line]
        for batch in batches([aside for aside in self._waiting if aside.line]):
            left += self._judge_together(session, batch)
        for aside in sorted(left, key=lambda aside: aside.kept_back):
            late = self._settings.late
            # A time limit must not hide wrong values that have been seen.
            if late and not aside.was_wrong:
                continue
            if gone and (plain := plain_case(self._casebook, aside.id)) and (aside.group, plain.id) in gone:
                continue
            start = time.time()
            try:
                result = unconfirmed(aside) if late and aside.line else self._settle(aside)
            except StageUnavailable as error:
                gone[aside.group, error.plain] = error
                continue
            if aside.line:
                # No permitted or known result excuses the failure that was seen.
                wrong_later += [result.id] if result.verdict not in (Verdict.FAIL, Verdict.FLAKY) else []
            elif aside.was_wrong and result.verdict not in (*WRONG, Verdict.KNOWN_FAIL, Verdict.FLAKY):
                wrong_beside_others += 1
            self._report(session, aside, result, start)
        if wrong_beside_others:
            self._say(session, f"{wrong_beside_others} had wrong values beside others and not alone: `tries` in the record says more")
        if wrong_later:
            self._findings.append(Finding(None, told_of(wrong_later)))
        if gone:
            raise next(iter(gone.values()))

    def _judge_together(self, session: pytest.Session, batch: Sequence[SetAside]) -> Iterator[SetAside]:
        """Judge failures again in one fresh process, and yield those that must be judged by themselves; see ``_judge_all``."""
        group = batch[0].group
        control, holder = self._controls[group], self._groups[group][1]
        start = time.time()
        judge, late = self._judge_again, lambda: self._settings.late
        for aside, result in confirmed(batch, Bench(holder.discard, control.require, control.works, judge, alone=True, late=late)):
            if result is None:
                yield aside
            else:
                self._report(session, aside, result, start)
            start = time.time()

    def _report(self, session: pytest.Session, aside: SetAside, result: CaseResult, start: float) -> None:
        """Give the verdict of a case.

        Raises:
            JournalError: it cannot be written.
        """
        if self._journal is not None:
            self._journal.append(result)
        session.config.hook.pytest_runtest_logreport(report=make_report(aside.nodeid, result, start, self._settings.passing))
        if session.shouldfail:
            raise session.Failed(session.shouldfail)

    @staticmethod
    def _say(session: pytest.Session, line: str) -> None:
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and session.config.get_verbosity() >= 0:
            reporter.ensure_newline()
            reporter.write_line(line)

    def _settle(self, aside: SetAside) -> CaseResult:
        """Judge a waiting case; see ``_judge_all``."""
        known = partial(self._settings.known.judged, case=find_case(self._casebook, aside.id))
        run = partial(self._judge_afresh, aside.id, aside.attempt, aside.group)
        result = settle(
            aside,
            run,
            lambda one: known(one).verdict is Verdict.KNOWN_FAIL,
            partial(run, limit=BRIEFLY),
        )
        if any(one.alone and one.verdict in LOST for one in result.tries):
            self._controls[aside.group].confirm(result.id)
        judged = known(result)
        if judged.verdict is Verdict.FAIL:
            self._controls[aside.group].confirm_draws(result.id)
        return judged

    def _rerun(self, group: int, id_: str) -> Verdict:
        return verdict_of_control(self._judge(id_, 1, group), self._groups[group][0].known, find_case(self._casebook, id_))

    def _judge_afresh(self, id_: str, attempt: int, group: int, limit: float | None = None) -> CaseResult:
        """Judge a case in a process that has run nothing but a control.

        Raises:
            DeviceUnavailable: the control does not work.
        """
        self._groups[group][1].discard()
        self._controls[group].require(id_)
        return self._judge(id_, attempt, group, limit)

    def _judge_again(self, aside: SetAside, code: str) -> CaseResult:
        return self._judge(aside.id, aside.attempt, aside.group, decided=(code,))

    def _judge(self, id_: str, attempt: int, group: int, limit: float | None = None, decided: tuple[str, ...] = ()) -> CaseResult:
        settings, holder = self._groups[group]
        case = find_case(self._casebook, id_)
        effort = settings.effort(case, self._budget)
        # This result is the verdict, so the run's limit applies instead of a known failure's.
        effort = replace(effort, limit=limit, decided=(*effort.decided, *decided))
        return replace(judge(case, holder, settings.front_end, settings.tier, attempt, effort), unit=settings.unit)
