"""Groups: the processes of a run share several devices of one kind, and each case is judged on one of them.

pytest-xdist decides which device a case gets, so the devices must be identical. The record of a case names the device that judged it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cts.devices.device import DeviceDescription
from cts.devices.listing import Listed
from cts.engine.plan import OptionError, checked_settings, opening_retries
from cts.engine.session import Settings
from cts.judges import Choice, all_vulkan, choose

ALL = "all"
"""How ``--device`` names every Vulkan device with cooperative matrices."""


def checked_groups(options: Mapping[str, Any], listed: Listed | None = None) -> tuple[Settings, ...]:
    """Return the settings of each group of processes, at least one; if there are several, each names its device.

    Args:
        options: the options of ``checked_settings``, except that ``device`` is a list of devices, or None.
        listed: see ``choose``.

    Raises:
        OptionError: the devices differ; see also ``checked_settings``.
    """
    devices: Sequence[str] = options["device"] or ()
    if len(devices) < 2 and ALL not in devices:
        return (checked_settings({**options, "device": devices[0] if devices else None}, listed=listed),)
    seconds = opening_retries(options).seconds
    choices: list[Choice] = []
    for device in devices:
        choices += all_vulkan(seconds) if device == ALL else [choose(device, seconds)]
    for choice in choices[1:]:
        if differing := _difference(choices[0].description, choice.description):
            raise OptionError(
                f"--device: {choices[0].description.name} and {choice.description.name} differ ({differing}), and each case is judged "
                "on only one of them: judge them in separate runs"
            )
    groups = [checked_settings(options, choice) for choice in choices]
    if len(groups) == 1:
        return (groups[0],)
    return tuple(replace(group, unit=f"{number}:{group.spec.selector}") for number, group in enumerate(groups))


def _difference(one: DeviceDescription, other: DeviceDescription) -> str:
    """Return the first attribute, except name and UUID, in which two devices differ; empty if there is none."""
    names = [name for name in DeviceDescription.__dataclass_fields__ if name not in ("name", "uuid", "extra")]
    return next((name for name in names if getattr(one, name) != getattr(other, name)), "")


def number_of(worker: str) -> int:
    """Return the number of a process, by the id that pytest-xdist gives it (``gw3``); 0 for any other id."""
    digits = worker.removeprefix("gw")
    return int(digits) if digits.isdecimal() else 0


def group_of(worker: str, groups: int) -> int:
    """Return the group of a process, by its id: groups take turns."""
    return number_of(worker) % groups
