"""Kernels of vertex, fragment and ray generation shaders, on the embedded device and on a Vulkan driver if there is one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from cts.devices.device import Device, DeviceError
from cts.devices.vulkan.device import VulkanDevice
from cts.embedded.device import EmbeddedDevice
from cts.embedded.diagnostics import NotSupported
from cts.embedded.profile import load_profile
from generators.dispatch import dispatch, kernel
from generators.glsl.compile import compile_glsl, find_glslang
from generators.glsl.emit import emit as glsl
from generators.kernel import Dispatch, Kernel
from generators.program.arrays import AtomicOr
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Condition
from generators.program.memory import Pointee
from generators.program.program import Program, Subcase
from generators.program.shape import WorkgroupShape
from generators.program.values import Value
from generators.spirv.disassemble import disassemble
from generators.spirv.emit import emit
from generators.stages import Draw, DrawnStage, draw_of
from generators.types import Scope, StorageClass
from tests.devices.real_device import real_device
from tests.undefined import undefined

COUNTS = (32, 1, 7, 33, 64, 200)


def program(stage: DrawnStage, count: int, storage: StorageClass = StorageClass.STORAGE_BUFFER) -> Program:
    """Return a program in which invocation i stores added + factor * source[i] to target[i]; the odd invocations also mark their
    numbers."""
    builder = ProgramBuilder(Scope.WORKGROUP, shape=WorkgroupShape(invocations=count, stage=stage))
    source = builder.array("source", Pointee(U32), count, storage, "input")
    target = builder.array("target", Pointee(U32), count, storage, "output")
    marks = builder.array("marks", Pointee(U32), count, StorageClass.STORAGE_BUFFER, "inout")
    factor = builder.operand("factor", U32, "specialization", 3, 5)
    added = builder.operand("added", U32, "push_constant")
    me = Value("me", U32)
    with builder.per_invocation(me, count):
        builder.write(target, me, builder.arithmetic("sum", "add", scaled(builder, me, factor, source), added))
        odd = builder.arithmetic("odd", "and", me, builder.literal(1))
        with builder.arm() as marking:
            builder.add(AtomicOr(marks, me, builder.literal(4)))
        builder.branch(Condition(odd, "equal", builder.literal(1)), marking)
    return builder.build()


def scaled(builder, me, factor, source):
    return builder.arithmetic("scaled", "multiply", builder.read_scalar("read", source, me), factor)


def work(written: Program, count: int, front_end: str = "spirv") -> tuple[Kernel, list[Dispatch], list[dict[str, np.ndarray]]]:
    """Return the kernel, two dispatches, and the expected outputs of each."""
    words = emit(written) if front_end == "spirv" else compile_glsl(glsl(written), stage=written.shape.stage)
    dispatches, expected = [], []
    for added in (11, 1 << 20):
        source = (np.arange(count, dtype=np.uint32) + added) * np.uint32(7919)
        marks = np.arange(count, dtype=np.uint32) * np.uint32(16)
        contents = {"source": source.view(np.uint8), "target": np.full(4 * count, 0xCD, np.uint8), "marks": marks.view(np.uint8)}
        inputs = {"source": contents["source"], "marks": contents["marks"]}
        dispatches.append(dispatch(written, Subcase("one", inputs, {"added": added}), contents))
        odd = np.arange(count) % 2 == 1
        expected.append({"target": source * np.uint32(3) + np.uint32(added), "marks": np.where(odd, marks | 4, marks)})
    return kernel(written, words), dispatches, expected


def check(device: Device, stage: DrawnStage, count: int, storage=StorageClass.STORAGE_BUFFER, front_end: str = "spirv") -> None:
    built, dispatches, expected = work(program(stage, count, storage), count, front_end)
    assert device.missing(built) is None
    for outcome, want in zip(device.run(built, dispatches), expected, strict=True):
        assert outcome.stray == ()
        for name, values in want.items():
            np.testing.assert_array_equal(outcome.outputs[name].view(np.uint32), values, name)


@pytest.fixture(params=["embedded", "vulkan"], scope="module")
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    if request.param == "embedded":
        yield EmbeddedDevice(load_profile("universal"))
        return
    spec = real_device().spec
    try:
        device = VulkanDevice(spec.name, spec.index, validation=True)
    except DeviceError:
        device = VulkanDevice(spec.name, spec.index)
    yield device
    device.close()


@pytest.mark.parametrize("stage", get_args(DrawnStage))
def test_each_invocation_of_a_draw_has_its_number(device: Device, stage: DrawnStage) -> None:
    for count in COUNTS:
        check(device, stage, count)


@pytest.mark.parametrize("stage", get_args(DrawnStage))
def test_buffers_by_their_addresses(device: Device, stage: DrawnStage) -> None:
    check(device, stage, 33, StorageClass.PHYSICAL_STORAGE_BUFFER)


@pytest.mark.skipif(find_glslang() is None, reason="no glslang")
@pytest.mark.parametrize("stage", get_args(DrawnStage))
def test_modules_of_glslang(device: Device, stage: DrawnStage) -> None:
    check(device, stage, 33, front_end="glsl")


def test_fragments_fill_a_rectangle_that_is_nearly_a_square() -> None:
    draws = [draw_of("fragment", count) for count in COUNTS]
    assert draws == [Draw("fragment", w, h) for w, h in ((4, 8), (1, 1), (1, 7), (3, 11), (8, 8), (10, 20))]
    assert draw_of("vertex", 200) == Draw("vertex", 200)
    assert draw_of("raygen", 200) == Draw("raygen", 200)
    assert draw_of("compute", 200) is None


def embedded(**changes: object) -> EmbeddedDevice:
    return EmbeddedDevice(replace(load_profile("universal"), **changes))


@pytest.mark.parametrize(
    ("profile", "code"),
    [
        ({"limits": {"queueFlags": 0x6}}, "missing.property.queueFlags"),
        ({"features": frozenset({"vulkanMemoryModel", "shaderFloat16"})}, "missing.feature.fragmentStoresAndAtomics"),
    ],
)
def test_what_a_draw_needs(profile: dict[str, object], code: str) -> None:
    built, _, _ = work(program("fragment", 7), 7)
    reason = embedded(**profile).missing(built)
    assert reason is not None
    assert reason.code == code


def test_what_a_ray_generation_shader_needs() -> None:
    built, _, _ = work(program("raygen", 7), 7)
    whole = load_profile("universal")
    reason = embedded(features=whole.features - {"rayTracingPipeline"}, limits={"queueFlags": 0x6}).missing(built)
    assert reason is not None
    assert reason.code == "missing.feature.rayTracingPipeline"


def test_a_module_of_another_stage_is_stopped() -> None:
    built, dispatches, _ = work(program("fragment", 7), 7)
    with undefined("VUID-VkPipelineShaderStageCreateInfo-pName-00707"):
        embedded().run(replace(built, draw=Draw("vertex", 7)), dispatches)


def test_a_built_in_of_another_stage_is_not_known() -> None:
    built, dispatches, _ = work(program("fragment", 7), 7)
    words = np.frombuffer(built.spirv, np.uint32).copy()
    # Execution model Fragment becomes Vertex, and OriginUpperLeft is skipped.
    (at,) = np.flatnonzero((words[:-1] & 0xFFFF == 15) & (words[1:] == 4))
    words[at + 1] = 0
    with pytest.raises(NotSupported) as caught:
        embedded().run(replace(built, spirv=words.tobytes(), draw=Draw("vertex", 7)), dispatches)
    assert "FragCoord" in str(caught.value)


def test_the_modules_say_their_stage() -> None:
    text = disassemble(emit(program("fragment", 7)))
    assert "OpEntryPoint Fragment %main" in text
    assert "OpExecutionMode %main OriginUpperLeft" in text
    assert "LocalSize" not in text
    text = disassemble(emit(program("vertex", 7)))
    assert "OpEntryPoint Vertex %main" in text
    assert "BuiltIn PointSize" in text
    text = disassemble(emit(program("raygen", 7)))
    assert "OpEntryPoint RayGenerationKHR %main" in text
    assert "BuiltIn LaunchId" in text
    assert "gl_FragCoord.y) * 1u" in glsl(program("fragment", 7))
    assert "local_size" not in glsl(program("vertex", 7))
