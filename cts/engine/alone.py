"""Judges cases that were set aside: in the main process, after every other process has closed its device."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from cts.devices.device import Finding
from cts.devices.holder import DeviceHolder
from cts.engine.confirmation import Bench, batches, confirmed, unconfirmed
from cts.engine.control import LOST, ControlCase, Proven, StageUnavailable, plain_case, verdict_of_control
from cts.engine.judging import Judged
from cts.engine.runner import judge
from cts.engine.session import Settings
from cts.engine.set_aside import WRONG, SetAside, settle
from cts.journal.journal import Journal
from cts.verdict.effort import Budget
from cts.verdict.verdict import CaseResult, Verdict
from generators.casebook import Casebook, CaseKind, find_case

BRIEFLY = 0.5
"""First time limit, in seconds, for each step of a case that is known not to finish."""


TOLD = 5
"""How many cases a finding names."""


def told_of(ids: Sequence[str]) -> str:
    """Return the finding about cases that failed and are not to blame."""
    more = f" and {len(ids) - TOLD} more" if len(ids) > TOLD else ""
    return f"{len(ids)} failed after other cases in one process, and not in fresh processes: {', '.join(ids[:TOLD])}{more}"


class Alone:
    """Keeps the cases that are set aside, and judges them.

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
        self._budget = Budget()
        self._usable: set[int] = set()
        """The groups whose process works, and has run nothing but controls and known failures."""
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

    @property
    def waiting(self) -> int:
        """How many judgements wait."""
        return len(self._waiting)

    def add(self, asides: Iterable[SetAside]) -> None:
        """Keep judgements until the end."""
        self._waiting += asides

    def excuse(self, asides: Iterable[SetAside]) -> None:
        """Forget the wrong values of judgements that wait: another process lost the device meanwhile, so they do not count."""
        excused = {(aside.id, aside.attempt) for aside in asides}
        self._waiting = [replace(one, line="") if (one.id, one.attempt) in excused else one for one in self._waiting]

    def passed(self, id_: str, family: str, seconds: float) -> None:
        """Record a case that has passed in some process."""
        if self._casebook.families[family].kind is CaseKind.KERNEL:
            for control in self._controls:
                control.passed(id_, seconds)

    def claimed(self, result: CaseResult) -> Judged:
        """Return the verdict of a case whose wrong values count. The case waits no longer.

        Raises:
            JournalError: it cannot be written.
        """
        self._waiting = [one for one in self._waiting if (one.id, one.attempt) != (result.id, result.attempt)]
        return self._judged(result, time.time())

    def judge_all(self) -> Iterator[Judged | str]:
        """Judge every case that waits. Yield the verdicts, and lines for the user.

        Raises:
            StageUnavailable: shaders of a stage no longer finish, or are wrong. Cases of other stages are judged; cases of this stage
                have no verdict from the one that lost it on.
            DeviceUnavailable: the device is gone. The case that lost it, and the cases after it, have no verdict.
            JournalError: a verdict cannot be written.
        """
        try:
            yield from self._judge_all()
        finally:
            for _, holder in self._groups:
                holder.close()

    def _judge_all(self) -> Iterator[Judged | str]:
        kept_back = sum(aside.kept_back for aside in self._waiting)
        if len(self._waiting) > kept_back:
            yield f"{len(self._waiting) - kept_back} set aside: each is now judged again, alone"
        if kept_back:
            yield f"{kept_back} kept for the end: according to the driver's known failures, they lose the device"
        wrong_beside_others = 0
        wrong_later: list[str] = []
        gone: dict[tuple[int, str], StageUnavailable] = {}
        left = [aside for aside in self._waiting if not aside.line]
        for batch in batches([aside for aside in self._waiting if aside.line]):
            left += yield from self._judge_together(batch)
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
            yield self._judged(result, start)
        if wrong_beside_others:
            yield f"{wrong_beside_others} had wrong values beside others and not alone: `tries` in the record says more"
        if wrong_later:
            self._findings.append(Finding(None, told_of(wrong_later)))
        if gone:
            raise next(iter(gone.values()))

    def _judge_together(self, batch: Sequence[SetAside]) -> Generator[Judged, None, list[SetAside]]:
        """Judge failures again in one fresh process, and return those that must be judged by themselves; see ``judge_all``."""
        group = batch[0].group
        control, holder = self._controls[group], self._groups[group][1]
        bench = Bench(holder.discard, control.require, control.works, self._judge_again, alone=True, late=lambda: self._settings.late)
        left = []
        start = time.time()
        for aside, result in confirmed(batch, bench):
            if result is None:
                left.append(aside)
            else:
                yield self._judged(result, start)
            start = time.time()
        return left

    def _judged(self, result: CaseResult, start: float) -> Judged:
        """Write a verdict to the journal."""
        if self._journal is not None:
            self._journal.append(result)
        return Judged(result, start)

    def _settle(self, aside: SetAside) -> CaseResult:
        """Judge a waiting case; see ``judge_all``."""
        known = partial(self._settings.known.judged, case=find_case(self._casebook, aside.id))
        run = partial(self._judge_alone, aside.id, aside.attempt, aside.group)
        control, is_usable = self._controls[aside.group], aside.group in self._usable
        self._usable.discard(aside.group)
        result = settle(
            aside,
            run,
            lambda one: known(one).verdict is Verdict.KNOWN_FAIL,
            partial(run, limit=BRIEFLY),
            partial(run, limit=BRIEFLY, here=True) if is_usable else None,
        )
        if any(one.alone and one.verdict in LOST for one in result.tries):
            control.confirm(result.id)
        judged = known(result)
        if judged.verdict is Verdict.FAIL:
            control.confirm_draws(result.id)
        # A lost process has ended, so only the controls have run in this one.
        is_new = result.tries[-1].verdict in LOST
        if aside.kept_back and (is_new or (judged.verdict is Verdict.KNOWN_FAIL and control.works(result.id, tells=False))):
            self._usable.add(aside.group)
        return judged

    def _rerun(self, group: int, id_: str) -> Verdict:
        return verdict_of_control(self._judge(id_, 1, group), self._groups[group][0].known, find_case(self._casebook, id_))

    def _judge_alone(self, id_: str, attempt: int, group: int, limit: float | None = None, here: bool = False) -> CaseResult:
        """Judge a case after a control, in a fresh process or ``here``: in the process that there is.

        Raises:
            DeviceUnavailable: the control does not work.
        """
        if not here:
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
