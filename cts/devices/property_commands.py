"""Calls of Vulkan's property commands: each takes an array of structures, and returns a result and the array's bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol, runtime_checkable

import numpy as np

from cts.devices.device import DeviceDescription, DriverRefused, Judge

SUCCESS, INCOMPLETE = 0, 5
"""VkResult."""

_RESULTS = {SUCCESS: "VK_SUCCESS", INCOMPLETE: "VK_INCOMPLETE"}

POISON = 0xA5
"""The value of every byte of a structure before a call, except in sType and pNext."""


def name_of_result(result: int) -> str:
    """Return the name of a VkResult that the command of a case may return, or the number of another one. Needs no Vulkan loader."""
    return _RESULTS.get(result, f"VkResult {result}")


@dataclass(frozen=True)
class PropertyCommand:
    """A command that lists structures.

    Attributes:
        structure: name of the structure.
        structure_type: its VkStructureType.
        dtype: its layout on 64-bit machines; sType and pNext come first.
        extension: name of the Vulkan extension that defines the command.
        feature: the feature without which the command lists nothing.
        lists_something: whether the command must list something if the feature is supported.
        asked_with: the feature without which the suite does not call the command.
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
"""Name of the command -> its description; structure types as in vulkan_core.h."""


@dataclass(frozen=True)
class AskedFor:
    """The members of VkPhysicalDeviceCooperativeMatrixInfo2EXT, with Vulkan's numbers."""

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
        info: the command's input structure, if it takes one.
        capacity: the count before the call; None for a call without an array, which asks only for the count.
        slots: structures that the array really has, at least ``capacity``: a write beyond ``capacity`` is detected and does no harm.
    """

    command: str
    capacity: int | None = None
    slots: int = 0
    info: AskedFor | None = None


@dataclass(frozen=True)
class PropertyAnswer:
    """The result of a call: the VkResult, the count after the call, and the array (the bytes of ``slots`` structures)."""

    result: int
    count: int
    array: bytes = b""

    def structures(self, command: str) -> np.ndarray:
        """Return the array as structures with named fields."""
        return np.frombuffer(self.array, COMMANDS[command].dtype)


@runtime_checkable
class AnswersQueries(Judge, Protocol):
    """A device with property commands."""

    def ask(self, call: PropertyCall) -> PropertyAnswer:
        """Make the call.

        Raises:
            DeviceFailure: the device died or hung.
        """
        ...


def workgroup_invocations(description: DeviceDescription) -> Iterator[int]:
    """Yield the workgroup sizes for which vkGetPhysicalDeviceCooperativeMatrixProperties2EXT must list something: the powers
    of two from the subgroup size to cooperativeMatrixWorkgroupScopeMaxWorkgroupSize."""
    count = description.subgroup_size
    while count <= description.limits.get("cooperativeMatrixWorkgroupScopeMaxWorkgroupSize", description.subgroup_size):
        yield count
        count *= 2


MOST_SLOTS = 1 << 16
"""The most structures in an array. No driver has a hundredth of that, and they fit in memory."""


def fresh(call: PropertyCall) -> np.ndarray:
    """Return the array for a call: poison, with sType set and pNext null.

    Raises:
        DriverRefused: the call has more than MOST_SLOTS structures: the command itself returned such a count before.
    """
    if call.slots > MOST_SLOTS:
        raise DriverRefused(f"{call.command} claims to have about {call.slots:,} structures; the suite accepts at most {MOST_SLOTS:,}")
    command = COMMANDS[call.command]
    array = np.full(call.slots * command.dtype.itemsize, POISON, np.uint8).view(command.dtype)
    array["sType"] = command.structure_type
    array["pNext"] = 0
    return array
