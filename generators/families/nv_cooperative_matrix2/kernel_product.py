"""kernel_product: matrix products over the tiles of tensors, with ragged edges, what follows the sum, and clipped stores.

Axis values are those of cases/nv_cooperative_matrix2/kernel_product.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from generators.engine_kernels.epilogues import EPILOGUES, Epilogue, epilogue_data, share
from generators.engine_kernels.parts import (
    CARRIES,
    HINTS,
    TAILS,
    KernelWriter,
    SharedTensor,
    opened,
    pair,
    shared_tensor,
    sliced,
    transposing,
    with_tail,
)
from generators.inputs import kernels
from generators.layouts.row_types import row_type
from generators.layouts.tensor_writer import ViewStep
from generators.parameters.vocabulary import SCOPES, SOURCES, SUBGROUPS, TakenValues, Values
from generators.program.builder import ProgramBuilder
from generators.program.control_flow import Condition
from generators.program.memory import Role
from generators.program.operation import Operation
from generators.program.program import Program, Subcase
from generators.program.tensor import TensorLayout, TensorView, TensorViewType
from generators.program.tensor_access import TensorLoad, TensorStore
from generators.program.values import Matrix, MatrixType, ScalarValue
from generators.property_rows import PropertyRow, parse_row
from generators.types import ClampMode, MemoryScope

AXES: TakenValues = {
    "row": None,
    "scope": SCOPES.keys(),
    "subgroups": SUBGROUPS,
    "grid": re.compile(r"[1-9]x[1-9]"),
    "walk": ("rows", "columns"),
    "accumulators": (1, 2),
    "trips": (0, 1, 2, 3, 5),
    "tail": TAILS,
    "edges": ("constant", "mixed"),
    "stored": ("rr", "rc", "cr", "cc"),
    "gap": ("none", "some"),
    "start": ("zero", "broadcast", "residual"),
    "epilogue": EPILOGUES,
    "store": ("clamped", "branched"),
    "source": SOURCES,
    "carry": CARRIES,
    "hint": HINTS,
}


@dataclass(frozen=True)
class Sizes:
    """The product that a case computes: tiles of the grid, and M, N, K of the tensors, which are not multiples of the tiles'."""

    row: PropertyRow
    tiles_m: int
    tiles_n: int
    accumulators: int
    m: int
    n: int
    k: int

    @property
    def columns(self) -> int:
        """Columns that one scope instance computes."""
        return self.row.n * self.accumulators


def sizes(values: Values) -> Sizes:
    """The sizes of a case."""
    row = parse_row(values["row"])
    tiles_m, tiles_n = pair(values["grid"])
    accumulators, trips, tail = int(values["accumulators"]), int(values["trips"]), values["tail"]
    m, n = row.m * tiles_m, row.n * tiles_n * accumulators
    # With no iterations there is still a tensor, of which nothing may be used.
    k = row.k * max(1, trips)
    return Sizes(
        row,
        tiles_m,
        tiles_n,
        accumulators,
        *with_tail(tail, m, n, k),
    )


def _workgroups(values: Values) -> int:
    """Workgroups whose scope instances are the tiles of the grid; 0 where they do not go up."""
    tiles_m, tiles_n = pair(values["grid"])
    each = int(values["subgroups"]) if values["scope"] == "subgroup" else 1
    return tiles_m * tiles_n // each if tiles_m * tiles_n % each == 0 else 0


PREDICATES: Mapping[str, Callable[[Values], bool]] = {"divides": lambda values: _workgroups(values) > 0}


@dataclass(frozen=True)
class _Operand:
    """A tensor of a factor: ``tensor`` in its stored order, and the view that turns it where that is column major."""

    tensor: SharedTensor
    layout: TensorLayout
    view: TensorView | None

    def cut(self, writer: KernelWriter, *slices: tuple[ScalarValue, int]) -> TensorLayout:
        """The slice of rows and columns of the factor."""
        return sliced(writer, self.layout, *(slices if self.view is None else slices[::-1]))


class _Product:
    """The parts of one kernel, in the order in which they are written."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.sizes = size = sizes(values)
        self.row = size.row
        self.scope = SCOPES[values["scope"]]
        self.builder = ProgramBuilder(self.scope, int(values["subgroups"]), _workgroups(values))
        self.writer = KernelWriter(self.builder, values["source"], values["carry"], values["hint"])
        gap = 0 if values["gap"] == "none" else 5
        self.tensors: dict[str, SharedTensor] = {}
        for name, shape in (("a", (size.m, size.k)), ("b", (size.k, size.n))):
            ordered = shape if values["stored"]["ab".index(name)] == "r" else shape[::-1]
            self.tensors[name] = shared_tensor(self.builder, name, getattr(self.row, name), ordered, gap)
        residual = values["start"] == "residual"
        role: Role = "inout" if residual else "output"
        self.tensors["d"] = shared_tensor(self.builder, "d", self.row.result, (size.m, size.n), gap, role)
        self.epilogue = Epilogue(self.writer, values["epilogue"], self.row.result, size.m, size.n)
        self.accumulator = row_type(self.row, "d", self.scope)

    def write(self) -> Program:
        """The whole kernel."""
        self.row0, self.column0 = self._tile()
        self.out = opened(self.writer, self.tensors["d"], "d_layout", ClampMode.CONSTANT)
        columns = [
            self.writer.scaled(f"column_{i}", self.column0, 1, i * self.row.n) if i else self.column0
            for i in range(self.sizes.accumulators)
        ]
        operands = {name: self._operand(name) for name in "ab"}
        if self.values["start"] == "broadcast":
            self.spread = self._spread()
        starts = [self._start(column) for column in columns]
        sums = self.writer.repeat(int(self.values["trips"]), starts, lambda index, current: self._step(operands, columns, index, current))
        if self.values["start"] == "residual":
            # Which invocation reads an element, and which writes it, is unspecified: a barrier orders them.
            self.builder.barrier(MemoryScope(self.scope))
        for column, total in zip(columns, sums, strict=True):
            self._store(self.epilogue.apply(total, self.row0, column), column)
        return self.builder.build()

    def _tile(self) -> tuple[ScalarValue, ScalarValue]:
        """The first row and column of this instance, whose tiles lie in rows or in columns of the grid."""
        writer, builder, size = self.writer, self.builder, self.sizes
        if builder.instances == 1:
            return writer.literal(0), writer.literal(0)
        by_rows = self.values["walk"] == "rows"
        width = writer.number("grid_width", size.tiles_n if by_rows else size.tiles_m, signed=False)
        instance = builder.instance_index()
        outer = builder.arithmetic("tile_outer", "divide", instance, width)
        inner = builder.arithmetic("tile_inner", "modulo", instance, width)
        tile_m, tile_n = (outer, inner) if by_rows else (inner, outer)
        return writer.scaled("row0", tile_m, self.row.m), writer.scaled("column0", tile_n, size.columns)

    def _operand(self, name: str) -> _Operand:
        mode = ClampMode.CLAMP_TO_EDGE if self.values["edges"] == "mixed" and name == "a" else ClampMode.CONSTANT
        layout = opened(self.writer, self.tensors[name], f"{name}_layout", mode)
        turned = self.values["stored"]["ab".index(name)] == "c"
        return _Operand(self.tensors[name], layout, transposing(self.writer) if turned else None)

    def _load(self, what: str, type_: MatrixType, operand: _Operand, *slices: tuple[ScalarValue, int]) -> Matrix:
        return self._load_by(what, type_, operand.tensor, operand.cut(self.writer, *slices), operand.view)

    def _load_by(self, what: str, type_: MatrixType, tensor: SharedTensor, layout: TensorLayout, view: TensorView | None) -> Matrix:
        writer = self.writer
        matrix = Matrix(writer.name(what), type_)
        before = writer.zero(f"{what}_before", type_)
        self.builder.add(TensorLoad(matrix, tensor.array, writer.literal(tensor.first), before, layout, view))
        return matrix

    def _step(
        self, operands: Mapping[str, _Operand], columns: Sequence[ScalarValue], index: ScalarValue, current: Sequence[Matrix]
    ) -> list[Matrix]:
        row, writer = self.row, self.writer
        depth = writer.scaled("depth", index, row.k)
        a = self._load("a", row_type(row, "a", self.scope), operands["a"], (self.row0, row.m), (depth, row.k))
        following = []
        for column, total in zip(columns, current, strict=True):
            b = self._load("b", row_type(row, "b", self.scope), operands["b"], (depth, row.k), (column, row.n))
            following.append(self.builder.muladd(writer.name("sum"), total.type, a, b, total, row.operands or None))
        return following

    def _spread(self) -> tuple[TensorLayout, TensorView]:
        """The bias of all rows, and a view of a column that a stride of 0 repeats."""
        writer, row = self.writer, self.row
        self.tensors["start"] = tensor = shared_tensor(self.builder, "start", row.result, (self.sizes.m,))
        steps: list[ViewStep] = [("dimension", (row.m, row.n)), ("stride", (1, 0))]
        view = writer.view("repeating", TensorViewType((0, 1), has_dimensions=True), *steps)
        return opened(writer, tensor, "start_layout", ClampMode.CONSTANT), view

    def _start(self, column: ScalarValue) -> Matrix:
        """Zeros, a bias for each row that a stride of 0 spreads over the columns, or what the target has."""
        writer, row = self.writer, self.row
        match self.values["start"]:
            case "zero":
                return writer.zero("start", self.accumulator)
            case "broadcast":
                tensor = self.tensors["start"]
                layout = sliced(writer, self.spread[0], (self.row0, row.m))
                return self._load_by("start", self.accumulator, tensor, layout, self.spread[1])
            case _:
                tensor = self.tensors["d"]
                layout = sliced(writer, self.out, (self.row0, row.m), (column, row.n))
                return self._load_by("start", self.accumulator, tensor, layout, None)

    def _store(self, matrix: Matrix, column: ScalarValue) -> None:
        """To the tensor, whose bounds discard the rest; or where all of the tile is inside by a layout without bounds."""
        if self.values["store"] == "clamped":
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
        tensor = self.tensors["d"]
        window = sliced(self.writer, layout, (self.row0, self.row.m), (column, self.row.n))
        self.builder.add(TensorStore(matrix, tensor.array, self.writer.literal(tensor.first), window))


def program(values: Values) -> Program:
    """The program of a case."""
    return _Product(values).write()


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """Whole numbers whose sums are exact in any order, and use most of the bits of the accumulation."""
    kernel = _Product(values)
    kernel.write()
    size, row = kernel.sizes, kernel.row
    most = share(kernels.budget(row), row.result, values["epilogue"])
    a, b = kernels.factors(row, (size.m, size.n, size.k), most // 2, rng)
    numbers = {"a": a, "b": b}
    inputs = {}
    for which, order in zip("ab", values["stored"], strict=True):
        matrix = numbers[which] if order == "r" else numbers[which].T
        inputs[which] = kernel.tensors[which].place(matrix.astype(getattr(row, which).dtype), rng)
    start = {"residual": "d", "broadcast": "start"}.get(values["start"])
    if start is not None:
        tensor = kernel.tensors[start]
        inputs[start] = tensor.place(kernels.addends(tensor.sizes, row.result, most // 2, rng).astype(row.result.dtype), rng)
    inputs |= epilogue_data(program, row.result, kernels.budget(row), rng)
    return Subcase(name, inputs, kernel.writer.operands)
