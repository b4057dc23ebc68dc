"""Calls the commands of VK_NV_cooperative_vector that convert matrices and return their size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cts.devices.device import DriverRefused
from cts.devices.layout_conversion import ALIGNMENT, ConversionAnswer, ConversionInfo, Region
from cts.devices.vulkan.api import INCOMPLETE, SUCCESS, CData, address, check
from cts.devices.vulkan.commands import Commands
from cts.devices.vulkan.executable import Record
from cts.devices.vulkan.instance import Instance
from cts.devices.vulkan.logical_device import LogicalDevice
from cts.devices.vulkan.memory import Arena
from cts.devices.vulkan.supplement import STRUCTURE_TYPES, supplement
from generators.layout_conversion import DEVICE_COMMAND, HOST_COMMAND, MatrixForm

_STRUCTURE = "VkConvertCooperativeVectorMatrixInfoNV"

_LARGEST = 1 << 28
"""The largest plausible size of a matrix in bytes."""


@dataclass(frozen=True)
class Conversion:
    """One conversion between addresses, on the host or on the device.

    Attributes:
        rows, columns, from_, to: see ConversionInfo.
        source, destination: addresses; 0 for a null pointer.
        source_size, destination_size: sizes that the command is given, in bytes.
    """

    rows: int
    columns: int
    from_: MatrixForm
    to: MatrixForm
    source: int
    source_size: int
    destination: int
    destination_size: int


@dataclass(frozen=True)
class Packed:
    """An array of VkConvertCooperativeVectorMatrixInfoNV, and the sizes that they point to. Both live as long as this object."""

    infos: CData
    sizes: CData
    count: int


def packed(conversions: Sequence[Conversion], host: bool) -> Packed:
    """Return the structures for conversions between host addresses (``host``) or device addresses."""
    ffi = supplement()
    infos = ffi.new(f"{_STRUCTURE}[]", len(conversions))
    sizes = ffi.new("size_t[]", len(conversions))
    for number, (one, info) in enumerate(zip(conversions, infos, strict=True)):
        sizes[number] = one.destination_size
        info.sType = STRUCTURE_TYPES[_STRUCTURE]
        info.srcSize = one.source_size
        info.pDstSize = sizes + number
        if host:
            info.srcData.hostAddress = ffi.cast("void*", one.source)
            info.dstData.hostAddress = ffi.cast("void*", one.destination)
        else:
            info.srcData.deviceAddress, info.dstData.deviceAddress = one.source, one.destination
        info.srcComponentType, info.dstComponentType = one.from_.component.vk, one.to.component.vk
        info.numRows, info.numColumns = one.rows, one.columns
        info.srcLayout, info.srcStride = int(one.from_.layout), one.from_.stride
        info.dstLayout, info.dstStride = int(one.to.layout), one.to.stride
    return Packed(infos, sizes, len(conversions))


class MatrixConversions:
    """The conversion commands of one device."""

    def __init__(self, instance: Instance, device: LogicalDevice) -> None:
        self._instance = instance
        self._device = device
        self._sizes: dict[tuple[int, int, MatrixForm], int] = {}

    def size(self, rows: int, columns: int, form: MatrixForm) -> int:
        """Return the bytes that the device needs for a matrix.

        Raises:
            DeviceFailure: the command fails, or returns an impossible size.
        """
        known = self._sizes.get((rows, columns, form))
        if known is None:
            answer = self.host(ConversionInfo(rows, columns, form, form))
            check(HOST_COMMAND, answer.result)
            if not rows * columns * form.component.bytes <= answer.size <= _LARGEST:
                raise DriverRefused(
                    f"{HOST_COMMAND} claims that a matrix of {rows}x{columns} {form} has {answer.size:,} bytes",
                    call=HOST_COMMAND,
                    result=answer.result,
                )
            known = self._sizes[rows, columns, form] = answer.size
        return known

    def host(self, info: ConversionInfo) -> ConversionAnswer:
        """Call the host command.

        Raises:
            DeviceFailure: the command returns an error.
        """
        source, destination = _aligned(info.source), _aligned(info.destination)
        call = packed([_conversion(info, _address_of(info.source, source), _address_of(info.destination, destination))], host=True)
        result = check(HOST_COMMAND, self._convert(call), SUCCESS, INCOMPLETE)
        return ConversionAnswer(result, int(call.sizes[0]), source, destination)

    def _convert(self, call: Packed) -> int:
        ffi = supplement()
        command = ffi.cast("ConvertMatrix", address(self._instance.address(HOST_COMMAND)))
        return int(command(ffi.cast("void*", address(self._device.handle)), call.infos))

    def device(self, infos: Sequence[ConversionInfo], arena: Arena, commands: Commands) -> list[ConversionAnswer]:
        """Call the device command once, in a separate command buffer.

        Raises:
            DeviceFailure: a call fails, or the command writes outside of all regions.
        """
        regions = [region for info in infos for region in (info.source, info.destination) if region is not None]
        assert len(regions) == 2 * len(infos), "the device command has no null pointers"
        image, starts = arranged(regions)
        memory = arena.reserve(image.size)
        mapped = memory.place(image[None])
        if not arena.address:
            raise DriverRefused("the device has no buffer addresses")
        places = iter(starts)
        conversions = [_conversion(info, arena.address + next(places), arena.address + next(places)) for info in infos]
        commands.convert(self.recorder(conversions))
        after = mapped[0].copy()
        around = memory.around()
        if around.before is not None or around.after is not None:
            raise DriverRefused(f"{DEVICE_COMMAND} wrote outside of the memory of sources and destinations", call=DEVICE_COMMAND)
        memories = iter(
            after[start - region.start : start - region.start + len(region.memory)] for start, region in zip(starts, regions, strict=True)
        )
        return [ConversionAnswer(SUCCESS, one.destination_size, next(memories), next(memories)) for one in conversions]

    def recorder(self, conversions: Sequence[Conversion]) -> Record:
        """Return a function that records conversions between device addresses as one command."""
        call = packed(conversions, host=False)

        def record(command_buffer: CData) -> None:
            ffi = supplement()
            command = ffi.cast("RecordConversions", address(self._instance.address(DEVICE_COMMAND)))
            command(ffi.cast("void*", address(command_buffer)), call.count, call.infos)

        return record


def arranged(regions: Sequence[Region]) -> tuple[np.ndarray, list[int]]:
    """Return one range of memory with all regions, each at a multiple of ALIGNMENT, and the offset of each matrix in it."""
    parts: list[np.ndarray] = []
    starts: list[int] = []
    at = 0
    for region in regions:
        starts.append(at + region.start)
        room = -(-len(region.memory) // ALIGNMENT) * ALIGNMENT
        parts.append(np.concatenate((region.memory, np.zeros(room - len(region.memory), np.uint8))))
        at += room
    return np.concatenate(parts), starts


def _conversion(info: ConversionInfo, source: int, destination: int) -> Conversion:
    source_size = 0 if info.source is None else info.source.size
    destination_size = 0 if info.destination is None else info.destination.size
    return Conversion(info.rows, info.columns, info.from_, info.to, source, source_size, destination, destination_size)


def _aligned(region: Region | None) -> Any:
    """Return a copy of a region's memory at a multiple of ALIGNMENT; None without a region."""
    if region is None:
        return None
    room = np.empty(len(region.memory) + ALIGNMENT, np.uint8)
    first = -room.ctypes.data % ALIGNMENT
    memory = room[first : first + len(region.memory)]
    memory[:] = region.memory
    return memory


def _address_of(region: Region | None, memory: np.ndarray | None) -> int:
    return 0 if region is None or memory is None else int(memory.ctypes.data) + region.start
