"""Judges cases again that did not pass: in fresh processes, when no other process has the device open.

On a shared GPU one case can lose the device of another, and a driver that leaks fails cases that come later in the same process. So the
first try blames no case. Cases that are known to lose the device are not tried beside others, and come last.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from cts.journal.record import SEVERAL_LINES, result_of
from cts.journal.strict_json import parse
from cts.verdict.codes import Code
from cts.verdict.verdict import ENDED_WELL, CaseResult, Try, Verdict

SET_ASIDE = frozenset({Verdict.CRASH, Verdict.TIMEOUT, Verdict.DEVICE_LOST, Verdict.RESOURCE_ERROR})
"""The verdicts that another process on the device can cause at any time."""

WRONG = frozenset({Verdict.FAIL, Verdict.QUALITY_WARNING})
"""The verdicts of wrong or doubtful values, which another process can cause if it loses the device."""


@dataclass(frozen=True)
class SetAside:
    """A case that must be judged alone.

    Attributes:
        id: the case's id.
        attempt: the number of the judgement, if ``--repeat`` asks for several.
        first: what happened beside others, or None if that is unknown.
        kept_back: whether it was not tried beside others, because a known failure of the driver loses the device.
        group: the number of the group of processes on whose device it is judged.
        line: the journal's line of what happened, if wrong values must only be confirmed; else empty.
    """

    id: str
    attempt: int
    first: Try | None
    kept_back: bool = False
    group: int = 0
    line: str = ""

    @property
    def result(self) -> CaseResult | None:
        """The result to be confirmed; None if there is none."""
        return result_of(parse(self.line.encode(), SEVERAL_LINES)) if self.line else None

    @property
    def was_wrong(self) -> bool:
        """Whether its values beside others were wrong or doubtful."""
        return self.first is not None and self.first.verdict in WRONG


def tried(result: CaseResult, alone: bool, fresh: bool = False) -> Try:
    """Return the record of the one run that gave a result."""
    return Try(alone, result.verdict, result.reason, result.step, result.seconds, result.code, fresh)


def settle(
    aside: SetAside,
    run: Callable[[], CaseResult],
    foreseen: Callable[[CaseResult], bool],
    run_briefly: Callable[[], CaseResult] | None = None,
    run_here: Callable[[], CaseResult] | None = None,
) -> CaseResult:
    """Judge a case that was set aside.

    It runs once. One run is enough if the case ends as it did beside others; or if it was kept back, and ends as a known failure or keeps
    its device. Otherwise it runs once more, and the two runs must agree.

    Args:
        run: judges the case alone, in a fresh process.
        foreseen: tells whether a result is a known failure of the driver.
        run_briefly: like ``run``, with a shorter limit for each step. If a case that was kept back does not end as its known failure,
            this result does not count.
        run_here: like ``run_briefly``, but in the process of the case before. Its result counts only if it is a known failure, because the
            case before may have caused any other.
    """
    tries = () if aside.first is None else (aside.first,)
    if aside.kept_back and run_here is not None:
        here = run_here()
        tries = (*tries, tried(here, alone=True, fresh=True))
        if foreseen(here):
            return replace(here, tries=tries)
    if aside.kept_back and run_briefly is not None:
        brief = run_briefly()
        tries = (*tries, tried(brief, alone=True, fresh=True))
        if brief.verdict not in SET_ASIDE or foreseen(brief):
            return replace(brief, tries=tries)
    one = run()
    tries = (*tries, tried(one, alone=True, fresh=True))
    if aside.first is not None and one.verdict is aside.first.verdict:
        return replace(one, tries=tries)
    if aside.kept_back and (one.verdict not in SET_ASIDE or foreseen(one)):
        return replace(one, tries=tries)
    two = run()
    tries = (*tries, tried(two, alone=True, fresh=True))
    if two.verdict is one.verdict:
        return replace(two, tries=tries)
    ends = [f"{each.verdict}" + (f" ({each.reason})" if each.reason else "") for each in (one, two)]
    reason = f"two runs alone disagree: {ends[0]}, then {ends[1]}"
    message = "\n".join([reason, *(each.message for each in (one, two) if each.message)])
    # Keep the failure of the one run that failed.
    worse = one if two.verdict in ENDED_WELL else two
    return replace(worse, verdict=Verdict.FLAKY, code=Code.FLAKY.of(), reason=reason, message=message, tries=tries)
