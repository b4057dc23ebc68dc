"""The Vulkan device: one VkDevice whose mapped memory all cases reuse. Each submission has as many of a case's dispatches as fit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import numpy as np

from cts.devices import floating_point
from cts.devices.capabilities import STATISTICS_FEATURE
from cts.devices.device import (
    DeviceDescription,
    DeviceError,
    DeviceFailure,
    DeviceLost,
    DeviceTimeout,
    Disturbed,
    DriverRefused,
    Finding,
    FloatingPointChanged,
    Listings,
    NoSuchDevice,
    Step,
    ValidationMessage,
    compiling,
)
from cts.devices.driver_messages import DriverMessages
from cts.devices.layout_conversion import ConversionAnswer, ConversionCall
from cts.devices.property_commands import PropertyAnswer, PropertyCall
from cts.devices.requirements import has_sparse_buffers, missing
from cts.devices.vulkan.api import load
from cts.devices.vulkan.commands import Commands
from cts.devices.vulkan.executable import Executable
from cts.devices.vulkan.guarded import Layout, Round, fill, judged_rounds, lay_out, write_addresses
from cts.devices.vulkan.instance import Instance
from cts.devices.vulkan.large import LargeBuffers
from cts.devices.vulkan.logical_device import create
from cts.devices.vulkan.matrix_conversion import MatrixConversions
from cts.devices.vulkan.memory import Arena
from cts.devices.vulkan.opaque import OpaqueBuffers
from cts.devices.vulkan.pipelines import Layouts, Pipelines, shape_of
from cts.devices.vulkan.poisoned import PoisonedMemory
from cts.devices.vulkan.property_commands import ask
from cts.devices.vulkan.query import PhysicalDevice, query
from cts.devices.vulkan.statistics import CAPTURE_LISTINGS, CAPTURE_STATISTICS, PipelineExecutables
from cts.verdict.codes import Reason
from cts.verdict.sizes import Statistics
from generators.kernel import Dispatch, Kernel, Outcome

FENCE_SECONDS = 60.0

LATE_WRITES = "the memory of a case was written after its dispatches had ended and the queue was idle"

_SUBMISSION_BYTES = 1 << 28
"""The most bytes of memory for the dispatches of one submission, unless a single dispatch needs more."""


class VulkanDevice:
    """Runs kernels on a Vulkan driver, in this process.

    Args:
        uuid: the device's UUID, hexadecimal; empty to choose the device by ``index`` alone.
        index: its index in the loader's order, in case several devices have the UUID.
        exactly: whether no other index will do, because several devices have the UUID.
        validation: whether to load the validation layer. Any message from it is raised as an exception.
        statistics: whether to collect statistics of compiled code, if the driver has them.
        fence_seconds: how long one submission may take; None if a parent process limits each step and ends this one.
        compiles_only: whether ``run`` only makes the pipeline, and ``convert`` only calls the host's command.
        chip: the ``--device`` of a chip that is not there; see cts.devices.device.compiling.

    Attributes:
        last_statistics: see cts.devices.device.TellsOfCode.
        last_steps: seconds of the last run: ``pipeline`` (its creation) and ``dispatch`` (submission to fence).
        announce: see cts.devices.device.AnnouncesSteps.
        forward: see cts.devices.device.ForwardsMessages.

    Raises:
        DeviceError: there is no such device, or it cannot be opened.
    """

    def __init__(
        self,
        uuid: str = "",
        index: int = 0,
        *,
        exactly: bool = False,
        validation: bool = False,
        statistics: bool = False,
        fence_seconds: float | None = FENCE_SECONDS,
        compiles_only: bool = False,
        chip: str = "",
    ) -> None:
        self.last_steps: dict[str, float] = {}
        self.last_statistics: Statistics = {}
        self.announce: Callable[[Step | None], None] = lambda _: None
        self.forward: Callable[[str], None] = lambda _: None
        self._heard = DriverMessages()
        self._watched = fence_seconds is None
        self._unusable = ""
        self._pending = False
        self._findings: tuple[Finding, ...] = ()
        with ExitStack() as opened:
            try:
                self._instance = Instance(validation)
                opened.callback(self._instance.close)
                physical = _find(self._instance, uuid, index, exactly)
                self._description = compiling(physical.description, chip) if compiles_only else physical.description
                self._physical = physical.handle
                self._device = create(physical, statistics)
                opened.callback(self._destroy_device)
                statistics = statistics and physical.description.features[STATISTICS_FEATURE]
                self._executables = PipelineExecutables(self._instance, self._device.handle) if statistics else None
                captures = CAPTURE_STATISTICS if statistics else 0
                self._pipelines = Pipelines(physical.handle, self._device.handle, physical.description, self._instance, captures)
                opened.callback(self._pipelines.close)
                self._addressable = physical.description.features.get("bufferDeviceAddress", False)
                self._arena = Arena(physical.handle, self._device.handle, self._addressable)
                opened.callback(self._arena.close)
                self._commands = Commands(self._device, fence_seconds)
                opened.callback(self._commands.close)
                self._conversions = MatrixConversions(self._instance, self._device)
                self._raise_messages()
            except DeviceFailure as failure:
                raise DeviceError(f"the Vulkan device cannot be opened: {failure}") from failure
            self._opened = opened.pop_all()
        # Only now: what drivers and layers say while devices are listed and opened belongs to no case.
        self._instance.on_message = self._hear

    @property
    def description(self) -> DeviceDescription:
        """The device's description of itself."""
        return self._description

    def missing(self, kernel: Kernel) -> Reason | None:
        """Return the first thing that the device lacks for the kernel; None if it lacks nothing."""
        return missing(kernel, self._description)

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        """Run the dispatches; see cts.devices.device.Device.

        Raises:
            DriverRefused: a call failed; the message names it and its result.
            DeviceLost, OutOfMemory, DeviceTimeout: see there; this object is then unusable.
            ValidationMessage: the validation layer reported something.
            FloatingPointChanged: the driver changed the floating-point mode of this process.
        """
        with self._used(Step.DISPATCH):
            return self._run(kernel, dispatches)

    def listings(self, kernel: Kernel) -> Listings:
        """Return the texts of a kernel's code; see cts.devices.device.TellsOfCode.

        Raises:
            DriverRefused, DeviceLost, OutOfMemory, DeviceTimeout, ValidationMessage, FloatingPointChanged: see ``run``.
        """
        if self._executables is None:
            return {}
        with self._used(Step.PIPELINE), self._step(Step.PIPELINE), self._pipelines.also(CAPTURE_LISTINGS):
            executable = self._pipelines.create(kernel)
            try:
                return {} if executable.pipeline is None else self._executables.listings(executable.pipeline)
            finally:
                executable.destroy()

    @contextmanager
    def _used(self, step: Step | None = None) -> Iterator[None]:
        """Check that the device is usable before the block, and what the driver left behind after it.

        Args:
            step: the step of a message that comes without a failure.

        Raises:
            DeviceLost: the device is unusable.
            ValidationMessage: the validation layer reported something.
            FloatingPointChanged: the driver changed the floating-point mode of this process.
        """
        if self._unusable:
            raise DeviceLost(f"the device is unusable after: {self._unusable}")
        self.last_steps = {}
        self.last_statistics = {}
        self._heard.clear()
        try:
            yield
        except DeviceFailure as failure:
            failure.driver_messages = self._heard.texts
            if failure.spent:
                self._unusable = str(failure)
            if not isinstance(failure, DeviceLost | DeviceTimeout):
                # The layer's message explains a failed call better than the driver's result.
                self._raise_messages(failure)
            self._restore_mode()
            raise
        self._raise_messages(step=step)
        if what := self._restore_mode():
            self._unusable = f"the driver changed the floating-point mode of the suite's own process: {what}; use --isolation on"
            raise FloatingPointChanged(self._unusable, spent=True)

    @contextmanager
    def _submission(self) -> Iterator[None]:
        """Note whether a failure in the block leaves a submission that may still run."""
        try:
            yield
        except DeviceLost:
            # Nothing runs on a lost device.
            raise
        except DeviceFailure as failure:
            self._pending = failure.spent
            raise

    def _restore_mode(self) -> str:
        """Restore the floating-point mode, and return how the driver had changed it; empty if it had not.

        A process that computes expected results needs the default mode. A child that only holds the device does not: it handles inputs and
        outputs as bytes.
        """
        what = "" if self._watched else floating_point.changed()
        if what:
            floating_point.restore()
        return what

    def ask(self, call: PropertyCall) -> PropertyAnswer:
        """Call a property command.

        Raises:
            ValidationMessage: the validation layer reported something.
        """
        answer = ask(self._instance, self._physical, call)
        self._raise_messages()
        return answer

    def convert(self, call: ConversionCall) -> list[ConversionAnswer]:
        """Convert matrices of cooperative vectors; see cts.devices.layout_conversion.ConvertsLayouts.

        Raises:
            DriverRefused, DeviceLost, OutOfMemory, DeviceTimeout, ValidationMessage, FloatingPointChanged: see ``run``.
        """
        with self._used():
            self._check_left_alone()
            if call.command == "host":
                with self._step(Step.QUERY):
                    return [self._conversions.host(info) for info in call.infos]
            with self._step(Step.DISPATCH), self._submission():
                return self._conversions.device(call.infos, self._arena, self._commands)

    def _run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        with self._step(Step.PIPELINE):
            executable = self._pipelines.create(kernel)
        try:
            # Do not run a pipeline that the layer objects to: its behaviour is undefined.
            self._raise_messages(step=Step.PIPELINE)
            if self._executables is not None and executable.pipeline is not None:
                self.last_statistics = self._executables.statistics(executable.pipeline)
            outcomes = [] if self._description.compiles_only else self._with_large_buffers(kernel, executable, dispatches)
        except BaseException:
            # A dispatch that may still run uses the executable. It ends with the process.
            if not self._pending:
                executable.destroy()
            raise
        executable.destroy()
        return outcomes

    def _with_large_buffers(self, kernel: Kernel, executable: Executable, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        if not any(slot.windows is not None for slot in kernel.buffers):
            return self._dispatch(kernel, executable, dispatches, None)
        with self._step(Step.DISPATCH):
            sparse = has_sparse_buffers(self._description)
            large = LargeBuffers(self._physical, self._device, self._addressable, sparse, kernel.buffers)
        try:
            return self._dispatch(kernel, executable, dispatches, large)
        finally:
            # A dispatch that may still run uses this memory. It is freed with the process.
            if not self._pending:
                large.close()

    def _dispatch(
        self, kernel: Kernel, executable: Executable, dispatches: Sequence[Dispatch], large: LargeBuffers | None
    ) -> list[Outcome]:
        opaque = OpaqueBuffers(kernel, self._conversions) if any(slot.opaque is not None for slot in kernel.buffers) else None
        layout = lay_out(kernel.buffers if opaque is None else opaque.slots)
        layouts = [self._pipelines.layouts(shape_of(one)) for one in kernel.all]
        # Dispatches share the large buffers, so each needs its own submission.
        at_once = 1 if large is not None else max(1, _SUBMISSION_BYTES // layout.pitch)
        outcomes: list[Outcome] = []
        self._check_left_alone()
        for first in range(0, len(dispatches), at_once):
            given = dispatches[first : first + at_once]
            part = given if opaque is None else [opaque.prepared(dispatch) for dispatch in given]
            before = fill(layout, part)
            with self._step(Step.DISPATCH):
                memory = self._arena.reserve(before.size)
            write_addresses(layout, before, self._arena.address)
            left: list[Round] = []
            for number in range(1, 1 + (kernel.rounds if large is None else 1)):
                mapped = memory.place(before)
                with self._step(Step.DISPATCH):
                    self._submit(executable, layouts, layout, part, opaque, large, kernel)
                    after = memory.keep().reshape(mapped.shape)
                    self._await_idle(memory)
                around = memory.around()
                if not left or around != left[0].around or (after.view(np.uint64) != left[0].after.view(np.uint64)).any():
                    left.append(Round(number, after, around))
            found = judged_rounds(layout, before, left)
            if opaque is not None:
                found = [opaque.with_repeats(dispatch, outcome) for dispatch, outcome in zip(given, found, strict=True)]
            outcomes += found
        return outcomes

    def _await_idle(self, memory: PoisonedMemory) -> None:
        """Wait until the queue is idle, and check that the dispatches had ended when their fence was signaled.

        Raises:
            DriverRefused: they had not.
            DeviceFailure: the call fails.
        """
        with self._submission():
            self._commands.wait_idle()
        if late := memory.late():
            text = f"vkWaitForFences returned VK_SUCCESS before the work had ended: {late} bytes changed until the queue was idle"
            raise DriverRefused(text, call="vkWaitForFences", spent=True)

    def _check_left_alone(self) -> None:
        """Check that nothing has written to memory since the last dispatches ended.

        Raises:
            Disturbed: something has. The next case must not be blamed for it, so it needs a fresh device.
        """
        if self._arena.memory is not None and not self._arena.memory.is_left_alone():
            self._unusable = LATE_WRITES
            self._findings = (Finding(None, LATE_WRITES),)
            raise Disturbed(LATE_WRITES)

    def _submit(
        self,
        executable: Executable,
        layouts: Sequence[Layouts],
        layout: Layout,
        dispatches: Sequence[Dispatch],
        opaque: OpaqueBuffers | None,
        large: LargeBuffers | None,
        kernel: Kernel,
    ) -> None:
        around = None if large is None else large.copies(layout, self._arena)
        if opaque is not None:
            there, back = opaque.conversions(layout, self._arena.address, len(dispatches))
            if there:
                around = self._conversions.recorder(there), self._conversions.recorder(back)
        with self._submission():
            own = () if large is None else large.buffers
            self._commands.run(executable, layouts, layout, self._arena, dispatches, around, own, kernel.passes, kernel.conversion_stage)

    @contextmanager
    def _step(self, step: Step) -> Iterator[None]:
        self._heard.clear()
        self.announce(step)
        begin = time.perf_counter()
        try:
            yield
        except DeviceFailure as failure:
            failure.step = failure.step or step
            raise
        finally:
            self.announce(None)
            self.last_steps[step.value] = self.last_steps.get(step.value, 0.0) + time.perf_counter() - begin

    def _hear(self, text: str) -> None:
        if kept := self._heard.add(text):
            self.forward(kept)

    def _raise_messages(self, cause: DeviceFailure | None = None, step: Step | None = None) -> None:
        messages = list(self._instance.messages)
        if messages:
            self._instance.messages.clear()
            step, spent = (step, None) if cause is None else (cause.step, cause.spent)
            raise ValidationMessage("\n".join(messages), step=step, spent=spent) from cause

    def _destroy_device(self) -> None:
        load().lib.vkDestroyDevice(self._device.handle, load().ffi.NULL)

    def close(self) -> tuple[Finding, ...]:
        """Destroy the device. If a dispatch may still run on it, destroy nothing: the device then ends with the process."""
        found, self._findings = self._findings, ()
        self._instance.on_message = lambda _: None
        opened, self._opened = self._opened, ExitStack()
        self._unusable = self._unusable or "close()"
        if not self._pending:
            opened.close()
        else:
            opened.pop_all()
        return found


def _find(instance: Instance, uuid: str, index: int, exactly: bool = False) -> PhysicalDevice:
    """Return the device with the index if it has the UUID; otherwise the first device with the UUID, unless only the index will do.

    Query no device without need: its driver may crash.
    """
    handles = instance.physical_devices()
    others = [number for number in range(len(handles)) if number != index and not exactly]
    known = []
    for number in [index, *others] if index < len(handles) else others:
        found = query(instance, handles[number], number)
        if found.description.uuid == uuid or (not uuid and number == index):
            return found
        known.append(found.description.name)
    raise NoSuchDevice(f"no Vulkan device {uuid or index}; there are: {', '.join(known) or 'none'}")
