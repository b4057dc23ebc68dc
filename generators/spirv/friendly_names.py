"""Names for the ids of a module, by the rules of spirv-dis: from OpName, otherwise from the type, constant or built-in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from generators.spirv.enumerants import BuiltIn, Decoration, FPEncoding, Op, StorageClass
from generators.spirv.numbers import NumberType, number_text
from generators.spirv.reader import Instruction, read_string

_FIXED = {Op.TypeVoid: "void", Op.TypeBool: "bool"}
_CONSTANTS = {Op.ConstantTrue: "true", Op.ConstantFalse: "false"}
_INTEGERS = {8: "char", 16: "short", 32: "int", 64: "long"}
_FLOATS = {16: "half", 32: "float", 64: "double"}
_ENCODED: Mapping[int, str] = {FPEncoding.BFloat16KHR: "bfloat16", FPEncoding.Float8E4M3EXT: "fp8e4m3", FPEncoding.Float8E5M2EXT: "fp8e5m2"}

_BUILT_INS: Mapping[int, str] = MappingProxyType(
    {
        BuiltIn.NumWorkgroups: "gl_NumWorkGroups",
        BuiltIn.WorkgroupSize: "gl_WorkGroupSize",
        BuiltIn.WorkgroupId: "gl_WorkGroupID",
        BuiltIn.LocalInvocationId: "gl_LocalInvocationID",
        BuiltIn.GlobalInvocationId: "gl_GlobalInvocationID",
        BuiltIn.LocalInvocationIndex: "gl_LocalInvocationIndex",
        BuiltIn.SubgroupSize: "SubgroupSize",
        BuiltIn.NumSubgroups: "NumSubgroups",
        BuiltIn.SubgroupId: "SubgroupId",
        BuiltIn.SubgroupLocalInvocationId: "SubgroupLocalInvocationId",
    }
)

_INVALID = re.compile(r"[^0-9A-Za-z_]")
_STORAGE: Mapping[int, str] = MappingProxyType({int(storage): storage.name for storage in StorageClass})
_LONGEST = 256
"""Maximum number of characters in a name. Names of types contain the names of their parts, so they double in length with each type that is
made from two."""


class FriendlyNames:
    """The names of the ids of one module. ``names[id]`` is unique among them, without the percent sign."""

    def __init__(self, instructions: Iterable[Instruction], numbers: Mapping[int, NumberType]) -> None:
        self._names: dict[int, str] = {}
        self._used: dict[str, int] = {}
        for instruction in instructions:
            self._read(instruction, numbers)

    def __getitem__(self, id_: int) -> str:
        return self._names.get(id_) or str(id_)

    def _save(self, id_: int, suggested: str) -> None:
        if id_ in self._names:
            return
        base = _INVALID.sub("_", suggested[:_LONGEST]) or "_"
        name, number = base, self._used.get(base, 0)
        while name in self._used:
            name = f"{base}_{number}"
            number += 1
        self._names[id_] = name
        self._used[base] = number
        self._used.setdefault(name, 0)

    def _read(self, instruction: Instruction, numbers: Mapping[int, NumberType]) -> None:
        op, words = instruction.op, instruction.operands
        if op is Op.Name:
            self._save(words[0], read_string(words[1:])[0])
        elif op is Op.Decorate:
            if words[1] == Decoration.BuiltIn and words[2] in _BUILT_INS:
                self._save(words[0], _BUILT_INS[words[2]])
        elif op in _FIXED:
            self._save(words[0], _FIXED[op])
        elif op in _CONSTANTS:
            self._save(words[1], _CONSTANTS[op])
        elif op is Op.TypeInt:
            self._save(words[0], ("" if words[2] else "u") + _INTEGERS.get(words[1], f"int{words[1]}"))
        elif op is Op.TypeFloat:
            encoded = _ENCODED.get(words[2], f"fp{words[1]}_{words[2]}") if len(words) > 2 else None
            self._save(words[0], encoded or _FLOATS.get(words[1], f"fp{words[1]}"))
        elif op is Op.TypeVector:
            self._save(words[0], f"v{words[2]}{self[words[1]]}")
        elif op is Op.TypeMatrix:
            self._save(words[0], f"mat{words[2]}{self[words[1]]}")
        elif op is Op.TypeArray:
            self._save(words[0], f"_arr_{self[words[1]]}_{self[words[2]]}")
        elif op is Op.TypeRuntimeArray:
            self._save(words[0], f"_runtimearr_{self[words[1]]}")
        elif op is Op.TypePointer:
            self._save(words[0], f"_ptr_{_STORAGE.get(words[1], words[1])}_{self[words[2]]}")
        elif op is Op.TypeOpaque:
            self._save(words[0], f"Opaque_{read_string(words[1:])[0]}")
        elif op is Op.TypeStruct:
            self._save(words[0], f"_struct_{words[0]}")
        elif op is Op.Constant:
            literal = number_text(numbers[words[0]], words[2:])
            self._save(words[1], f"{self[words[0]]}_{literal.replace('-', 'n')}")
