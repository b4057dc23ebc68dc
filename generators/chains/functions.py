"""Writes functions of a case, and calls of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from generators.chains.decisions import U32, Decisions
from generators.chains.tiles import ChainWriter
from generators.program.functions import Argument, Function, Parameter
from generators.program.operation import Hint
from generators.program.values import Matrix, Scalar
from generators.program.variables import Variable


class FunctionWriter:
    """Writes functions with the control of the case, and calls of them.

    Attributes:
        writer, decisions: of the program. ``control``: of its functions.
    """

    def __init__(self, writer: ChainWriter, decisions: Decisions, control: Hint) -> None:
        self.writer = writer
        self.decisions = decisions
        self.control = control

    def parameters(self, *kinds: str) -> list[Matrix]:
        """One matrix parameter for each operand that is named."""
        return [Matrix(self.writer.name(f"parameter_{kind}"), self.writer.type(kind)) for kind in kinds]

    def scalars(self, *names: str) -> list[Scalar]:
        """u32 parameters."""
        return [Scalar(self.writer.name(f"parameter_{name}"), U32) for name in names]

    def function(
        self, name: str, parameters: Sequence[Parameter], body: Callable[[], Matrix | None], variables: Sequence[Variable] = ()
    ) -> Function:
        """A function; ``body`` writes it and gives what it returns. ``variables`` are its own."""
        with self.writer.builder.arm() as operations:
            returned = body()
        return Function(self.writer.name(name), tuple(parameters), tuple(operations), returned, self.control, tuple(variables))

    def call(self, function: Function, *arguments: Argument) -> Matrix:
        """The matrix that a function returns."""
        result = self.writer.builder.call(self.writer.name("result"), function, arguments)
        assert isinstance(result, Matrix)
        return result

    def run(self, function: Function, *arguments: Argument) -> None:
        """Calls a function that returns nothing."""
        self.writer.builder.call(self.writer.name("nothing"), function, arguments)

    def product(self) -> Function:
        """(a, b, c) -> a x b + c."""
        a, b, c = self.parameters("a", "b", "c")
        return self.function("multiply", [a, b, c], lambda: self.writer.muladd(a, b, c))

    def tiles(self, tile: int) -> tuple[Matrix, Matrix]:
        """A tile of A and the same one of B."""
        return self.writer.load("a", tile), self.writer.load("b", tile)
