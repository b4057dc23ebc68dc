"""Cases that lost their device, crashed, timed out or ran out of memory: they are set aside, and judged again with nothing beside them.

On a shared GPU one case can lose the device of another, so the first try decides nothing. Cases that are known to cost the device are not
tried beside others, and come last.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from cts.verdict.codes import Code
from cts.verdict.verdict import CaseResult, Try, Verdict

SET_ASIDE = frozenset({Verdict.CRASH, Verdict.TIMEOUT, Verdict.DEVICE_LOST, Verdict.RESOURCE_ERROR})
"""The verdicts that a neighbour can cause."""


@dataclass(frozen=True)
class SetAside:
    """A case that is to be judged alone.

    Attributes:
        attempt: which of the judgements that ``--repeat`` asks for.
        first: what happened beside others; None where nothing is known of it.
        kept_back: whether it was not tried beside others, since a known failure of the driver costs the device.
        group: number of the group of processes whose device it is judged on.
    """

    nodeid: str
    attempt: int
    first: Try | None
    kept_back: bool = False
    group: int = 0

    @property
    def id(self) -> str:
        """The case's id."""
        return self.nodeid.partition("::")[2]


def tried(result: CaseResult, alone: bool) -> Try:
    """Return what a result says of one run."""
    return Try(alone, result.verdict, result.reason, result.step, result.seconds, result.code)


def settle(
    aside: SetAside,
    run: Callable[[], CaseResult],
    foreseen: Callable[[CaseResult], bool],
    run_briefly: Callable[[], CaseResult] | None = None,
) -> CaseResult:
    """Judge a case that was set aside.

    It runs once. That settles a case that ends as it did beside others, and a case that was kept back and ends as a known failure does or
    keeps its device. Otherwise it runs once more, and the two runs have to agree.

    Args:
        run: judges the case with nothing beside it.
        foreseen: tells whether a result is a known failure of the driver.
        run_briefly: as ``run``, with a shorter limit for each step: where a case that was kept back ends otherwise than is known, this says
            nothing of it.
    """
    tries = () if aside.first is None else (aside.first,)
    if aside.kept_back and run_briefly is not None:
        brief = run_briefly()
        tries = (*tries, tried(brief, alone=True))
        if brief.verdict not in SET_ASIDE or foreseen(brief):
            return replace(brief, tries=tries)
    one = run()
    tries = (*tries, tried(one, alone=True))
    if aside.first is not None and one.verdict is aside.first.verdict:
        return replace(one, tries=tries)
    if aside.kept_back and (one.verdict not in SET_ASIDE or foreseen(one)):
        return replace(one, tries=tries)
    two = run()
    tries = (*tries, tried(two, alone=True))
    if two.verdict is one.verdict:
        return replace(two, tries=tries)
    ends = [f"{each.verdict}" + (f" ({each.reason})" if each.reason else "") for each in (one, two)]
    reason = f"two runs with nothing beside them disagree: {ends[0]}, then {ends[1]}"
    message = "\n".join([reason, *(each.message for each in (one, two) if each.message)])
    # What was wrong in one of them is worth keeping.
    worse = one if two.verdict is Verdict.PASS else two
    return replace(worse, verdict=Verdict.FLAKY, code=Code.FLAKY.of(), reason=reason, message=message, tries=tries)
