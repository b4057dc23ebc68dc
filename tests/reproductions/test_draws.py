"""The C program of a kernel that draws: it compiles, runs on lavapipe, and notices wrong results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cts.kinds.kernel_reproduction import write_reproduction
from cts.repro import element_sets
from cts.repro.c_program import Run, c_program
from generators.casebook import expand, find_case
from generators.errors import Lack
from generators.kernel import BufferSlot, Dispatch, Kernel
from generators.spirv.assemble import assemble
from generators.stages import Draw, DrawnStage
from tests.lacks import lacks
from tests.lavapipe import needs
from tests.reproductions.lavapipe import compiled_and_run, obstacle
from tests.suite import casebook

MODULE = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint {model} %main "main" %own %result
{mode}
OpDecorate %own BuiltIn {built_in}
OpDecorate %numbers ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %result Binding 3
OpDecorate %result DescriptorSet 0
%void = OpTypeVoid
%function = OpTypeFunction %void
%u32 = OpTypeInt 32 0
%f32 = OpTypeFloat 32
%vec4 = OpTypeVector %f32 4
%zero = OpConstant %u32 0
%width = OpConstant %u32 4
%more = OpConstant %u32 100
%input = OpTypePointer Input %{own}
%own = OpVariable %input Input
%numbers = OpTypeRuntimeArray %u32
%block = OpTypeStruct %numbers
%ptr_block = OpTypePointer StorageBuffer %block
%ptr_number = OpTypePointer StorageBuffer %u32
%result = OpVariable %ptr_block StorageBuffer
%main = OpFunction %void None %function
%entry = OpLabel
%given = OpLoad %{own} %own
{number}
%value = OpIAdd %u32 %number %more
%place = OpAccessChain %ptr_number %result %zero %number
OpStore %place %value
OpReturn
OpFunctionEnd
"""
OF_FRAGMENT = """
%x_f = OpCompositeExtract %f32 %given 0
%y_f = OpCompositeExtract %f32 %given 1
%x = OpConvertFToU %u32 %x_f
%y = OpConvertFToU %u32 %y_f
%line = OpIMul %u32 %y %width
%number = OpIAdd %u32 %line %x
"""
COUNT = 12
needs_lavapipe = needs(obstacle())


def module(stage: DrawnStage) -> bytes:
    if stage == "vertex":
        text = MODULE.format(model="Vertex", mode="", built_in="VertexIndex", own="u32", number="%number = OpCopyObject %u32 %given")
    else:
        mode = "OpExecutionMode %main OriginUpperLeft"
        text = MODULE.format(model="Fragment", mode=mode, built_in="FragCoord", own="vec4", number=OF_FRAGMENT)
    return assemble(text)


def write(stage: DrawnStage, folder: Path, first: int = 100) -> None:
    """Write a folder with a draw whose invocation i stores i + 100 to word i; word 0 is expected to be ``first``."""
    spirv = module(stage)
    draw = Draw("fragment", 4, 3) if stage == "fragment" else Draw("vertex", COUNT)
    kernel = Kernel(spirv, (BufferSlot("result", 4 * COUNT, True, 3),), local_size_constant_id=None, draw=draw)
    run = Run("0-draw", kernel, Dispatch(b"", (np.zeros(4 * COUNT, np.uint8),)))
    (folder / "repro.c").write_text(c_program("drawn[stage:x]", (), [run]))
    (folder / "module.spv").write_bytes(spirv)
    for name in ("before", "expected"):
        (folder / "0-draw" / name).mkdir(parents=True)
    (folder / "0-draw/before/result.bin").write_bytes(bytes(4 * COUNT))
    elements = "".join(f"result {4 * i} u32 0 0 {i} {first if i == 0 else 100 + i:08x}\n" for i in range(COUNT))
    (folder / "0-draw/expected" / element_sets.FILE).write_text(element_sets.HEADING + elements)


@needs_lavapipe
@pytest.mark.parametrize("stage", ["fragment", "vertex"])
def test_every_invocation_of_a_draw_runs(stage, tmp_path):
    write(stage, tmp_path)
    ended = compiled_and_run(tmp_path)
    assert (ended.verdict, ended.code) == ("pass", 0), ended.output


@needs_lavapipe
@pytest.mark.parametrize("stage", ["fragment", "vertex"])
def test_a_wrong_element_of_a_draw_is_reported(stage, tmp_path):
    write(stage, tmp_path, first=7)
    ended = compiled_and_run(tmp_path)
    assert (ended.verdict, ended.code) == ("fail.value", 1)
    assert "result, instance 0 (0, 0) at byte 0: expected 00000007 (7), got 00000064 (100)" in ended.output


def test_a_case_that_draws_has_a_program(tmp_path):
    case = next(case for case in expand(casebook().family("vector_stages"), "smoke") if "stage:" in case.id)
    write_reproduction(find_case(casebook(), case.id), tmp_path, "spirv")
    text = (tmp_path / "repro.c").read_text()
    assert "vkCmdDraw(" in text
    assert "vkCmdDispatch(" not in text


@pytest.mark.parametrize("change", [{"pipeline_cache": True}, {"robust": True}])
def test_a_draw_in_another_way_has_no_program(change):
    kernel = Kernel(module("vertex"), (), local_size_constant_id=None, draw=Draw("vertex", 1))
    with lacks(Lack.PROGRAM_PIPELINE):
        c_program("drawn[stage:x]", (), [Run("0-draw", replace(kernel, **change), Dispatch(b"", ()))])


def test_a_ray_generation_shader_has_no_program():
    kernel = Kernel(b"", (), local_size_constant_id=None, draw=Draw("raygen", 1))
    with lacks(Lack.PROGRAM_PIPELINE):
        c_program("drawn[stage:raygen]", (), [Run("0-draw", kernel, Dispatch(b"", ()))])
