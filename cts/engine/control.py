"""Checks whether the device still works: it runs a case that has passed, or a shader without cooperative types, and does not record it.

A driver that is permanently lost fails every later case; none of them is to blame.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from cts.devices.device import DeviceUnavailable, Finding
from cts.devices.holder import Retries
from cts.engine.tally import Digest
from cts.verdict.known_failures import KnownFailures
from cts.verdict.verdict import ENDED_WELL, CaseResult, Verdict
from generators.casebook import Case, Casebook, CaseKind, build, find_case
from generators.casebook.ids import family_of
from generators.errors import CasebookError

IN_A_ROW = 3
"""How many cases in a row fail before a control runs."""

RUNS = 4
"""In how many consecutive runs a control must work before a case is blamed alone: a broken device may still work occasionally."""

LOST = frozenset({Verdict.CRASH, Verdict.TIMEOUT, Verdict.DEVICE_LOST})
"""The verdicts of a case that lost its device."""

PLAIN = "plain_shaders"
"""The family whose shaders have no cooperative types; its first parameter is the stage."""

PLAINLY = "has no cooperative types"
"""Why a case of this family must work."""

Proven = tuple[str, float]
"""Id and seconds of a case that has passed."""

Rerun = Callable[[str], Verdict]
"""Judges the case with an id, without a record. Raises DeviceUnavailable if the device does not open."""


def proven_by(before: Mapping[tuple[str, int], Digest], casebook: Casebook) -> tuple[Proven, ...]:
    """Return the quickest case of each family of kernels that passed in the resumed run."""
    passed = [(digest.seconds, id_) for (id_, _), digest in before.items() if digest.verdict in ENDED_WELL]
    quickest: dict[str, Proven | None] = {}
    for seconds, id_ in sorted(passed):
        family = family_of(id_)
        if family not in quickest:
            # A journal may name cases that this casebook does not have.
            with suppress(CasebookError):
                case = find_case(casebook, id_)
                quickest[family] = (case.id, seconds) if case.definition.kind is CaseKind.KERNEL else None
    return tuple(filter(None, quickest.values()))


@dataclass(frozen=True)
class Plain:
    """A case whose shader has no cooperative type.

    Attributes:
        drawn: whether the shader runs in a draw, not in a dispatch.
    """

    id: str
    drawn: bool


def plain_case(casebook: Casebook, id_: str) -> Plain | None:
    """Return the case whose shader has no cooperative type and runs in the stage of the case ``id_``.

    Return None if the case runs no shader or is such a case itself, or if the casebook has no such family or case.
    """
    case = find_case(casebook, id_)
    if PLAIN not in casebook.families or case.family == PLAIN or case.definition.kind is not CaseKind.KERNEL:
        return None
    # The casebook of another checkout may have fewer stages.
    with suppress(CasebookError):
        stage = build(case).program.shape.stage
        return Plain(find_case(casebook, f"{PLAIN}[stage:{stage}]").id, drawn=stage != "compute")
    return None


def verdict_of_control(result: CaseResult, known: KnownFailures, case: Case) -> Verdict:
    """Return the verdict of a control; a known loss of the device does not count as a new one."""
    return result.verdict if result.verdict in ENDED_WELL else known.judged(result, case).verdict


def failed_control(control: str, what: str, verdict: Verdict, id_: str) -> Finding:
    """Return the finding about a control that failed in one process.

    Args:
        control: its id.
        what: words that say why it must work.
        verdict: how it ended.
        id_: the case that it is the control of.
    """
    return Finding(None, f"a control of {id_} failed in one process: {control}, which {what}, ended as {verdict}")


class StageUnavailable(DeviceUnavailable):
    """Shaders of one stage do not finish or are wrong, even without cooperative types.

    Attributes:
        plain: the id of the case without cooperative types (``plain_case``).
    """

    def __init__(self, message: str, plain: str, attempts: int, verdict: str) -> None:
        super().__init__(message, attempts=attempts, control=plain, verdict=verdict)
        self.plain = plain


class ControlCase:
    """Runs controls after a case lost its device or failed.

    A device may be lost in part: for fragment shaders and not for others, for example. So a shader without cooperative types in the stage
    of the case must finish. A dispatch without cooperative types must pass, since a case that has passed may need less of the driver, for
    example no descriptors. And the quickest case of its family that has passed so far must pass; if none has, the quickest of all.

    Args:
        rerun: runs a case again.
        retries: how often a failed control runs again, each time in a fresh process.
        sleep: waits for some seconds.
        proven: cases that passed in the run that this one resumes.
        plain: returns the case without cooperative types for the stage of a case, if there is one (``plain_case``).
        renew: ends the process that holds the device; the next run begins another one.
        findings: the list that gets a finding when a control fails for the first time, unless the device then turns out to be unavailable.
        tells_all: whether the list gets a finding each time that a control fails, because another process decides which of them count.
    """

    def __init__(
        self,
        rerun: Rerun,
        retries: Retries,
        sleep: Callable[[float], None] = time.sleep,
        proven: Iterable[Proven] = (),
        plain: Callable[[str], Plain | None] = lambda _: None,
        renew: Callable[[], None] = lambda: None,
        findings: list[Finding] | None = None,
        tells_all: bool = False,
    ) -> None:
        self._renew = renew
        self._findings = [] if findings is None else findings
        self._tells_all = tells_all
        self._is_told = False
        self._rerun = rerun
        self._retries = retries
        self._sleep = sleep
        self._plain = plain
        self._quickest: dict[str, Proven] = {}
        for id_, seconds in proven:
            self.passed(id_, seconds)
        self._row = 0

    def passed(self, id_: str, seconds: float) -> None:
        """Record a case that has passed on the device."""
        self._row = 0
        family = family_of(id_)
        if family not in self._quickest or seconds < self._quickest[family][1]:
            self._quickest[family] = id_, seconds

    def failed(self, id_: str) -> None:
        """Record a case that failed; after some in a row, check that the device still works (``require``).

        Raises:
            DeviceUnavailable: it does not.
        """
        self._row += 1
        if self._row >= IN_A_ROW:
            self.require(id_)

    def require(self, id_: str) -> None:
        """Check that a control works, if not at once then in a fresh process.

        A device that can no longer draw still judges dispatches, so this draws nothing.

        Raises:
            DeviceUnavailable: it does not work, in any of the tries.
        """
        self._row = 0
        for control in self._usual(id_):
            self._check(id_, control, runs=1)

    def works(self, id_: str, tells: bool = True) -> bool:
        """Tell whether a control works after the case ``id_``; see also ``draws``. Without ``tells``, one that fails is no finding."""
        return all(self._works(id_, control, 1, tells) for control in self._usual(id_)) and self.draws(id_, tells)

    def confirm(self, id_: str) -> None:
        """Check ``RUNS`` times that the controls of the case ``id_``, which lost its device, still work. Without controls, check nothing.

        Raises:
            StageUnavailable: a shader without cooperative types in its stage does not finish, in any of the tries.
            DeviceUnavailable: a case that has passed no longer passes, in any of the tries.
        """
        self._row = 0
        if plain := self._plain(id_):
            self._check_stage(id_, _Control(plain.id, PLAINLY, frozenset(Verdict) - LOST))
        for control in self._usual(id_):
            self._check(id_, control)

    def draws(self, id_: str, tells: bool = True) -> bool:
        """Tell whether the stage of the case ``id_``, whose values are wrong, gives right values without cooperative types, ``RUNS`` times.

        After a hang, a device may leave out parts of its draws, whichever process draws. Its dispatches are right, so the result is True
        for a case that is not drawn.
        """
        control = self._drawn(id_)
        return control is None or self._works(id_, control, RUNS, tells)

    def confirm_draws(self, id_: str) -> None:
        """Do the same as ``draws``, but raise StageUnavailable if the values are wrong in all tries."""
        if control := self._drawn(id_):
            self._check_stage(id_, control)

    def _drawn(self, id_: str) -> _Control | None:
        plain = self._plain(id_)
        return _Control(plain.id, PLAINLY, ENDED_WELL) if plain and plain.drawn else None

    def _check_stage(self, id_: str, plain: _Control) -> None:
        if wrong := self._wrong(id_, plain):
            what, verdict = wrong
            raise StageUnavailable(what, plain.id, self._retries.attempts, verdict)

    def _usual(self, id_: str) -> tuple[_Control, ...]:
        return tuple(control for control in (self._dispatched(id_), self._own(id_) or self._any()) if control is not None)

    def _dispatched(self, id_: str) -> _Control | None:
        plain = self._plain(id_)
        if plain is None or plain.drawn:
            return None
        return _Control(plain.id, PLAINLY, ENDED_WELL | {Verdict.NOT_SUPPORTED})

    def _own(self, id_: str) -> _Control | None:
        own = self._quickest.get(family_of(id_))
        return None if own is None else _proven(own)

    def _any(self) -> _Control | None:
        return _proven(min(self._quickest.values(), key=lambda proven: proven[1])) if self._quickest else None

    def _check(self, id_: str, control: _Control, runs: int = RUNS) -> None:
        if wrong := self._wrong(id_, control, runs):
            what, verdict = wrong
            raise DeviceUnavailable(what, attempts=self._retries.attempts, control=control.id, verdict=verdict)

    def _wrong(self, id_: str, control: _Control, runs: int = RUNS) -> tuple[str, Verdict] | None:
        """Return the device's problem after the case ``id_``, and the verdict of the control; None if the control works in some try."""
        verdict = Verdict.PASS
        finding: Finding | None = None
        for _ in self._retries.begin(self._sleep):
            verdict = self._repeated(control, runs)
            if verdict in control.working:
                self._tell(finding)
                return None
            finding = finding or self._finding(id_, control, verdict)
            self._renew()
        what = (
            f"the device no longer works: {control.id}, which {control.what}, now ends as {verdict} "
            f"(tried {self._retries.attempts} times, the last case before that was {id_})"
        )
        return what, verdict

    def _works(self, id_: str, control: _Control, runs: int, tells: bool) -> bool:
        """Tell whether the control works in this process."""
        verdict = self._repeated(control, runs)
        if tells and verdict not in control.working:
            self._tell(self._finding(id_, control, verdict))
        return verdict in control.working

    def _finding(self, id_: str, control: _Control, verdict: Verdict) -> Finding | None:
        """Return the finding about a control that failed after the case ``id_``; None if the driver may not have caused that."""
        # Another program may need the memory that the control lacks.
        return None if verdict is Verdict.RESOURCE_ERROR else failed_control(control.id, control.what, verdict, id_)

    def _tell(self, finding: Finding | None) -> None:
        """Report the first finding: a driver that wears out would otherwise cause one for each process."""
        if finding is not None and (self._tells_all or not self._is_told):
            self._is_told = True
            self._findings.append(finding)

    def _repeated(self, control: _Control, runs: int = RUNS) -> Verdict:
        """Run the control until it does not work, at most ``runs`` times; return how the last run ended."""
        for _ in range(runs - 1):
            verdict = self._rerun(control.id)
            if verdict not in control.working:
                return verdict
        return self._rerun(control.id)


@dataclass(frozen=True)
class _Control:
    """A case that is run to see whether the device works.

    Attributes:
        what: words for a message that say why it must work.
        working: the verdicts that show that the device works.
    """

    id: str
    what: str
    working: frozenset[Verdict]


def _proven(proven: Proven) -> _Control:
    return _Control(proven[0], "has passed before", ENDED_WELL)
