"""A module that a bug rewrites: its instructions by id, new instructions before an edited one, and its words again."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from generators.spirv.enumerants import Decoration, Op
from generators.spirv.grammar import GRAMMAR
from generators.spirv.reader import HEADER_WORDS, Instruction, read_instructions

Edit = Callable[["Module", Instruction], Instruction | None]
"""Returns the instruction in place of the given one, itself if nothing changes, or None to remove it. It may emit others before it."""


@dataclass(frozen=True)
class Bug:
    """A mistake that a compiler may make, as an edit of each instruction of some kinds.

    Attributes:
        name: ``area.mistake``.
        ops: the instructions that the edit gets.
        edit: makes the mistake.
    """

    name: str
    ops: frozenset[Op]
    edit: Edit


class Module:
    """A module that is being rewritten.

    Args:
        module: little-endian words.

    Attributes:
        ops: its instructions.
        definitions: id -> the instruction whose result it is.
        types: id of a value -> id of its type.
    """

    def __init__(self, module: bytes) -> None:
        self._header = struct.unpack_from(f"<{HEADER_WORDS}I", module)
        self._words = module
        self.instructions = list(read_instructions(module))
        self.ops = {instruction.op for instruction in self.instructions}
        self.definitions: dict[int, Instruction] = {}
        self.types: dict[int, int] = {}
        for instruction in self.instructions:
            operands = GRAMMAR.instructions[instruction.op].operands
            if instruction.op in (Op.Function, Op.FunctionParameter) or (operands[:1] and operands[0].kind == "T"):
                self.types[instruction.operands[1]] = instruction.operands[0]
                self.definitions[instruction.operands[1]] = instruction
            elif operands[:1] and operands[0].kind == "R":
                self.definitions[instruction.operands[0]] = instruction
        self._read = self.definitions, self.types
        self._forget()

    def _forget(self) -> None:
        self.definitions, self.types = map(dict, self._read)
        self._bound = self._header[3]
        self._declared: list[Instruction] = []
        self._emitted: list[Instruction] = []

    def with_bug(self, bug: Bug) -> bytes:
        """Return the words of the module with the mistake of a bug; the same words if the mistake changes no instruction."""
        if not bug.ops & self.ops:
            return self._words
        self._forget()
        found: list[Instruction] = []
        first_function = 0
        for instruction in self.instructions:
            if instruction.op is Op.Function and not first_function:
                first_function = len(found)
            edited = bug.edit(self, instruction) if instruction.op in bug.ops else instruction
            found += self._emitted
            self._emitted = []
            if edited is not None:
                found.append(edited)
        if found == self.instructions:
            return self._words
        found[first_function:first_function] = self._declared
        words = [word for one in found for word in (len(one.operands) + 1 << 16 | int(one.op), *one.operands)]
        magic, version, generator, _, schema = self._header
        return struct.pack(f"<{HEADER_WORDS + len(words)}I", magic, version, generator, self._bound, schema, *words)

    def emit(self, op: Op, type_: int, *operands: int) -> int:
        """Add an instruction before the edited one; return the id of its result."""
        self._emitted.append(Instruction(op, (type_, self._new_id(), *operands), 0))
        return self._emitted[-1].operands[1]

    def constant(self, like: int, value: int) -> int:
        """Return the id of a constant of the type of ``like``."""
        return self._declare(Op.Constant, (self.types[like],), (value,))

    def null(self, type_: int) -> int:
        """Return the id of the null of a type."""
        return self._declare(Op.ConstantNull, (type_,), ())

    def matrix_of(self, component: int, like: int) -> int:
        """Return the id of a type: the matrix type ``like`` with other components; the component itself if ``like`` is no matrix."""
        if not self.is_matrix(like):
            return component
        return self._declare(Op.TypeCooperativeMatrixKHR, (), (component, *self.definitions[like].operands[2:]))

    def integer(self, bits: int, signed: int) -> int:
        """Return the id of a type of integers."""
        return self._declare(Op.TypeInt, (), (bits, signed))

    def filled(self, type_: int, value: int) -> int:
        """Return the id of a constant number, or of a constant matrix of it."""
        if not self.is_matrix(type_):
            return self._declare(Op.Constant, (type_,), (value,))
        number = self._declare(Op.Constant, (self.definitions[type_].operands[1],), (value,))
        return self._declare(Op.ConstantComposite, (type_,), (number,))

    def is_matrix(self, type_: int) -> bool:
        """Return whether a type is a cooperative matrix."""
        return self.definitions[type_].op is Op.TypeCooperativeMatrixKHR

    def component(self, type_: int) -> tuple[Op, int] | None:
        """Return kind and width of a scalar type or a matrix's components; None for other types and for floats with an encoding."""
        found = self.definitions[type_]
        if found.op is Op.TypeCooperativeMatrixKHR:
            found = self.definitions[found.operands[1]]
        plain = found.op is Op.TypeInt or (found.op is Op.TypeFloat and len(found.operands) == 2)
        return (found.op, found.operands[1]) if plain else None

    def value(self, id_: int) -> int | None:
        """Return the value of an OpConstant; None if the id is none."""
        found = self.definitions[id_]
        return found.operands[2] if found.op is Op.Constant else None

    def decorations(self, target: int) -> dict[int, int]:
        """Return the decorations of an id with their first parameter, 0 if there is none."""
        decorated = (one.operands for one in self.instructions if one.op is Op.Decorate)
        return {operands[1]: (*operands[2:], 0)[0] for operands in decorated if operands[0] == target}

    def built_in(self, id_: int) -> int | None:
        """Return the built-in that a variable holds; None if it holds none."""
        return self.decorations(id_).get(Decoration.BuiltIn)

    def _declare(self, op: Op, types: Sequence[int], operands: Sequence[int]) -> int:
        at = len(types)
        for one in (*self.instructions, *self._declared):
            if one.op is op and (*one.operands[:at], *one.operands[at + 1 :]) == (*types, *operands):
                return one.operands[at]
        made = Instruction(op, (*types, self._new_id(), *operands), 0)
        self._declared.append(made)
        self.definitions[made.operands[at]] = made
        if types:
            self.types[made.operands[at]] = types[0]
        return made.operands[at]

    def _new_id(self) -> int:
        self._bound += 1
        return self._bound - 1
