"""What the driver tells of the code of a pipeline (VK_KHR_pipeline_executable_properties): statistics, and listings of the code itself.

A pipeline consists of executables: one for each stage, or for each subgroup size that the driver has compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from cts.devices.device import DriverRefused, Listings
from cts.devices.vulkan.api import INCOMPLETE, CData, check, load, text
from cts.devices.vulkan.instance import Instance
from cts.devices.vulkan.lists import told
from cts.devices.vulkan.structures import structure, structure_type
from cts.printable import printable, printable_line
from cts.verdict.sizes import MOST_COUNT, Statistic, Statistics

CAPTURE_STATISTICS = 0x40
"""VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR."""

CAPTURE_LISTINGS = 0x80
"""VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR."""

MOST_EXECUTABLES = 16
MOST_STATISTICS = 100
"""The most statistics of an executable. No driver has half of that."""

MOST_BYTES = 1 << 26
"""The most bytes of a listing."""

_T = TypeVar("_T")


class PipelineExecutables:
    """Asks about the executables of pipelines.

    Args:
        instance: has the functions of the extension.
        device: VkDevice, with the feature pipelineExecutableInfo.
    """

    def __init__(self, instance: Instance, device: CData) -> None:
        self._ffi = load().ffi
        self._device = device
        self._function = instance.function

    def statistics(self, pipeline: CData) -> Statistics:
        """Return the statistics of a pipeline that was created with CAPTURE_STATISTICS, by executable; none if the driver refuses.

        Raises:
            DeviceLost, OutOfMemory: a call failed.
        """
        try:
            return _by_name((name, self._statistics(info)) for name, info in self._executables(pipeline))
        except DriverRefused:
            # Cases are about results; statistics are only an addition.
            return {}

    def listings(self, pipeline: CData) -> Listings:
        """Return the texts of a pipeline that was created with CAPTURE_LISTINGS, by executable and by the driver's name of the text.

        Raises:
            DeviceFailure: a call failed.
        """
        return _by_name((name, dict(self._texts(info))) for name, info in self._executables(pipeline))

    def _executables(self, pipeline: CData) -> Iterator[tuple[str, CData]]:
        """Yield the name of each executable, and its VkPipelineExecutableInfoKHR."""
        of = structure("VkPipelineInfoKHR", pipeline=pipeline)
        found = self._listed("vkGetPipelineExecutablePropertiesKHR", "VkPipelineExecutablePropertiesKHR", of)
        for index, properties in enumerate(found[:MOST_EXECUTABLES]):
            yield _name(properties), structure("VkPipelineExecutableInfoKHR", pipeline=pipeline, executableIndex=index)

    def _listed(self, call: str, type_: str, of: CData) -> list[CData]:
        function, number = self._function(call), structure_type(type_)

        def prepare(entry: CData) -> None:
            entry.sType, entry.pNext = number, self._ffi.NULL
            if hasattr(entry, "pData"):
                entry.dataSize, entry.pData = 0, self._ffi.NULL

        return told(call, lambda count, array: int(function(self._device, of, count, array)), self._ffi, type_, prepare)

    def _statistics(self, info: CData) -> dict[str, Statistic]:
        found = self._listed("vkGetPipelineExecutableStatisticsKHR", "VkPipelineExecutableStatisticKHR", info)
        values = ((_name(one), _value(one)) for one in found[:MOST_STATISTICS])
        return _by_name((name, value) for name, value in values if value is not None)

    def _texts(self, info: CData) -> Iterator[tuple[str, str]]:
        call = "vkGetPipelineExecutableInternalRepresentationsKHR"
        type_ = "VkPipelineExecutableInternalRepresentationKHR"
        sizes = [one.dataSize for one in self._listed(call, type_, info)]
        if any(size > MOST_BYTES for size in sizes):
            raise DriverRefused(f"{call} claims to have {max(sizes):,} bytes; the suite accepts at most {MOST_BYTES:,}", call=call)
        room = [self._ffi.new("char[]", size) for size in sizes]
        count, array = self._ffi.new("uint32_t*", len(sizes)), self._ffi.new(f"{type_}[]", max(1, len(sizes)))
        for entry, size, data in zip(array, sizes, room, strict=False):
            entry.sType, entry.dataSize, entry.pData = structure_type(type_), size, data
        check(call, self._function(call)(self._device, info, count, array), INCOMPLETE)
        for entry, size, data in zip(array[0 : min(count[0], len(sizes))], sizes, room, strict=False):
            if entry.isText:
                written = bytes(self._ffi.buffer(data, min(entry.dataSize, size)))
                yield _name(entry), printable(written.partition(b"\0")[0].decode(errors="backslashreplace"))


def _name(entry: Any) -> str:
    return printable_line(text(entry.name))


def _value(statistic: CData) -> Statistic | None:
    """Return the value; None if it has an unknown format, is no number, or is too large for a count, as some hashes are."""
    read: dict[int, Callable[[Any], Statistic]] = {
        0: lambda value: bool(value.b32),
        1: lambda value: int(value.i64),
        2: lambda value: int(value.u64),
        3: lambda value: float(value.f64),
    }
    if statistic.format not in read:
        return None
    value = read[statistic.format](statistic.value)
    return value if math.isfinite(value) and abs(value) <= MOST_COUNT else None


def _by_name(entries: Iterator[tuple[str, _T]]) -> dict[str, _T]:
    """Return entries by name. A driver may give two the same name: the second gets a number."""
    found: dict[str, _T] = {}
    for name, entry in entries:
        number = 1
        unique = name
        while unique in found:
            number += 1
            unique = f"{name} {number}"
        found[unique] = entry
    return found
