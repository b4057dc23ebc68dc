"""Runs a device in a child process: whatever the device does, this process survives and knows what happened."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

from cts.devices.child import ChildProcess, DiedIdle
from cts.devices.device import DeviceDescription, DeviceError, DeviceFailure, Disturbed, Finding, Listings
from cts.devices.early_child import early_child
from cts.devices.identity import DeviceChanged, check_same
from cts.devices.layout_conversion import ConversionAnswer, ConversionCall
from cts.devices.property_commands import PropertyAnswer, PropertyCall
from cts.devices.requirements import missing
from cts.devices.spec import DeviceSpec
from cts.verdict.codes import Reason
from cts.verdict.machine import ElementPlace, MachineWalk
from cts.verdict.sizes import Statistics
from generators.errors import CtsError
from generators.kernel import Dispatch, Kernel, Outcome

OPEN_SECONDS = 60.0
"""Default limit for starting Python and opening the driver."""


class CannotOpen(DeviceError):
    """A device failed while it was opened.

    Attributes:
        failure: the device's failure.
    """

    def __init__(self, failure: DeviceFailure) -> None:
        super().__init__(f"the device cannot be opened: {failure}")
        self.failure = failure


class DoesNotStayOpen(DeviceError):
    """A device died twice after it had been opened, before it read a request."""


class IsolatedDevice:
    """A device held by a child process.

    ``open`` or the first use starts the child. A child that crashes, hangs, sends an invalid message, or reports a failure that makes its
    device unusable is ended; the next use starts another one.

    Args:
        spec: the device that the child opens.
        timeout: seconds that each step may take.
        description: the device's description of itself, if it is already known.
        open_timeout: seconds that opening the device may take.
        lost: called when the device is lost, or when its child does not end as it should; with the time since which its shaders may have
            run, in seconds since the epoch.

    Attributes:
        last_steps: seconds that each step of the last run took; includes ``open`` if the device was opened since the run before.
        last_statistics: see cts.devices.device.TellsOfCode.
    """

    def __init__(
        self,
        spec: DeviceSpec,
        timeout: float,
        description: DeviceDescription | None = None,
        open_timeout: float = OPEN_SECONDS,
        lost: Callable[[float], None] = lambda _: None,
    ) -> None:
        self._spec = spec
        self._timeout = timeout
        self._open_timeout = open_timeout
        self._description = description
        self._lost = lost
        self._child: ChildProcess | None = None
        self._findings: list[Finding] = []
        self._opening: dict[str, float] = {}
        self.last_steps: dict[str, float] = {}
        self.last_statistics: Statistics = {}

    @property
    def description(self) -> DeviceDescription:
        """The device's description of itself.

        Raises:
            DeviceError: it cannot be opened.
        """
        if self._description is None:
            self.open()
        assert self._description is not None
        return self._description

    def open(self) -> None:
        """Open the device in a new child, unless a child holds it already. Try only once.

        Raises:
            DeviceError: the device refuses, crashes or hangs; the message says what happened.
            DeviceChanged: it does not describe itself as it did first.
        """
        if self._child is not None and not self._child.ended:
            return
        begin = time.perf_counter()
        environment = dict(self._spec.environment)
        early = early_child(environment) if self._spec.kind == "vulkan" else None
        child = early or ChildProcess(environment)
        try:
            try:
                description = self._opened(child)
            except DiedIdle:
                if early is None:
                    raise
                # Whatever ended it, it was not this request.
                child = ChildProcess(environment)
                description = self._opened(child)
            if self._description is None:
                self._description = description
            check_same(self._description, description)
        except DeviceFailure as failure:
            child.kill()
            self._lost(time.time())
            raise CannotOpen(failure) from failure
        except DeviceChanged:
            child.close(self._open_timeout)
            raise
        except BaseException:
            child.kill()
            self._lost(time.time())
            raise
        self._child = child
        self._opening = {"open": time.perf_counter() - begin}

    def _opened(self, child: ChildProcess) -> DeviceDescription:
        # The child has these variables already; a path need not be Unicode.
        return cast(DeviceDescription, child.ask(("open", replace(self._spec, environment=())), self._open_timeout, "open"))

    @contextmanager
    def limited(self, seconds: float | None) -> Iterator[None]:
        """Limit each step within the block to ``seconds``, if that is less than its usual limit; None changes nothing."""
        timeout = self._timeout
        self._timeout = timeout if seconds is None else min(timeout, seconds)
        try:
            yield
        finally:
            self._timeout = timeout

    def missing(self, kernel: Kernel) -> Reason | None:
        """Return the first thing that the device lacks for ``kernel``, by its description; None if it lacks nothing.

        Once the description is known, no child is needed.

        Raises:
            DeviceError: the device cannot be opened to get its description.
        """
        return missing(kernel, self.description)

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        """Run all dispatches in the child; see Device.run.

        Raises:
            DeviceError: it cannot be opened.
            DeviceFailure: one of its subclasses, including DeviceCrash and DeviceTimeout.
        """
        self.last_steps = {}
        self.last_statistics = {}
        self._opening = {}
        outcomes, steps, self.last_statistics = self._ask(("run", kernel, tuple(dispatches)), "run")
        self.last_steps = self._opening | steps
        self._opening = {}
        return cast(list[Outcome], outcomes)

    def listings(self, kernel: Kernel) -> Listings:
        """Compile a kernel in the child, and return the texts of its code; see TellsOfCode.listings.

        Raises:
            DeviceError: it cannot be opened.
            DeviceFailure: one of its subclasses, including DeviceCrash and DeviceTimeout.
        """
        return cast(Listings, self._ask(("listings", kernel), "listings"))

    def walk(self, kernel: Kernel, dispatch: Dispatch, place: ElementPlace, number: int = 0) -> MachineWalk | None:
        """Ask the child how machine code made an element; see WalksBack.walk.

        Raises:
            DeviceError: it cannot be opened.
            DeviceFailure: one of its subclasses, including DeviceCrash and DeviceTimeout.
        """
        return cast(MachineWalk | None, self._ask(("walk", kernel, dispatch, place, number), "walk"))

    def ask(self, call: PropertyCall) -> PropertyAnswer:
        """Make a property query in the child; see AnswersQueries.ask.

        Raises:
            DeviceError: it cannot be opened.
            DeviceFailure: one of its subclasses, including DeviceCrash and DeviceTimeout.
        """
        return cast(PropertyAnswer, self._ask(("ask", call), "property query"))

    def convert(self, call: ConversionCall) -> list[ConversionAnswer]:
        """Convert layouts in the child; see ConvertsLayouts.convert.

        Raises:
            DeviceError: it cannot be opened.
            DeviceFailure: one of its subclasses, including DeviceCrash and DeviceTimeout.
        """
        return cast(list[ConversionAnswer], self._ask(("convert", call), "layout conversion"))

    def close(self) -> tuple[Finding, ...]:
        """End the child; kill it if that takes too long.

        Return the problems since the last call that occurred while no case was judged: children that died between two requests, and
        problems while this child closed its device and ended.
        """
        child, self._child = self._child, None
        if child is not None and (problems := child.close(self._timeout)):
            self._findings += problems
            self._lost(time.time())
        found, self._findings = tuple(self._findings), []
        return found

    def _ask(self, request: tuple[Any, ...], what: str) -> Any:
        try:
            return self._ask_child(request, what)
        except DiedIdle as death:
            # This request is not the cause, so try it with a new child.
            self._findings.append(death.finding)
        except Disturbed as late:
            self._findings.append(Finding(None, str(late)))
            self._discard()
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
            # The device reported this error and remains usable.
            raise
        except BaseException:
            self._discard()
            raise

    def _discard(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()
        self._lost((child and child.shaders_since) or time.time())
