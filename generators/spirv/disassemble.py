"""A module as text, in the words and the layout of spirv-dis."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from generators.errors import GeneratorError
from generators.spirv import enumerants
from generators.spirv.enumerants import OPERANDS, PARAMETERS, GlslStd450, Op
from generators.spirv.friendly_names import FriendlyNames
from generators.spirv.numbers import NumberType, number_text, number_type, number_words
from generators.spirv.reader import Instruction, read_header, read_instructions, read_string

_INDENT = 15

_GENERATORS: Mapping[int, str] = MappingProxyType(
    {
        0: "Khronos",
        7: "Khronos SPIR-V Tools Assembler",
        8: "Khronos Glslang Reference Front End",
        13: "Google Shaderc over Glslang",
        14: "Google spiregg",
        17: "Khronos SPIR-V Tools Linker",
    }
)


def disassemble(words: bytes) -> str:
    """The text of a module, as ``spirv-dis`` prints it with its header and friendly names.

    Raises:
        GeneratorError: not a SPIR-V module, or one with instructions that the tables do not have.
    """
    return "".join(f"{line}\n" for line in _Disassembly(words).lines())


def _enumerant_names(kind: str) -> dict[int, str]:
    members: type[enum.IntEnum] | type[enum.IntFlag] = getattr(enumerants, kind)
    # None_ and _2x2 are spelled so because Python takes neither None nor a leading digit.
    return {int(member): name.strip("_") for name, member in members.__members__.items()}


_PATTERNS: Mapping[Op, tuple[str, ...]] = MappingProxyType({op: tuple(pattern.split()) for op, pattern in OPERANDS.items()})
_PARAMETER_KINDS = {kind for by_value in PARAMETERS.values() for pattern in by_value.values() for kind in pattern.split()}
_KINDS = {kind.rstrip("?*") for pattern in _PATTERNS.values() for kind in pattern} | _PARAMETER_KINDS
_NAMES: Mapping[str, Mapping[int, str]] = MappingProxyType(
    {kind: MappingProxyType(_enumerant_names(kind)) for kind in _KINDS if isinstance(getattr(enumerants, kind, None), type)}
)
_MASKS = frozenset(kind for kind in _NAMES if issubclass(getattr(enumerants, kind), enum.IntFlag))
_INSTRUCTION_SETS: Mapping[str, Mapping[int, str]] = MappingProxyType(
    {"GLSL.std.450": MappingProxyType({int(member): member.name for member in GlslStd450})}
)


class _Disassembly:
    """One module being printed."""

    def __init__(self, words: bytes) -> None:
        self._header = read_header(words)
        self._instructions = list(read_instructions(words))
        self._numbers: dict[int, NumberType] = {}
        self._types: dict[int, int] = {}
        self._sets: dict[int, str] = {}
        for instruction in self._instructions:
            if instruction.op in (Op.TypeInt, Op.TypeFloat):
                self._numbers[instruction.operands[0]] = number_type(instruction)
            elif instruction.op is Op.ExtInstImport:
                self._sets[instruction.operands[0]] = read_string(instruction.operands[1:])[0]
            elif _PATTERNS[instruction.op][:1] == ("T",):
                self._types[instruction.operands[1]] = instruction.operands[0]
        self._names = FriendlyNames(self._instructions, self._numbers)

    def lines(self) -> Iterator[str]:
        major, minor = self._header.version
        tool = self._header.generator >> 16
        yield "; SPIR-V"
        yield f"; Version: {major}.{minor}"
        yield f"; Generator: {_GENERATORS.get(tool, f'Unknown({tool})')}; {self._header.generator & 0xFFFF}"
        yield f"; Bound: {self._header.bound}"
        yield f"; Schema: {self._header.schema}"
        for instruction in self._instructions:
            yield self._line(instruction)

    def _line(self, instruction: Instruction) -> str:
        pattern, words = _PATTERNS[instruction.op], instruction.operands
        result = ""
        text = [f"Op{instruction.op.name}"]
        at = 0
        try:
            for kind in pattern:
                if kind == "R":
                    result = f"%{self._names[words[at]]}"
                    at += 1
                elif kind.endswith("*"):
                    while at < len(words):
                        at = self._operand(kind[:-1], instruction, at, text)
                elif not kind.endswith("?"):
                    at = self._operand(kind, instruction, at, text)
                elif at < len(words):
                    at = self._operand(kind[:-1], instruction, at, text)
        except IndexError:
            raise GeneratorError(f"SPIR-V word {instruction.position}: {text[0]} lacks operands") from None
        if at != len(words):
            raise GeneratorError(f"SPIR-V word {instruction.position}: {text[0]} has {len(words) - at} operands too many")
        left = f"{result:>{_INDENT - 3}} = " if result else " " * _INDENT
        return left + " ".join(text)

    def _operand(self, kind: str, instruction: Instruction, at: int, text: list[str]) -> int:
        """Prints the operand of ``kind`` at word ``at``; gives the word after it."""
        words = instruction.operands
        match kind:
            case "id" | "T":
                text.append(f"%{self._names[words[at]]}")
            case "int":
                text.append(str(words[at]))
            case "str":
                string, length = read_string(words[at:])
                text.append('"' + string.replace("\\", "\\\\").replace('"', '\\"') + '"')
                return at + length
            case "number":
                return self._number(self._numbers[words[0]], words, at, text)
            case "ext":
                names = _INSTRUCTION_SETS.get(self._sets.get(words[2], ""), {})
                text.append(names.get(words[at], str(words[at])))
            case "opcode":
                inner = Op(words[at])
                text.append(inner.name)
                at += 1
                for inner_kind in _PATTERNS[inner]:
                    while inner_kind not in ("T", "R") and at < len(words):
                        at = self._operand(inner_kind.rstrip("?*"), instruction, at, text)
                        if not inner_kind.endswith("*"):
                            break
                return at
            case "PairIdRefIdRef":
                text += (f"%{self._names[words[at]]}", f"%{self._names[words[at + 1]]}")
                return at + 2
            case "PairIdRefLiteralInteger":
                text += (f"%{self._names[words[at]]}", str(words[at + 1]))
                return at + 2
            case "PairLiteralIntegerIdRef":
                at = self._number(self._numbers[self._types[words[0]]], words, at, text)
                text.append(f"%{self._names[words[at]]}")
            case _:
                return self._enumerant(kind, instruction, at, text)
        return at + 1

    def _number(self, type_: NumberType, words: tuple[int, ...], at: int, text: list[str]) -> int:
        end = at + number_words(type_)
        text.append(number_text(type_, words[at:end]))
        return end

    def _enumerant(self, kind: str, instruction: Instruction, at: int, text: list[str]) -> int:
        """Prints an enumerant, or the flags of a mask, and what each of them takes in addition."""
        value, names, parameters = instruction.operands[at], _NAMES[kind], PARAMETERS.get(kind, {})
        if kind in _MASKS:
            flags = [1 << bit for bit in range(32) if value >> bit & 1]
            text.append("|".join(names.get(flag, str(flag)) for flag in flags) or names.get(0, "None"))
        else:
            flags = [value]
            text.append(names.get(value, str(value)))
        at += 1
        for flag in flags:
            for extra in parameters.get(flag, "").split():
                at = self._operand(extra, instruction, at, text)
        return at
