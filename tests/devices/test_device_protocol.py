"""The protocol that every device obeys, in any process."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from cts.devices.capabilities import STATED_FEATURES
from cts.devices.device import Device, DeviceError, DeviceFailure, Step
from cts.devices.isolation import IsolatedDevice
from cts.devices.spec import DEFAULT_PROFILE, DeviceSpec
from cts.opening import open_device
from generators.kernel import Dispatch, Kernel, Outcome
from generators.types import COMPONENT_TYPES, StorageClass
from tests.devices.multiplications import size_of, work
from tests.devices.real_device import real_device

SECONDS = 60.0
STORAGES = [StorageClass.STORAGE_BUFFER, StorageClass.PHYSICAL_STORAGE_BUFFER]

Open = Callable[[], Device]


def _embedded() -> DeviceSpec:
    return DeviceSpec("embedded", DEFAULT_PROFILE)


def _vulkan() -> DeviceSpec:
    return real_device("cooperativeMatrix").spec


def _validated() -> DeviceSpec:
    """Return a device whose validation layer stops a kernel without spending the device."""
    spec = replace(_vulkan(), validation=True)
    try:
        open_device(spec).close()
    except DeviceError as error:
        pytest.skip(str(error))
    return spec


@pytest.fixture(scope="module", params=[_embedded, _vulkan, _validated], ids=["embedded", "vulkan", "validated"])
def spec(request: pytest.FixtureRequest) -> DeviceSpec:
    return request.param()


@pytest.fixture(scope="module", params=["direct", "isolated"])
def open_one(request: pytest.FixtureRequest, spec: DeviceSpec) -> Open:
    return (lambda: open_device(spec)) if request.param == "direct" else (lambda: IsolatedDevice(spec, SECONDS))


@pytest.fixture(scope="module")
def device(open_one: Open) -> Iterator[Device]:
    device = open_one()
    yield device
    device.close()


@pytest.fixture
def fresh(open_one: Open) -> Iterator[Device]:
    """Yield a device that a test may close."""
    device = open_one()
    yield device
    device.close()


@pytest.fixture(scope="module")
def kernel(device: Device, muladd: Callable[..., Kernel]) -> Kernel:
    return muladd(**size_of(device.description))


@pytest.fixture(scope="module")
def refused(kernel: Kernel, spec: DeviceSpec) -> Kernel:
    """Build a kernel that no device may run: its store has no bound buffer."""
    if spec.kind == "vulkan" and not spec.validation:
        pytest.skip("without the validation layer a driver may do anything with a buffer that is not bound")
    return replace(kernel, buffers=kernel.buffers[:3])


def _refuse(device: Device, refused: Kernel) -> DeviceFailure:
    size = size_of(device.description)
    (dispatch,), _ = work(size, 1)
    with pytest.raises(DeviceFailure) as failure:
        device.run(refused, [replace(dispatch, contents=dispatch.contents[:3])])
    return failure.value


def _outputs(outcomes: list[Outcome]) -> list[bytes]:
    return [outcome.outputs["out"].tobytes() for outcome in outcomes]


def _expected(results: list[np.ndarray]) -> list[bytes]:
    return [result.tobytes() for result in results]


def test_the_description_is_whole(device):
    description = device.description
    assert all((description.name, description.driver, description.kind, description.api_version))
    assert description.features.keys() >= STATED_FEATURES
    assert all(type(supported) is bool for supported in description.features.values())
    assert min(description.subgroup_size, description.max_workgroup_invocations, description.max_shared_memory) > 0


def test_every_row_of_the_description_can_be_asked_for(device):
    rows = device.description.rows
    assert rows
    for row in rows:
        assert {row.a, row.b, row.c, row.result} <= COMPONENT_TYPES.keys()
        assert min(row.m, row.n, row.k) > 0
        assert row.flexible or not row.invocations


def test_the_description_stays_the_same(device, kernel):
    before = pickle.dumps(device.description)
    dispatches, _ = work(size_of(device.description), 1)
    device.run(kernel, dispatches)
    assert pickle.loads(before) == device.description


def test_nothing_is_missing_for_a_row_of_the_description(device, kernel):
    assert device.missing(kernel) is None


def test_a_limit_that_a_kernel_exceeds_is_named_as_missing(device, muladd):
    description = device.description
    too_many = description.max_workgroup_invocations // description.subgroup_size + 1
    lack = device.missing(muladd(**size_of(description), subgroups=too_many))
    assert lack.code == "missing.limit.maxComputeWorkGroupInvocations"


@pytest.mark.parametrize("storage", STORAGES)
def test_every_dispatch_sees_only_its_own_contents(device, muladd, storage):
    size = size_of(device.description)
    kernel = muladd(**size, storage=storage, m_from_constant=True)
    assert device.missing(kernel) is None
    dispatches, results = work(size, 3, kernel.push_constant_bytes)
    assert _outputs(device.run(kernel, dispatches)) == _expected(results)


def test_outcomes_come_in_the_order_of_the_dispatches(device, kernel):
    dispatches, results = work(size_of(device.description), 100)
    assert _outputs(device.run(kernel, dispatches)) == _expected(results)
    assert _outputs(device.run(kernel, dispatches[::-1])) == _expected(results[::-1])


def test_no_dispatches_have_no_outcomes(device, kernel):
    assert device.run(kernel, []) == []


def test_outputs_are_the_whole_contents_of_the_written_buffers_and_of_no_others(device, kernel):
    dispatches, _ = work(size_of(device.description), 2)
    for outcome in device.run(kernel, dispatches):
        assert outcome.outputs.keys() == {slot.name for slot in kernel.buffers if slot.written} == {"out"}
        assert all(outcome.outputs[slot.name].shape == (slot.bytes,) for slot in kernel.buffers if slot.written)
        assert all(output.dtype == np.uint8 for output in outcome.outputs.values())
        assert outcome.stray == ()


def test_a_run_leaves_its_contents_alone(device, kernel):
    (dispatch,), results = work(size_of(device.description), 1)
    before = [array.copy() for array in dispatch.contents]
    for array in dispatch.contents:
        array.setflags(write=False)
    assert _outputs(device.run(kernel, [dispatch])) == _expected(results)
    assert all(np.array_equal(array, old) for array, old in zip(dispatch.contents, before, strict=True))


def test_a_later_run_leaves_earlier_outcomes_alone(device, kernel):
    (first, second), (result, _) = work(size_of(device.description), 2)
    outcomes = device.run(kernel, [first])
    device.run(kernel, [second])
    assert _outputs(outcomes) == _expected([result])


def test_kernels_may_take_turns(device, muladd):
    size = size_of(device.description)
    for storage in [*STORAGES, *STORAGES]:
        kernel = muladd(**size, storage=storage)
        dispatches, results = work(size, 1, kernel.push_constant_bytes)
        assert _outputs(device.run(kernel, dispatches)) == _expected(results)


def test_a_failure_says_in_which_step(device, refused):
    assert _refuse(device, refused).step in (Step.PIPELINE, Step.DISPATCH)


def test_a_device_that_is_not_spent_runs_the_next_kernel(device, kernel, refused):
    dispatches, results = work(size_of(device.description), 1)
    for _ in range(2):
        assert not _refuse(device, refused).spent
        assert _outputs(device.run(kernel, dispatches)) == _expected(results)


def test_a_run_says_how_long_each_of_its_steps_took(device, kernel):
    dispatches, _ = work(size_of(device.description), 1)
    for _ in range(2):
        device.run(kernel, dispatches)
    assert device.last_steps.keys() == {Step.PIPELINE, Step.DISPATCH}
    assert all(seconds >= 0 for seconds in device.last_steps.values())


def test_a_device_that_has_run_nothing_has_no_steps(fresh):
    assert dict(fresh.last_steps) == {}


def test_a_failure_leaves_no_steps_of_an_earlier_run(device, kernel, refused):
    dispatches, _ = work(size_of(device.description), 1)
    device.run(kernel, dispatches)
    step = _refuse(device, refused).step
    assert step is Step.DISPATCH or Step.DISPATCH not in device.last_steps


def test_a_device_is_closed_without_findings_as_often_as_one_likes(fresh, kernel):
    dispatches, _ = work(size_of(fresh.description), 1)
    fresh.run(kernel, dispatches)
    assert [fresh.close(), fresh.close()] == [(), ()]


def test_a_device_that_was_never_used_is_closed(fresh):
    assert fresh.close() == ()


def test_the_same_kernel_runs_with_the_contents_of_one_buffer_alone_changed(device, kernel):
    (first, other), (result, _) = work(size_of(device.description), 2)
    changed = Dispatch(first.push_constants, (*first.contents[:2], other.contents[2], first.contents[3]))
    difference = other.contents[2].view(np.float32) - first.contents[2].view(np.float32)
    (outcome,) = device.run(kernel, [changed])
    np.testing.assert_array_equal(outcome.outputs["out"].view(np.float32), result.view(np.float32) + difference)
