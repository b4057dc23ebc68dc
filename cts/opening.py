"""Opens a device in this process."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import cast

from cts.devices.device import Device, DeviceError
from cts.devices.spec import DEFAULT_PROFILE, DeviceSpec


def open_device(spec: DeviceSpec, *, watched: bool = False) -> Device:
    """Open a device in this process.

    Args:
        spec: the device.
        watched: whether a parent process ends this one if a step takes too long. A Vulkan device then waits for a submission without limit.

    Raises:
        DeviceError: the device does not exist or cannot be opened.
    """
    if spec.kind == "vulkan":
        from cts.devices.vulkan.device import VulkanDevice

        fence_seconds = None if watched else spec.submission_seconds
        kind: Callable[..., Device] = VulkanDevice
        if spec.chip and not spec.compiles_only:
            from cts.devices.machine_walk.device import WalkedDevice

            kind = partial(WalkedDevice, model=spec.chip)
        return kind(
            spec.name,
            spec.index,
            exactly=spec.number >= 0,
            validation=spec.validation,
            statistics=spec.statistics,
            fence_seconds=fence_seconds,
            compiles_only=spec.compiles_only,
            chip=spec.selector if spec.chip else "",
        )
    if spec.kind == "embedded":
        return _open_embedded(spec)
    module, _, function = spec.name.partition(":")
    return cast(Callable[[], Device], getattr(import_module(module), function))()


def _open_embedded(spec: DeviceSpec) -> Device:
    from cts.embedded.device import EmbeddedDevice
    from cts.embedded.profile import load_profile
    from cts.embedded.settings import DEFAULT_MAPPING

    mapping, colon, choices = spec.mapping.partition(":")
    seed, weakly, weak = choices.partition(":")
    if colon and not seed.isdecimal():
        raise DeviceError(f"the embedded device has no mapping '{spec.mapping}': the seed after ':' must be a non-negative integer")
    if weakly and weak != "weak":
        raise DeviceError(f"the embedded device has no mapping '{spec.mapping}': only 'weak' may follow the seed")
    return EmbeddedDevice(load_profile(spec.name), mapping=mapping or DEFAULT_MAPPING, choices=int(seed or 0), weak=bool(weak))


def list_profiles() -> list[str]:
    """Return the names of the embedded device's profiles, the default first."""
    import cts.embedded

    names = sorted(path.stem for path in (Path(cts.embedded.__path__[0]) / "profiles").glob("*.yaml"))
    return sorted(names, key=lambda name: name != DEFAULT_PROFILE)
