"""A device behind a process boundary: whatever it does, this process survives and knows what happened."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from cts.devices.child import ChildProcess, DiedIdle
from cts.devices.device import DeviceDescription, DeviceError, DeviceFailure, Finding
from cts.devices.layout_conversion import ConversionAnswer, ConversionCall
from cts.devices.property_commands import PropertyAnswer, PropertyCall
from cts.devices.requirements import missing
from cts.devices.spec import DeviceSpec
from cts.verdict.codes import Reason
from generators.errors import CtsError
from generators.kernel import Dispatch, Kernel, Outcome

OPEN_SECONDS = 60.0
"""How long starting Python and opening the driver may take, by default."""


class CannotOpen(DeviceError):
    """A device failed while it was opened.

    Attributes:
        failure: what happened.
    """

    def __init__(self, failure: DeviceFailure) -> None:
        super().__init__(f"the device cannot be opened: {failure}")
        self.failure = failure


class DoesNotStayOpen(DeviceError):
    """A device dies whenever it has been opened."""


class IsolatedDevice:
    """A device held by a child process.

    The child starts with ``open``, or with the first use. It is ended if it crashed, hung, sent invalid messages, or reported a failure
    that makes its device unusable; the next use starts another one.

    Args:
        spec: the device that the child opens.
        timeout: seconds for each step.
        description: the device's description of itself, if it is already known.
        open_timeout: seconds for opening it.

    Attributes:
        last_steps: seconds by step, as the device told of its last run; ``open`` too, if it was opened since the run before.
    """

    def __init__(
        self, spec: DeviceSpec, timeout: float, description: DeviceDescription | None = None, open_timeout: float = OPEN_SECONDS
    ) -> None:
        self._spec = spec
        self._timeout = timeout
        self._open_timeout = open_timeout
        self._description = description
        self._child: ChildProcess | None = None
        self._findings: list[Finding] = []
        self._opening: dict[str, float] = {}
        self.last_steps: dict[str, float] = {}

    @property
    def description(self) -> DeviceDescription:
        """The device's description of itself.

        Raises:
            DeviceError: it cannot be opened to ask it.
        """
        if self._description is None:
            self.open()
        assert self._description is not None
        return self._description

    def open(self) -> None:
        """Open the device in a new child, unless one holds it already. One attempt.

        Raises:
            DeviceError: it refuses, crashes or hangs; the message says what happened.
        """
        if self._child is not None and not self._child.ended:
            return
        begin = time.perf_counter()
        child = ChildProcess({"VK_DRIVER_FILES": self._spec.driver_files} if self._spec.driver_files else {})
        try:
            self._description = child.ask(("open", self._spec), self._open_timeout, "open")
        except DeviceFailure as failure:
            child.kill()
            raise CannotOpen(failure) from failure
        except BaseException:
            child.kill()
            raise
        self._child = child
        self._opening = {"open": time.perf_counter() - begin}

    @contextmanager
    def limited(self, seconds: float | None) -> Iterator[None]:
        """Give each step at most ``seconds`` within the block, if that is less than its limit; None changes nothing."""
        timeout = self._timeout
        self._timeout = timeout if seconds is None else min(timeout, seconds)
        try:
            yield
        finally:
            self._timeout = timeout

    def missing(self, kernel: Kernel) -> Reason | None:
        """Return the first thing that the device lacks by its description; None if it lacks nothing.

        No child is needed for that once the description is known.

        Raises:
            DeviceError: it cannot be opened to ask for its description.
        """
        return missing(kernel, self.description)

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        """As the device does.

        Raises:
            DeviceError: it cannot be opened.
            DeviceFailure: one of its kinds, DeviceCrash and DeviceTimeout among them.
        """
        self.last_steps = {}
        self._opening = {}
        outcomes, steps = self._ask(("run", kernel, tuple(dispatches)), "run")
        self.last_steps = self._opening | steps
        self._opening = {}
        return cast(list[Outcome], outcomes)

    def ask(self, call: PropertyCall) -> PropertyAnswer:
        """As the device does.

        Raises:
            DeviceError: it cannot be opened.
            DeviceFailure: one of its kinds, DeviceCrash and DeviceTimeout among them.
        """
        return cast(PropertyAnswer, self._ask(("ask", call), "property query"))

    def convert(self, call: ConversionCall) -> list[ConversionAnswer]:
        """As the device does.

        Raises:
            DeviceError: it cannot be opened.
            DeviceFailure: one of its kinds, DeviceCrash and DeviceTimeout among them.
        """
        return cast(list[ConversionAnswer], self._ask(("convert", call), "layout conversion"))

    def close(self) -> tuple[Finding, ...]:
        """End the child, and kill it if that takes too long.

        Returns what has gone wrong since the last call while no case was judged: children that died between two requests, and what this one
        did when its device was closed and when it ended.
        """
        child, self._child = self._child, None
        if child is not None:
            self._findings += child.close(self._timeout)
        found, self._findings = tuple(self._findings), []
        return found

    def _ask(self, request: tuple[Any, ...], what: str) -> Any:
        try:
            return self._ask_child(request, what)
        except DiedIdle as death:
            # This request is not the cause, so it gets a new child.
            self._findings.append(Finding(None, f"after its last answer: {death.how}"))
        try:
            return self._ask_child(request, what)
        except DiedIdle as death:
            raise DoesNotStayOpen(f"the device does not stay open: {death}") from death

    def _ask_child(self, request: tuple[Any, ...], what: str) -> Any:
        self.open()
        assert self._child is not None
        try:
            return self._child.ask(request, self._timeout, what)
        except DeviceFailure as failure:
            if failure.spent:
                self._discard()
            raise
        except CtsError:
            # The answer of a device that remains usable.
            raise
        except BaseException:
            self._discard()
            raise

    def _discard(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()
