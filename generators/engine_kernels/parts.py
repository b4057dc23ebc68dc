"""Parts that whole kernels share: loops that accumulate, tiles of a grid, and tensors that all workgroups use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from generators.layouts.tensor_writer import TensorWriter
from generators.layouts.tensors import Tensor
from generators.numerics.formats import bits_of
from generators.parameters.declaration import parameter
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Carried
from generators.program.expressions import constant
from generators.program.functions import Function
from generators.program.operation import Hint
from generators.program.values import (
    Matrix,
    MatrixType,
    Operand,
    Scalar,
    ScalarValue,
    Source,
    TensorLayout,
    TensorLayoutType,
    TensorView,
    TensorViewType,
    Value,
)
from generators.types import ClampMode, ComponentType

Carry = Literal["phi", "variable", "unrolled"]
"""How matrices get from one iteration to the next: as values that the loop carries, in variables, or without any loop."""

Tail = Literal["none", "m", "n", "k", "all"]
"""The sizes of a product that are not multiples of a workgroup's part."""

GAPS: Mapping[str, bool] = MappingProxyType({"none": False, "some": True})
"""Whether padding follows each line."""


LOOP = ("source", "carry", "hint")
"""The parameters of ``LoopParameters``."""


@dataclass(frozen=True, kw_only=True)
class LoopParameters:
    """The parameters of a kernel that accumulates in a loop."""

    source: Source = parameter("where the numbers of the kernel come from", default="literal")
    carry: Carry = parameter("how matrices get from one iteration to the next", default="phi")
    hint: Hint = parameter(
        "the loop's hint, for or against unrolling", default="none", applies=lambda parameters: parameters.carry != "unrolled"
    )


def workgroups_of(grid: tuple[int, int], instances: int) -> int:
    """Return how many workgroups of ``instances`` scope instances give each tile of the grid one instance; 0 if the tiles do not fill
    them."""
    tiles = grid[0] * grid[1]
    return tiles // instances if tiles % instances == 0 else 0


def with_tail(tail: Tail, m: int, n: int, k: int) -> tuple[int, int, int]:
    """Return ``m``, ``n`` and ``k``. Those that the tail names are smaller, each by a different number."""
    return (
        m - 3 if tail in ("m", "all") else m,
        n - 5 if tail in ("n", "all") else n,
        k - 3 if tail in ("k", "all") else k,
    )


def constant_of(value: float, component: ComponentType) -> Operand:
    """Return a constant of a function."""
    return constant(component, bits_of(component, value))


class KernelWriter(TensorWriter):
    """Writes kernels whose numbers come from one source.

    Args:
        builder: gets the operations.
        parameters: give the source of the numbers and the form of the loop.
    """

    def __init__(self, builder: ProgramBuilder, parameters: LoopParameters) -> None:
        super().__init__(builder, parameters.source)
        self.carry = parameters.carry
        self.hint = parameters.hint
        self._count = 0

    def name(self, what: str) -> str:
        """Return a unique name."""
        self._count += 1
        return f"{what}_{self._count}"

    def literal(self, value: int) -> Operand:
        """Return a literal u32."""
        return self.builder.literal(value)

    def scaled(self, what: str, value: ScalarValue, factor: int, addend: int = 0) -> ScalarValue:
        """Return ``value`` * ``factor`` + ``addend``."""
        if isinstance(value, Operand) and value.source == "literal":
            assert value.value is not None, "a literal has its value"
            return self.literal(value.value * factor + addend)
        product = self.builder.arithmetic(self.name(f"{what}_times"), "multiply", value, self.literal(factor))
        return self.sum(what, product, self.literal(addend)) if addend else product

    def sum(self, what: str, left: ScalarValue, right: ScalarValue) -> ScalarValue:
        """Return ``left`` + ``right``."""
        return self.builder.arithmetic(self.name(what), "add", left, right)

    def zero(self, what: str, type_: MatrixType) -> Matrix:
        """Return a matrix of zeros."""
        return self.builder.splat(self.name(what), type_, self.builder.literal(0, type_.component))

    def divided(self, index: ScalarValue, width: ScalarValue, names: tuple[str, str]) -> tuple[Scalar, Scalar]:
        """Return the quotient and the remainder of ``index`` by ``width``: the row and the column of a tile in a grid."""
        builder = self.builder
        return builder.arithmetic(names[0], "divide", index, width), builder.arithmetic(names[1], "modulo", index, width)

    def load(
        self,
        what: str,
        name: str,
        type_: MatrixType,
        tensor: Tensor,
        layout: TensorLayout,
        view: TensorView | None = None,
        decode: Function | None = None,
    ) -> Matrix:
        """Load a matrix, called ``name``, from a tensor that all instances share; ``what`` begins the name of the zeros before it."""
        before = self.zero(f"{what}_before", type_)
        return tensor.load(name, type_, self.literal(tensor.first), before, layout, view, None, decode)

    def store(self, matrix: Matrix, tensor: Tensor, layout: TensorLayout) -> None:
        """Store a matrix to a tensor that all instances share."""
        tensor.store(matrix, self.literal(tensor.first), layout)

    def _trip_count(self, trips: int) -> ScalarValue:
        """Return the operand ``trips``. The default of a specialization constant is smaller than its value: with a larger default, a device
        that ignores the specialization would only add tiles beyond the matrices, which are zeros."""
        return self.number("trips", trips, signed=False, default=trips - 1 if trips else 1)

    def repeat(
        self, trips: int, initial: Sequence[Matrix], body: Callable[[ScalarValue, Sequence[Matrix]], Sequence[Matrix]]
    ) -> list[Matrix]:
        """Run ``body`` ``trips`` times and return the last matrices. ``body`` gets the index of the iteration and the current matrices, and
        returns the next ones."""
        match self.carry:
            case "phi":
                return self._by_phi(trips, initial, body)
            case "variable":
                return self._by_variables(trips, initial, body)
            case _:
                current = list(initial)
                for i in range(trips):
                    current = list(body(self.literal(i), current))
                return current

    def _by_phi(
        self, trips: int, initial: Sequence[Matrix], body: Callable[[ScalarValue, Sequence[Matrix]], Sequence[Matrix]]
    ) -> list[Matrix]:
        index = Value(self.name("i"), U32)
        current = [Value(self.name("carried"), matrix.type) for matrix in initial]
        carried: list[Carried] = []
        count = self._trip_count(trips)
        with self.builder.loop(index, count, carried, self.hint):
            following = body(index, current)
            carried += [Carried(*matrices) for matrices in zip(initial, current, following, strict=True)]
        return current

    def _by_variables(
        self, trips: int, initial: Sequence[Matrix], body: Callable[[ScalarValue, Sequence[Matrix]], Sequence[Matrix]]
    ) -> list[Matrix]:
        builder = self.builder
        variables = [builder.variable(self.name("kept"), matrix.type) for matrix in initial]
        for variable, matrix in zip(variables, initial, strict=True):
            builder.set(variable, (), matrix)
        index = Value(self.name("i"), U32)
        with builder.loop(index, self._trip_count(trips), [], self.hint):
            current = [builder.get_matrix(self.name("current"), variable) for variable in variables]
            for variable, matrix in zip(variables, body(index, current), strict=True):
                builder.set(variable, (), matrix)
        return [builder.get_matrix(self.name("final"), variable) for variable in variables]


def opened(writer: KernelWriter, tensor: Tensor, name: str, clamp: ClampMode) -> TensorLayout:
    """Create the layout of a whole tensor, which :func:`sliced` cuts."""
    return writer.layout(name, TensorLayoutType(len(tensor.sizes), clamp), *tensor.steps)


def sliced(writer: KernelWriter, layout: TensorLayout, *slices: tuple[ScalarValue, int]) -> TensorLayout:
    """Cut ``layout`` to (offset, span) in each dimension."""
    numbers: list[int | ScalarValue] = []
    for offset, span in slices:
        numbers += [offset, writer.literal(span)]
    return writer.changed(writer.name(f"{layout.name}_cut"), layout, ("slice", numbers))


def transposing(writer: KernelWriter, rank: int = 2) -> TensorView:
    """Create a view that exchanges the two innermost dimensions."""
    order = (*range(rank - 2), rank - 1, rank - 2)
    return writer.view(writer.name("transposing"), TensorViewType(order))
