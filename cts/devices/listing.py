"""Lists the Vulkan devices of this machine. Each is queried separately: a broken driver does not hide the others."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from cts.devices import driver_files
from cts.devices.background import in_background
from cts.devices.child import ChildProcess
from cts.devices.device import DeviceDescription, DeviceError, DeviceFailure, NoVulkan
from cts.devices.spec import DeviceSpec

ASKING_SECONDS = 60.0
"""Default limit for a device to describe itself."""


@dataclass(frozen=True)
class DeviceListing:
    """A device that can be chosen.

    Attributes:
        number: the number of a Vulkan device, for ``--device`` and in the output of ``cts devices``; -1 for other devices.
    """

    spec: DeviceSpec
    description: DeviceDescription
    number: int = -1


@dataclass(frozen=True)
class BrokenDevice:
    """A Vulkan device, or a whole driver, that could not be queried.

    Attributes:
        number: see DeviceListing; -1 if the driver did not even return its number of devices.
        driver: the manifest of its driver; empty if all drivers were loaded together.
        why: what happened, in one line.
    """

    number: int
    driver: str
    why: str

    def __str__(self) -> str:
        which = f"device {self.number}" if self.number >= 0 else "the Vulkan drivers" if not self.driver else "a Vulkan driver"
        return f"{which}{f' of {self.driver}' if self.driver else ''}: {self.why}"


@dataclass(frozen=True)
class VulkanDevices:
    """The devices found.

    Attributes:
        devices: the devices that answered, by number.
        broken: the devices and drivers that did not.
        absent: why there are neither; otherwise empty.
    """

    devices: tuple[DeviceListing, ...] = ()
    broken: tuple[BrokenDevice, ...] = ()
    absent: str = ""


ENDS = "ends the process that listed the devices"
"""The name of the thread that does so."""

Listed = Callable[[], VulkanDevices]
"""Returns the devices that somebody has begun to list."""

StartChild = Callable[[Mapping[str, str]], ChildProcess]


def _start(environment: Mapping[str, str]) -> ChildProcess:
    return ChildProcess(environment)


def told_apart(found: VulkanDevices) -> VulkanDevices:
    """Return the devices with a number in the spec of each that shares its UUID with another."""
    uuids = Counter(one.spec.name for one in found.devices)
    return replace(
        found,
        devices=tuple(
            replace(one, spec=replace(one.spec, number=one.number)) if uuids[one.spec.name] > 1 else one for one in found.devices
        ),
    )


def list_vulkan(
    seconds: float = ASKING_SECONDS, start: StartChild = _start, environment: Mapping[str, str] = MappingProxyType({})
) -> VulkanDevices:
    """List the loader's devices and query each one, in child processes.

    If the drivers fail when loaded together, load each driver alone.

    Args:
        seconds: how long each query may take.
        start: starts a child process with additional environment variables.
        environment: these variables. If there are any, the drivers are only loaded together.
    """
    try:
        _check_loader()
        together = _ask_all(environment, 0, seconds, start)
    except NoVulkan as none:
        return VulkanDevices(absent=str(none))
    if environment:
        return together
    if not any(one.number < 0 for one in together.broken):
        return told_apart(together)
    manifests = driver_files.find(os.environ)
    if len(manifests) < 2:
        return told_apart(together)
    devices: list[DeviceListing] = []
    broken: list[BrokenDevice] = []
    for manifest in manifests:
        try:
            found = _ask_all({driver_files.VARIABLE: str(manifest)}, len(devices) + sum(one.number >= 0 for one in broken), seconds, start)
        except NoVulkan:
            continue
        devices += found.devices
        broken += found.broken
    # If each driver works alone but they fail together, keep the failure: the user must repair the machine or choose a device.
    return told_apart(VulkanDevices(tuple(devices), tuple(broken)) if broken else replace(together, devices=tuple(devices)))


def begin_listing(find: Callable[[], VulkanDevices] = list_vulkan) -> Listed:
    """Begin to list the devices in a separate thread. Return a function that waits for the list, and raises its errors.

    Args:
        find: lists the devices.
    """
    return in_background(find, "lists the devices").result


def _ask_all(environment: Mapping[str, str], first: int, seconds: float, start: StartChild) -> VulkanDevices:
    """Return the devices that a process with these environment variables finds, numbered from ``first``.

    Raises:
        NoVulkan: there is no device.
    """
    driver = environment.get(driver_files.VARIABLE, "")
    devices: list[DeviceListing] = []
    broken: list[BrokenDevice] = []
    child: ChildProcess | None = None
    index, count = 0, 1
    try:
        while index < count:
            asking = -1
            try:
                if child is None:
                    child = start(environment)
                    count = child.ask(("count_vulkan",), seconds, "listing the Vulkan devices")
                asking = first + index
                description: DeviceDescription = child.ask(("describe_vulkan", index), seconds, "querying a Vulkan device")
                spec = DeviceSpec("vulkan", description.uuid, index, environment=tuple(environment.items()))
                devices.append(DeviceListing(spec, description, asking))
            except NoVulkan:
                raise
            except (DeviceError, DeviceFailure) as error:
                broken.append(BrokenDevice(asking, driver, str(error).partition("\n")[0]))
                if asking < 0:
                    break
                if isinstance(error, DeviceFailure):
                    _end(child)
                    child = None
            index += 1
    finally:
        _end(child)
    return VulkanDevices(tuple(devices), tuple(broken))


def _end(child: ChildProcess | None) -> None:
    """End the child in a separate thread: what it does meanwhile concerns nobody, and a driver may take a third of a second for it."""
    if child is not None:
        in_background(child.close, ENDS)


def _check_loader() -> None:
    """Check cheaply whether there is a Vulkan loader.

    Raises:
        NoVulkan: there is no loader.
    """
    from ctypes import CDLL

    names = {"win32": "vulkan-1.dll", "darwin": "libvulkan.dylib"}
    name = names.get(sys.platform, "libvulkan.so.1")
    try:
        CDLL(name)
    except OSError:
        raise NoVulkan(f"no Vulkan loader ({name})") from None
