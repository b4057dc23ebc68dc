"""The handling of what a driver tells of compiled code; no Vulkan loader is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import cffi
import pytest

from cts.devices.device import DeviceLost, DriverRefused
from cts.devices.vulkan import api, lists, statistics, structures
from cts.devices.vulkan.statistics import MOST_BYTES, PipelineExecutables

FFI = cffi.FFI()
FFI.cdef(
    """
    typedef enum { VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR = 1, VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR = 3,
        VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR = 2, VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR = 4,
        VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR = 5 } VkStructureType;
    typedef struct { VkStructureType sType; void* pNext; void* pipeline; } VkPipelineInfoKHR;
    typedef struct { VkStructureType sType; void* pNext; void* pipeline; uint32_t executableIndex; } VkPipelineExecutableInfoKHR;
    typedef struct { VkStructureType sType; void* pNext; uint32_t stages; char name[256]; char description[256];
        uint32_t subgroupSize; } VkPipelineExecutablePropertiesKHR;
    typedef union { uint32_t b32; int64_t i64; uint64_t u64; double f64; } VkPipelineExecutableStatisticValueKHR;
    typedef struct { VkStructureType sType; void* pNext; char name[256]; char description[256]; uint32_t format;
        VkPipelineExecutableStatisticValueKHR value; } VkPipelineExecutableStatisticKHR;
    typedef struct { VkStructureType sType; void* pNext; char name[256]; char description[256]; uint32_t isText; size_t dataSize;
        void* pData; } VkPipelineExecutableInternalRepresentationKHR;
    """
)
BOOL, INT, UINT, FLOAT = range(4)
MEMBERS = ("b32", "i64", "u64", "f64")
PIPELINE = FFI.cast("void*", 7)

Fill = Callable[[Any], None]


@pytest.fixture(autouse=True)
def _package(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    structures._types.cache_clear()
    for module in (api, lists, statistics, structures):
        monkeypatch.setattr(module, "load", lambda: SimpleNamespace(ffi=FFI))
    monkeypatch.setattr(api, "_result_names", lambda: {})
    yield
    structures._types.cache_clear()


def answer(fills: Sequence[Fill]) -> Callable[..., int]:
    """Return a command that writes entries."""

    def command(_device: Any, _info: Any, count: Any, array: Any) -> int:
        if array:
            for entry, fill in zip(array[0 : len(fills)], fills, strict=True):
                assert entry.sType in (2, 4, 5)
                assert not entry.pNext
                fill(entry)
        count[0] = len(fills)
        return api.SUCCESS

    return command


def named(name: bytes) -> Fill:
    return lambda entry: setattr(entry, "name", name)


def statistic(name: bytes, format_: int, value: Any) -> Fill:
    def fill(entry: Any) -> None:
        entry.name, entry.format = name, format_
        setattr(entry.value, MEMBERS[format_] if format_ < len(MEMBERS) else "u64", value)

    return fill


def listing(name: bytes, text: bytes, is_text: bool = True, size: int | None = None) -> Fill:
    def fill(entry: Any) -> None:
        entry.name, entry.isText = name, is_text
        entry.dataSize = len(text) if size is None else size
        if entry.pData:
            FFI.memmove(entry.pData, text, len(text))

    return fill


def driver(executables: Sequence[Fill], *, values: Sequence[Fill] = (), texts: Sequence[Fill] = (), **changes: Any) -> PipelineExecutables:
    commands = {
        "vkGetPipelineExecutablePropertiesKHR": answer(executables),
        "vkGetPipelineExecutableStatisticsKHR": answer(values),
        "vkGetPipelineExecutableInternalRepresentationsKHR": answer(texts),
    } | changes
    return PipelineExecutables(SimpleNamespace(function=commands.__getitem__), FFI.NULL)  # type: ignore[arg-type]


def test_a_value_has_the_type_that_the_driver_gives_it() -> None:
    values = [statistic(b"spills", BOOL, 1), statistic(b"delta", INT, -3), statistic(b"size", UINT, 660), statistic(b"load", FLOAT, 0.5)]
    found = driver([named(b"compute")], values=values).statistics(PIPELINE)
    assert found == {"compute": {"spills": True, "delta": -3, "size": 660, "load": 0.5}}
    assert [type(value) for value in found["compute"].values()] == [bool, int, int, float]


def test_a_value_that_is_no_count_is_left_out() -> None:
    odd = [statistic(b"hash", UINT, 1 << 60), statistic(b"nan", FLOAT, float("nan")), statistic(b"?", 9, 1), statistic(b"size", UINT, 1)]
    assert driver([named(b"compute")], values=odd).statistics(PIPELINE) == {"compute": {"size": 1}}


def test_equal_names_are_told_apart_and_no_name_controls_a_terminal() -> None:
    values = [statistic(b"size\x1b", UINT, 1), statistic(b"size\x1b", UINT, 2)]
    found = driver([named(b"SIMD16"), named(b"SIMD16")], values=values).statistics(PIPELINE)
    assert found == {name: {"size\\x1b": 1, "size\\x1b 2": 2} for name in ("SIMD16", "SIMD16 2")}


def test_a_driver_that_refuses_has_no_statistics_and_a_lost_device_is_lost() -> None:
    call = "vkGetPipelineExecutableStatisticsKHR"
    assert driver([named(b"compute")], **{call: lambda *_: -13}).statistics(PIPELINE) == {}
    with pytest.raises(DeviceLost):
        driver([named(b"compute")], **{call: lambda *_: -4}).statistics(PIPELINE)


def test_listings_are_the_texts_of_each_executable() -> None:
    texts = [listing(b"NIR", b"a\x07\nb\0"), listing(b"binary", b"\1\2", is_text=False), listing(b"Assembly", b"s_endpgm")]
    found = driver([named(b"compute")], texts=texts).listings(PIPELINE)
    assert found == {"compute": {"NIR": "a\\x07\nb", "Assembly": "s_endpgm"}}


def test_a_listing_that_cannot_be_is_refused() -> None:
    with pytest.raises(DriverRefused):
        driver([named(b"compute")], texts=[listing(b"NIR", b"", size=MOST_BYTES + 1)]).listings(PIPELINE)
