"""The handling of answers to a property query; no Vulkan loader is needed."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import cffi
import pytest

from cts.devices.device import DeviceLost, NoSuchDevice, OutOfMemory
from cts.devices.property_commands import AskedFor, PropertyCall
from cts.devices.vulkan import api, device, property_commands, query, structures
from cts.devices.vulkan.supplement import supplement

COMMAND = "vkGetPhysicalDeviceCooperativeVectorPropertiesNV"
TYPE = "VkCooperativeVectorPropertiesNV"
OUT_OF_HOST_MEMORY = -1


@pytest.fixture
def asked(monkeypatch):
    """Return the query for the entries of a driver that is simulated by a function of (count, entries)."""
    ffi = supplement()
    vulkan = SimpleNamespace(ffi=ffi, VK_ERROR_OUT_OF_HOST_MEMORY=OUT_OF_HOST_MEMORY)
    for module in (api, query):
        monkeypatch.setattr(module, "load", lambda: vulkan)
    monkeypatch.setattr(api, "_result_names", lambda: {OUT_OF_HOST_MEMORY: "VK_ERROR_OUT_OF_HOST_MEMORY"})

    def ask(driver: Callable):
        called = ffi.callback("QueryRows", lambda _, count, entries: driver(count, ffi.cast(f"{TYPE}*", entries)))
        instance = SimpleNamespace(address=lambda name: called)
        return query._ask(instance, ffi.NULL, COMMAND, TYPE)

    return ask


def test_the_entries_of_a_driver(asked) -> None:
    def driver(count, entries) -> int:
        if entries:
            entries[0].inputType, entries[1].inputType = 4, 7
        count[0] = 2
        return api.SUCCESS

    assert [entry.inputType for entry in asked(driver)] == [4, 7]


@pytest.mark.parametrize("fails_with_entries", [False, True])
def test_a_query_that_fails_is_not_a_device_without_rows(asked, fails_with_entries) -> None:
    def driver(count, entries) -> int:
        count[0] = 0 if entries else 1
        return OUT_OF_HOST_MEMORY if bool(entries) is fails_with_entries else api.SUCCESS

    with pytest.raises(OutOfMemory) as failure:
        asked(driver)
    assert (failure.value.call, failure.value.result) == (COMMAND, OUT_OF_HOST_MEMORY)


def test_rows_that_become_more_are_asked_for_again(asked) -> None:
    told = iter([1, 2])

    def driver(count, entries) -> int:
        if not entries:
            count[0] = next(told)
            return api.SUCCESS
        for i in range(count[0]):
            entries[i].inputType = i
        return api.INCOMPLETE if count[0] < 2 else api.SUCCESS

    assert [entry.inputType for entry in asked(driver)] == [0, 1]


STRUCTURES = """
typedef struct { uint32_t shaderInt16; uint32_t shaderInt64; } VkPhysicalDeviceFeatures;
typedef struct { uint32_t maxComputeWorkGroupInvocations; uint32_t more[63]; } VkPhysicalDeviceLimits;
typedef struct { uint32_t apiVersion; VkPhysicalDeviceLimits limits; } VkPhysicalDeviceProperties;
typedef struct { int sType; void* pNext; VkPhysicalDeviceFeatures features; } VkPhysicalDeviceFeatures2;
typedef struct { int sType; void* pNext; VkPhysicalDeviceProperties properties; } VkPhysicalDeviceProperties2;
"""


def test_features_and_limits_outlive_the_query(monkeypatch) -> None:
    """cffi frees a structure while parts of it are still held."""
    ffi = cffi.FFI()
    ffi.cdef(STRUCTURES)

    def features(_, structure) -> None:
        structure.features.shaderInt64 = 1

    def properties(_, structure) -> None:
        structure.properties.limits.maxComputeWorkGroupInvocations = 1024

    lib = SimpleNamespace(vkGetPhysicalDeviceFeatures2=features, vkGetPhysicalDeviceProperties2=properties)
    for module in (query, structures):
        monkeypatch.setattr(module, "load", lambda: SimpleNamespace(ffi=ffi, lib=lib))
    monkeypatch.setattr(structures, "structure_type", lambda name: 0)
    chain = SimpleNamespace(head=ffi.NULL)
    core, limits = query._filled(ffi.NULL, (1, 3), chain, chain)
    later = [ffi.new(f"Vk{name}*") for _ in range(1000) for name in ("PhysicalDeviceFeatures2", "PhysicalDeviceProperties2")]
    assert (core.shaderInt16, core.shaderInt64, limits.maxComputeWorkGroupInvocations) == (0, 1, 1024)
    assert later


@pytest.fixture
def machine(monkeypatch):
    """Return two devices and a record of the requests. The driver of the first device crashes on any request."""
    asked: list[int] = []

    def answer(instance, handle, index):
        asked.append(index)
        if handle == "broken":
            raise DeviceLost("the driver cannot take it")
        return SimpleNamespace(index=index, description=SimpleNamespace(uuid="11", name="sound"))

    monkeypatch.setattr(query, "query", answer)
    monkeypatch.setattr(device, "query", answer)
    return SimpleNamespace(asked=asked, physical_devices=lambda: ["broken", "sound"])


@pytest.mark.parametrize("uuid", ["", "11"])
def test_a_broken_driver_does_not_hide_another_device_that_is_opened(machine, uuid) -> None:
    assert device._find(machine, uuid, 1).description.name == "sound"
    assert machine.asked == [1]


def test_a_device_that_shares_its_uuid_is_found_by_its_index_only(machine) -> None:
    assert device._find(machine, "11", 1, exactly=True).index == 1
    with pytest.raises(NoSuchDevice):
        device._find(machine, "11", 2, exactly=True)


def test_a_broken_driver_does_not_hide_another_device_that_is_described(machine) -> None:
    assert query.describe(machine, 1).name == "sound"
    with pytest.raises(DeviceLost):
        query.describe(machine, 0)
    with pytest.raises(NoSuchDevice):
        query.describe(machine, 2)


def test_a_command_that_takes_more_than_a_count_gets_it(monkeypatch) -> None:
    ffi, name = supplement(), "vkGetPhysicalDeviceCooperativeMatrixProperties2EXT"
    monkeypatch.setattr(api, "load", lambda: SimpleNamespace(ffi=ffi))
    seen = []

    def driver(_, info, count, entries) -> int:
        seen.append((info.sType, info.pNext == ffi.NULL, info.scope, info.invocations, info.subgroupSize, info.flags, entries == ffi.NULL))
        count[0] = 3
        return api.SUCCESS

    called = ffi.callback("QueryRowsOf", driver)
    instance = SimpleNamespace(address=lambda _: called)
    for capacity, slots in ((None, 0), (3, 6)):
        call = PropertyCall(name, capacity, slots, AskedFor(3, 0, 64, 1))
        answer = property_commands.ask(instance, ffi.NULL, call)
        assert (answer.result, answer.count) == (api.SUCCESS, 3)
    assert seen == [(1000659001, True, 3, 0, 64, 1, True), (1000659001, True, 3, 0, 64, 1, False)]
