"""A module as text, in the format of spirv-dis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from generators.spirv.enumerants import Op
from generators.spirv.friendly_names import FriendlyNames
from generators.spirv.grammar import GRAMMAR
from generators.spirv.numbers import NumberType, number_text, number_type
from generators.spirv.operands import LiteralWidths, Operand, split_operands
from generators.spirv.reader import Instruction, read_header, read_instructions, read_string

_INDENT = 15
_HEADER_LINES = 5

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
    """Return the text of a module, as ``spirv-dis`` prints it with its header and friendly names.

    Raises:
        NotSpirv: it is not a SPIR-V module, or operands do not fit together.
        UnknownInstruction: the grammar lacks an instruction.
    """
    return "".join(f"{line}\n" for line in _Disassembly(words).lines())


def instruction_lines(words: bytes) -> list[str]:
    """Return the text of each instruction of a module; strings in it may hold line breaks.

    Raises:
        NotSpirv, UnknownInstruction: see ``disassemble``.
    """
    return list(_Disassembly(words).lines())[_HEADER_LINES:]


_INSTRUCTION_SETS: Mapping[str, Mapping[int, str]] = MappingProxyType(
    {name: MappingProxyType({number: word for word, number in words.items()}) for name, words in GRAMMAR.instruction_sets.items()}
)


class _Disassembly:
    """One module being printed."""

    def __init__(self, words: bytes) -> None:
        self._header = read_header(words)
        self._instructions = list(read_instructions(words))
        self._numbers: dict[int, NumberType] = {}
        self._sets: dict[int, str] = {}
        self._operands: list[list[Operand]] = []
        self._types: dict[int, int] = {}
        widths = LiteralWidths()
        for instruction in self._instructions:
            self._operands.append(split_operands(instruction, widths))
            widths.learn(instruction)
            if instruction.op in (Op.TypeInt, Op.TypeFloat):
                self._numbers[instruction.operands[0]] = number_type(instruction)
            elif instruction.op is Op.ExtInstImport:
                self._sets[instruction.operands[0]] = read_string(instruction.operands[1:])[0]
        self._types = widths.values
        self._names = FriendlyNames(self._instructions, self._numbers)

    def lines(self) -> Iterator[str]:
        major, minor = self._header.version
        tool = self._header.generator >> 16
        yield "; SPIR-V"
        yield f"; Version: {major}.{minor}"
        yield f"; Generator: {_GENERATORS.get(tool, f'Unknown({tool})')}; {self._header.generator & 0xFFFF}"
        yield f"; Bound: {self._header.bound}"
        yield f"; Schema: {self._header.schema}"
        for instruction, operands in zip(self._instructions, self._operands, strict=True):
            yield self._line(instruction, operands)

    def _line(self, instruction: Instruction, operands: list[Operand]) -> str:
        result = ""
        text = [f"Op{instruction.op.name}"]
        for operand in operands:
            if operand.kind == "R":
                result = f"%{self._names[instruction.operands[operand.at]]}"
            else:
                text.append(self._operand(instruction, operand))
        left = f"{result:>{_INDENT - 3}} = " if result else " " * _INDENT
        return left + " ".join(text)

    def _operand(self, instruction: Instruction, operand: Operand) -> str:
        words, value = instruction.operands, instruction.operands[operand.at]
        match operand.kind:
            case "id" | "T":
                return f"%{self._names[value]}"
            case "int":
                return str(value)
            case "str":
                string = read_string(words[operand.at : operand.end])[0]
                return '"' + string.replace("\\", "\\\\").replace('"', '\\"') + '"'
            case "number":
                return number_text(self._numbers[words[0]], words[operand.at : operand.end])
            case "case":
                return number_text(self._numbers[self._types[words[0]]], words[operand.at : operand.end])
            case "ext":
                return _INSTRUCTION_SETS.get(self._sets.get(words[2], ""), {}).get(value, str(value))
            case "opcode":
                return Op(value).name
            case _:
                return _enumerant(operand.kind, value)


def _enumerant(kind: str, value: int) -> str:
    """Return an enumerant, or the flags of a mask."""
    enumerants = GRAMMAR.kinds[kind]
    names = enumerants.by_value
    flags = enumerants.values(value) or [0]
    return "|".join(names[flag].name if flag in names else str(flag) if flag else "None" for flag in flags)
