"""Checks that a device runs shaders at all, before its first shader with cooperative types is judged.

A device on which nothing runs would fail thousands of cases, and none of them would be to blame.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from cts.devices.device import DeviceUnavailable, Finding
from cts.devices.holder import DeviceHolder, Retries
from cts.engine.control import LOST, PLAIN, PLAINLY, failed_control
from cts.verdict.verdict import CaseResult, Verdict
from generators.casebook import Case, Casebook, CaseKind, find_case
from generators.errors import CasebookError

_BROKEN = LOST | {Verdict.FAIL}


class NoShaderRuns(DeviceUnavailable):
    """A shader without cooperative types does not run, or gives wrong results."""


class FirstShader:
    """Runs a compute shader without cooperative types before the first other shader of this process.

    Args:
        casebook: a casebook without such a case needs no check.
        holder: the holder of this process's device. Only a Vulkan device is checked.
        judge: judges a case, without a record.
        retries: how often the shader may run, each time on a fresh device.
        findings: the list that gets a finding if the shader works in a later attempt.
        cases: before how many cases the shader may fail in all attempts until that ends the run. Beside others, another process may have
            lost the device meanwhile.
        sleep: waits for some seconds.
    """

    def __init__(
        self,
        casebook: Casebook,
        holder: DeviceHolder,
        judge: Callable[[Case], CaseResult],
        retries: Retries,
        findings: list[Finding],
        cases: int = 1,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._casebook = casebook
        self._holder = holder
        self._judge = judge
        self._retries = retries
        self._findings = findings
        self._cases = cases
        self._sleep = sleep
        self._is_due = True

    def before(self, case: Case) -> None:
        """Run the shader if the next case is the first that needs it: a kernel that has cooperative types.

        Raises:
            NoShaderRuns: it fails, or loses the device, in every attempt before as many cases as may have it fail.
        """
        if not self._is_due or case.definition.kind is not CaseKind.KERNEL or case.family == PLAIN:
            return
        self._is_due = False
        description = self._holder.device.description
        plain = self._plain()
        if plain is None or description.kind != "vulkan":
            return
        first: Verdict | None = None
        for _ in self._retries.begin(self._sleep):
            result = self._judge(plain)
            if result.verdict not in _BROKEN:
                if first:
                    self._findings.append(failed_control(plain.id, PLAINLY, first, case.id))
                return
            first = first or result.verdict
            self._holder.discard()
        self._cases -= 1
        if self._cases:
            self._is_due = True
            return
        raise NoShaderRuns(
            f"{description.name} does not run even a plain shader: {plain.id}, which has no cooperative types, ends as {result.verdict} "
            f"({result.reason}); find out why with 'pytest cts -k {PLAIN}'",
            attempts=self._retries.attempts,
            control=plain.id,
            verdict=result.verdict,
        )

    def _plain(self) -> Case | None:
        # The casebook of another checkout may lack the family or the stage.
        with suppress(CasebookError):
            return find_case(self._casebook, f"{PLAIN}[stage:compute]")
        return None
