"""The handling of results of Vulkan's calls; no Vulkan loader is needed."""

from __future__ import annotations

from types import SimpleNamespace

import cffi
import pytest

from cts.devices.device import DeviceFailure, DeviceLost, DriverRefused, OutOfMemory
from cts.devices.vulkan import api, buffers, lists, memory

FFI = cffi.FFI()
FFI.cdef(
    """typedef enum { VK_SUCCESS = 0, VK_NOT_READY = 1, VK_TIMEOUT = 2, VK_INCOMPLETE = 5, VK_ERROR_OUT_OF_HOST_MEMORY = -1,
    VK_ERROR_OUT_OF_DEVICE_MEMORY = -2, VK_ERROR_DEVICE_LOST = -4, VK_ERROR_UNKNOWN = -13,
    VK_PIPELINE_COMPILE_REQUIRED = 1000297000 } VkResult;
    typedef struct { uint32_t value; char name[8]; } Entry;"""
)


@pytest.fixture(autouse=True)
def _package(monkeypatch):
    api._result_names.cache_clear()
    for module in (api, lists):
        monkeypatch.setattr(module, "load", lambda: SimpleNamespace(ffi=FFI))
    yield
    api._result_names.cache_clear()


@pytest.mark.parametrize(
    ("result", "kind", "spent"),
    [
        (-4, DeviceLost, True),
        (-1, OutOfMemory, True),
        (-2, OutOfMemory, True),
        (-13, DriverRefused, False),
        (1, DriverRefused, False),
        (5, DriverRefused, False),
        (1000297000, DriverRefused, False),
        (77, DriverRefused, False),
    ],
)
def test_every_result_that_a_call_may_not_return_is_a_failure(result, kind, spent):
    with pytest.raises(DeviceFailure) as failure:
        api.check("vkCall", result)
    assert (type(failure.value), failure.value.call, failure.value.result, failure.value.spent) == (kind, "vkCall", result, spent)


def test_results_that_are_permitted_come_back():
    assert api.check("vkCall", 0) == 0
    assert api.check("vkCall", 2, api.TIMEOUT) == 2


def test_a_refusal_may_spend_the_device():
    with pytest.raises(DriverRefused) as failure:
        api.check("vkQueueSubmit", -13, spent=True)
    assert failure.value.spent


def test_a_null_handle_is_not_a_success():
    handle = FFI.new("void**")
    with pytest.raises(DriverRefused) as failure:
        api.made("vkMake", 0, handle)
    assert (failure.value.call, failure.value.result) == ("vkMake", 0)
    handle[0] = FFI.cast("void*", 8)
    assert api.made("vkMake", 0, handle) == handle[0]


def test_names_that_are_not_utf_8_are_shown_by_their_bytes():
    assert api.text(FFI.new("char[8]", b"a\xff\xc3\x1b")) == "a\\xff\\xc3\x1b"


def test_a_name_without_an_end_ends_with_its_array():
    entry = FFI.new("Entry*", {"name": b"12345678"})
    assert api.text(entry.name) == "12345678"


def _told(driver):
    return lists.told("vkList", driver, FFI, "Entry")


@pytest.mark.parametrize("count", [lists.MOST_ENTRIES + 1, 2**32 - 1])
def test_a_count_that_cannot_be_true_takes_no_memory(count):
    def driver(told, entries):
        told[0] = count
        return 0

    with pytest.raises(DriverRefused) as failure:
        _told(driver)
    assert (failure.value.call, failure.value.result) == ("vkList", None)


def test_a_list_that_is_never_complete_is_given_up():
    def driver(told, entries):
        told[0] = 1
        return 5 if entries else 0

    with pytest.raises(DriverRefused) as failure:
        _told(driver)
    assert (failure.value.call, failure.value.result) == ("vkList", api.INCOMPLETE)


def test_a_list_that_becomes_shorter_has_the_entries_that_were_written():
    def driver(told, entries):
        if entries:
            entries[0].value = 3
        told[0] = 1 if entries else 2
        return 0

    assert [entry.value for entry in _told(driver)] == [3]


def test_more_entries_than_there_was_room_for_are_not_read():
    def driver(told, entries):
        told[0] = 9 if entries else 2
        return 0

    with pytest.raises(DriverRefused) as failure:
        _told(driver)
    assert (failure.value.call, failure.value.result) == ("vkList", api.SUCCESS)


def test_entries_that_were_not_written_are_no_entries():
    def driver(told, entries):
        if entries:
            entries[0].value = 3
        told[0] = 2
        return 0

    with pytest.raises(DriverRefused) as failure:
        _told(driver)
    assert (failure.value.call, failure.value.result) == ("vkList", api.SUCCESS)


def test_entries_outlive_the_list():
    """cffi frees an array while its structures are still held."""

    def driver(told, entries):
        for i in range(told[0] if entries else 0):
            entries[i].value = i + 1
        told[0] = 50
        return 0

    found = _told(driver)
    later = [FFI.new("Entry[]", 50) for _ in range(100)]
    assert [entry.value for entry in found] == list(range(1, 51))
    assert later


def test_a_driver_without_memory_for_the_host_is_not_opened(monkeypatch):
    """Otherwise every case would be blamed for it."""
    package = SimpleNamespace(ffi=FFI, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT=2, VK_MEMORY_PROPERTY_HOST_COHERENT_BIT=4)
    for module in (buffers, memory):
        monkeypatch.setattr(module, "load", lambda: package)
    monkeypatch.setattr(memory, "memory_types", lambda _: (buffers.MemoryType(2, 0), buffers.MemoryType(4, 0)))
    with pytest.raises(DriverRefused) as failure:
        memory.Arena(None, None, addressable=False)
    assert failure.value.call == "vkGetPhysicalDeviceMemoryProperties"
