"""Conversions of matrices by Vulkan's commands, on a driver that is simulated in this process; no Vulkan loader is needed."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cts.devices.device import CallFailed, DriverRefused
from cts.devices.layout_conversion import ConversionCall, ConversionInfo, Region
from cts.devices.requirements import missing
from cts.devices.vulkan import api
from cts.devices.vulkan.api import INCOMPLETE, SUCCESS
from cts.devices.vulkan.guarded import ALIGNMENT, fill, judge, lay_out
from cts.devices.vulkan.matrix_conversion import Conversion, MatrixConversions, arranged, packed
from cts.devices.vulkan.opaque import OpaqueBuffers
from cts.devices.vulkan.poisoned import MARGIN, PoisonedMemory
from cts.devices.vulkan.supplement import STRUCTURE_TYPES, supplement
from cts.embedded.device import EmbeddedDevice
from cts.embedded.memory.matrix_layouts import MatrixLayouts
from cts.embedded.profile import load_profile
from cts.kinds.conversion import judge as judge_case
from cts.kinds.kind import Stopwatch
from cts.verdict.effort import Effort
from cts.verdict.verdict import Verdict
from generators.casebook import expand
from generators.kernel import BufferSlot, Dispatch, Kernel, OpaqueSlot
from generators.layout_conversion import MatrixForm
from generators.types import COMPONENT_TYPES, ConversionCommand, VectorMatrixLayout
from tests.suite import casebook

STRUCTURE = "VkConvertCooperativeVectorMatrixInfoNV"
HOST, DEVICE = "vkConvertCooperativeVectorMatrixNV", "vkCmdConvertCooperativeVectorMatrixNV"
ROW, _, INFERENCING, TRAINING = VectorMatrixLayout
F16, E4M3 = COMPONENT_TYPES["f16"], COMPONENT_TYPES["e4m3"]
COMPONENTS = {component.vk: component for component in COMPONENT_TYPES.values()}


@pytest.fixture(autouse=True)
def no_loader(monkeypatch):
    monkeypatch.setattr(api, "load", lambda: SimpleNamespace(ffi=supplement()))
    monkeypatch.setattr(api, "_result_names", lambda: {-4: "VK_ERROR_DEVICE_LOST"})


def bytes_at(address: int, count: int) -> np.ndarray:
    """Return memory of this process as bytes."""
    return np.frombuffer(supplement().buffer(supplement().cast("void*", address), count), np.uint8)


class Driver:
    """Both commands, executed immediately by the embedded device.

    Attributes:
        calls: the command and count of each call.
        result: a wrong result of the host command, or None for the right one.
    """

    def __init__(self, strict: bool = True) -> None:
        ffi = supplement()
        self.calls: list[tuple[str, int]] = []
        self.result: int | None = None
        self._device = EmbeddedDevice(load_profile("universal"), strict=strict)
        host = ffi.callback("ConvertMatrix", lambda _, info: self._answer("host", info[0:1]))
        device = ffi.callback("RecordConversions", self._record)
        self._commands = {HOST: host, DEVICE: device}
        self.conversions = MatrixConversions(SimpleNamespace(address=self._commands.__getitem__), SimpleNamespace(handle=ffi.NULL))

    def _record(self, _: Any, count: int, infos: Any) -> None:
        self._answer("device", infos[0:count])

    def _answer(self, command: Any, infos: Any) -> int:
        self.calls.append((command, len(infos)))
        if self.result is not None:
            return self.result
        result = SUCCESS
        for info in infos:
            assert info.sType == STRUCTURE_TYPES[STRUCTURE]
            one = self._info(info, command == "host")
            (answer,) = self._device.convert(ConversionCall(command, (one,)))
            result = answer.result
            info.pDstSize[0] = answer.size
            if one.destination is not None:
                assert answer.destination is not None
                one.destination.memory[:] = answer.destination
        return result

    @staticmethod
    def _info(info: Any, host: bool) -> ConversionInfo:
        ffi = supplement()
        sides = (info.srcData, info.srcSize), (info.dstData, info.pDstSize[0])
        regions = []
        for data, size in sides:
            address = int(ffi.cast("uintptr_t", data.hostAddress)) if host else data.deviceAddress
            assert host or address % 64 == 0
            regions.append(Region(bytes_at(address, size), 0, size) if address else None)
        from_ = MatrixForm(COMPONENTS[info.srcComponentType], VectorMatrixLayout(info.srcLayout), info.srcStride)
        to = MatrixForm(COMPONENTS[info.dstComponentType], VectorMatrixLayout(info.dstLayout), info.dstStride)
        return ConversionInfo(info.numRows, info.numColumns, from_, to, *regions)


class Mapped:
    """An arena whose device addresses are addresses in this process."""

    def __init__(self, spoil: bool = False) -> None:
        self._spoil = spoil

    def reserve(self, count: int) -> PoisonedMemory:
        size = -(-(count + 2 * MARGIN) // (1 << 20)) * (1 << 20)
        room = np.zeros(size + ALIGNMENT, np.uint8)
        first = -room.ctypes.data % ALIGNMENT
        self.memory = room[first : first + size]
        self.address = int(self.memory.ctypes.data) + MARGIN
        return PoisonedMemory(self.memory)

    def convert(self, record: Any) -> None:
        record(supplement().NULL)
        if self._spoil:
            self.memory[MARGIN - 1] ^= 1


class Device:
    """Converts as VulkanDevice does."""

    def __init__(self, driver: Driver) -> None:
        self.description = load_profile("universal").description
        self._driver = driver

    def convert(self, call: ConversionCall) -> Any:
        if call.command == "host":
            return [self._driver.conversions.host(info) for info in call.infos]
        arena: Any = Mapped()
        return self._driver.conversions.device(call.infos, arena, arena)


def test_the_structure_is_as_in_vulkan_core_h():
    """Offsets on 64-bit machines, counted by hand: size_t and addresses are multiples of 8."""
    ffi = supplement()
    fields = {name: field.offset for name, field in ffi.typeof(STRUCTURE).fields}
    assert fields == {
        "sType": 0,
        "pNext": 8,
        "srcSize": 16,
        "srcData": 24,
        "pDstSize": 32,
        "dstData": 40,
        "srcComponentType": 48,
        "dstComponentType": 52,
        "numRows": 56,
        "numColumns": 60,
        "srcLayout": 64,
        "srcStride": 72,
        "dstLayout": 80,
        "dstStride": 88,
    }
    assert ffi.sizeof(STRUCTURE) == 96
    assert STRUCTURE_TYPES[STRUCTURE] == 1000491004


def test_what_structures_say():
    row, optimal = MatrixForm(F16, ROW, 48), MatrixForm(E4M3, TRAINING)
    call = packed([Conversion(5, 7, row, optimal, 4096, 240, 8192, 512), Conversion(5, 7, optimal, row, 0, 0, 0, 0)], host=False)
    first, second = call.infos[0], call.infos[1]
    assert (first.sType, int(supplement().cast("uintptr_t", first.pNext))) == (1000491004, 0)
    assert (first.srcSize, first.srcData.deviceAddress, first.pDstSize[0], first.dstData.deviceAddress) == (240, 4096, 512, 8192)
    assert (first.srcComponentType, first.dstComponentType, first.numRows, first.numColumns) == (0, 1000491002, 5, 7)
    assert (first.srcLayout, first.srcStride, first.dstLayout, first.dstStride) == (0, 48, 3, 0)
    assert (second.srcLayout, second.dstStride, second.pDstSize[0]) == (3, 48, 0)
    assert first.pDstSize != second.pDstSize
    host = packed([Conversion(5, 7, row, optimal, 0, 0, 0, 0)], host=True).infos[0]
    assert host.srcData.hostAddress == host.dstData.hostAddress == supplement().NULL


def test_regions_begin_at_aligned_places():
    image, starts = arranged([Region(np.full(300, 1, np.uint8), 64, 8), Region(np.full(10, 2, np.uint8), 0, 8)])
    assert (starts, image.size) == ([64, 512], 768)
    assert image[:300].all()
    assert image[512:522].tolist() == [2] * 10


def test_every_smoke_case_passes_through_the_commands():
    driver = Driver()
    cases = list(expand(casebook().family("vector_layout_conversion"), "smoke"))
    for case in cases:
        assert judge_case(case, Device(driver), "spirv", Stopwatch(), Effort()).verdict is Verdict.PASS, case.id
    assert {command for command, _ in driver.calls} == {"host", "device"}
    assert ("device", 5) in driver.calls


def test_results_of_the_host_command():
    driver = Driver()
    info = ConversionInfo(4, 4, MatrixForm(F16, ROW, 16), MatrixForm(F16, INFERENCING))
    assert driver.conversions.host(info).result == SUCCESS
    driver.result = INCOMPLETE
    assert driver.conversions.host(info).result == INCOMPLETE
    for result in (1, -4):
        driver.result = result
        with pytest.raises(CallFailed) as failure:
            driver.conversions.host(info)
        assert (failure.value.call, failure.value.result) == (HOST, result)


def test_a_size_that_cannot_be_true_is_refused():
    driver = Driver()
    driver.result = SUCCESS
    with pytest.raises(DriverRefused) as failure:
        driver.conversions.size(4, 4, MatrixForm(F16, TRAINING))
    assert (failure.value.call, failure.value.result) == (HOST, SUCCESS)


def test_a_write_outside_of_all_regions_is_reported():
    driver = Driver()
    arena: Any = Mapped(spoil=True)
    memory = np.zeros(4096, np.uint8)
    info = ConversionInfo(4, 4, MatrixForm(F16, ROW, 16), MatrixForm(F16, TRAINING), Region(memory, 0, 64), Region(memory.copy(), 0, 4096))
    with pytest.raises(DriverRefused) as failure:
        driver.conversions.device([info], arena, arena)
    assert (failure.value.call, failure.value.result) == (DEVICE, None)


def kernel(component: str, written: bool, command: ConversionCommand = "device", count: int = 3) -> Kernel:
    opaque = OpaqueSlot(COMPONENT_TYPES[component], 5, 7, TRAINING, count, 4, command)
    size = count * 35 * COMPONENT_TYPES[component].bytes
    slots = BufferSlot("plain", 64, True, 0), BufferSlot("weights", size, written, 1, opaque=opaque), BufferSlot("last", 16, False, 2)
    return Kernel(b"", slots, push_constant_bytes=8)


def dispatches(of: Kernel, count: int) -> list[Dispatch]:
    rng = np.random.default_rng(1)
    given = []
    for _ in range(count):
        weights = rng.integers(0, 0x60, of.buffers[1].bytes).astype(np.uint8)
        given.append(Dispatch(bytes(8), (np.arange(64, dtype=np.uint8), weights, np.zeros(16, np.uint8))))
    return given


def run(of: Kernel, given: list[Dispatch], shader: Any = None) -> tuple[list[Dispatch], Any]:
    """Run a kernel as VulkanDevice does, with a function of (kernel's buffers, image) as the shader."""
    driver = Driver()
    opaque = OpaqueBuffers(of, driver.conversions)
    layout = lay_out(opaque.slots)
    part = [opaque.prepared(dispatch) for dispatch in given]
    before = fill(layout, part)
    room = np.zeros(before.size + ALIGNMENT, np.uint8)
    first = -room.ctypes.data % ALIGNMENT
    image = room[first : first + before.size]
    image[:] = before.reshape(-1)
    there, back = opaque.conversions(layout, int(image.ctypes.data), len(part))
    by_device = of.buffers[1].opaque.command == "device"
    assert len(there) == len(back) == (len(part) * of.buffers[1].opaque.count if by_device else 0)
    rows = image.reshape(before.shape)
    if by_device:
        driver.conversions.recorder(there)(supplement().NULL)
        # From here on, the elements exist only in the device's layout.
        elements = layout.offsets[3]
        rows[:, elements : elements + opaque.slots[3].bytes] = 0
    if shader is not None:
        at = layout.offsets[1]
        shader(rows[:, at : at + opaque.slots[1].bytes])
    if by_device:
        driver.conversions.recorder(back)(supplement().NULL)
    outcomes = judge(layout, before, rows)
    return part, [opaque.outcome(dispatch, outcome) for dispatch, outcome in zip(given, outcomes, strict=True)]


COMMANDS = pytest.mark.parametrize("command", ["device", "host"])


@COMMANDS
@pytest.mark.parametrize("component", ["f16", "f32", "s8", "e4m3", "e5m2"])
def test_matrices_come_back_as_they_were(component, command):
    of = kernel(component, written=True, command=command)
    given = dispatches(of, 2)
    part, outcomes = run(of, given)
    for dispatch, prepared, outcome in zip(given, part, outcomes, strict=True):
        assert outcome.outputs.keys() == {"plain", "weights"}
        assert outcome.outputs["weights"].tolist() == dispatch.contents[1].tolist()
        assert outcome.stray == ()
        size = MatrixLayouts(0).size(TRAINING, 5, 7, COMPONENT_TYPES[component].bytes)
        pitch = int.from_bytes(prepared.push_constants[4:8], "little")
        assert pitch >= size
        assert pitch % 64 == 0


@COMMANDS
def test_output_of_a_shader_comes_back(command):
    of = kernel("f16", written=True, command=command)
    given = dispatches(of, 2)

    def doubled(matrices: np.ndarray) -> None:
        halves = np.ascontiguousarray(matrices).view(np.float16) * np.float16(2)
        matrices[:] = halves.view(np.uint8)

    _, outcomes = run(of, given, doubled)
    for dispatch, outcome in zip(given, outcomes, strict=True):
        expected = dispatch.contents[1].view(np.float16) * np.float16(2)
        assert (outcome.outputs["weights"].view(np.float16) == expected).all()


@COMMANDS
def test_a_matrix_that_may_only_be_read_is_watched(command):
    of = kernel("f16", written=False, command=command)
    given = dispatches(of, 1)
    _, (outcome,) = run(of, given)
    assert outcome.outputs.keys() == {"plain"}
    assert outcome.stray == ()

    def zeroed(matrices: np.ndarray) -> None:
        matrices[:] = 0

    _, (outcome,) = run(of, given, zeroed)
    (stray,) = outcome.stray
    assert (stray.buffer, stray.where) == ("weights", "read-only")


def test_matrices_of_the_devices_layout_need_device_addresses(muladd):
    description = load_profile("universal").description
    plain = muladd(16, 16, 16)
    of = replace(plain, buffers=(*plain.buffers, kernel("f16", written=False).buffers[1]))
    without = replace(description, features={**description.features, "bufferDeviceAddress": False})
    assert missing(plain, without) is None
    assert missing(of, description) is None
    reason = missing(of, without)
    assert reason is not None
    assert reason.code == "missing.feature.bufferDeviceAddress"
    by_host = replace(plain, buffers=(*plain.buffers, kernel("f16", written=False, command="host").buffers[1]))
    assert missing(by_host, without) is None
