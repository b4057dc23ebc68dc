"""Whether the device still does what it did: a case that has passed is run again, and is not recorded.

A driver that has been lost for good loses every case from then on; none of them is to blame.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from cts.devices.device import DeviceUnavailable
from cts.devices.holder import Retries
from cts.run.tally import Digest
from cts.verdict.verdict import Verdict
from generators.casebook import Casebook, CaseKind, find_case
from generators.errors import CasebookError

IN_A_ROW = 3
"""How many cases lose their device in a row before the control case is run."""

Proven = tuple[str, float]
"""Id and seconds of a case that has passed."""

Rerun = Callable[[str], Verdict]
"""Judges the case of an id, without a record. Raises DeviceUnavailable where the device does not open."""


def proven_by(before: Mapping[tuple[str, int], Digest], casebook: Casebook) -> Proven | None:
    """Return the quickest kernel case that has passed in a run that is resumed; None if there is none."""
    kernels = {family.name for family in casebook.families.values() if family.kind is CaseKind.KERNEL}
    passed = [(digest.seconds, id_) for (id_, _), digest in before.items() if digest.verdict is Verdict.PASS and digest.family in kernels]
    for seconds, id_ in sorted(passed):
        # A journal may name any case.
        with suppress(CasebookError):
            return find_case(casebook, id_).id, seconds
    return None


class ControlCase:
    """The quickest case that has passed so far.

    Args:
        rerun: runs it again.
        retries: of a control case that does not pass.
        sleep: waits for some seconds.
        proven: a case that passed in the run that this one resumes, or None.
    """

    def __init__(self, rerun: Rerun, retries: Retries, sleep: Callable[[float], None] = time.sleep, proven: Proven | None = None) -> None:
        self._rerun = rerun
        self._retries = retries
        self._sleep = sleep
        self._id, self._seconds = proven or ("", 0.0)
        self._row = 0

    def passed(self, id_: str, seconds: float) -> None:
        """Take note of a case that has passed on the device."""
        self._row = 0
        if not self._id or seconds < self._seconds:
            self._id, self._seconds = id_, seconds

    def lost(self, id_: str) -> None:
        """Take note of a case that cost its device; after some in a row, ``confirm``."""
        self._row += 1
        if self._row == IN_A_ROW:
            self.confirm(id_)

    def confirm(self, id_: str) -> None:
        """See that the control case passes still, after the case ``id_`` cost its device. Nothing is known where no case has passed.

        Raises:
            DeviceUnavailable: it does not pass any more, however often that is tried.
        """
        self._row = 0
        if not self._id:
            return
        verdict = Verdict.PASS
        for _ in self._retries.begin(self._sleep):
            verdict = self._rerun(self._id)
            if verdict is Verdict.PASS:
                return
        raise DeviceUnavailable(
            f"the device no longer works: {self._id}, which has passed before, now ends as {verdict} "
            f"(tried {self._retries.attempts} times, the last case before that was {id_})"
        )
