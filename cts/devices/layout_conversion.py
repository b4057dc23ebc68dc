"""Requests to convert matrix layouts: the device gets memory with room around each matrix and returns the same memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from cts.devices.device import DeviceDescription, Judge
from cts.verdict.codes import Code, Reason
from generators.layout_conversion import MatrixForm
from generators.types import ConversionCommand

ALIGNMENT = 256
"""Alignment of the address of each region's memory, in bytes; a matrix needs 64."""


@dataclass(frozen=True)
class Region:
    """Memory for a matrix.

    Attributes:
        memory: all bytes, as uint8. The address of the first one is a multiple of ALIGNMENT.
        start: offset of the matrix in ``memory``, in bytes.
        size: size that the command is given, in bytes from ``start``. ``memory`` may go on after that.
    """

    memory: np.ndarray
    start: int
    size: int


@dataclass(frozen=True)
class ConversionInfo:
    """One VkConvertCooperativeVectorMatrixInfoNV.

    Attributes:
        rows, columns: size of the matrix.
        from_, to: its form before and after.
        source, destination: memory; None for a null pointer. A host command without a destination asks only for the size.
    """

    rows: int
    columns: int
    from_: MatrixForm
    to: MatrixForm
    source: Region | None = None
    destination: Region | None = None


@dataclass(frozen=True)
class ConversionCall:
    """One call of a command. The host command has exactly one info, the device command at least one."""

    command: ConversionCommand
    infos: tuple[ConversionInfo, ...]


@dataclass(frozen=True)
class ConversionAnswer:
    """The result of a call for one info.

    Attributes:
        result: the VkResult; VK_SUCCESS for a device command, which does not return one.
        size: the value at pDstSize after the call.
        source, destination: all memory of the regions after the call; None for a null pointer.
    """

    result: int
    size: int
    source: np.ndarray | None = None
    destination: np.ndarray | None = None


@runtime_checkable
class ConvertsLayouts(Judge, Protocol):
    """A device that converts matrices of cooperative vectors."""

    def convert(self, call: ConversionCall) -> list[ConversionAnswer]:
        """Make the call, and return an answer for each info.

        Raises:
            DeviceFailure: the device died, hung, or returned an error.
        """
        ...


def missing_for(description: DeviceDescription, forms: Iterable[MatrixForm], commands: Iterable[ConversionCommand]) -> Reason | None:
    """Return the first thing that a device lacks for conversions; None if it lacks nothing.

    Args:
        description: the device's description.
        forms: every form that a matrix has (VUID-VkConvertCooperativeVectorMatrixInfoNV-srcComponentType-10079, dstComponentType-10080).
        commands: the commands that convert them. The device command takes device addresses.
    """
    if description.compiles_only and "device" in set(commands):
        return Reason(Code.MISSING_JUDGE.of("conversion"), f"{description.name} dispatches nothing, so it runs no device command")
    needed = ["cooperativeVector", *(["bufferDeviceAddress"] if "device" in set(commands) else [])]
    for feature in needed:
        if not description.features.get(feature):
            return Reason(Code.MISSING_FEATURE.of(feature), f"feature {feature}")
    listed = {row.matrix_interpretation for row in description.vector_rows} | {"f32"}
    for form in forms:
        name = form.component.name
        if name not in listed:
            text = f"no row of vkGetPhysicalDeviceCooperativeVectorPropertiesNV has the matrixInterpretation {name}"
            return Reason(Code.MISSING_ROW.of("vector_matrix"), text)
    return None
