"""kernel_product: matrix products over the tiles of tensors, with ragged edges, an epilogue, and clipped stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.engine_kernels.epilogues import Epilogue, EpilogueKind, epilogue_data, share
from generators.engine_kernels.parts import (
    GAPS,
    LOOP,
    KernelWriter,
    LoopParameters,
    Tail,
    opened,
    sliced,
    transposing,
    with_tail,
    workgroups_of,
)
from generators.inputs import kernels
from generators.layouts.placement import add_witness_of_instances, fills
from generators.layouts.row_types import row_type
from generators.layouts.tensor_writer import ViewStep
from generators.layouts.tensors import Tensor, shared_tensor
from generators.parameters.declaration import parameter
from generators.parameters.matrices import OneRow
from generators.parameters.vocabulary import layouts_of, parse_shape
from generators.program.builder import ProgramBuilder
from generators.program.control_flow import Condition
from generators.program.memory import Role
from generators.program.operation import Operation
from generators.program.program import Built, Program, Subcase
from generators.program.values import Matrix, MatrixType, ScalarValue, TensorLayout, TensorView, TensorViewType
from generators.types import ClampMode, Layout, MemoryScope


@dataclass(frozen=True, kw_only=True)
class Parameters(OneRow, LoopParameters):
    """The parameters of a case."""

    grid: tuple[int, int] = parameter("tiles of the result, down and across", default="1x1", decode=parse_shape)
    walk: Literal["rows", "columns"] = parameter(
        "whether neighbouring instances have tiles of one row of the grid, or of one column",
        default="rows",
        applies=lambda parameters: parameters.grid != (1, 1),
    )
    accumulators: int = parameter("accumulators of a scope instance, beside each other", default=1)
    trips: int = parameter("iterations", default=3)
    tail: Tail = parameter("which sizes are not multiples of the tile's sizes", default="all")
    edges: Literal["constant", "mixed"] = parameter("what continues A beyond K: zeros, or its last element", default="constant")
    stored: tuple[Layout, ...] = parameter("the layouts of A and B in memory", default="rr", decode=layouts_of(2))
    gap: bool = parameter("whether elements that belong to no tensor follow each line", default="none", labels=GAPS)
    start: Literal["zero", "broadcast", "residual"] = parameter(
        "what the sum begins with: zeros, a bias for each row, or the contents of the target", default="zero"
    )
    epilogue: EpilogueKind = parameter("how sums are changed before they are stored", default="none")
    store: Literal["clamped", "branched"] = parameter(
        "what keeps stores inside the tensor: its bounds, or a branch where the tile is inside", default="clamped", then=LOOP
    )


@dataclass(frozen=True)
class _Sizes:
    """The sizes of a product.

    Attributes:
        columns: the number of columns of the part that a scope instance computes.
        m, n, k: the sizes of the tensors, which need not be multiples of the tiles' sizes.
    """

    columns: int
    m: int
    n: int
    k: int


def _sizes(parameters: Parameters) -> _Sizes:
    """Work out the sizes of a case."""
    row, (tiles_m, tiles_n) = parameters.row, parameters.grid
    columns = row.n * parameters.accumulators
    # Even without iterations there is a tensor, but its elements must not be used.
    k = row.k * max(1, parameters.trips)
    return _Sizes(columns, *with_tail(parameters.tail, row.m * tiles_m, columns * tiles_n, k))


PREDICATES: Mapping[str, Callable[[Parameters], bool]] = {
    "divides": lambda parameters: workgroups_of(parameters.grid, parameters.instances) > 0,
}


@dataclass(frozen=True)
class _Factor:
    """A factor in memory.

    Attributes:
        tensor: the tensor, in its stored order.
        layout: the layout of the whole tensor.
        view: transposes it if it is stored by columns.
    """

    tensor: Tensor
    layout: TensorLayout
    view: TensorView | None

    def cut(self, writer: KernelWriter, *slices: tuple[ScalarValue, int]) -> TensorLayout:
        """Cut the layout to rows and columns of the factor."""
        return sliced(writer, self.layout, *(slices if self.view is None else slices[::-1]))


class _ProductKernel:
    """Writes the kernel of a case, and draws its data."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.sizes = size = _sizes(parameters)
        self.row = row = parameters.row
        self.scope = parameters.scope
        self.builder = ProgramBuilder(self.scope, parameters.subgroups, workgroups_of(parameters.grid, parameters.instances))
        self.writer = KernelWriter(self.builder, parameters)
        gap = 5 if parameters.gap else 0
        self.stored = dict(zip("ab", parameters.stored, strict=True))
        self.tensors: dict[str, Tensor] = {}
        for name, component, shape in (("a", row.a, (size.m, size.k)), ("b", row.b, (size.k, size.n))):
            ordered = shape if self.stored[name] is Layout.ROW_MAJOR else shape[::-1]
            self.tensors[name] = shared_tensor(self.builder, name, component, ordered, gap)
        residual = parameters.start == "residual"
        role: Role = "inout" if residual else "output"
        self.tensors["d"] = shared_tensor(self.builder, "d", row.result, (size.m, size.n), gap, role)
        self.epilogue = Epilogue(self.writer, parameters.epilogue, row.result, size.m, size.n)
        self.accumulator = row_type(row, "d", self.scope)

    def write(self) -> Program:
        """Write the whole kernel."""
        self.row0, self.column0 = self._tile()
        self.out = opened(self.writer, self.tensors["d"], "d_layout", ClampMode.CONSTANT)
        columns = [
            self.writer.scaled(f"column_{i}", self.column0, 1, i * self.row.n) if i else self.column0
            for i in range(self.parameters.accumulators)
        ]
        factors = {name: self._factor(name) for name in "ab"}
        if self.parameters.start == "broadcast":
            self.spread = self._spread()
        starts = [self._start(column) for column in columns]
        sums = self.writer.repeat(self.parameters.trips, starts, lambda index, current: self._step(factors, columns, index, current))
        if self.parameters.start == "residual":
            # It is unspecified which invocations read and write an element, so a barrier orders them.
            self.builder.barrier(MemoryScope(self.scope))
        for column, total in zip(columns, sums, strict=True):
            self._store(self.epilogue.apply(total, self.row0, column), column)
        if self.parameters.start == "residual" and not self.parameters.trips:
            # The kernel may store what it has loaded.
            add_witness_of_instances(self.builder)
        return self.builder.build()

    def _tile(self) -> tuple[ScalarValue, ScalarValue]:
        """Return the first row and column of this instance's tile."""
        writer, builder, (tiles_m, tiles_n) = self.writer, self.builder, self.parameters.grid
        if builder.instances == 1:
            return writer.literal(0), writer.literal(0)
        by_rows = self.parameters.walk == "rows"
        width = writer.number("grid_width", tiles_n if by_rows else tiles_m, signed=False)
        instance = builder.instance_index()
        outer, inner = writer.divided(instance, width, ("tile_outer", "tile_inner"))
        tile_m, tile_n = (outer, inner) if by_rows else (inner, outer)
        return writer.scaled("row0", tile_m, self.row.m), writer.scaled("column0", tile_n, self.sizes.columns)

    def _factor(self, name: str) -> _Factor:
        mode = ClampMode.CLAMP_TO_EDGE if self.parameters.edges == "mixed" and name == "a" else ClampMode.CONSTANT
        layout = opened(self.writer, self.tensors[name], f"{name}_layout", mode)
        by_columns = self.stored[name] is Layout.COLUMN_MAJOR
        return _Factor(self.tensors[name], layout, transposing(self.writer) if by_columns else None)

    def _load(self, what: str, type_: MatrixType, factor: _Factor, *slices: tuple[ScalarValue, int]) -> Matrix:
        cut = factor.cut(self.writer, *slices)
        return self.writer.load(what, self.writer.name(what), type_, factor.tensor, cut, factor.view)

    def _step(
        self, factors: Mapping[str, _Factor], columns: Sequence[ScalarValue], index: ScalarValue, current: Sequence[Matrix]
    ) -> list[Matrix]:
        row, writer = self.row, self.writer
        depth = writer.scaled("depth", index, row.k)
        a = self._load("a", row_type(row, "a", self.scope), factors["a"], (self.row0, row.m), (depth, row.k))
        following = []
        for column, total in zip(columns, current, strict=True):
            b = self._load("b", row_type(row, "b", self.scope), factors["b"], (depth, row.k), (column, row.n))
            following.append(self.builder.muladd(writer.name("sum"), total.type, a, b, total, row.operands or None))
        return following

    def _spread(self) -> tuple[TensorLayout, TensorView]:
        """Declare the bias of all rows; return its layout and a view that repeats it in every column through a stride of 0."""
        writer, row = self.writer, self.row
        self.tensors["start"] = tensor = shared_tensor(self.builder, "start", row.result, (self.sizes.m,))
        steps: list[ViewStep] = [("dimension", (row.m, row.n)), ("stride", (1, 0))]
        view = writer.view("repeating", TensorViewType((0, 1), has_dimensions=True), *steps)
        return opened(writer, tensor, "start_layout", ClampMode.CONSTANT), view

    def _start(self, column: ScalarValue) -> Matrix:
        """Return the initial value of the sum."""
        writer, row = self.writer, self.row
        match self.parameters.start:
            case "zero":
                return writer.zero("start", self.accumulator)
            case "broadcast":
                layout, view = self.spread
                cut = sliced(writer, layout, (self.row0, row.m))
                return writer.load("start", writer.name("start"), self.accumulator, self.tensors["start"], cut, view)
            case _:
                cut = sliced(writer, self.out, (self.row0, row.m), (column, row.n))
                return writer.load("start", writer.name("start"), self.accumulator, self.tensors["d"], cut)

    def _store(self, matrix: Matrix, column: ScalarValue) -> None:
        """Store a tile; the tensor's bounds discard the part outside. If ``branched``, store without bounds a tile that is entirely
        inside."""
        if self.parameters.store == "clamped":
            self._store_by(matrix, column, self.out)
            return
        writer, builder, size = self.writer, self.builder, self.sizes
        free = opened(writer, self.tensors["d"], writer.name("d_free"), ClampMode.UNDEFINED)
        inside = [
            Condition(writer.scaled(f"{what}_end", first, 1, step), "less_equal", writer.number(writer.name(what), limit, signed=False))
            for what, first, step, limit in (("rows", self.row0, self.row.m, size.m), ("columns", column, self.row.n, size.n))
        ]
        arms: list[Sequence[Operation]] = []
        for layout in (free, self.out, self.out):
            with builder.arm() as arm:
                self._store_by(matrix, column, layout)
            arms.append(arm)
        with builder.arm() as inner:
            builder.branch(inside[1], arms[0], arms[1])
        builder.branch(inside[0], inner, arms[2])

    def _store_by(self, matrix: Matrix, column: ScalarValue, layout: TensorLayout) -> None:
        self.writer.store(matrix, self.tensors["d"], sliced(self.writer, layout, (self.row0, self.row.m), (column, self.row.n)))

    def draw(self, name: str, _parameters: Parameters, program: Program, rng: np.random.Generator) -> Subcase:
        """Draw whole numbers whose sums are exact in any order and use most bits of the accumulator."""
        size, row = self.sizes, self.row
        most = share(kernels.budget(row), row.result, self.parameters.epilogue)
        a, b = kernels.factors(row, (size.m, size.n, size.k), most - most // 4, rng)
        inputs = {}
        for which, component, numbers in (("a", row.a, a), ("b", row.b, b)):
            matrix = numbers if self.stored[which] is Layout.ROW_MAJOR else numbers.T
            inputs[which] = self.tensors[which].contents(matrix.astype(component.dtype), rng)
        start = {"residual": "d", "broadcast": "start"}.get(self.parameters.start)
        if start is not None:
            tensor = self.tensors[start]
            inputs[start] = tensor.contents(kernels.addends(tensor.sizes, row.result, most // 4, rng).astype(row.result.dtype), rng)
        inputs |= epilogue_data(program, row.result, kernels.budget(row), rng)
        inputs |= fills(program, rng)
        return Subcase(name, inputs)


def build(parameters: Parameters) -> Built:
    """Build a case."""
    kernel = _ProductKernel(parameters)
    return Built(kernel.write(), kernel.draw)
