"""Judges cases in one process: on the device that it holds, with the controls that keep cases from false blame."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import msgspec

from cts.devices.device import Finding
from cts.devices.holder import DeviceHolder
from cts.engine.confirmation import BATCH, Bench, confirmed
from cts.engine.control import LOST, ControlCase, Proven, plain_case, verdict_of_control
from cts.engine.first_shader import FirstShader
from cts.engine.neighbours import Claim, Clock, Stretch
from cts.engine.runner import judge
from cts.engine.selection import Selection
from cts.engine.session import Settings
from cts.engine.set_aside import SET_ASIDE, WRONG, SetAside, tried
from cts.engine.tally import Digest
from cts.journal.journal import Journal, JournalError
from cts.journal.record import encode
from cts.journal.run_record import finding_record
from cts.verdict.effort import Budget
from cts.verdict.verdict import ENDED_WELL, CaseResult, Verdict
from generators.casebook import Case, CaseKind, find_case

_CASES = 3
"""Before how many cases a plain shader may fail, beside others, until that ends the run."""

CONFIRMED_AT_ONCE = 3
"""How many failures each process judges again at once, so they are announced early. The others wait until there are several."""


@dataclass(frozen=True)
class Judged:
    """A verdict.

    Attributes:
        start: when judging began, in seconds since the epoch.
    """

    result: CaseResult
    start: float


Event = Judged | SetAside | Claim
"""The outcome of a judgement. A case that is set aside, or claimed to be wrong, gets its verdict later."""


class Contents(msgspec.Struct, frozen=True):
    """What a process reports.

    Attributes:
        id: the case of the verdict. The report of a block has the block's node id until the main process has it.
        digest: the digest of the verdict, if there is one.
        record: the journal's line, if the process that judged cannot write the journal itself.
        asides: judgements that must be made alone.
        claim: what the process holds against the device.
        stretch: the time that the report covers, if others may share the device.
    """

    id: str = ""
    digest: Digest | None = None
    record: bytes = b""
    asides: tuple[SetAside, ...] = ()
    claim: Claim | None = None
    stretch: Stretch | None = None


def claims_first(events: Iterable[Event], doubtful: list[Finding]) -> Iterator[Event]:
    """Yield the events; before each, claim the findings that were added to ``doubtful`` since the event before it.

    A report covers the time since the report before it. A claim after the event would miss the time in which its control failed.
    """
    for event in chain(events, [None]):
        if doubtful:
            found = tuple(map(finding_record, doubtful))
            doubtful.clear()
            yield Claim(findings=found)
        if event is not None:
            yield event


class Judging:
    """Judges the cases that it gets, one after another.

    Args:
        holder: the holder of this process's device.
        journal: the journal that this process writes; None if there is none, or if it is on another machine.
        proven: cases that passed before this run, with their seconds.
        group: the number of this process's group.
        clock: measures what this process claims, if others may share the device; None if there are no others.
        at_once: whether each failure is judged again at once. Otherwise most wait until there are several.
    """

    def __init__(
        self,
        settings: Settings,
        selection: Selection,
        holder: DeviceHolder,
        journal: Journal | None,
        proven: Iterable[Proven] = (),
        group: int = 0,
        clock: Clock | None = None,
        at_once: bool = False,
    ) -> None:
        self._never_waits = at_once
        self._group = group
        self.clock = clock
        self._doubtful: list[Finding] = holder.findings if clock is None else []
        self._settings = settings
        self._selection = selection
        self._holder = holder
        self._journal = journal
        self._parent = os.getppid()
        self._budget = Budget()
        self._at_once = CONFIRMED_AT_ONCE
        self._held: list[SetAside] = []
        self._control = ControlCase(
            self._rerun,
            settings.retries,
            proven=proven,
            plain=partial(plain_case, selection.casebook),
            renew=holder.discard,
            findings=self._doubtful,
            tells_all=clock is not None,
        )
        cases = 1 if clock is None else _CASES
        self._first = FirstShader(selection.casebook, holder, self._judged_again, settings.retries, self._doubtful, cases)

    def judge(self, case: Case) -> Iterator[Event]:
        """Make the judgements of a case that are left.

        Raises:
            DeviceError, JournalError: nothing more can be judged.
        """
        for attempt in self._selection.attempts.left(case.id):
            if self._settings.limit is not None and self._settings.limit.over:
                break
            events = self._judge(case, attempt)
            yield from events if self.clock is None else claims_first(events, self._doubtful)

    def close_device(self) -> Sequence[Finding]:
        """Close the device, and return its findings."""
        self._holder.close()
        return self._holder.findings

    def close(self) -> None:
        """Close the device and the journal."""
        self._holder.close()
        if self._journal is not None:
            self._journal.close()

    def _judge(self, case: Case, attempt: int) -> Iterator[Event]:
        """Judge a case once; see ``judge``."""
        start = time.time()
        settings = self._settings
        self._check_parent()
        if settings.known.costs_the_device(case, settings.front_end):
            yield SetAside(case.id, attempt, first=None, kept_back=True, group=self._group)
            return
        self._first.before(case)
        effort = settings.effort(case, self._budget, foretold=self._selection.asked is not None)
        if settings.isolated and effort.limit is not None and settings.known.ends_the_compiler(case, settings.front_end):
            # The process will be ended, and opening the next one takes as long as some limits.
            self._holder.begin()
        result = judge(case, self._holder, settings.front_end, settings.tier, attempt, effort)
        aside = SetAside(case.id, attempt, tried(result, alone=False), group=self._group)
        if result.verdict in SET_ASIDE and not self._settles(result, case):
            yield aside
            self._control.require(case.id)
            return
        if result.verdict in WRONG and not self._is_blamed(result, case):
            yield aside
            return
        if result.verdict in LOST:
            self._control.require(case.id)
        if settings.renewable and result.verdict is Verdict.QUALITY_WARNING and not self._control.works(case.id):
            # A damaged device may give values that are permitted.
            self._holder.discard()
            yield aside
            return
        if settings.renewable and settings.known.judged(result, case).verdict is Verdict.FAIL:
            aside = replace(aside, line=encode(replace(result, unit=settings.unit)).decode())
            if not self._never_waits and not self._at_once:
                yield aside
                yield from self._hold(aside)
                return
            self._at_once = max(0, self._at_once - 1)
            confirmation = self._confirm([aside])
            if not confirmation:
                yield aside
                return
            ((_, result),) = confirmation
        if result.verdict in ENDED_WELL and case.definition.kind is CaseKind.KERNEL:
            self._control.passed(result.id, result.seconds)
        result = settings.known.judged(replace(result, unit=settings.unit), case)
        if result.verdict in WRONG and self.clock is not None:
            yield Claim((encode(result),), (replace(aside, line=""),))
            return
        if self._journal is not None:
            self._check_parent()
            self._journal.append(result)
        yield Judged(result, start)

    def _settles(self, result: CaseResult, case: Case) -> bool:
        """Tell whether a known failure needs no second run alone. Where there is no device to share, no other process can cause one."""
        known, description = self._settings.known, self._settings.description
        if (description.compiles_only or description.modelled) and known.judged(result, case).verdict is Verdict.KNOWN_FAIL:
            return True
        return known.settles(result, case)

    def _hold(self, aside: SetAside) -> Iterator[Claim]:
        """Keep a failure. When there are enough for a fresh process, judge them again."""
        self._held.append(aside)
        if len(self._held) < BATCH:
            self._control.failed(aside.id)
            return
        held, self._held = self._held, []
        yield Claim(tuple(encode(result) for _, result in self._confirm(held)))

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
        return found

    def _judge_again(self, aside: SetAside, code: str) -> CaseResult:
        settings, case = self._settings, find_case(self._selection.casebook, aside.id)
        effort = settings.effort(case, self._budget)
        effort = replace(effort, decided=(*effort.decided, code))
        return judge(case, self._holder, settings.front_end, settings.tier, aside.attempt, effort)

    def _is_blamed(self, result: CaseResult, case: Case) -> bool:
        """Tell whether wrong values count against the case: not if plain draws are wrong, too, unless the failure is known."""
        judged = self._settings.known.judged(result, case).verdict
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
