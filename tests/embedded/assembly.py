"""A small SPIR-V assembler, and a shader's frame, for tests of the embedded device."""

from __future__ import annotations

import enum
import re
import struct
from collections.abc import Iterator

import numpy as np

from generators.spirv import enumerants
from generators.spirv.enumerants import MAGIC, OPERANDS, PARAMETERS, GlslStd450, Op

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s"]+')
_FLOATS = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}


def assemble(text: str) -> bytes:
    """The module that ``text`` describes, in the syntax of spirv-as (a subset of it)."""
    return _Assembler().module(text)


class _Assembler:
    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._numbers: dict[int, tuple[str, int]] = {}
        self._types: dict[int, int] = {}

    def module(self, text: str) -> bytes:
        words: list[int] = []
        for line in text.splitlines():
            tokens = _TOKEN.findall(line.partition(";")[0] if '"' not in line else line)
            if tokens:
                words += self._instruction(tokens)
        header = [MAGIC, 0x00010600, 0, len(self._ids) + 1, 0]
        return struct.pack(f"<{len(header) + len(words)}I", *header, *words)

    def _id(self, token: str) -> int:
        assert token.startswith("%"), f"expected an id, not {token}"
        return self._ids.setdefault(token, len(self._ids) + 1)

    def _instruction(self, tokens: list[str]) -> list[int]:
        result = None
        if len(tokens) > 2 and tokens[1] == "=":
            result, tokens = self._id(tokens[0]), tokens[2:]
        op = Op[tokens[0].removeprefix("Op")]
        rest = iter(tokens[1:])
        words: list[int] = []
        for kind in OPERANDS[op].split():
            if kind == "R":
                assert result is not None, f"{tokens[0]} has a result"
                words.append(result)
            elif kind[-1] in "?*":
                for token in rest:
                    words += self._operand(kind[:-1], token, rest, words)
                    if kind[-1] == "?":
                        break
            else:
                words += self._operand(kind, next(rest), rest, words)
        assert not list(rest), f"operands left over: {tokens}"
        self._note(op, words)
        return [len(words) + 1 << 16 | op, *words]

    def _note(self, op: Op, words: list[int]) -> None:
        if op is Op.TypeInt:
            self._numbers[words[0]] = ("int", words[1])
        elif op is Op.TypeFloat:
            self._numbers[words[0]] = ("float" if len(words) == 2 else "encoded", words[1])
        elif OPERANDS[op].startswith("T R"):
            self._types[words[1]] = words[0]

    def _operand(self, kind: str, token: str, rest: Iterator[str], words: list[int]) -> list[int]:
        match kind:
            case "id" | "T":
                return [self._id(token)]
            case "int":
                return [int(token, 0) & 0xFFFFFFFF]
            case "str":
                data = token[1:-1].encode() + b"\0"
                data += b"\0" * (-len(data) % 4)
                return list(struct.unpack(f"<{len(data) // 4}I", data))
            case "number":
                return self._number(self._numbers[words[0]], token)
            case "opcode":
                return [int(Op[token]), *(self._id(t) if t.startswith("%") else int(t, 0) for t in rest)]
            case "ext":
                return [int(GlslStd450[token])]
            case "PairIdRefIdRef":
                return [self._id(token), self._id(next(rest))]
            case "PairLiteralIntegerIdRef":
                return [*self._number(self._numbers[self._types[words[0]]], token), self._id(next(rest))]
        return self._enumerant(kind, token, rest, words)

    def _enumerant(self, kind: str, token: str, rest: Iterator[str], words: list[int]) -> list[int]:
        names: type[enum.IntEnum] = getattr(enumerants, kind)
        flags = []
        for name in token.split("|"):
            flags.append(int(name) if name.isdecimal() else int(names[{"None": "None_", "2x2": "_2x2"}.get(name, name)]))
        result = [sum(flags)]
        for flag in sorted(flags):
            for extra in PARAMETERS.get(kind, {}).get(flag, "").split():
                result += self._operand(extra, next(rest), rest, words)
        return result

    def _number(self, type_: tuple[str, int], token: str) -> list[int]:
        kind, width = type_
        if kind == "float":
            value = float.fromhex(token) if "0x" in token else float(token)
            bits = struct.unpack(_FLOATS[width][1], struct.pack(_FLOATS[width][0], value))[0]
        elif kind == "encoded":
            bits = int(token, 0)
        else:
            bits = int(token, 0)
        if width == 64:
            return [bits & 0xFFFFFFFF, bits >> 32 & 0xFFFFFFFF]
        return [bits & 0xFFFFFFFF]


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
) -> bytes:
    """A compute shader whose entry point is ``body``.

    There are a buffer ``%input`` (binding 0, read-only) and a buffer ``%output`` (binding 1), each with one array of ``buffer_type``; an
    array ``%shared`` of 64 u32 in Workgroup storage; the scalar types (``%u32`` …); pointers to an element (``%ptr_in``, ``%ptr_out``,
    ``%ptr_shared``); ``%lane``, ``%subgroup`` and ``%workgroup_x``, loaded; and a constant for each ``%u32_7``, ``%s8_-1``, ``%f32_0.5``
    that is mentioned.
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
    return assemble(
        f"""
OpCapability Shader
{capability_lines}
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


def _variables(body: str) -> str:
    return "\n".join(line for line in body.splitlines() if " = OpVariable " in line)


def _rest(body: str) -> str:
    return "\n".join(line for line in body.splitlines() if " = OpVariable " not in line)


def store(value: str, index: str = "%lane", name: str = "place") -> str:
    """Stores a value of the output's element type at ``index`` of ``%output``."""
    return f"%{name} = OpAccessChain %ptr_out %output %s32_0 {index}\nOpStore %{name} {value}"


def words(*values: int) -> np.ndarray:
    """A buffer of u32."""
    return np.array(values, np.uint32).view(np.uint8)
