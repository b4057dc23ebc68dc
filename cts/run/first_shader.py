"""Checks that a device runs shaders at all, before its first shader with cooperative types is judged.

A device on which nothing runs would fail thousands of cases, and none of them would be to blame.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from cts.devices.device import DeviceUnavailable
from cts.devices.holder import DeviceHolder
from cts.run.control import LOST, PLAIN
from cts.verdict.verdict import CaseResult, Verdict
from generators.casebook import Case, Casebook, CaseKind, find_case
from generators.errors import CasebookError

ATTEMPTS = 2
"""How often the shader may run, each time on a fresh device."""

_BROKEN = LOST | {Verdict.FAIL}


class NoShaderRuns(DeviceUnavailable):
    """A shader without cooperative types does not run, or gives wrong results."""


class FirstShader:
    """Runs a compute shader without cooperative types, once, before the first other shader of this process.

    Args:
        casebook: a casebook without such a case needs no check.
        holder: the holder of this process's device. Only a Vulkan device is checked.
        judge: judges a case, without a record.
    """

    def __init__(self, casebook: Casebook, holder: DeviceHolder, judge: Callable[[Case], CaseResult]) -> None:
        self._casebook = casebook
        self._holder = holder
        self._judge = judge
        self._is_due = True

    def before(self, case: Case) -> None:
        """Run the shader if the next case is the first that needs it: a kernel that has cooperative types.

        Raises:
            NoShaderRuns: it fails, or loses the device, in every attempt.
        """
        if not self._is_due or case.definition.kind is not CaseKind.KERNEL or case.family == PLAIN:
            return
        self._is_due = False
        description = self._holder.device.description
        plain = self._plain()
        if plain is None or description.kind != "vulkan":
            return
        for _ in range(ATTEMPTS):
            result = self._judge(plain)
            if result.verdict not in _BROKEN:
                return
            self._holder.discard()
        raise NoShaderRuns(
            f"{description.name} does not run even a plain shader: {plain.id}, which has no cooperative types, ends as {result.verdict} "
            f"({result.reason}); find out why with 'pytest cts -k {PLAIN}'",
            attempts=ATTEMPTS,
            control=plain.id,
            verdict=result.verdict,
        )

    def _plain(self) -> Case | None:
        # The casebook of another checkout may lack the family or the stage.
        with suppress(CasebookError):
            return find_case(self._casebook, f"{PLAIN}[stage:compute]")
        return None
