"""Which device to judge: what there is, what a user's words mean, and how to open it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal, cast

from cts.devices.child import ChildProcess
from cts.devices.device import Device, DeviceDescription, DeviceError, DeviceFailure

DEFAULT_PROFILE = "universal"
ENUMERATION_SECONDS = 60.0

_EMBEDDED = "embedded"
_VALIDATOR: Literal["spirv-val"] = "spirv-val"
_PREFERENCE = {"discrete": 0, "integrated": 1, "virtual": 2, "cpu": 3}


@dataclass(frozen=True)
class DeviceSpec:
    """How to open a device, in this process or another one.

    Attributes:
        kind: ``vulkan``, ``embedded``, ``spirv-val``, or ``factory`` (for tests of isolation).
        name: UUID of a Vulkan device; profile of the embedded device, a name or a path; ``module:function`` of a factory; of
            spirv-val its own.
        index: of a Vulkan device in the loader's order, in case several have the UUID.
        mapping: of the embedded device; empty for its default.
        validation: whether to load the validation layer.
        submission_seconds: how long a Vulkan device may take for one submission. Some drivers compile in it.
    """

    kind: Literal["vulkan", "embedded", "spirv-val", "factory"]
    name: str
    index: int = 0
    mapping: str = ""
    validation: bool = False
    submission_seconds: float = 60.0

    @property
    def selector(self) -> str:
        """What ``--device`` takes to mean this device."""
        if self.kind != "embedded":
            return self.name
        return _EMBEDDED if self.name == DEFAULT_PROFILE else f"{_EMBEDDED}:{self.name}"


@dataclass(frozen=True)
class DeviceListing:
    """A device that can be chosen."""

    spec: DeviceSpec
    description: DeviceDescription


@dataclass(frozen=True)
class Choice:
    """The chosen device, and why it is this one, in one line."""

    spec: DeviceSpec
    description: DeviceDescription
    why: str


def open_device(spec: DeviceSpec) -> Device:
    """Opens a device in this process.

    Raises:
        DeviceError: it is not there or cannot be opened.
    """
    if spec.kind == "vulkan":
        from cts.devices.vulkan.device import VulkanDevice

        return VulkanDevice(spec.name, spec.index, validation=spec.validation, fence_seconds=spec.submission_seconds)
    if spec.kind == "embedded":
        return _open_embedded(spec)
    if spec.kind == "spirv-val":
        from cts.devices.validator.device import ValidatorDevice

        return ValidatorDevice()
    module, _, function = spec.name.partition(":")
    return cast(Callable[[], Device], getattr(import_module(module), function))()


def _open_embedded(spec: DeviceSpec) -> Device:
    from cts.devices.embedded.device import EmbeddedDevice
    from cts.devices.embedded.profile import load_profile

    profile = load_profile(spec.name)
    return EmbeddedDevice(profile, mapping=spec.mapping) if spec.mapping else EmbeddedDevice(profile)


def list_vulkan() -> tuple[list[DeviceListing], str]:
    """The Vulkan devices, in the loader's order, and if there are none, why. They are queried in a child process: drivers crash."""
    try:
        _check_loader()
        with ChildProcess() as child:
            descriptions = child.ask(("list_vulkan",), ENUMERATION_SECONDS, "asking for the Vulkan devices")
    except (DeviceError, DeviceFailure) as error:
        return [], str(error).partition("\n")[0]
    listings = []
    for index, description in enumerate(cast(list[DeviceDescription], descriptions)):
        listings.append(DeviceListing(DeviceSpec("vulkan", description.uuid, index), description))
    return listings, "" if listings else "the Vulkan loader knows no device"


def _check_loader() -> None:
    """Finds out cheaply whether there is a Vulkan loader at all.

    Raises:
        DeviceError: there is none.
    """
    from ctypes import CDLL

    names = {"win32": "vulkan-1.dll", "darwin": "libvulkan.dylib"}
    name = names.get(sys.platform, "libvulkan.so.1")
    try:
        CDLL(name)
    except OSError:
        raise DeviceError(f"no Vulkan loader ({name})") from None


def list_profiles() -> list[str]:
    """Names of the embedded device's profiles, the default first."""
    import cts.devices.embedded

    names = sorted(path.stem for path in (Path(cts.devices.embedded.__path__[0]) / "profiles").glob("*.yaml"))
    return sorted(names, key=lambda name: name != DEFAULT_PROFILE)


def _embedded(profile: str) -> DeviceListing:
    spec = DeviceSpec("embedded", profile)
    return DeviceListing(spec, open_device(spec).description)


def list_devices() -> list[DeviceListing]:
    """Every device that can be chosen: Vulkan's, then the embedded device with each of its profiles, then spirv-val if it is there."""
    listings = list_vulkan()[0] + [_embedded(profile) for profile in list_profiles()]
    with suppress(DeviceError):
        listings.append(_validator())
    return listings


def _validator() -> DeviceListing:
    spec = DeviceSpec(_VALIDATOR, _VALIDATOR)
    return DeviceListing(spec, open_device(spec).description)


def choose(selector: str | None) -> Choice:
    """The device that a user's words mean.

    Args:
        selector: ``embedded``, ``embedded:PROFILE`` (a name or a path), ``spirv-val``, part of a Vulkan device's name, its UUID or its
            index; None for the best Vulkan device with cooperative matrices, else the embedded device.

    Raises:
        DeviceError: there is no such device; the message names those that there are.
    """
    if selector is None:
        return _best()
    kind, colon, profile = selector.partition(":")
    if kind == _EMBEDDED:
        listing = _embedded(profile if colon else DEFAULT_PROFILE)
        return Choice(listing.spec, listing.description, f"--device {selector}")
    if selector == _VALIDATOR:
        listing = _validator()
        return Choice(listing.spec, listing.description, f"--device {selector}")
    vulkan, reason = list_vulkan()
    listing = _named(selector, vulkan, reason)
    return Choice(listing.spec, listing.description, f"--device {selector}")


def _best() -> Choice:
    vulkan, reason = list_vulkan()
    able = [listing for listing in vulkan if listing.description.features.get("cooperativeMatrix")]
    if not able:
        if vulkan:
            reason = f"none of {_names(vulkan)} has cooperative matrices"
        listing = _embedded(DEFAULT_PROFILE)
        return Choice(listing.spec, listing.description, f"no Vulkan device to judge: {reason}")
    best = min(able, key=lambda listing: _PREFERENCE.get(listing.description.extra.get("type", ""), len(_PREFERENCE)))
    type_ = best.description.extra.get("type", "other")
    why = "the only Vulkan device with cooperative matrices"
    if len(able) > 1:
        why = f"{type_}, the best of {len(able)} Vulkan devices with cooperative matrices"
    return Choice(best.spec, best.description, why)


def _names(listings: Iterable[DeviceListing]) -> str:
    return ", ".join(listing.description.name for listing in listings)


def _named(selector: str, vulkan: Sequence[DeviceListing], reason: str) -> DeviceListing:
    if selector.isdecimal() and int(selector) < len(vulkan):
        return vulkan[int(selector)]
    wanted = selector.casefold()
    identifier = wanted.replace("-", "")
    by_uuid = [listing for listing in vulkan if listing.description.uuid == identifier]
    if by_uuid:
        return by_uuid[0]
    named = [listing for listing in vulkan if wanted and wanted in listing.description.name.casefold()]
    if len({listing.description.name for listing in named}) > 1:
        choices = ", ".join(f"{listing.spec.index} ({listing.description.name})" for listing in named)
        raise DeviceError(f"--device {selector}: several devices have that in their names; say which by its index: {choices}")
    if named:
        return named[0]
    known = [f"{listing.spec.index} ({listing.description.name})" for listing in vulkan]
    known += [_EMBEDDED, *(f"{_EMBEDDED}:{profile}" for profile in list_profiles()), _VALIDATOR]
    because = f" ({reason})" if reason else ""
    raise DeviceError(f"--device {selector}: no such device; there are: {', '.join(known)}{because}")
