"""The frame of a shader in assembly, for tests of the embedded device."""

from __future__ import annotations

import re

import numpy as np

from cts.embedded.module.capabilities import lacks
from generators.spirv.assemble import assemble
from generators.spirv.reader import read_header, read_instructions

_TYPES = {
    "u8": "OpTypeInt 8 0",
    "s8": "OpTypeInt 8 1",
    "u16": "OpTypeInt 16 0",
    "s16": "OpTypeInt 16 1",
    "u32": "OpTypeInt 32 0",
    "s32": "OpTypeInt 32 1",
    "u64": "OpTypeInt 64 0",
    "s64": "OpTypeInt 64 1",
    "f16": "OpTypeFloat 16",
    "f32": "OpTypeFloat 32",
    "f64": "OpTypeFloat 64",
}
_BUILT_INS = ("LocalInvocationIndex", "SubgroupId", "SubgroupLocalInvocationId", "NumSubgroups", "SubgroupSize")


def shader(
    body: str,
    declarations: str = "",
    decorations: str = "",
    functions: str = "",
    memory_model: str = "Logical Vulkan",
    buffer_type: str = "u32",
    input_type: str = "",
    capabilities: tuple[str, ...] = (),
    imports: str = "",
) -> bytes:
    """Return a compute shader whose entry point is ``body``.

    The module has a buffer ``%input`` (binding 0, read-only) and a buffer ``%output`` (binding 1), each with one array of
    ``buffer_type``; an array ``%shared`` of 64 u32 in Workgroup storage; the scalar types (``%u32`` …); pointers to an
    element (``%ptr_in``, ``%ptr_out``, ``%ptr_shared``); ``%lane``, ``%subgroup`` and ``%workgroup_x``, loaded; and a constant for each
    ``%u32_7``, ``%s8_-1``, ``%f32_0.5`` that is mentioned.
    """
    input_type = input_type or buffer_type
    mentioned = set(re.findall(r"%(?:[usf](?:8|16|32|64))_-?[\w.]+", body + declarations + functions)) | {"%u32_1", "%u32_64", "%s32_0"}
    constants = "\n".join(f"{name} = OpConstant {name.partition('_')[0]} {name.partition('_')[2]}" for name in sorted(mentioned))
    sizes = {"8": 1, "16": 2, "32": 4, "64": 8}
    stride_in, stride_out = (sizes[t[1:].split("x")[0]] * int(t.partition("x")[2] or 1) for t in (input_type, buffer_type))
    vectors = "\n".join(f"%{t} = OpTypeVector %{t.split('x')[0]} {t.split('x')[1]}" for t in sorted({input_type, buffer_type}) if "x" in t)
    types = "\n".join(f"%{name} = {text}" for name, text in _TYPES.items())
    built_ins = "\n".join(f"OpDecorate %gl_{name} BuiltIn {name}" for name in _BUILT_INS)
    capability_lines = "\n".join(f"OpCapability {name}" for name in capabilities)
    variables = "\n".join(f"%gl_{name} = OpVariable %ptr_builtin Input" for name in _BUILT_INS)
    return declared(
        f"""
OpCapability Shader
{capability_lines}
{imports}
OpMemoryModel {memory_model}
OpEntryPoint GLCompute %main "main"
OpExecutionModeId %main LocalSizeId %local_size %u32_1 %u32_1
OpName %main "main"
OpName %output "output"
OpName %input "input"
OpName %shared "shared"
OpDecorate %local_size SpecId 0
OpDecorate %in_array ArrayStride {stride_in}
OpDecorate %out_array ArrayStride {stride_out}
OpDecorate %in_block Block
OpMemberDecorate %in_block 0 Offset 0
OpMemberDecorate %in_block 0 NonWritable
OpDecorate %out_block Block
OpMemberDecorate %out_block 0 Offset 0
OpDecorate %input Binding 0
OpDecorate %input DescriptorSet 0
OpDecorate %output Binding 1
OpDecorate %output DescriptorSet 0
OpDecorate %gl_WorkgroupId BuiltIn WorkgroupId
{built_ins}
{decorations}
%void = OpTypeVoid
%bool = OpTypeBool
%void_function = OpTypeFunction %void
{types}
{vectors}
%true = OpConstantTrue %bool
%false = OpConstantFalse %bool
{constants}
%local_size = OpSpecConstant %u32 4
%u32x3 = OpTypeVector %u32 3
%ptr_builtin = OpTypePointer Input %u32
%ptr_builtin3 = OpTypePointer Input %u32x3
{variables}
%gl_WorkgroupId = OpVariable %ptr_builtin3 Input
%in_array = OpTypeRuntimeArray %{input_type}
%out_array = OpTypeRuntimeArray %{buffer_type}
%in_block = OpTypeStruct %in_array
%out_block = OpTypeStruct %out_array
%ptr_in_block = OpTypePointer StorageBuffer %in_block
%ptr_out_block = OpTypePointer StorageBuffer %out_block
%ptr_in = OpTypePointer StorageBuffer %{input_type}
%ptr_out = OpTypePointer StorageBuffer %{buffer_type}
%input = OpVariable %ptr_in_block StorageBuffer
%output = OpVariable %ptr_out_block StorageBuffer
%shared_array = OpTypeArray %u32 %u32_64
%ptr_shared_array = OpTypePointer Workgroup %shared_array
%ptr_shared = OpTypePointer Workgroup %u32
%shared = OpVariable %ptr_shared_array Workgroup
{declarations}
{functions}
%main = OpFunction %void None %void_function
%entry = OpLabel
{_variables(body)}
%lane = OpLoad %u32 %gl_LocalInvocationIndex
%subgroup = OpLoad %u32 %gl_SubgroupId
%workgroup = OpLoad %u32x3 %gl_WorkgroupId
%workgroup_x = OpCompositeExtract %u32 %workgroup 0
{_rest(body)}
OpReturn
OpFunctionEnd
"""
    )


def declared(text: str) -> bytes:
    """Return the module of an assembly, which also declares the capabilities and extensions that it lacks."""
    while True:
        module = assemble(text)
        lack = next(lacks(list(read_instructions(module)), read_header(module).version), None)
        if lack is None:
            return module
        if lack.capabilities:
            chosen = next(name for name in lack.capabilities if name != "Kernel")
            text = f"OpCapability {chosen}\n{text}"
        else:
            capabilities, _, rest = text.rpartition("\nOpCapability ")
            last, _, rest = rest.partition("\n")
            text = f'{capabilities}\nOpCapability {last}\nOpExtension "{lack.extensions[0]}"\n{rest}'


def _variables(body: str) -> str:
    return "\n".join(line for line in body.splitlines() if " = OpVariable " in line)


def _rest(body: str) -> str:
    return "\n".join(line for line in body.splitlines() if " = OpVariable " not in line)


def store(value: str, index: str = "%lane", name: str = "place") -> str:
    """Return lines that store a value of the output's element type at ``index`` of ``%output``."""
    return f"%{name} = OpAccessChain %ptr_out %output %s32_0 {index}\nOpStore %{name} {value}"


def words(*values: int) -> np.ndarray:
    """Return a buffer of u32."""
    return np.array(values, np.uint32).view(np.uint8)
