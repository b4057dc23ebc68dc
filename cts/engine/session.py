"""The settings of one run, and how they open the device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from cts.devices.device import Device, DeviceDescription, Finding, Judge
from cts.devices.holder import ONCE, DeviceHolder, Retries
from cts.devices.identity import check_same
from cts.devices.isolation import IsolatedDevice
from cts.devices.spec import DeviceSpec
from cts.engine.tally import PASSING, STRICTLY_PASSING
from cts.engine.time_limit import TimeLimit
from cts.front_ends import FrontEnd
from cts.judges import JudgeSpec, open_judge
from cts.verdict.effort import Budget, Effort
from cts.verdict.known_failures import NONE_KNOWN, KnownFailures
from cts.verdict.verdict import Verdict
from generators.casebook import Case, Tier

LOG_FAILURES = 20


@dataclass(frozen=True)
class Settings:
    """The choices of a run, equal in each of its processes. Data for other processes.

    Attributes:
        tier, front_end: as on the command line.
        spec: how to open the device or validator.
        description: the device's description of itself when it was chosen.
        why: why this device was chosen, in one line.
        isolated: whether a child process holds the device.
        step_timeout: seconds that the device may take for one step, if it is isolated.
        retries: retries for a device that cannot be opened, or that no longer works.
        repeat: how often each case is judged.
        fallback: see cts.judges.Choice.
        known: known failures of the driver; empty if they are not wanted.
        unit: names one of several devices of the run, by its number and its ``--device`` argument; empty if there is only one.
        fail_on_quality: whether a quality warning makes the run fail.
        limit: the time after which no further case begins, or None.
        rounds: see cts.verdict.effort.Effort.
        log_failures: how many failures are announced, and explained at the end.
    """

    tier: Tier
    front_end: FrontEnd
    spec: JudgeSpec
    description: DeviceDescription
    why: str
    isolated: bool
    step_timeout: float
    retries: Retries = ONCE
    repeat: int = 1
    fallback: str = ""
    known: KnownFailures = NONE_KNOWN
    fail_on_quality: bool = False
    limit: TimeLimit | None = None
    unit: str = ""
    log_failures: int = LOG_FAILURES
    rounds: int = 1

    def effort(self, case: Case, budget: Budget, foretold: bool = False) -> Effort:
        """Return the effort to spend on a case; see KnownFailures.effort."""
        return replace(self.known.effort(case, self.front_end, budget), rounds=self.rounds, foretold=foretold)

    @property
    def renewable(self) -> bool:
        """Whether the device can be lost or damaged, and opened again: a failure counts only on a fresh one."""
        return self.isolated or self.description.kind == "vulkan"

    @property
    def late(self) -> bool:
        """Whether the time limit is over."""
        return self.limit is not None and self.limit.over

    @property
    def passing(self) -> frozenset[Verdict]:
        """Return the verdicts that do not make the run fail."""
        return STRICTLY_PASSING if self.fail_on_quality else PASSING


def open_holder(settings: Settings, findings: list[Finding] | None = None, lost: Callable[[float], None] = lambda _: None) -> DeviceHolder:
    """Return a holder that opens the device of ``settings``, in a child process if they say so.

    Args:
        findings: the list that it adds its findings to; a new one by default.
        lost: see cts.devices.isolation.IsolatedDevice.
    """
    spec, retries = settings.spec, settings.retries
    if settings.isolated and isinstance(spec, DeviceSpec):

        def isolated() -> Device:
            device = IsolatedDevice(spec, settings.step_timeout, settings.description, retries.seconds, lost)
            device.open()
            return device

        return DeviceHolder(isolated, retries, findings=findings)

    def opened() -> Judge:
        judge = open_judge(spec)
        check_same(settings.description, judge.description)
        return judge

    # Without a driver, a second attempt fails like the first.
    return DeviceHolder(opened, retries if spec.kind == "vulkan" else ONCE, findings=findings)
