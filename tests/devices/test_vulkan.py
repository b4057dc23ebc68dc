"""What needs a Vulkan driver with cooperative matrices; skipped where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from cts.devices.choose import DeviceListing, choose, list_vulkan
from cts.devices.device import DeviceError, DeviceTimeout, DriverRefused, ValidationMessage
from cts.devices.isolation import IsolatedDevice
from cts.devices.vulkan.device import VulkanDevice
from cts.devices.vulkan.instance import Instance
from generators.kernel import Dispatch, Kernel
from generators.types import StorageClass

RNG_SEED = 20


@pytest.fixture(scope="module")
def listing() -> DeviceListing:
    listings, reason = list_vulkan()
    able = [listing for listing in listings if listing.description.features.get("cooperativeMatrix")]
    if not able:
        pytest.skip(reason or "no Vulkan device with cooperative matrices")
    return able[0]


@pytest.fixture(scope="module")
def size(listing) -> dict[str, int]:
    """A size that the device has for f16 x f16 + f32."""
    rows = listing.description.rows
    row = next((r for r in rows if (r.a, r.b, r.c, r.result, r.scope, r.flexible) == ("f16", "f16", "f32", "f32", 3, False)), None)
    if row is None:
        pytest.skip("no f16 x f16 + f32 row")
    return {"m": row.m, "n": row.n, "k": row.k}


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


@pytest.fixture
def chosen(request) -> VulkanDevice:
    return request.getfixturevalue(request.param)


def _work(size: dict[str, int], count: int) -> tuple[list[Dispatch], list[np.ndarray]]:
    """Dispatches with data of their own, and what each has to compute."""
    rng = np.random.default_rng(RNG_SEED)
    m, n, k = size["m"], size["n"], size["k"]
    dispatches, results = [], []
    for _ in range(count):
        a = rng.integers(-8, 8, (m, k)).astype(np.float16)
        b = rng.integers(-8, 8, (k, n)).astype(np.float16)
        c = rng.integers(-99, 99, (m, n)).astype(np.float32)
        contents = tuple(matrix.view(np.uint8).ravel() for matrix in (a, b, c, np.full((m, n), 7, np.float32)))
        dispatches.append(Dispatch(b"", contents))
        results.append(a.astype(np.float32) @ b.astype(np.float32) + c)
    return dispatches, results


def _with_room(kernel: Kernel, dispatches: list[Dispatch]) -> list[Dispatch]:
    return [replace(dispatch, push_constants=bytes(kernel.push_constant_bytes)) for dispatch in dispatches]


@pytest.mark.parametrize("chosen", ["device", "validated"], indirect=True)
@pytest.mark.parametrize("storage", [StorageClass.STORAGE_BUFFER, StorageClass.PHYSICAL_STORAGE_BUFFER])
def test_every_dispatch_sees_its_own_contents(chosen, storage, muladd, size):
    kernel = muladd(**size, storage=storage, m_from_constant=True)
    assert chosen.missing(kernel) == ""
    dispatches, results = _work(size, 3)
    outcomes = chosen.run(kernel, _with_room(kernel, dispatches))
    for outcome, result in zip(outcomes, results, strict=True):
        np.testing.assert_array_equal(outcome.outputs["out"].view(np.float32).reshape(result.shape), result)
        assert outcome.stray == ()
    assert set(chosen.last_steps) == {"pipeline", "dispatch"}


def test_each_step_is_announced_before_it_begins_and_when_it_is_over(device, muladd, size, monkeypatch):
    said: list[str] = []
    monkeypatch.setattr(device, "announce", said.append)
    dispatches, _ = _work(size, 1)
    device.run(muladd(**size), dispatches)
    assert said == ["while the pipeline was made", "", "while the shader ran", ""]


def test_more_sets_than_the_pool_has_room_for(device, muladd, size):
    kernel = muladd(**size)
    dispatches, results = _work(size, 100)
    outcomes = device.run(kernel, dispatches)
    assert all((o.outputs["out"].view(np.float32).reshape(r.shape) == r).all() for o, r in zip(outcomes, results, strict=True))


def test_a_write_behind_the_end_of_a_buffer_is_told(device, muladd, size):
    kernel = muladd(**size)
    *inputs, out = kernel.buffers
    small = replace(kernel, buffers=(*inputs, replace(out, bytes=out.bytes - 4)))
    (dispatch,), _ = _work(size, 1)
    cut = replace(dispatch, contents=(*dispatch.contents[:3], dispatch.contents[3][:-4]))
    (stray,) = device.run(small, [cut])[0].stray
    assert (stray.buffer, stray.where, stray.offset, stray.count) == ("out", "after", out.bytes - 4, 4)


def test_a_write_to_a_read_only_buffer_is_told(device, muladd, size):
    kernel = muladd(**size)
    changed = replace(kernel, buffers=(*kernel.buffers[:3], replace(kernel.buffers[3], written=False)))
    (dispatch,), _ = _work(size, 1)
    (stray,) = device.run(changed, [dispatch])[0].stray
    assert (stray.buffer, stray.where) == ("out", "read-only")


def test_the_validation_layer_stops_a_kernel_before_it_runs(validated, muladd, size):
    kernel = muladd(**size)
    unbound = replace(kernel, buffers=kernel.buffers[:3])
    (dispatch,), _ = _work(size, 1)
    with pytest.raises(ValidationMessage, match="VUID-VkComputePipelineCreateInfo-layout"):
        validated.run(unbound, [replace(dispatch, contents=dispatch.contents[:3])])
    assert "dispatch" not in validated.last_steps
    assert validated.run(kernel, [dispatch])[0].stray == ()


def test_a_refusal_of_the_driver_names_call_and_result(device, muladd, size):
    with pytest.raises(DriverRefused, match=r"vk\w+ returned VK_ERROR_OUT_OF_\w+"):
        device._arena.reserve(1 << 48)
    (dispatch,), _ = _work(size, 1)
    assert device.run(muladd(**size), [dispatch])[0].stray == ()


def test_a_dispatch_that_does_not_end_is_a_timeout_and_the_next_one_runs(listing, muladd, size):
    if listing.description.extra["type"] != "cpu":
        pytest.skip("a dispatch that does not end blocks a GPU for others")
    endless = muladd(**size, repeat=True)
    (dispatch,), (result,) = _work(size, 1)
    device = IsolatedDevice(listing.spec, 3.0)
    with pytest.raises(DeviceTimeout, match="run: no answer within 3 s"):
        device.run(endless, [replace(dispatch, push_constants=b"\xff\xff\xff\xff")])
    (outcome,) = device.run(endless, [replace(dispatch, push_constants=b"\1\0\0\0")])
    np.testing.assert_array_equal(outcome.outputs["out"].view(np.float32).reshape(result.shape), result)
    device.close()


def test_the_device_is_chosen_by_uuid_and_an_unknown_one_is_refused(listing):
    assert choose(listing.description.uuid).spec == listing.spec
    with pytest.raises(DeviceError, match=r"no Vulkan device 7{32}; there are: .+"):
        VulkanDevice("7" * 32)


def test_instances_come_and_go(listing):
    for _ in range(3):
        instance = Instance()
        assert instance.physical_devices()
        instance.close()
