"""Writes functions of a case, calls to them, and the variables that their pointers point to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from generators.chains.decisions import U32, Decisions
from generators.chains.tiles import ChainWriter
from generators.program.functions import Argument, Direction, Function, Parameter, PointerParameter
from generators.program.operation import Hint
from generators.program.values import Matrix, MatrixType, Scalar, Value, ValueType, is_matrix
from generators.program.variables import Initializer, Path, Variable

Storage = Literal["function", "private"]
"""Storage classes of variables."""


class FunctionWriter:
    """Writes functions with the function control of the case, and calls to them.

    Attributes:
        writer, decisions: the program's writer and decisions.
        control: the function control of its functions.
    """

    def __init__(self, writer: ChainWriter, decisions: Decisions, control: Hint) -> None:
        self.writer = writer
        self.decisions = decisions
        self.control = control

    def parameters(self, *kinds: str) -> list[Matrix]:
        """Make a matrix parameter for each named operand."""
        return [Value(self.writer.name(f"parameter_{kind}"), self.writer.type(kind)) for kind in kinds]

    def scalars(self, *names: str) -> list[Scalar]:
        """Make u32 parameters."""
        return [Value(self.writer.name(f"parameter_{name}"), U32) for name in names]

    def function(
        self, name: str, parameters: Sequence[Parameter], body: Callable[[], Matrix | None], variables: Sequence[Variable] = ()
    ) -> Function:
        """Write a function. ``body`` writes its operations and returns the matrix that the function returns; ``variables`` are local to the
        function."""
        with self.writer.builder.arm() as operations:
            returned = body()
        return Function(self.writer.name(name), tuple(parameters), tuple(operations), returned, self.control, tuple(variables))

    def call(self, function: Function, *arguments: Argument) -> Matrix:
        """Call a function that returns a matrix."""
        result = self.writer.builder.call(self.writer.name("result"), function, arguments)
        assert is_matrix(result)
        return result

    def run(self, function: Function, *arguments: Argument) -> None:
        """Call a function that returns nothing."""
        self.writer.builder.call(self.writer.name("nothing"), function, arguments)

    def product(self) -> Function:
        """Write the function (a, b, c) -> a x b + c."""
        a, b, c = self.parameters("a", "b", "c")
        return self.function("multiply", [a, b, c], lambda: self.writer.muladd(a, b, c))

    def tiles(self, tile: int) -> tuple[Matrix, Matrix]:
        """Load a tile of A and the tile of B with the same number."""
        return self.writer.load("a", tile), self.writer.load("b", tile)


class PointerWriter(FunctionWriter):
    """Writes functions, and variables.

    Attributes:
        storage: the storage class of the variables that pointers point to.
    """

    def __init__(self, writer: ChainWriter, decisions: Decisions, control: Hint, storage: Storage) -> None:
        super().__init__(writer, decisions, control)
        self.storage = storage

    def variable(self, kind: str, tile: int | None = None, storage: Storage | None = None) -> Variable:
        """Declare a variable of an operand's type. It holds one of the operand's tiles, or no value yet."""
        variable = self.writer.builder.variable(self.writer.name(f"variable_{kind}"), self.writer.type(kind), storage or self.storage)
        if tile is not None:
            self.set(variable, self.writer.load(kind, tile))
        return variable

    def variables(self, tile: int, kinds: str = "ab") -> list[Variable]:
        """Declare a variable for each operand, which holds one of its tiles."""
        return [self.variable(kind, tile) for kind in kinds]

    def own(self, type_: MatrixType, initializer: Initializer | None = None) -> Variable:
        """Make a variable that a function may own."""
        return Variable(self.writer.name("own"), type_, "function", initializer)

    def pointer(self, kind: str, direction: Direction = "inout", storage: Storage | None = None) -> PointerParameter:
        """Make a pointer parameter to a matrix of an operand's type."""
        return self.pointer_to(self.writer.type(kind), f"pointer_{kind}", direction, storage)

    def pointer_to(self, type_: ValueType, name: str, direction: Direction = "inout", storage: Storage | None = None) -> PointerParameter:
        """Make a pointer parameter to a variable of ``type_``."""
        return PointerParameter(Variable(self.writer.name(name), type_, storage or self.storage), direction)

    def get(self, holder: Variable | PointerParameter, *path: int) -> Matrix:
        """Read a variable, or the part of it that ``path`` leads to."""
        variable = holder.variable if isinstance(holder, PointerParameter) else holder
        return self.writer.builder.get_matrix(self.writer.name("got"), variable, *path)

    def set(self, holder: Variable | PointerParameter, matrix: Matrix, path: Path = ()) -> None:
        """Write to a variable, or to the part of it that ``path`` leads to."""
        variable = holder.variable if isinstance(holder, PointerParameter) else holder
        self.writer.builder.set(variable, path, matrix)

    def keep(self, variable: Variable, output: str, *path: int) -> None:
        """Store a variable, or the part of it that ``path`` leads to, to an output."""
        self.writer.store(self.get(variable, *path), output)

    def adding(self) -> Function:
        """Write the function (a, b, pointer to c), which sets c to a x b + c."""
        a, b = self.parameters("a", "b")
        c = self.pointer("c")
        return self.function("accumulate", [a, b, c], lambda: self.set(c, self.writer.muladd(a, b, self.get(c))))
