"""An embedded device with a defect, and the verdict on a case that runs on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from cts.devices.device import DeviceDescription
from cts.devices.holder import DeviceHolder
from cts.embedded.device import EmbeddedDevice
from cts.embedded.faults import NO_FAULTS, Faults
from cts.embedded.profile import load_profile
from cts.engine.runner import judge
from cts.verdict.codes import Reason
from cts.verdict.effort import Budget, Effort
from cts.verdict.verdict import CaseResult, Verdict
from generators.casebook import find_case
from generators.kernel import Dispatch, Kernel, Outcome
from tests.suite import casebook


class Broken:
    """An embedded device with faults, or with a defect in the module that it runs, in its input or in its output."""

    def __init__(
        self,
        module: Callable[[bytes], bytes] = lambda module: module,
        contents: Callable[[Kernel, Dispatch], Dispatch] = lambda kernel, dispatch: dispatch,
        outcome: Callable[[Kernel, Dispatch, Outcome], Outcome] = lambda kernel, dispatch, outcome: outcome,
        faults: Faults = NO_FAULTS,
    ) -> None:
        self._device = EmbeddedDevice(load_profile("universal"), strict=False, faults=faults)
        self._module, self._contents, self._outcome = module, contents, outcome

    @property
    def description(self) -> DeviceDescription:
        return self._device.description

    def missing(self, kernel: Kernel) -> Reason | None:
        return self._device.missing(kernel)

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        broken = replace(kernel, spirv=self._module(kernel.spirv))
        outcomes = self._device.run(broken, [self._contents(kernel, dispatch) for dispatch in dispatches])
        return [self._outcome(kernel, dispatch, outcome) for dispatch, outcome in zip(dispatches, outcomes, strict=True)]

    @property
    def last_steps(self) -> Mapping[str, float]:
        return self._device.last_steps

    def close(self) -> tuple[()]:
        self._device.close()
        return ()


def unhurried() -> Effort:
    """Return an effort that has enough time for all explanations of a case on a busy machine."""
    return Effort(budget=Budget(seconds_of_failure=10))


def judged(case_id: str, device: Broken) -> CaseResult:
    """Return the verdict on a case of the suite."""
    return judge(find_case(casebook(), case_id), DeviceHolder(lambda: device), "spirv", "smoke", effort=unhurried())


def verdict_on(case_id: str, device: Broken) -> Verdict:
    """Return only the verdict on a case of the suite. A failure is not diagnosed: the diagnosis takes most of the time."""
    undiagnosed = Effort(budget=Budget(seconds=0))
    return judge(find_case(casebook(), case_id), DeviceHolder(lambda: device), "spirv", "smoke", effort=undiagnosed).verdict
