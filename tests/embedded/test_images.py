"""Images: accesses outside them, formats, a sampler's addressing of texels, and barriers for their memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cts.embedded.device import EmbeddedDevice
from cts.embedded.observations import Observations, Severity
from cts.embedded.profile import load_profile
from generators.images import AddressMode, ImageSlot, format_named
from generators.kernel import BufferSlot, Dispatch, Kernel
from tests.embedded.assembly import shader, store
from tests.undefined import undefined

DECORATIONS = "OpDecorate %image Binding 2\nOpDecorate %image DescriptorSet 0"
STORAGE = """
%{component}x4 = OpTypeVector %{component} 4
%u32x2 = OpTypeVector %u32 2
%f32x2 = OpTypeVector %f32 2
%image_type = OpTypeImage %{component} 2D 0 0 0 {sampled} {format}
%sampled_type = OpTypeSampledImage %image_type
%ptr_image = OpTypePointer UniformConstant %{variable}
%image = OpVariable %ptr_image UniformConstant
%ptr_texel = OpTypePointer Image %{component}
"""


def declared(component: str = "f32", format_: str = "Rgba32f", variable: str = "image_type", sampled: int = 2) -> str:
    return STORAGE.format(component=component, format=format_, variable=variable, sampled=sampled)


def run(body: str, declarations: str, texels: np.ndarray, slot: ImageSlot, robust: bool = False, **options) -> dict[str, np.ndarray]:
    module = shader(body, declarations, DECORATIONS)
    raw = np.ascontiguousarray(texels).reshape(-1).view(np.uint8)
    slots = (
        BufferSlot("input", 16, False, 0),
        BufferSlot("output", 64, True, 1),
        BufferSlot("texels", raw.size, True, 2, image=slot),
    )
    device = EmbeddedDevice(replace(load_profile("universal"), subgroup_size=4), **options)
    contents = (np.zeros(16, np.uint8), np.zeros(64, np.uint8), raw)
    return device.run(Kernel(module, slots, robust=robust), [Dispatch(b"", contents)])[0].outputs


def image(name: str, x: int, y: int = 1, address: AddressMode = "clamp_to_edge", **options) -> ImageSlot:
    found = format_named(name)
    assert found is not None
    return ImageSlot(found, (x, y, 1), address=address, **options)


READ = f"""
%opened = OpLoad %image_type %image
%i = OpIAdd %u32 %lane %u32_{{first}}
%at = OpCompositeConstruct %u32x2 %i %u32_0
%texel = OpImageRead %f32x4 %opened %at
%x = OpCompositeExtract %f32 %texel {{channel}}
%y = OpBitcast %u32 %x
{store("%y")}
"""
FORMATS = [
    ("r8", np.array([0, 51, 102, 255], np.uint8), 0, [0, 0.2, 0.4, 1]),
    ("r8", np.array([0, 51, 102, 255], np.uint8), 3, [1, 1, 1, 1]),
    ("rg8_snorm", np.array([[0, 127], [0, -127], [0, -128], [1, 0]], np.int8), 1, [1, -1, -1, 0]),
    ("r16f", np.array([1, 0.5, -2, 65504], np.float16), 0, [1, 0.5, -2, 65504]),
    ("rg32f", np.arange(8, dtype=np.float32), 1, [1, 3, 5, 7]),
    ("rg32f", np.arange(8, dtype=np.float32), 2, [0, 0, 0, 0]),
]


@pytest.mark.parametrize(("format_", "texels", "channel", "want"), FORMATS)
def test_a_texel_is_read_by_its_format(format_, texels, channel, want) -> None:
    left = run(READ.format(first=0, channel=channel), declared(), texels, image(format_, 4))
    assert left["output"].view(np.float32)[:4].tolist() == [pytest.approx(x) for x in want]


def test_a_read_beyond_an_image_is_undefined() -> None:
    with undefined("Vulkan, Texel Coordinate Validation"):
        run(READ.format(first=1, channel=0), declared(), np.zeros(4, np.float32), image("r32f", 4))


def test_a_read_beyond_an_image_that_is_robust_gives_zero() -> None:
    observations = Observations()
    texels = np.arange(1, 5, dtype=np.float32)
    body, slot = READ.format(first=1, channel=0), image("r32f", 4)
    left = run(body, declared(), texels, slot, robust=True, observations=observations)
    assert left["output"].view(np.float32)[:4].tolist() == [2, 3, 4, 0]
    assert [one.severity for one in observations.all()] == [Severity.ROBUSTNESS]


WRITE = """
%opened = OpLoad %image_type %image
%i = OpIMul %u32 %lane %u32_2
%at = OpCompositeConstruct %u32x2 %i %u32_0
%f = OpConvertUToF %f32 %lane
%third = OpFDiv %f32 %f %f32_3
%texel = OpCompositeConstruct %f32x4 %third %third %third %third
OpImageWrite %opened %at %texel
"""


def test_a_write_beyond_an_image_writes_nothing() -> None:
    left = run(WRITE, declared(), np.zeros(4, np.uint8), image("r8", 4))
    assert left["texels"].tolist() == [0, 0, 85, 0]


COUNT = f"""
%at = OpCompositeConstruct %u32x2 %u32_0 %u32_0
%pointer = OpImageTexelPointer %ptr_texel %image %at %u32_0
%old = OpAtomicIAdd %u32 %pointer %u32_1 %u32_0 %u32_5
{store("%old")}
"""


def test_an_atomic_counts_in_a_texel() -> None:
    left = run(COUNT, declared("u32", "R32ui"), np.array([7, 9], np.uint32), image("r32ui", 2))
    assert left["texels"].view(np.uint32).tolist() == [27, 9]
    assert left["output"].view(np.uint32)[:4].tolist() == [7, 12, 17, 22]


SAMPLE = f"""
%opened = OpLoad %sampled_type %image
%f = OpConvertUToF %f32 %lane
%moved = OpFAdd %f32 %f %f32_{{first}}
%u = OpFDiv %f32 %moved %f32_4
%at = OpCompositeConstruct %f32x2 %u %f32_0.5
%texel = OpImageSampleExplicitLod %f32x4 %opened %at Lod %f32_0
%x = OpCompositeExtract %f32 %texel 0
%y = OpBitcast %u32 %x
{store("%y")}
"""
MODES = [
    ("nearest", "clamp_to_edge", "2.5", [3, 4, 4, 4]),
    ("nearest", "repeat", "2.5", [3, 4, 1, 2]),
    ("nearest", "mirrored_repeat", "2.5", [3, 4, 4, 3]),
    ("linear", "clamp_to_edge", "0", [1, 1.5, 2.5, 3.5]),
    ("linear", "repeat", "0", [2.5, 1.5, 2.5, 3.5]),
]


@pytest.mark.parametrize(("filter_", "address", "first", "want"), MODES)
def test_a_sampler_finds_texels_by_its_modes(filter_, address, first, want) -> None:
    slot = image("r32f", 4, 1, address, filter=filter_)
    left = run(SAMPLE.format(first=first), declared(variable="sampled_type", sampled=1), np.arange(1, 5, dtype=np.float32), slot)
    assert left["output"].view(np.float32)[:4].tolist() == want


NEIGHBOUR = """
%opened = OpLoad %image_type %image
%own = OpCompositeConstruct %u32x2 %lane %u32_0
%f = OpConvertUToF %f32 %lane
%texel = OpCompositeConstruct %f32x4 %f %f %f %f
OpImageWrite %opened %own %texel NonPrivateTexel
OpControlBarrier %u32_2 %u32_2 %u32_{semantics}
%next = OpBitwiseXor %u32 %lane %u32_1
%at = OpCompositeConstruct %u32x2 %next %u32_0
%found = OpImageRead %f32x4 %opened %at NonPrivateTexel
"""
IMAGE_MEMORY, UNIFORM_MEMORY = 26632, 24648
"""Each with AcquireRelease, MakeAvailable and MakeVisible."""


def test_a_barrier_for_images_orders_them() -> None:
    run(NEIGHBOUR.format(semantics=IMAGE_MEMORY), declared(), np.zeros(4, np.float32), image("r32f", 4))


def test_a_barrier_for_buffers_does_not_order_images() -> None:
    with undefined("KHR-MEM-01"):
        run(NEIGHBOUR.format(semantics=UNIFORM_MEMORY), declared(), np.zeros(4, np.float32), image("r32f", 4))


@pytest.mark.parametrize("name", ["rgb8", "r32", "rgba8x", "r8f"])
def test_there_is_no_such_format(name) -> None:
    assert format_named(name) is None
