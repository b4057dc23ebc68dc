"""What a module must declare, and what small floats may not do: the strict device refuses such modules as invalid."""

from __future__ import annotations

import numpy as np
import pytest

from cts.embedded.diagnostics import NotSupported, NotValidSpirv
from cts.embedded.module.capabilities import lacks
from generators.spirv.assemble import assemble
from generators.spirv.disassemble import disassemble
from generators.spirv.reader import read_instructions
from tests.embedded.assembly import shader, store
from tests.embedded.matrices import SQUARE, load

TYPES = """
%bf16 = OpTypeFloat 16 BFloat16KHR
%e4m3 = OpTypeFloat 8 Float8E4M3EXT
%bf16_1 = OpConstant %bf16 0x3f80
%e4m3_1 = OpConstant %e4m3 0x38
%bf16_matrix = OpTypeCooperativeMatrixKHR %bf16 %u32_3 %u32_16 %u32_16 %u32_2
%bf16_ones = OpConstantComposite %bf16_matrix %bf16_1
%bf16_pair = OpTypeVector %bf16 2
%bf16_11 = OpConstantComposite %bf16_pair %bf16_1 %bf16_1
%e4m3_pair = OpTypeVector %e4m3 2
%e4m3_11 = OpConstantComposite %e4m3_pair %e4m3_1 %e4m3_1
"""
GLSL = '%glsl = OpExtInstImport "GLSL.std.450"'


@pytest.mark.parametrize(
    "line",
    [
        "%r = OpFAdd %bf16 %bf16_1 %bf16_1",
        "%r = OpFNegate %bf16 %bf16_1",
        "%r = OpExtInst %bf16 %glsl FMax %bf16_1 %bf16_1",
        "%r = OpFAdd %e4m3 %e4m3_1 %e4m3_1",
        "%r = OpFOrdEqual %bool %e4m3_1 %e4m3_1",
        "%r = OpMatrixTimesScalar %bf16_matrix %bf16_ones %bf16_1",
        "%r = OpVectorTimesScalar %bf16_pair %bf16_11 %bf16_1",
        "%r = OpGroupNonUniformFAdd %bf16 %u32_3 Reduce %bf16_1",
        "%r = OpDot %e4m3 %e4m3_11 %e4m3_11",
    ],
)
def test_floats_without_arithmetic_are_only_converted_and_moved(forbidden, line) -> None:
    found = forbidden(shader(line + "\n", TYPES, imports=GLSL))
    assert found.rule.startswith(("SPV_KHR_bfloat16", "SPV_EXT_float8"))


def test_a_dot_product_of_bfloats_needs_a_capability(result, forbidden) -> None:
    body = "%dot = OpDot %bf16 %bf16_11 %bf16_11\n%wide = OpFConvert %f32 %dot\n%x = OpConvertFToU %u32 %wide\n" + store("%x")
    assert result(shader(body, TYPES, capabilities=("BFloat16DotProductKHR",)))[0] == 2
    assert forbidden(shader(body, TYPES)).rule.startswith("SPV_KHR_bfloat16")


def without(module: bytes, line: str) -> bytes:
    text = disassemble(module)
    assert line in text
    return assemble("\n".join(one for one in text.splitlines() if line not in one))


MATRIX = shader(load("square"), SQUARE, capabilities=("CooperativeMatrixKHR",))
BFLOATS = shader("", TYPES)


@pytest.mark.parametrize(
    ("module", "line"),
    [
        (MATRIX, "OpCapability CooperativeMatrixKHR"),
        (MATRIX, "OpCapability VulkanMemoryModel"),
        (MATRIX, 'OpExtension "SPV_KHR_cooperative_matrix"'),
        (BFLOATS, "OpCapability BFloat16CooperativeMatrixKHR"),
        (BFLOATS, "OpCapability Float8EXT"),
        (MATRIX, "OpCapability Int8"),
        (MATRIX, "OpCapability Float64"),
    ],
)
def test_a_module_declares_what_it_uses(forbidden, module, line) -> None:
    assert isinstance(forbidden(without(module, line)), NotValidSpirv)


@pytest.mark.parametrize(("first", "second"), [("RelaxedPrecision", "PerVertexKHR"), ("BuiltIn Position", "BuiltIn BaryCoordKHR")])
def test_each_decoration_needs_its_own_capability(first, second) -> None:
    lines = "OpCapability Shader", "OpMemoryModel Logical GLSL450", *(f"OpDecorate %x {name}" for name in (first, first, second))
    found = lacks(read_instructions(assemble("\n".join(lines))), (1, 6))
    assert [(lack.number, lack.capabilities) for lack in found] == [(4, ("FragmentBarycentricKHR",))]


@pytest.mark.parametrize("capability", ["CooperativeMatrixKHR", "CooperativeVectorNV"])
def test_another_memory_model_has_no_matrices_and_vectors(forbidden, capability) -> None:
    module = shader("", memory_model="Logical GLSL450", capabilities=(capability,))
    assert isinstance(forbidden(without(module, "OpCapability VulkanMemoryModel")), NotValidSpirv)


@pytest.mark.parametrize("capability", ["Kernel", "Vector16"])
def test_vulkan_has_no_kernels(forbidden, capability) -> None:
    assert isinstance(forbidden(shader("", capabilities=(capability,))), NotValidSpirv)


@pytest.mark.parametrize("semantics", ["%u32_256", "%u32_262"])
def test_a_barrier_has_one_memory_order(forbidden, semantics) -> None:
    assert "MemorySemantics" in forbidden(shader(f"OpControlBarrier %u32_2 %u32_2 {semantics}\n")).rule


def test_a_chosen_pointer_needs_a_capability(result, forbidden) -> None:
    body = (
        "%even = OpIEqual %bool %lane %u32_0\n%here = OpAccessChain %ptr_out %output %s32_0 %lane\n"
        "%chosen = OpSelect %ptr_out %even %here %here\nOpStore %chosen %lane\n"
    )
    assert result(shader(body, capabilities=("VariablePointersStorageBuffer",)))[:4].tolist() == [0, 1, 2, 3]
    assert isinstance(forbidden(shader(body)), NotValidSpirv)


def test_descriptor_heaps_are_named_as_what_the_device_lacks(forbidden) -> None:
    found = forbidden(shader("", "%heap = OpTypeBufferEXT StorageBuffer"))
    assert isinstance(found, NotSupported)
    assert "DescriptorHeapEXT" in str(found)


FMAS = [
    ("f32", 1 + 2.0**-23, 1 + 2.0**-23, -(1 + 2.0**-22), 2.0**-46),
    ("f64", 1 + 2.0**-52, 1 + 2.0**-52, -(1 + 2.0**-51), 2.0**-104),
    # The sum is a little below a tie, and a tie in binary64.
    ("f32", 2.0**-12 * (1 + 2.0**-23), 2.0**-12 * (1 - 2.0**-23), 1 + 2.0**-23, 1 + 2.0**-23),
]


@pytest.mark.parametrize(("type_", "a", "b", "c", "expected"), FMAS)
def test_a_fused_multiply_add_rounds_once(result, type_, a, b, c, expected) -> None:
    dtype = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[type_]
    given = np.array([a, b, c, 0, 0, 0, 0, 0], dtype).view(np.uint8)
    loads = "".join(f"%p{i} = OpAccessChain %ptr_in %input %s32_0 %u32_{i}\n%x{i} = OpLoad %{type_} %p{i}\n" for i in range(3))
    body = loads + f"%r = OpFmaKHR %{type_} %x0 %x1 %x2\n" + store("%r")
    assert result(shader(body, buffer_type=type_), given, dtype=dtype)[0] == dtype(expected)
