"""Vulkan's property commands as they are called: an array with room for some structures goes in, a result and bytes come back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol, runtime_checkable

import numpy as np

from cts.devices.device import DriverRefused, Judge

SUCCESS, INCOMPLETE = 0, 5
"""VkResult."""

POISON = 0xA5
"""The value of every byte of a structure before a call, except in sType and pNext."""


@dataclass(frozen=True)
class PropertyCommand:
    """A command that lists structures.

    Attributes:
        structure: name of the structure. ``structure_type``: its VkStructureType.
        dtype: its layout on 64-bit machines; sType and pNext come first.
        extension: Vulkan's name of the extension that has the command.
        feature: what must be supported for the command to list anything.
        lists_something: whether it must list something then.
        asked_with: the feature without which it is not asked.
    """

    structure: str
    structure_type: int
    dtype: np.dtype
    extension: str
    feature: str
    lists_something: bool
    asked_with: str


def _dtype(*fields: str) -> np.dtype:
    return np.dtype([("sType", "<i4"), ("pNext", "<u8"), *((field, "<u4") for field in fields)], align=True)


COMMANDS: Mapping[str, PropertyCommand] = MappingProxyType(
    {
        "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR": PropertyCommand(
            "VkCooperativeMatrixPropertiesKHR",
            1000506001,
            _dtype("MSize", "NSize", "KSize", "AType", "BType", "CType", "ResultType", "saturatingAccumulation", "scope"),
            "VK_KHR_cooperative_matrix",
            "cooperativeMatrix",
            lists_something=True,
            asked_with="cooperativeMatrix",
        ),
        "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV": PropertyCommand(
            "VkCooperativeMatrixFlexibleDimensionsPropertiesNV",
            1000593001,
            _dtype(
                "MGranularity",
                "NGranularity",
                "KGranularity",
                "AType",
                "BType",
                "CType",
                "ResultType",
                "saturatingAccumulation",
                "scope",
                "workgroupInvocations",
            ),
            "VK_NV_cooperative_matrix2",
            "cooperativeMatrixFlexibleDimensions",
            lists_something=False,
            asked_with="cooperativeMatrix",
        ),
        "vkGetPhysicalDeviceCooperativeVectorPropertiesNV": PropertyCommand(
            "VkCooperativeVectorPropertiesNV",
            1000491002,
            _dtype("inputType", "inputInterpretation", "matrixInterpretation", "biasInterpretation", "resultType", "transpose"),
            "VK_NV_cooperative_vector",
            "cooperativeVector",
            lists_something=True,
            asked_with="cooperativeVector",
        ),
        "vkGetPhysicalDeviceCooperativeMatrixProperties2EXT": PropertyCommand(
            "VkCooperativeMatrixProperties2EXT",
            1000659002,
            _dtype("MGranularity", "NGranularity", "KGranularity", "AType", "BType", "CType", "ResultType"),
            "VK_EXT_cooperative_matrix_maintenance1",
            "cooperativeMatrixProperties2",
            lists_something=True,
            asked_with="cooperativeMatrixProperties2",
        ),
    }
)
"""By name of the command; structure types as in vulkan_core.h."""


@dataclass(frozen=True)
class AskedFor:
    """The members of VkPhysicalDeviceCooperativeMatrixInfo2EXT, by Vulkan's numbers."""

    scope: int
    invocations: int
    subgroup_size: int
    flags: int


SATURATING = 0x1
"""VK_COOPERATIVE_MATRIX_SATURATING_ACCUMULATION_BIT_EXT."""


@dataclass(frozen=True)
class PropertyCall:
    """One call of ``command``.

    Attributes:
        info: what is asked for, where the command takes it.
        capacity: what the count says before; None for a call without an array, which asks for the count alone.
        slots: structures that the array really has; no fewer than ``capacity``, so a write beyond it is seen and harms nobody.
    """

    command: str
    capacity: int | None = None
    slots: int = 0
    info: AskedFor | None = None


@dataclass(frozen=True)
class PropertyAnswer:
    """What a call gave: the VkResult, the count afterwards, and the array (bytes of ``slots`` structures)."""

    result: int
    count: int
    array: bytes = b""

    def structures(self, command: str) -> np.ndarray:
        """Return the structures by field."""
        return np.frombuffer(self.array, COMMANDS[command].dtype)


@runtime_checkable
class AnswersQueries(Judge, Protocol):
    """A device with property commands."""

    def ask(self, call: PropertyCall) -> PropertyAnswer:
        """Make the call.

        Raises:
            DeviceFailure: the device did not come back from it.
        """
        ...


MOST_SLOTS = 1 << 16
"""Structures that an array may have: no driver has a hundredth of that, and they fit in memory."""


def fresh(call: PropertyCall) -> np.ndarray:
    """Return the array of a call before it is made: poison, with sType set and pNext null.

    Raises:
        DriverRefused: there are more structures than a driver can have. Whoever asks for so many has been told so by the command.
    """
    if call.slots > MOST_SLOTS:
        raise DriverRefused(
            f"{call.command} says that there are about {call.slots:,} structures: more than {MOST_SLOTS:,} are not believed"
        )
    command = COMMANDS[call.command]
    array = np.full(call.slots * command.dtype.itemsize, POISON, np.uint8).view(command.dtype)
    array["sType"] = command.structure_type
    array["pNext"] = 0
    return array
