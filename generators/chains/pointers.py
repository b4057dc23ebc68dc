"""Writes functions that take pointers, and variables to which these lead."""

from __future__ import annotations

from typing import Literal

from generators.chains.decisions import Decisions
from generators.chains.functions import FunctionWriter
from generators.chains.tiles import ChainWriter
from generators.program.functions import Direction, Function, PointerParameter
from generators.program.operation import Hint
from generators.program.values import Matrix, MatrixType
from generators.program.variables import Initializer, Path, ValueType, Variable

Storage = Literal["function", "private"]


class PointerWriter(FunctionWriter):
    """As FunctionWriter, with variables.

    Attributes:
        storage: of the variables to which pointers lead.
    """

    def __init__(self, writer: ChainWriter, decisions: Decisions, control: Hint, storage: Storage) -> None:
        super().__init__(writer, decisions, control)
        self.storage = storage

    def variable(self, kind: str, tile: int | None = None, storage: Storage | None = None) -> Variable:
        """A variable of an operand's type, which holds one of its tiles."""
        variable = self.writer.builder.variable(self.writer.name(f"variable_{kind}"), self.writer.type(kind), storage or self.storage)
        if tile is not None:
            self.set(variable, self.writer.load(kind, tile))
        return variable

    def variables(self, tile: int, kinds: str = "ab") -> list[Variable]:
        """A variable for each operand, which holds one of its tiles."""
        return [self.variable(kind, tile) for kind in kinds]

    def own(self, type_: MatrixType, initializer: Initializer | None = None) -> Variable:
        """A variable for a function to have."""
        return Variable(self.writer.name("own"), type_, "function", initializer)

    def pointer(self, kind: str, direction: Direction = "inout", storage: Storage | None = None) -> PointerParameter:
        """A parameter that is a pointer to a matrix of an operand's type."""
        return self.pointer_to(self.writer.type(kind), f"pointer_{kind}", direction, storage)

    def pointer_to(self, type_: ValueType, name: str, direction: Direction = "inout", storage: Storage | None = None) -> PointerParameter:
        """A parameter that is a pointer to a variable of ``type_``."""
        return PointerParameter(Variable(self.writer.name(name), type_, storage or self.storage), direction)

    def get(self, place: Variable | PointerParameter, *path: int) -> Matrix:
        """What a variable has."""
        variable = place.variable if isinstance(place, PointerParameter) else place
        return self.writer.builder.get_matrix(self.writer.name("got"), variable, *path)

    def set(self, place: Variable | PointerParameter, matrix: Matrix, path: Path = ()) -> None:
        """Writes to a variable, or to the part of it to which ``path`` leads."""
        variable = place.variable if isinstance(place, PointerParameter) else place
        self.writer.builder.set(variable, path, matrix)

    def keep(self, variable: Variable, output: str, *path: int) -> None:
        """Stores what a variable has to an output."""
        self.writer.store(self.get(variable, *path), output)

    def adding(self) -> Function:
        """(a, b, pointer to c): c becomes a x b + c."""
        a, b = self.parameters("a", "b")
        c = self.pointer("c")
        return self.function("accumulate", [a, b, c], lambda: self.set(c, self.writer.muladd(a, b, self.get(c))))
