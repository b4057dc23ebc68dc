"""Untyped pointers, chosen pointers, arrays of descriptors and blocks of workgroup memory on the embedded device."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.kinds.kernel import compile_module
from cts.reference.evaluate import evaluate
from cts.verdict.poison import initial_contents
from generators.casebook import build, find_case
from generators.dispatch import dispatch, kernel
from generators.spirv.enumerants import Decoration, Op, StorageClass
from generators.spirv.reader import read_instructions
from tests.embedded.assembly import shader, words
from tests.embedded.matrices import matrix, store
from tests.suite import casebook
from tests.undefined import undefined

CAPABILITIES = ("UntypedPointersKHR",)
BYTES = """
%untyped = OpTypeUntypedPointerKHR StorageBuffer
%byte_array = OpTypeRuntimeArray %u8
%byte_block = OpTypeStruct %byte_array
"""
LAID_OUT = """
OpDecorate %byte_array ArrayStride 1
OpDecorate %byte_block Block
OpMemberDecorate %byte_block 0 Offset 0
"""
NUMBERS = words(*range(100, 132))
GIVEN = np.arange(100, 132).reshape(4, 8)


def loaded(at: int, stride: int, layout: str = LAID_OUT, declarations: str = BYTES, **options: object) -> bytes:
    """Build a load of 4x8 u32 from byte ``at`` of the input, through an untyped pointer, with a stride of bytes."""
    body = (
        f"%from = OpUntypedAccessChainKHR %untyped %byte_block %input %s32_0 %u32_{at}\n"
        f"%m = OpCooperativeMatrixLoadKHR %type %from %u32_0 %u32_{stride}\n" + store("m", stride="%u32_8")
    )
    types = matrix("type", "u32", 4, 8, 2) + declarations
    return shader(body, types, layout, capabilities=(*CAPABILITIES, "Int8"), **options)  # type: ignore[arg-type]


def test_strides_through_untyped_pointers_count_bytes(result) -> None:
    assert result(loaded(0, 32), NUMBERS, 128).reshape(4, 8).tolist() == GIVEN.tolist()


def test_a_stride_of_zero_repeats_the_line(result) -> None:
    assert result(loaded(32, 0), NUMBERS, 128).reshape(4, 8).tolist() == [GIVEN[1].tolist()] * 4


@pytest.mark.parametrize(("at", "stride"), [(2, 32), (0, 34), (8, 32), (0, 24)])
def test_a_misaligned_access_stops(forbidden, at, stride) -> None:
    assert forbidden(loaded(at, stride), NUMBERS).rule == "KHR-ALIGN-01"


def test_an_access_beyond_the_buffer_stops(forbidden) -> None:
    assert "out of bounds" in str(forbidden(loaded(16, 32), NUMBERS))


def test_a_base_type_without_a_layout_stops(forbidden) -> None:
    assert forbidden(loaded(0, 32, layout="OpDecorate %byte_block Block"), NUMBERS).rule == "UP-CHN-01"


def test_an_index_beyond_the_base_type_stops(forbidden) -> None:
    declarations = BYTES.replace("OpTypeRuntimeArray %u8", "OpTypeArray %u8 %u32_16")
    assert forbidden(loaded(32, 32, declarations=declarations), NUMBERS).rule == "SPIR-V 3.42.8 OpAccessChain"


def test_a_plain_load_takes_the_type_of_its_result(result) -> None:
    body = (
        "%at = OpIMul %u32 %lane %u32_2\n%from = OpUntypedAccessChainKHR %untyped %byte_block %input %s32_0 %at\n"
        "%short = OpLoad %u16 %from\n%wide = OpUConvert %u32 %short\n"
        "%to = OpAccessChain %ptr_out %output %s32_0 %lane\nOpStore %to %wide"
    )
    module = shader(body, BYTES, LAID_OUT, capabilities=(*CAPABILITIES, "Int8", "Int16"))
    assert result(module, words(0x20001, 0x40003), 16).tolist() == [1, 2, 3, 4]


def test_a_plain_load_that_is_misaligned_stops(forbidden) -> None:
    body = "%from = OpUntypedAccessChainKHR %untyped %byte_block %input %s32_0 %lane\n%x = OpLoad %u32 %from"
    assert "scalar" in str(forbidden(shader(body, BYTES, LAID_OUT, capabilities=(*CAPABILITIES, "Int8")), NUMBERS))


def test_a_pointer_chain_needs_the_stride_of_its_base(forbidden) -> None:
    body = (
        "%from = OpUntypedAccessChainKHR %untyped %byte_block %input %s32_0 %u32_0\n"
        "%next = OpUntypedPtrAccessChainKHR %untyped %u32 %from %lane\n%x = OpLoad %u32 %next"
    )
    assert forbidden(shader(body, BYTES, LAID_OUT, capabilities=(*CAPABILITIES, "Int8")), NUMBERS).rule == "UP-CHN-03"


def test_pointers_that_subgroups_choose_lead_into_different_buffers(result) -> None:
    body = (
        "%in_at = OpAccessChain %ptr_in %input %s32_0 %u32_0\n%out_at = OpAccessChain %ptr_in %output %s32_0 %u32_0\n"
        "%second = OpIEqual %bool %subgroup %u32_1\n%from = OpSelect %ptr_in %second %out_at %in_at\n"
        "%m = OpCooperativeMatrixLoadKHR %type %from %u32_0 %u32_8\n"
        "%at = OpIMul %u32 %subgroup %u32_32\n%begin = OpIAdd %u32 %at %u32_32\n" + store("m", at="%begin", stride="%u32_8")
    )
    module = shader(body, matrix("type", "u32", 4, 8, 2), capabilities=("VariablePointers",))
    got = result(module, NUMBERS, 384, subgroups=2).reshape(3, 4, 8)
    assert got[1].tolist() == GIVEN.tolist()
    assert got[2].tolist() == got[0].tolist()


def _run(case_id: str, change=lambda built: built, operands=None) -> list[np.ndarray]:
    """Return the outputs of a case's first subcase after a change of its kernel or its operands."""
    case = find_case(casebook(), case_id)
    made = build(case)
    program, subcase = made.program, made.subcases()[0]
    subcase = replace(subcase, operands={**subcase.operands, **(operands or {})})
    before = initial_contents(program, made.subcases()[0], evaluate(program, made.subcases()[0]))
    built = change(kernel(program, compile_module(program, "spirv")))
    (outcome,) = EmbeddedDevice(load_profile("universal")).run(built, [dispatch(program, subcase, before)])
    return list(outcome.outputs.values())


def _without(op: Op, decoration: Decoration):
    """Return a function that removes the decoration from a kernel."""

    def change(built):
        data = np.frombuffer(built.spirv, "<u4").tolist()
        dropped = []
        for instruction in read_instructions(built.spirv):
            if instruction.op is op and instruction.operands[1] == decoration:
                dropped.append((instruction.position, instruction.position + 1 + len(instruction.operands)))
        for begin, end in reversed(dropped):
            del data[begin:end]
        assert dropped
        return replace(built, spirv=np.array(data, "<u4").tobytes())

    return change


def test_a_descriptor_beyond_the_array_stops() -> None:
    with undefined("VK-DES-01"):
        _run("descriptor_arrays[component:f16/index:push_constant]", operands={"which": 3})


def test_an_array_of_many_descriptors_takes_memory_only_for_bound_ones() -> None:
    case = "descriptor_arrays[component:f16/index:instance/subgroups:2]"
    usual = _run(case)
    tracemalloc.start()
    try:
        many = _run(case, _with_descriptors(1 << 23))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert all(np.array_equal(one, other) for one, other in zip(usual, many, strict=True))
    assert peak < 1 << 25


def _with_descriptors(count: int):
    """Return a function that gives a kernel's arrays of descriptors this length."""

    def change(built):
        data = np.frombuffer(built.spirv, "<u4").tolist()
        instructions = list(read_instructions(built.spirv))
        uint = next(one.operands[0] for one in instructions if one.op is Op.TypeInt and one.operands[1:] == (32, 0))
        pointees = {one.operands[2] for one in instructions if one.op is Op.TypePointer and one.operands[1] == StorageClass.StorageBuffer}
        arrays = [one.position for one in instructions if one.op is Op.TypeArray and one.operands[0] in pointees]
        assert arrays
        length = data[3]
        data[3] += 1
        for position in arrays:
            data[position + 3] = length
        data[arrays[0] : arrays[0]] = [4 << 16 | Op.Constant, uint, length, count]
        return replace(built, spirv=np.array(data, "<u4").tobytes())

    return change


def test_descriptors_that_differ_stop_where_the_shader_does_not_say_so() -> None:
    with undefined("VK-DES-02"):
        _run("descriptor_arrays[component:f16/index:instance/subgroups:2]", _without(Op.Decorate, Decoration.NonUniform))


def test_blocks_that_are_not_aliased_stop() -> None:
    with undefined("WL-BLK-02"):
        _run("workgroup_blocks[component:f32/read:u32]", _without(Op.Decorate, Decoration.Aliased))


def test_a_block_without_a_layout_stops() -> None:
    with undefined("WL-LAY-01"):
        _run("workgroup_blocks[component:f32/form:filled]", _without(Op.Decorate, Decoration.ArrayStride))


def test_an_entry_point_that_is_not_there_stops() -> None:
    with undefined("VUID-StandaloneSpirv-None-10685"):
        _run("entry_points[row:8x8x8.f16.f16.f32.f32]", lambda built: replace(built, entry_point="none"))
