"""Chooses and opens the judge of a run: the device or validator that the user names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from cts.devices.capabilities import STATISTICS_FEATURE
from cts.devices.compile_only.chips import chip_named, find
from cts.devices.device import DeviceDescription, DeviceError, Judge, NoSuchDevice, compiling
from cts.devices.executed.description import executed
from cts.devices.executed.environment import executing
from cts.devices.listing import ASKING_SECONDS, BrokenDevice, DeviceListing, Listed, VulkanDevices, list_vulkan
from cts.devices.spec import COMPILE_ONLY, DEFAULT_PROFILE, EMBEDDED, EXECUTED, DeviceSpec
from cts.opening import list_profiles, open_device
from cts.validators.validator import VALIDATORS, ValidatorSpec

JudgeSpec = DeviceSpec | ValidatorSpec

_PREFERENCE = {"discrete": 0, "integrated": 1, "virtual": 2, "cpu": 3}


class AmbiguousDevice(DeviceError):
    """Several devices have the given name.

    Attributes:
        numbers: the numbers of these devices.
    """

    def __init__(self, message: str, numbers: tuple[int, ...]) -> None:
        super().__init__(message)
        self.numbers = numbers


class BrokenDriver(DeviceError):
    """A driver fails when it is asked to describe its device.

    Attributes:
        devices: the devices without a description.
    """

    def __init__(self, message: str, devices: tuple[BrokenDevice, ...]) -> None:
        super().__init__(message)
        self.devices = devices


@dataclass(frozen=True)
class Choice:
    """The chosen device or validator.

    Attributes:
        why: why it was chosen, in one line.
        fallback: why the embedded device replaces a Vulkan device that nobody named, as a sentence; empty if it does not.
    """

    spec: JudgeSpec
    description: DeviceDescription
    why: str
    fallback: str = ""


def open_judge(spec: JudgeSpec) -> Judge:
    """Open a device or a validator in this process.

    Raises:
        DeviceError: it does not exist, or cannot be opened.
    """
    if isinstance(spec, DeviceSpec):
        return open_device(spec)
    from cts.validators.spirv_val import SpirvVal

    return SpirvVal()


def _embedded(profile: str) -> DeviceListing:
    spec = DeviceSpec("embedded", profile)
    return DeviceListing(spec, open_device(spec).description)


def list_others() -> list[DeviceDescription]:
    """Return the descriptions of the judges that need no driver: the embedded device with each of its profiles, then the installed
    validators."""
    found = [_embedded(profile).description for profile in list_profiles()]
    for spec in VALIDATORS.values():
        with suppress(DeviceError):
            found.append(open_judge(spec).description)
    return found


def choose(selector: str | None, seconds: float = ASKING_SECONDS, listed: Listed | None = None) -> Choice:
    """Find the device or validator that the user names.

    Args:
        selector: ``embedded``, ``embedded:PROFILE`` (a name or a path), ``spirv-val``, part of a Vulkan device's name, its UUID or its
            number, ``compile-only:CHIP``, ``executed:CHIP``; None for the best Vulkan device with cooperative matrices, else the embedded
            device.
        seconds: how long the query of each Vulkan device may take.
        listed: returns the Vulkan devices, if the caller has begun to list them.

    Raises:
        DeviceError: there is no such device; the message names the available devices. Or the user named no device, and an available device
            cannot be described: then the user must choose.
    """
    if selector is None:
        return best(listed() if listed else list_vulkan(seconds))
    kind, colon, profile = selector.partition(":")
    if kind == EMBEDDED:
        listing = _embedded(profile if colon else DEFAULT_PROFILE)
        return Choice(listing.spec, listing.description, f"--device {selector}")
    if selector in VALIDATORS:
        spec = VALIDATORS[selector]
        return Choice(spec, open_judge(spec).description, f"--device {selector}")
    if kind == COMPILE_ONLY:
        listing = _of_chip(selector, find(chip_named(profile)), profile, seconds)
        return _compiling(listing.spec, listing.description, f"--device {selector}")
    if kind == EXECUTED:
        listing = _of_chip(selector, executing(profile), profile, seconds)
        return Choice(listing.spec, executed(listing.description, chip_named(profile)), f"--device {selector}")
    listing = _named(selector, list_vulkan(seconds))
    return Choice(listing.spec, listing.description, f"--device {selector}")


def _of_chip(selector: str, environment: Mapping[str, str], name: str, seconds: float) -> DeviceListing:
    """Return the device of a chip whose driver starts without it in a process with these variables.

    Raises:
        DeviceError: the driver does not find the chip.
    """
    found = list_vulkan(seconds, environment=environment)
    if not found.devices:
        why = found.absent or _broken(found.broken) or "no device"
        raise BrokenDriver(f"--device {selector}: its driver does not start: {why}", found.broken)
    listing = found.devices[0]
    return replace(listing, spec=replace(listing.spec, chip=name))


def _compiling(spec: DeviceSpec, description: DeviceDescription, why: str) -> Choice:
    # The code is all that such a device gives.
    spec = replace(spec, compiles_only=True, statistics=bool(description.features.get(STATISTICS_FEATURE)))
    return Choice(spec, compiling(description, spec.selector if spec.chip else ""), why)


def compile_only(choice: Choice) -> Choice:
    """Return the same device, for a run that makes pipelines and dispatches nothing.

    Raises:
        DeviceError: it is no Vulkan device.
    """
    if not isinstance(choice.spec, DeviceSpec) or choice.spec.kind != "vulkan":
        raise NoSuchDevice(f"--compile-only is for Vulkan devices, and {choice.description.name} is not one: choose another --device")
    return _compiling(choice.spec, choice.description, choice.why)


def all_vulkan(seconds: float = ASKING_SECONDS) -> list[Choice]:
    """Return every Vulkan device with cooperative matrices.

    Raises:
        DeviceError: there is none, or a device cannot be queried.
    """
    vulkan = list_vulkan(seconds)
    able = [listing for listing in vulkan.devices if listing.description.features.get("cooperativeMatrix")]
    if vulkan.broken:
        raise BrokenDriver(f"--device all: {_broken(vulkan.broken)}; fix that, or name each device to judge", vulkan.broken)
    if not able:
        because = f" ({vulkan.absent})" if vulkan.absent else ""
        raise NoSuchDevice(f"--device all: there is no Vulkan device with cooperative matrices{because}")
    return [Choice(listing.spec, listing.description, f"--device all, number {listing.number}") for listing in able]


def best(vulkan: VulkanDevices) -> Choice:
    """Choose a device if the user names none.

    Raises:
        DeviceError: a device cannot be queried.
    """
    if vulkan.broken:
        others = ", ".join(f"--device {one.number} ({one.description.name})" for one in vulkan.devices)
        raise BrokenDriver(
            f"a Vulkan driver fails when it is asked for its devices; {_broken(vulkan.broken)}; fix that, or name what to judge: "
            f"{f'{others}, ' if others else ''}--device {EMBEDDED}",
            vulkan.broken,
        )
    able = [listing for listing in vulkan.devices if listing.description.features.get("cooperativeMatrix")]
    if not able:
        reason = vulkan.absent or f"none of {_names(vulkan.devices)} has cooperative matrices"
        listing = _embedded(DEFAULT_PROFILE)
        return Choice(
            listing.spec,
            listing.description,
            f"no Vulkan device to judge: {reason}",
            f"no Vulkan device was judged, only the embedded device, which needs no driver: {reason}",
        )
    chosen = min(able, key=lambda listing: _PREFERENCE.get(listing.description.extra.get("type", ""), len(_PREFERENCE)))
    type_ = chosen.description.extra.get("type", "other")
    why = "the only Vulkan device with cooperative matrices"
    if len(able) > 1:
        why = f"{type_}, the best of {len(able)} Vulkan devices with cooperative matrices"
    return Choice(chosen.spec, chosen.description, why)


def _names(listings: Iterable[DeviceListing]) -> str:
    return ", ".join(listing.description.name for listing in listings)


def _broken(devices: Iterable[BrokenDevice]) -> str:
    return "; ".join(map(str, devices))


def _named(selector: str, vulkan: VulkanDevices) -> DeviceListing:
    if selector.isdecimal():
        for listing in vulkan.devices:
            if listing.number == int(selector):
                return listing
        for broken in vulkan.broken:
            if broken.number == int(selector):
                raise BrokenDriver(f"--device {selector}: it cannot be described: {broken.why}", (broken,))
    wanted = selector.casefold()
    identifier = wanted.replace("-", "")
    by_uuid = [listing for listing in vulkan.devices if listing.description.uuid == identifier]
    if len(by_uuid) > 1:
        raise AmbiguousDevice(
            f"--device {selector}: several devices have that UUID; choose one by its number: {_numbered(by_uuid)}",
            tuple(one.number for one in by_uuid),
        )
    if by_uuid:
        return by_uuid[0]
    named = [listing for listing in vulkan.devices if wanted and wanted in listing.description.name.casefold()]
    if len({listing.description.name for listing in named}) > 1:
        raise AmbiguousDevice(
            f"--device {selector}: several devices have that in their names; choose one by its number: {_numbered(named)}",
            tuple(one.number for one in named),
        )
    if named:
        return named[0]
    known = [_numbered(vulkan.devices)] if vulkan.devices else []
    known += [EMBEDDED, *(f"{EMBEDDED}:{profile}" for profile in list_profiles()), *VALIDATORS]
    because = vulkan.absent or _broken(vulkan.broken)
    raise NoSuchDevice(f"--device {selector}: no such device; there are: {', '.join(known)}{f' ({because})' if because else ''}")


def _numbered(listings: Sequence[DeviceListing]) -> str:
    return ", ".join(f"{listing.number} ({listing.description.name})" for listing in listings)
