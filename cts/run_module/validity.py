"""Asks spirv-val, if it is installed, whether a module is valid at all: no device can be blamed for an invalid one."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from cts.devices.device import DeviceDescription, DeviceError, DeviceFailure
from cts.validators.spirv_val import SpirvVal

_NEWEST = (1, 4)
"""The newest version of Vulkan that spirv-val knows as a target."""

_LAYOUTS = {
    "scalarBlockLayout": "--scalar-block-layout",
    "workgroupMemoryExplicitLayoutScalarBlockLayout": "--workgroup-scalar-block-layout",
    "maintenance4": "--allow-localsizeid",
}
_RULE = re.compile(r"\[(VUID-[\w-]+)\]\s*")
_LINE = re.compile(r"^error: (line \d+: )?")


@dataclass(frozen=True)
class Invalid:
    """The reason why a module is invalid.

    Attributes:
        validator, target: who says so, and for which environment; the latter may be empty.
        rule: the valid usage rule; empty if spirv-val names none.
        text: its message, in one line or several.
    """

    validator: str
    target: str
    rule: str
    text: str


def find_invalid(spirv: bytes, description: DeviceDescription) -> Invalid | None:
    """Return why a module is invalid on a device; None if it is valid, or spirv-val is not there or does not know all that the module has.

    Args:
        spirv: the module.
        description: the device whose version of Vulkan and optional layouts apply.
    """
    target = target_for(spirv, description.api_version)
    options = tuple(option for feature, option in _LAYOUTS.items() if description.features.get(feature))
    try:
        validator = SpirvVal(target, options)
        answer = validator.validate(spirv)
    except (DeviceError, DeviceFailure):
        return None
    if answer.accepted or not answer.knows:
        return None
    rule = _RULE.search(answer.message)
    text = _LINE.sub("", _RULE.sub("", answer.message, count=1))
    return Invalid(validator.description.driver, target, rule[1] if rule else "", text)


def target_for(spirv: bytes, api_version: str) -> str:
    """Return the environment of spirv-val for a version of Vulkan. Vulkan 1.1 accepts SPIR-V 1.4 by an extension."""
    major, minor = (int(part) for part in api_version.split(".")[:2])
    version = min((major, minor), _NEWEST)
    is_1_4 = len(spirv) >= 8 and struct.unpack_from("<I", spirv, 4)[0] >> 8 == 0x0104
    return "vulkan{}.{}".format(*version) + ("spv1.4" if version == (1, 1) and is_1_4 else "")
