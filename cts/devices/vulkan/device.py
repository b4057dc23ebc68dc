"""The device: one VkDevice, mapped memory reused across cases, all dispatches of a case in one submission."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import MappingProxyType

from cts.devices.device import DeviceDescription, DeviceError, DeviceFailure, DeviceLost, DeviceTimeout, ValidationMessage
from cts.devices.property_commands import PropertyAnswer, PropertyCall
from cts.devices.requirements import missing
from cts.devices.vulkan.api import CData, load
from cts.devices.vulkan.commands import Commands
from cts.devices.vulkan.guarded import fill, judge, lay_out
from cts.devices.vulkan.instance import Instance
from cts.devices.vulkan.logical_device import create
from cts.devices.vulkan.memory import Arena
from cts.devices.vulkan.pipelines import Pipelines, shape_of
from cts.devices.vulkan.property_commands import ask
from cts.devices.vulkan.query import PhysicalDevice, query
from generators.kernel import Dispatch, Kernel, Outcome

FENCE_SECONDS = 60.0

_DOING = MappingProxyType({"pipeline": "while the pipeline was made", "dispatch": "while the shader ran"})
"""What is announced of a step."""

_SUBMISSION_BYTES = 1 << 28
"""Memory that the dispatches of one submission may take together, unless one alone needs more."""


class VulkanDevice:
    """Runs kernels on a Vulkan driver, in this process.

    Args:
        uuid: of the device, hexadecimal; the empty string for the one at ``index``.
        index: in the loader's order; where several devices have the UUID, the one that is meant.
        validation: load the validation layer; whatever it says is raised.
        fence_seconds: how long one submission may take.

    Attributes:
        last_steps: seconds of the last run: ``pipeline`` (its creation) and ``dispatch`` (submission to fence).
        announce: see cts.devices.device.AnnouncesSteps.

    Raises:
        DeviceError: there is no such device, or it cannot be opened.
    """

    def __init__(self, uuid: str = "", index: int = 0, *, validation: bool = False, fence_seconds: float = FENCE_SECONDS) -> None:
        self.last_steps: dict[str, float] = {}
        self.announce: Callable[[str], None] = lambda _: None
        self._unusable = ""
        self._pending = False
        with ExitStack() as opened:
            self._instance = Instance(validation)
            opened.callback(self._instance.close)
            try:
                physical = _find(self._instance, uuid, index)
                self._description = physical.description
                self._physical = physical.handle
                self._device = create(physical)
                opened.callback(self._destroy_device)
                self._pipelines = Pipelines(self._device.handle, physical.description)
                opened.callback(self._pipelines.close)
                self._arena = Arena(physical.handle, self._device.handle, physical.description.features.get("bufferDeviceAddress", False))
                opened.callback(self._arena.close)
                self._commands = Commands(self._device, fence_seconds)
                opened.callback(self._commands.close)
                self._raise_messages()
            except DeviceFailure as failure:
                raise DeviceError(f"the Vulkan device cannot be opened: {failure}") from failure
            self._opened = opened.pop_all()

    @property
    def description(self) -> DeviceDescription:
        """What the device says of itself."""
        return self._description

    def missing(self, kernel: Kernel) -> str:
        """What the device lacks for the kernel; empty if nothing."""
        return missing(kernel, self._description)

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        """Runs the dispatches; see cts.devices.device.Device.

        Raises:
            DriverRefused: a call failed; the message names call and result.
            DeviceLost: the device is lost; this object is of no more use.
            DeviceTimeout: a submission took too long; likewise.
            ValidationMessage: the validation layer said something.
        """
        if self._unusable:
            raise DeviceLost(f"the device was not made anew after: {self._unusable}")
        self.last_steps = {}
        try:
            outcomes = self._run(kernel, dispatches)
        except (DeviceLost, DeviceTimeout) as failure:
            self._unusable = str(failure)
            self._pending = isinstance(failure, DeviceTimeout)
            raise
        except DeviceFailure as failure:
            # The layer knows better than the driver why a call failed.
            self._raise_messages(failure)
            raise
        self._raise_messages()
        return outcomes

    def ask(self, call: PropertyCall) -> PropertyAnswer:
        """Calls a property command.

        Raises:
            ValidationMessage: the validation layer said something.
        """
        answer = ask(self._instance, self._physical, call)
        self._raise_messages()
        return answer

    def _run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        with self._step("pipeline"):
            pipeline = self._pipelines.create(kernel)
        try:
            # A pipeline that the layer objects to is not run: what that would do is undefined.
            self._raise_messages()
            outcomes = self._dispatch(kernel, pipeline, dispatches)
        except DeviceTimeout:
            # The driver may still run it: destroying it now is undefined. It goes with the process.
            raise
        except BaseException:
            self._pipelines.destroy(pipeline)
            raise
        self._pipelines.destroy(pipeline)
        return outcomes

    def _dispatch(self, kernel: Kernel, pipeline: CData, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        layout = lay_out(kernel.buffers)
        layouts = self._pipelines.layouts(shape_of(kernel))
        at_once = max(1, _SUBMISSION_BYTES // layout.pitch)
        outcomes: list[Outcome] = []
        for first in range(0, len(dispatches), at_once):
            part = dispatches[first : first + at_once]
            before = fill(layout, part)
            self._arena.reserve(before.size)
            mapped = self._arena.memory[: before.size].reshape(before.shape)
            mapped[:] = before
            with self._step("dispatch"):
                self._commands.run(pipeline, layouts, layout, self._arena, part)
            outcomes += judge(layout, before, mapped.copy())
        return outcomes

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        self.announce(_DOING[name])
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.announce("")
            self.last_steps[name] = self.last_steps.get(name, 0.0) + time.perf_counter() - begin

    def _raise_messages(self, cause: DeviceFailure | None = None) -> None:
        messages = list(self._instance.messages)
        if messages:
            self._instance.messages.clear()
            raise ValidationMessage("\n".join(messages)) from cause

    def _destroy_device(self) -> None:
        load().lib.vkDestroyDevice(self._device.handle, load().ffi.NULL)

    def close(self) -> None:
        """Destroys the device. After a timeout nothing may be destroyed: it goes with the process."""
        opened, self._opened = self._opened, ExitStack()
        self._unusable = self._unusable or "close()"
        if not self._pending:
            opened.close()
        else:
            opened.pop_all()


def _find(instance: Instance, uuid: str, index: int) -> PhysicalDevice:
    found = [query(instance, handle, number) for number, handle in enumerate(instance.physical_devices())]
    matching = [device for device in found if not uuid or device.description.uuid == uuid]
    for device in matching:
        if device.index == index:
            return device
    if uuid and matching:
        return matching[0]
    known = ", ".join(device.description.name for device in found) or "none"
    raise DeviceError(f"no Vulkan device {uuid or index}; there are: {known}")
