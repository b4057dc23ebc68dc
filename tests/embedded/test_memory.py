"""Accesses of scalars: bounds, alignment, contents, permission, addresses, atomics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from generators.kernel import BufferSlot, Dispatch, Kernel
from tests.embedded.assembly import declared, shader, store, words
from tests.embedded.conftest import run
from tests.undefined import undefined


def load(index: str) -> str:
    return f"%from = OpAccessChain %ptr_in %input %s32_0 {index}\n%loaded = OpLoad %u32 %from\n"


def test_each_invocation_loads_and_stores_its_own_element(result) -> None:
    body = load("%lane") + store("%loaded")
    assert result(shader(body), words(5, 6, 7, 8), 16).tolist() == [5, 6, 7, 8]


@pytest.mark.parametrize("index", ["%lane", "%u32_4"])
def test_a_load_out_of_bounds(forbidden, index) -> None:
    message = str(forbidden(shader(f"%at = OpIAdd %u32 {index} %u32_1\n" + load("%at") + store("%loaded")), words(1, 2, 3, 4)))
    assert "out of bounds" in message
    assert "'input'" in message


def test_a_store_out_of_bounds(forbidden) -> None:
    assert forbidden(shader(store("%lane")), output=12).rule == "KHR-MEM-02"


def test_without_strictness_a_store_out_of_bounds_is_dropped_and_reported() -> None:
    outcome = run(shader(store("%lane")), output=12, strict=False)
    assert outcome.outputs["output"].view(np.uint32).tolist() == [0, 1, 2]
    assert [(s.buffer, s.where, s.offset) for s in outcome.stray] == [("output", "after", 12)]


def test_an_index_outside_of_an_array_of_known_length(forbidden) -> None:
    body = "%at = OpIAdd %u32 %lane %u32_62\n%place = OpAccessChain %ptr_shared %shared %at\nOpStore %place %lane NonPrivatePointer"
    assert forbidden(shader(body)).rule == "SPIR-V 3.42.8 OpAccessChain"


def test_workgroup_memory_has_no_contents_at_first(forbidden) -> None:
    body = "%place = OpAccessChain %ptr_shared %shared %lane\n%old = OpLoad %u32 %place NonPrivatePointer\n" + store("%old", name="to")
    assert forbidden(shader(body)).rule == "SPIR-V 3.3.1 OpUndef"


def test_a_function_variable_has_no_contents_at_first(forbidden, result) -> None:
    body = "%v = OpVariable %ptr_local Function\n{}%old = OpLoad %u32 %v\n" + store("%old")
    declaration = "%ptr_local = OpTypePointer Function %u32"
    assert "undefined value" in str(forbidden(shader(body.format(""), declarations=declaration)))
    assert result(shader(body.format("OpStore %v %lane\n"), declarations=declaration), output=16).tolist() == [0, 1, 2, 3]


def test_a_variable_that_only_some_invocations_wrote(forbidden) -> None:
    body = f"""
%v = OpVariable %ptr_local Function
%low = OpULessThan %bool %lane %u32_2
OpSelectionMerge %merge None
OpBranchConditional %low %write %merge
%write = OpLabel
OpStore %v %lane
%own = OpLoad %u32 %v
{store("%own")}
OpBranch %merge
%merge = OpLabel
{{}}
"""
    declaration = "%ptr_local = OpTypePointer Function %u32"
    run(shader(body.format(""), declarations=declaration))
    late = "%all = OpLoad %u32 %v\n" + store("%all", name="again")
    assert "undefined value" in str(forbidden(shader(body.format(late), declarations=declaration)))


def test_a_store_to_what_is_decorated_non_writable(forbidden) -> None:
    body = "%place = OpAccessChain %ptr_in %input %s32_0 %lane\nOpStore %place %lane"
    assert "NonWritable" in str(forbidden(shader(body)))


def test_a_store_to_a_buffer_that_the_kernel_may_not_write(forbidden) -> None:
    device = EmbeddedDevice(replace(load_profile("universal"), subgroup_size=4))
    kernel = Kernel(shader(store("%lane")), (BufferSlot("given", 16, False, 1),))
    with undefined("SPIR-V 3.20 NonWritable"):
        device.run(kernel, [Dispatch(b"", (np.zeros(16, np.uint8),))])


def test_an_access_keeps_its_promise_of_alignment(forbidden) -> None:
    body = "%place = OpAccessChain %ptr_out %output %s32_0 %at\nOpStore %place %lane Aligned 8"
    assert forbidden(shader("%at = OpIAdd %u32 %lane %u32_1\n" + body)).rule == "SPIR-V 3.26 Aligned"
    run(shader("%at = OpIMul %u32 %lane %u32_2\n" + body))


def test_a_scalar_is_aligned_to_its_size(forbidden) -> None:
    decorations = """
OpDecorate %odd_array ArrayStride 6
OpDecorate %odd_block Block
OpMemberDecorate %odd_block 0 Offset 0
OpDecorate %odd Binding 1
OpDecorate %odd DescriptorSet 0
"""
    declarations = """
%odd_array = OpTypeRuntimeArray %u32
%odd_block = OpTypeStruct %odd_array
%ptr_odd_block = OpTypePointer StorageBuffer %odd_block
%odd = OpVariable %ptr_odd_block StorageBuffer
"""
    body = "%place = OpAccessChain %ptr_out %odd %s32_0 %lane\nOpStore %place %lane"
    assert forbidden(shader(body, declarations, decorations)).rule.endswith("scalar alignment")


def test_the_length_of_a_runtime_array(result) -> None:
    assert result(shader("%n = OpArrayLength %u32 %input 0\n" + store("%n")), words(1, 2, 3), 16).tolist() == [3] * 4


def test_memory_operands_that_are_forbidden(forbidden) -> None:
    place = "%place = OpAccessChain %ptr_out %output %s32_0 %lane\n"
    assert "MakePointerAvailable" in str(forbidden(shader(place + "%x = OpLoad %u32 %place MakePointerAvailable|NonPrivatePointer %u32_2")))
    assert "MakePointerVisible" in str(forbidden(shader(place + "OpStore %place %lane MakePointerVisible|NonPrivatePointer %u32_2")))
    assert "NonPrivatePointer" in str(forbidden(shader(place + "OpStore %place %lane MakePointerAvailable %u32_2")))


@pytest.mark.parametrize(
    ("op", "want", "final"),
    [
        ("OpAtomicIAdd %u32 %place %u32_1 %u32_0 %u32_3", [0, 3, 6, 9], 12),
        ("OpAtomicIIncrement %u32 %place %u32_1 %u32_0", [0, 1, 2, 3], 4),
        ("OpAtomicUMax %u32 %place %u32_1 %u32_0 %lane", [0, 0, 1, 2], 3),
        ("OpAtomicExchange %u32 %place %u32_1 %u32_0 %lane", [0, 0, 1, 2], 3),
        ("OpAtomicCompareExchange %u32 %place %u32_1 %u32_0 %u32_0 %u32_9 %u32_0", [0, 9, 9, 9], 9),
    ],
)
def test_atomics_take_their_turns(result, op, want, final) -> None:
    body = f"%place = OpAccessChain %ptr_out %output %s32_0 %u32_8\n%old = {op}\n" + store("%old", name="to")
    got = result(shader(body), output=36).tolist()
    assert got[:4] == want
    assert got[8] == final


PHYSICAL = """
OpCapability Shader
OpCapability PhysicalStorageBufferAddresses
OpCapability Int64
OpMemoryModel PhysicalStorageBuffer64 Vulkan
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 4 1 1
OpDecorate %array ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %push Block
OpMemberDecorate %push 0 Offset 0
OpMemberDecorate %push 1 Offset 8
OpDecorate %lane_id BuiltIn LocalInvocationIndex
%void = OpTypeVoid
%function = OpTypeFunction %void
%u32 = OpTypeInt 32 0
%u64 = OpTypeInt 64 0
%zero = OpConstant %u32 0
%one = OpConstant %u32 1
%array = OpTypeRuntimeArray %u32
%block = OpTypeStruct %array
%ptr_block = OpTypePointer PhysicalStorageBuffer %block
%ptr_element = OpTypePointer PhysicalStorageBuffer %u32
%push = OpTypeStruct %u64 %ptr_block
%ptr_push = OpTypePointer PushConstant %push
%ptr_push_u64 = OpTypePointer PushConstant %u64
%ptr_push_block = OpTypePointer PushConstant %ptr_block
%ptr_input = OpTypePointer Input %u32
%lane_id = OpVariable %ptr_input Input
%constants = OpVariable %ptr_push PushConstant
%main = OpFunction %void None %function
%entry = OpLabel
%lane = OpLoad %u32 %lane_id
%where = OpAccessChain %ptr_push_u64 %constants %zero
%address = OpLoad %u64 %where
%to = OpConvertUToPtr %ptr_block %address
%where_from = OpAccessChain %ptr_push_block %constants %one
%from = OpLoad %ptr_block %where_from
%from_place = OpAccessChain %ptr_element %from %zero %lane
%value = OpLoad %u32 %from_place Aligned 4
%to_place = OpAccessChain %ptr_element %to %zero %lane
OpStore %to_place %value ALIGNED
OpReturn
OpFunctionEnd
"""


def physical(text: str, given: np.ndarray, strict: bool = True) -> np.ndarray:
    device = EmbeddedDevice(replace(load_profile("universal"), subgroup_size=4), strict=strict)
    slots = (BufferSlot("to", 16, True, None, 0), BufferSlot("from", given.size, False, None, 8))
    kernel = Kernel(declared(text), slots, push_constant_bytes=16)
    outcome = device.run(kernel, [Dispatch(bytes(16), (np.zeros(16, np.uint8), given))])[0]
    return outcome.outputs["to"].view(np.uint32)


def test_buffers_are_reached_by_their_addresses() -> None:
    assert physical(PHYSICAL.replace("ALIGNED", "Aligned 4"), words(9, 8, 7, 6)).tolist() == [9, 8, 7, 6]


def test_an_address_beyond_its_buffer() -> None:
    with undefined("KHR-MEM-02"):
        physical(PHYSICAL.replace("ALIGNED", "Aligned 4"), words(9, 8, 7))


def test_an_access_by_address_states_its_alignment() -> None:
    with undefined("VUID-StandaloneSpirv-PhysicalStorageBuffer64-04708"):
        physical(PHYSICAL.replace(" ALIGNED", ""), words(9, 8, 7, 6))


def test_a_wild_address() -> None:
    cut = "%half = OpUConvert %u32 %address\n%low = OpUConvert %u64 %half\n%to = OpConvertUToPtr %ptr_block %low"
    wild = PHYSICAL.replace("%to = OpConvertUToPtr %ptr_block %address", cut)
    with undefined("KHR-MEM-02"):
        physical(wild.replace("ALIGNED", "Aligned 4"), words(9, 8, 7, 6))


def test_several_variables_may_share_a_binding(result) -> None:
    decorations = "OpDecorate %twin Binding 1\nOpDecorate %twin DescriptorSet 0"
    body = """
%to = OpAccessChain %ptr_out %twin %s32_0 %lane
OpStore %to %lane
%from = OpAccessChain %ptr_out %output %s32_0 %lane
%read = OpLoad %u32 %from
%sum = OpIAdd %u32 %read %u32_7
OpStore %from %sum
"""
    module = shader(body, "%twin = OpVariable %ptr_out_block StorageBuffer", decorations)
    assert result(module, output=16).tolist() == [7, 8, 9, 10]
