"""Whether the device still does what it did: a case that has passed is run again, and is not recorded.

A driver that has been lost for good loses every case from then on; none of them is to blame.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

from cts.devices.device import DeviceUnavailable
from cts.devices.holder import Retries
from cts.run.tally import Digest
from cts.verdict.verdict import Verdict
from generators.casebook import Casebook, CaseKind, find_case
from generators.casebook.ids import family_of
from generators.errors import CasebookError

IN_A_ROW = 3
"""How many cases lose their device in a row before the control case is run."""

RUNS = 4
"""How often the control case has to pass. On an H200, after a shader that did not end, a process could still draw once or twice."""

Proven = tuple[str, float]
"""Id and seconds of a case that has passed."""

Rerun = Callable[[str], Verdict]
"""Judges the case of an id, without a record. Raises DeviceUnavailable where the device does not open."""


def proven_by(before: Mapping[tuple[str, int], Digest], casebook: Casebook) -> tuple[Proven, ...]:
    """Return the quickest case of each family of kernels that has passed in a run that is resumed."""
    kernels = {family.name for family in casebook.families.values() if family.kind is CaseKind.KERNEL}
    passed = [(digest.seconds, id_) for (id_, _), digest in before.items() if digest.verdict is Verdict.PASS and digest.family in kernels]
    quickest: dict[str, Proven] = {}
    for seconds, id_ in sorted(passed):
        family = family_of(id_)
        if family not in quickest:
            # A journal may name any case.
            with suppress(CasebookError):
                quickest[family] = find_case(casebook, id_).id, seconds
    return tuple(quickest.values())


class ControlCase:
    """The quickest case of each family that has passed so far.

    A device may be lost in part: for draws and not for dispatches, for example. So the control of a case is the quickest of its own family;
    where none of the family has passed, the quickest of all.

    Args:
        rerun: runs a case again.
        retries: of a control case that does not pass.
        sleep: waits for some seconds.
        proven: cases that passed in the run that this one resumes.
    """

    def __init__(self, rerun: Rerun, retries: Retries, sleep: Callable[[float], None] = time.sleep, proven: Iterable[Proven] = ()) -> None:
        self._rerun = rerun
        self._retries = retries
        self._sleep = sleep
        self._quickest: dict[str, Proven] = {}
        for id_, seconds in proven:
            self.passed(id_, seconds)
        self._row = 0

    def passed(self, id_: str, seconds: float) -> None:
        """Take note of a case that has passed on the device."""
        self._row = 0
        family = family_of(id_)
        if family not in self._quickest or seconds < self._quickest[family][1]:
            self._quickest[family] = id_, seconds

    def lost(self, id_: str) -> None:
        """Take note of a case that cost its device; after some in a row, ``confirm``."""
        self._row += 1
        if self._row == IN_A_ROW:
            self.confirm(id_)

    def confirm(self, id_: str) -> None:
        """See that the control case passes still, ``RUNS`` times, after the case ``id_`` cost its device. Nothing is known where no case
        has passed.

        Raises:
            DeviceUnavailable: it does not pass any more, however often that is tried.
        """
        self._row = 0
        if not self._quickest:
            return
        control, _ = self._quickest.get(family_of(id_)) or min(self._quickest.values(), key=lambda proven: proven[1])
        verdict = Verdict.PASS
        for _ in self._retries.begin(self._sleep):
            verdict = self._repeated(control)
            if verdict is Verdict.PASS:
                return
        raise DeviceUnavailable(
            f"the device no longer works: {control}, which has passed before, now ends as {verdict} "
            f"(tried {self._retries.attempts} times, the last case before that was {id_})"
        )

    def _repeated(self, control: str) -> Verdict:
        """Run the control case until it does not pass, at most ``RUNS`` times; return how the last run ended."""
        for _ in range(RUNS - 1):
            verdict = self._rerun(control)
            if verdict is not Verdict.PASS:
                return verdict
        return self._rerun(control)
