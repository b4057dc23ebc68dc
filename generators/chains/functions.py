"""Writes functions of a case, and calls to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from generators.chains.decisions import U32, Decisions
from generators.chains.tiles import ChainWriter
from generators.program.functions import Argument, Function, Parameter
from generators.program.operation import Hint
from generators.program.values import Matrix, Scalar, Value, is_matrix
from generators.program.variables import Variable


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
