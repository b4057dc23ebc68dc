"""Tests that need a Vulkan driver with cooperative matrices; skipped if there is none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from cts.devices import floating_point
from cts.devices.capabilities import STATISTICS_FEATURE
from cts.devices.device import (
    DeviceError,
    DeviceLost,
    DeviceTimeout,
    DriverRefused,
    FloatingPointChanged,
    NoSuchDevice,
    OutOfMemory,
    Step,
    ValidationMessage,
)
from cts.devices.isolation import IsolatedDevice
from cts.devices.listing import DeviceListing
from cts.devices.vulkan.api import load
from cts.devices.vulkan.device import VulkanDevice
from cts.devices.vulkan.instance import Instance
from cts.devices.vulkan.structures import FEATURES, PROPERTIES, structure, structure_type
from cts.judges import choose
from tests.devices.multiplications import size_of, work
from tests.devices.real_device import real_device


@pytest.fixture(scope="module")
def listing() -> DeviceListing:
    return real_device("cooperativeMatrix")


@pytest.fixture(scope="module")
def size(listing) -> dict[str, int]:
    """Return a size of f16 x f16 + f32 that the device supports."""
    return size_of(listing.description)


@pytest.fixture(scope="module")
def device(listing) -> Iterator[VulkanDevice]:
    device = VulkanDevice(listing.spec.name, listing.spec.index)
    yield device
    device.close()


@pytest.fixture(scope="module")
def validated(listing) -> Iterator[VulkanDevice]:
    try:
        device = VulkanDevice(listing.spec.name, listing.spec.index, validation=True)
    except DeviceError as error:
        pytest.skip(str(error))
    yield device
    device.close()


def test_each_step_is_announced_before_it_begins_and_when_it_is_over(device, muladd, size, monkeypatch):
    said: list[Step | None] = []
    monkeypatch.setattr(device, "announce", said.append)
    dispatches, _ = work(size, 1)
    device.run(muladd(**size), dispatches)
    # The dispatch step comes twice: for the memory, and for the submission.
    assert said == [Step.PIPELINE, None, Step.DISPATCH, None, Step.DISPATCH, None]


def test_a_write_after_the_end_of_a_buffer_is_reported(device, muladd, size):
    kernel = muladd(**size)
    *inputs, out = kernel.buffers
    small = replace(kernel, buffers=(*inputs, replace(out, bytes=out.bytes - 4)))
    (dispatch,), _ = work(size, 1)
    cut = replace(dispatch, contents=(*dispatch.contents[:3], dispatch.contents[3][:-4]))
    (stray,) = device.run(small, [cut])[0].stray
    assert (stray.buffer, stray.where, stray.offset, stray.count) == ("out", "after", out.bytes - 4, 4)


def test_a_write_to_a_read_only_buffer_is_reported(device, muladd, size):
    kernel = muladd(**size)
    changed = replace(kernel, buffers=(*kernel.buffers[:3], replace(kernel.buffers[3], written=False)))
    (dispatch,), _ = work(size, 1)
    (stray,) = device.run(changed, [dispatch])[0].stray
    assert (stray.buffer, stray.where) == ("out", "read-only")


def test_the_validation_layer_stops_a_kernel_before_it_runs(validated, muladd, size):
    kernel = muladd(**size)
    unbound = replace(kernel, buffers=kernel.buffers[:3])
    (dispatch,), _ = work(size, 1)
    with pytest.raises(ValidationMessage) as message:
        validated.run(unbound, [replace(dispatch, contents=dispatch.contents[:3])])
    assert "VUID-VkComputePipelineCreateInfo-layout" in str(message.value)
    assert "dispatch" not in validated.last_steps
    assert validated.run(kernel, [dispatch])[0].stray == ()


def test_a_device_without_enough_memory_names_call_and_result(device, muladd, size):
    with pytest.raises(OutOfMemory) as failure:
        device._arena.reserve(1 << 48)
    assert failure.value.call
    assert failure.value.result in (-1, -2)
    (dispatch,), _ = work(size, 1)
    assert device.run(muladd(**size), [dispatch])[0].stray == ()


@pytest.mark.usefixtures("listing")
def test_a_structure_of_the_package_has_its_type():
    vulkan = load()
    assert structure("VkSubmitInfo", commandBufferCount=2).sType == vulkan.VK_STRUCTURE_TYPE_SUBMIT_INFO
    assert structure_type("VkPhysicalDeviceVulkan11Features") == vulkan.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES
    assert structure_type("VkPhysicalDeviceRobustness2FeaturesEXT") == vulkan.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT
    assert all(structure_type(queried.name) for queried in (*FEATURES, *PROPERTIES))


def test_a_device_tells_of_compiled_code_if_its_driver_does_and_it_was_asked(listing, muladd, size, device):
    dispatches, _ = work(size, 1)
    device.run(muladd(**size), dispatches)
    assert (device.last_statistics, device.listings(muladd(**size))) == ({}, {})
    asked = VulkanDevice(listing.spec.name, listing.spec.index, statistics=True)
    asked.run(muladd(**size), dispatches)
    tells = listing.description.features[STATISTICS_FEATURE]
    assert bool(asked.last_statistics) is tells
    assert bool(asked.listings(muladd(**size))) is tells
    asked.close()


@pytest.fixture
def own(listing) -> Iterator[VulkanDevice]:
    """Yield a separate device, which a test may break."""
    device = VulkanDevice(listing.spec.name, listing.spec.index)
    yield device
    device.close()


class Lying:
    """The library, with some calls replaced: they return a test's results, after the real call or instead of it."""

    def __init__(self, lib, made: bool, results: dict[str, int]) -> None:
        self._lib, self._made, self._results = lib, made, results

    def __getattr__(self, name: str):
        call = getattr(self._lib, name)
        if name not in self._results:
            return call

        def lie(*arguments):
            if self._made:
                call(*arguments)
            return self._results[name]

        return lie


def _lie(monkeypatch, device: VulkanDevice, made: bool = True, **results: int) -> None:
    """Make Vulkan calls of the device's parts return other results."""
    vulkan = load()
    package = SimpleNamespace(**{name: value for name, value in vars(vulkan).items() if name.startswith("VK_")})
    package.ffi, package.lib = vulkan.ffi, Lying(vulkan.lib, made, results)
    for part in (device._commands, device._pipelines, device._arena):
        monkeypatch.setattr(part, "_vulkan", package)


@pytest.mark.parametrize("call", ["vkQueueSubmit", "vkWaitForFences", "vkResetFences", "vkBeginCommandBuffer", "vkEndCommandBuffer"])
@pytest.mark.parametrize("result", [-13, 1])
def test_any_other_result_of_submit_wait_or_reset_spends_the_device(call, result, own, muladd, size, monkeypatch):
    (dispatch,), _ = work(size, 1)
    with monkeypatch.context() as lying:
        _lie(lying, own, **{call: result})
        with pytest.raises(DriverRefused) as failure:
            own.run(muladd(**size), [dispatch])
    assert (failure.value.call, failure.value.result) == (call, result)
    assert (failure.value.spent, failure.value.step) == (True, Step.DISPATCH)
    with pytest.raises(DeviceLost):
        own.run(muladd(**size), [dispatch])


def test_a_wait_that_gives_up_says_how_many_seconds_it_had(own, muladd, size, monkeypatch):
    (dispatch,), _ = work(size, 1)
    _lie(monkeypatch, own, vkWaitForFences=2)
    with pytest.raises(DeviceTimeout) as timeout:
        own.run(muladd(**size), [dispatch])
    assert timeout.value.limit == 60


@pytest.mark.parametrize(
    ("call", "result", "kind"),
    [
        ("vkCreateComputePipelines", 1000297000, DriverRefused),
        ("vkCreateComputePipelines", 0, DriverRefused),
        ("vkCreateShaderModule", 5, DriverRefused),
        ("vkCreateShaderModule", -2, OutOfMemory),
        ("vkCreateComputePipelines", -4, DeviceLost),
    ],
)
def test_what_is_not_made_is_never_used(call, result, kind, own, muladd, size, monkeypatch):
    (dispatch,), _ = work(size, 1)
    with monkeypatch.context() as lying:
        _lie(lying, own, made=False, **{call: result})
        with pytest.raises(kind) as failure:
            own.run(muladd(**size), [dispatch])
    assert (failure.value.call, failure.value.result, failure.value.step) == (call, result, Step.PIPELINE)
    assert failure.value.spent == (kind is not DriverRefused)


def test_a_driver_that_changes_the_floating_point_mode_of_this_process_is_reported(own, muladd, size, monkeypatch):
    (dispatch,), _ = work(size, 1)
    monkeypatch.setattr(floating_point, "changed", lambda: "numbers are rounded in another direction")
    with pytest.raises(FloatingPointChanged) as failure:
        own.run(muladd(**size), [dispatch])
    assert failure.value.spent


def test_a_process_that_holds_the_device_for_another_one_may_have_any_mode(listing, muladd, size, monkeypatch):
    (dispatch,), _ = work(size, 1)
    monkeypatch.setattr(floating_point, "changed", lambda: "anything")
    device = VulkanDevice(listing.spec.name, listing.spec.index, fence_seconds=None)
    assert device.run(muladd(**size), [dispatch])[0].stray == ()
    device.close()


def test_a_large_case_leaves_no_large_memory_to_compare(own, muladd, size):
    dispatches, _ = work(size, 1)
    own.run(muladd(**size), dispatches)
    small = own._arena._size
    own._arena.reserve(100 << 20)
    assert own._arena._size > 100 << 20
    own.run(muladd(**size), dispatches)
    assert own._arena._size == small


def test_a_dispatch_that_does_not_end_is_a_timeout_and_the_next_one_runs(listing, muladd, size):
    if listing.description.extra["type"] != "cpu":
        pytest.skip("a dispatch that does not end blocks a GPU for others")
    endless = muladd(**size, repeat=True)
    (dispatch,), (result,) = work(size, 1)
    device = IsolatedDevice(listing.spec, 3.0)
    with pytest.raises(DeviceTimeout) as timeout:
        device.run(endless, [replace(dispatch, push_constants=b"\xff\xff\xff\xff")])
    assert timeout.value.limit == 3
    (outcome,) = device.run(endless, [replace(dispatch, push_constants=b"\1\0\0\0")])
    np.testing.assert_array_equal(outcome.outputs["out"], result)
    device.close()


def test_the_device_is_chosen_by_uuid_and_an_unknown_one_is_refused(listing):
    assert choose(listing.description.uuid).spec == listing.spec
    with pytest.raises(NoSuchDevice):
        VulkanDevice("7" * 32)


def test_instances_come_and_go(listing):
    for _ in range(3):
        instance = Instance()
        assert instance.physical_devices()
        instance.close()
