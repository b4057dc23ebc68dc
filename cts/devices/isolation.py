"""A device behind a process boundary: whatever it does, this process lives on and knows what happened."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any, cast

from cts.devices.child import ChildProcess, DiedIdle
from cts.devices.choose import DeviceSpec
from cts.devices.device import DeviceCrash, DeviceDescription, DeviceError, DeviceFailure, DeviceLost, DeviceTimeout
from cts.devices.property_commands import PropertyAnswer, PropertyCall
from cts.devices.requirements import missing
from generators.kernel import Dispatch, Kernel, Outcome

START_SECONDS = 60.0
"""The least time that a child has to start Python and the driver, however short its other steps must be."""


class IsolatedDevice:
    """A device held by a child process.

    The child starts with the first use. It is ended where it crashed, hung, lost its device or failed in a way that nobody foresaw; the
    next use starts another one.

    Args:
        spec: the device that the child opens.
        timeout: seconds for each step; opening the device has START_SECONDS at least.
        description: what the device is known to say of itself, where that is known.

    Attributes:
        last_steps: seconds by step, as the device told of its last run; ``open`` too, if that run had to open it.
    """

    def __init__(self, spec: DeviceSpec, timeout: float, description: DeviceDescription | None = None) -> None:
        self._spec = spec
        self._timeout = timeout
        self._description = description
        self._child: ChildProcess | None = None
        self.last_steps: dict[str, float] = {}

    @property
    def description(self) -> DeviceDescription:
        """What the device says of itself.

        Raises:
            DeviceError: it cannot be opened, also where it crashes or hangs meanwhile.
        """
        if self._description is None:
            try:
                self._started()
            except DeviceFailure as failure:
                raise DeviceError(f"the device cannot be opened: {failure}") from failure
        assert self._description is not None
        return self._description

    def missing(self, kernel: Kernel) -> str:
        """What the device lacks by its description; no child is needed for that once the description is known.

        Raises:
            DeviceError: it cannot be opened to ask for its description.
        """
        return missing(kernel, self.description)

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        """As the device does.

        Raises:
            DeviceFailure: one of its kinds, DeviceCrash and DeviceTimeout among them.
        """
        self.last_steps = {}
        begin = time.perf_counter()
        fresh = self._child is None
        self._started()
        opening = {"open": time.perf_counter() - begin} if fresh else {}
        outcomes, steps = self._ask(("run", kernel, tuple(dispatches)), "run")
        self.last_steps = opening | steps
        return cast(list[Outcome], outcomes)

    def ask(self, call: PropertyCall) -> PropertyAnswer:
        """As the device does.

        Raises:
            DeviceFailure: one of its kinds, DeviceCrash and DeviceTimeout among them.
        """
        return cast(PropertyAnswer, self._ask(("ask", call), "property query"))

    def close(self) -> None:
        """Ends the child, with violence if it takes too long."""
        child, self._child = self._child, None
        if child is not None:
            child.close(self._timeout)

    def _started(self) -> ChildProcess:
        if self._child is None:
            child = ChildProcess()
            try:
                self._description = child.ask(("open", self._spec), max(self._timeout, START_SECONDS), "open")
            except BaseException:
                child.kill()
                raise
            self._child = child
        return self._child

    def _ask(self, request: tuple[Any, ...], step: str) -> Any:
        try:
            return self._ask_child(request, step)
        except DiedIdle as death:
            # Whatever did it, it was not this request: that gets a child that is alive.
            warnings.warn(f"after its last answer: {str(death).partition(': ')[2]}", RuntimeWarning, stacklevel=3)
            return self._ask_child(request, step)

    def _ask_child(self, request: tuple[Any, ...], step: str) -> Any:
        child = self._started()
        try:
            return child.ask(request, self._timeout, step)
        except DeviceFailure as failure:
            # The other kinds are answers of a device that goes on: a refusal, a message, a rule.
            if isinstance(failure, DeviceCrash | DeviceTimeout | DeviceLost) or type(failure) is DeviceFailure:
                self._discard()
            raise
        except BaseException as error:
            if not isinstance(error, Exception):
                # Interrupted between question and answer: the next answer would be to the wrong question.
                self._discard()
            raise

    def _discard(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()
