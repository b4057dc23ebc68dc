"""Splits an instruction's words into operands by the grammar: ids, literals and enumerants, and the end of each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from generators.spirv.enumerants import Op
from generators.spirv.grammar import GRAMMAR, OperandPattern
from generators.spirv.reader import Instruction, NotSpirv, read_string

_PAIRS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {"PairIdRefIdRef": ("id", "id"), "PairIdRefLiteralInteger": ("id", "int"), "PairLiteralIntegerIdRef": ("case", "id")}
)
_NUMBERS = frozenset({Op.TypeInt, Op.TypeFloat})


class Operand(NamedTuple):
    """One operand.

    Attributes:
        kind: as in ``grammar``; ``case`` is a literal of OpSwitch, and a pair is two operands.
        at: index of its first word in the instruction's operands.
        end: index of the word after it.
    """

    kind: str
    at: int
    end: int


class LiteralWidths:
    """The number of words of literals, from the types and values that the instructions so far have declared.

    Attributes:
        types: id of a type of numbers -> words of a literal.
        values: id of a value -> id of its type.
    """

    def __init__(self) -> None:
        self.types: dict[int, int] = {}
        self.values: dict[int, int] = {}

    def learn(self, instruction: Instruction) -> None:
        """Record the declaration of an instruction whose operands are already split."""
        op, words = instruction.op, instruction.operands
        if op in _NUMBERS:
            self.types[words[0]] = max(-(-words[1] // 32), 1)
        elif GRAMMAR.instructions[op].is_typed:
            self.values[words[1]] = words[0]


def split_operands(instruction: Instruction, widths: LiteralWidths) -> list[Operand]:
    """Return the operands of ``instruction``, in order.

    Raises:
        NotSpirv: words are missing, or left over.
    """
    found = _Splitter(instruction, widths)
    for pattern in GRAMMAR.instructions[instruction.op].operands:
        found.take(pattern)
    return found.all()


class _Splitter:
    def __init__(self, instruction: Instruction, widths: LiteralWidths) -> None:
        self._instruction = instruction
        self._widths = widths
        self._words = instruction.operands
        self._found: list[Operand] = []
        self._at = 0

    def all(self) -> list[Operand]:
        left = len(self._words) - self._at
        if left:
            raise NotSpirv(self._instruction.position, f"Op{self._instruction.op.name} has {left} operands too many")
        return self._found

    def take(self, pattern: OperandPattern) -> None:
        """Take the operands for one item of the pattern."""
        kind, quantifier = pattern
        if quantifier == "*":
            while self._at < len(self._words):
                self._one(kind)
        elif not quantifier or self._at < len(self._words):
            self._one(kind)

    def _one(self, kind: str) -> None:
        if kind in _PAIRS:
            for part in _PAIRS[kind]:
                self._one(part)
            return
        if self._at >= len(self._words):
            raise self._lacking()
        value = self._words[self._at]
        self._add(kind, self._length(kind))
        if kind == "opcode":
            self._inner(value)
        elif kind in GRAMMAR.kinds:
            enumerants = GRAMMAR.kinds[kind]
            if enumerants.parameters:
                for enumerant in enumerants.values(value):
                    for extra in enumerants.parameters.get(enumerant, ()):
                        self.take(extra)

    def _add(self, kind: str, length: int) -> None:
        if self._at + length > len(self._words):
            raise self._lacking()
        self._found.append(Operand(kind, self._at, self._at + length))
        self._at += length

    def _length(self, kind: str) -> int:
        words, at = self._words, self._at
        match kind:
            case "str":
                return read_string(words[at:], self._instruction.position + 1 + at)[1]
            case "number":
                return self._width(words[0], "the type of the constant")
            case "case":
                return self._width(self._widths.values.get(words[0], 0), "the type of the selector")
            case _:
                return 1

    def _width(self, type_: int, what: str) -> int:
        if type_ not in self._widths.types:
            raise NotSpirv(self._instruction.position, f"Op{self._instruction.op.name}: {what} is not a type of numbers declared before")
        return self._widths.types[type_]

    def _inner(self, opcode: int) -> None:
        """Read the operands of the instruction that an OpSpecConstantOp computes."""
        inner = GRAMMAR.instructions.get(opcode)
        if inner is None:
            raise NotSpirv(self._instruction.position, f"Op{self._instruction.op.name} of opcode {opcode}, which is unknown")
        for pattern in inner.operands:
            if pattern.kind not in ("T", "R"):
                self.take(pattern)

    def _lacking(self) -> NotSpirv:
        return NotSpirv(self._instruction.position, f"Op{self._instruction.op.name} lacks operands")
