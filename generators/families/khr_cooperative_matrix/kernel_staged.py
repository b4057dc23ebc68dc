"""kernel_staged: matrix products whose tiles go through workgroup memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from generators.engine_kernels.parts import GAPS, LOOP, KernelWriter, LoopParameters, Tail, with_tail
from generators.inputs import kernels
from generators.layouts.matrix_arrays import MatrixArray, granule_of, matrix_scratch, tiled
from generators.layouts.row_types import row_type
from generators.numerics.formats import bits_of
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import layouts_of, parse_shape
from generators.program.builder import ProgramBuilder
from generators.program.control_flow import Condition
from generators.program.memory import Array, Pointee, Role
from generators.program.program import Built, Program, Subcase
from generators.program.values import Matrix, ScalarValue
from generators.program.workgroup import Window
from generators.property_rows import PropertyRow, parse_row
from generators.routines.scaling import scaled
from generators.routines.tile_copy import tile_copy
from generators.routines.workgroup import Numbering
from generators.types import ComponentType, Layout, Scope, StorageClass

_GRANULE = 16
"""Bytes to which lines in workgroup memory are aligned."""


@dataclass(frozen=True, kw_only=True)
class Parameters(LoopParameters):
    """The parameters of a case."""

    row: PropertyRow = parameter("the property row", decode=parse_row)
    split: Literal["tiles", "depth"] = parameter("what subgroups divide: tiles of the result, or K", default="tiles")
    subgroups: tuple[int, int] = parameter("subgroups of a workgroup, down and across", default="1x1", decode=parse_shape)
    grid: tuple[int, int] = parameter("workgroups, down and across", default="1x1", decode=parse_shape)
    accumulators: Literal[1, 2] = parameter("accumulators of a subgroup", default=1)
    steps: int = parameter("multiply-adds of an iteration, one after the other along K", default=1)
    trips: int = parameter("iterations", default=2)
    buffers: Literal[1, 2] = parameter("buffers for the tiles: one, or one that is filled while the other is read", default=1)
    tail: Tail = parameter("which sizes are not multiples of the workgroup's part", default="all")
    layouts: tuple[Layout, ...] = parameter("the layouts of A and B in workgroup memory", default="rr", decode=layouts_of(2))
    padding: bool = parameter("whether padding follows the lines in workgroup memory", default="none", labels=GAPS)
    start: Literal["zero", "loaded"] = parameter("what the sum begins with: zeros, or C", default="zero")
    epilogue: Literal["none", "polynomial", "gate"] = parameter("how sums are changed before they are stored", default="none")
    out: Literal["staged", "direct"] = parameter("whether results are stored through workgroup memory", default="staged")
    numbering: Numbering = parameter("how the invocations that copy are numbered", default="local", then=LOOP)

    @property
    def subgroup_count(self) -> int:
        """Subgroups of a workgroup."""
        return self.subgroups[0] * self.subgroups[1]


@dataclass(frozen=True)
class _Sizes:
    """The sizes of a product.

    Attributes:
        rows, columns: the size of the part that a workgroup computes.
        depth: the part of K that one iteration covers.
        m, n, k: the sizes of the whole product.
    """

    rows: int
    columns: int
    depth: int
    m: int
    n: int
    k: int


def _sizes(parameters: Parameters) -> _Sizes:
    """Work out the sizes of a case."""
    row = parameters.row
    (down, across), (grid_m, grid_n) = parameters.subgroups, parameters.grid
    rows, columns = row.m, row.n * parameters.accumulators
    depth = row.k * parameters.steps
    if parameters.split == "tiles":
        rows, columns = rows * down, columns * across
    else:
        depth *= down * across
    m, n, k = rows * grid_m, columns * grid_n, depth * max(1, parameters.trips)
    return _Sizes(rows, columns, depth, *with_tail(parameters.tail, m, n, k))


def _fits(parameters: Parameters) -> bool:
    """Tell whether workgroup memory holds all tiles."""
    size, row = _sizes(parameters), parameters.row
    pad = _GRANULE if parameters.padding else 0
    lines = (size.depth + pad) * (size.rows + size.columns + 2 * pad)
    partial = parameters.subgroup_count + 1 if parameters.split == "depth" else 1
    sums = (size.columns + pad) * size.rows * max(2, partial) * row.result.bytes
    return parameters.buffers * lines * row.a.bytes + sums <= 16384


PREDICATES: Mapping[str, Callable[[Parameters], bool]] = {
    "fits": _fits,
    "has_arithmetic": lambda parameters: (
        (parameters.epilogue == "none" and parameters.split != "depth") or parameters.row.result.has_arithmetic
    ),
}


class _StagedProduct:
    """Writes the kernel of a case, and draws its data."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.sizes = size = _sizes(parameters)
        self.row = row = parameters.row
        self.across = parameters.subgroups[1]
        self.grid_m, self.grid_n = parameters.grid
        self.accumulators, self.buffers = parameters.accumulators, parameters.buffers
        self.builder = ProgramBuilder(Scope.SUBGROUP, parameters.subgroup_count, self.grid_m * self.grid_n)
        self.writer = KernelWriter(self.builder, parameters)
        self.arrays = {
            "a": self._buffer("a", row.a, size.m * size.k, "input"),
            "b": self._buffer("b", row.b, size.k * size.n, "input"),
        }
        of_a, of_b = parameters.layouts
        # The tiles in workgroup memory. Each consists of several matrices, one after another.
        self.stages = {
            "a": self._stage("a", (size.rows, size.depth), of_a, self.buffers),
            "b": self._stage("b", (size.depth, size.columns), of_b, self.buffers),
        }
        by_rows = Layout.ROW_MAJOR
        if parameters.start == "loaded":
            self.arrays["c"] = self._buffer("c", row.c, size.m * size.n, "input")
            self.stages["c"] = self._stage("c", (size.rows, size.columns), by_rows, 1)
        self.arrays["d"] = self._buffer("d", row.result, size.m * size.n, "output")
        if parameters.split == "depth":
            self.stages["part"] = self._stage("part", (size.rows, size.columns), by_rows, parameters.subgroup_count)
        if parameters.out == "staged":
            self.stages["d"] = self._stage("d", (size.rows, size.columns), by_rows, 1)

    def _buffer(self, name: str, component: ComponentType, length: int, role: Role) -> Array:
        return self.builder.array(name, Pointee(component), length, StorageClass.STORAGE_BUFFER, role)

    def _stage(self, name: str, shape: tuple[int, int], layout: Layout, count: int) -> MatrixArray:
        type_ = row_type(self.row, name, Scope.SUBGROUP)
        whole = replace(type_, rows=shape[0], columns=shape[1])
        tiles = tiled(whole, layout, self.parameters.padding, (1, count), granule=granule_of(type_.component))
        return matrix_scratch(self.builder, f"{name}_tiles", replace(tiles, type=type_))

    def _lines_of(self, name: str) -> int:
        tiles = self.stages[name].tiles
        return tiles.pitch // tiles.stride

    def _by_columns(self, name: str) -> bool:
        return self.stages[name].tiles.layout is Layout.COLUMN_MAJOR

    def write(self) -> Program:
        """Write the whole kernel."""
        writer, builder, size = self.writer, self.builder, self.sizes
        self.row0, self.column0 = self._tile()
        self.subgroup = builder.built_in("subgroup_index", "subgroup") if self.parameters.subgroup_count > 1 else writer.literal(0)
        self.extents = {name: writer.number(f"extent_{name}", getattr(size, name), signed=False) for name in "mnk"}
        self.own = self._own_tile()
        starts = self._starts()
        double = self.buffers == 2
        if double:
            self._bring(writer.literal(0), writer.literal(0))
            builder.barrier()
        sums = writer.repeat(self.parameters.trips, starts, self._double if double else self._single)
        results = self._finish(sums)
        if self.parameters.split == "depth":
            self._add_up(results)
        else:
            self._store(results)
        if self.parameters.out == "staged":
            self._bring_out()
        return builder.build()

    def _tile(self) -> tuple[ScalarValue, ScalarValue]:
        """Return the first row and column of the workgroup's part."""
        writer, builder = self.writer, self.builder
        if self.grid_m * self.grid_n == 1:
            return writer.literal(0), writer.literal(0)
        index = builder.built_in("workgroup_index", "workgroup")
        width = writer.number("grid_width", self.grid_n, signed=False)
        tile_m, tile_n = writer.divided(index, width, ("tile_m", "tile_n"))
        return writer.scaled("row0", tile_m, self.sizes.rows), writer.scaled("column0", tile_n, self.sizes.columns)

    def _own_tile(self) -> tuple[ScalarValue, ScalarValue]:
        """Return the first row and column of this subgroup's tile in the workgroup's part."""
        writer = self.writer
        if self.parameters.split == "depth" or self.parameters.subgroup_count == 1:
            return writer.literal(0), writer.literal(0)
        down, across = writer.divided(self.subgroup, writer.literal(self.across), ("subgroup_m", "subgroup_n"))
        return writer.scaled("subgroup_row", down, self.row.m), writer.scaled("subgroup_column", across, self.row.n * self.accumulators)

    def _starts(self) -> list[Matrix]:
        """Return the first value of each accumulator: zero, or a tile of C from shared memory."""
        type_ = row_type(self.row, "d", Scope.SUBGROUP)
        if self.parameters.start == "zero":
            return [self.writer.zero("start", type_) for _ in range(self.accumulators)]
        limits = self.extents["m"], self.extents["n"]
        source = Window(self.arrays["c"], self.extents["n"], self.row0, self.column0, limits)
        self._copy_to_stage("c", source, self.writer.literal(0), self.sizes.rows, self.sizes.columns)
        self.builder.barrier()
        row, column = self.own
        return [self._load("c", row, self._plus(column, i * self.row.n)) for i in range(self.accumulators)]

    def _plus(self, value: ScalarValue, addend: int) -> ScalarValue:
        return self.writer.scaled("plus", value, 1, addend) if addend else value

    def _copy_to_stage(self, name: str, source: Window, buffer: ScalarValue, rows: int, columns: int) -> None:
        """Copy a part of a matrix from its array to shared memory, into the buffer with the index ``buffer``."""
        stage = self.stages[name]
        first = self.writer.scaled(f"{name}_buffer", buffer, self._lines_of(name))
        target = Window(stage.array, self.writer.literal(stage.tiles.stride), first, self.writer.literal(0))
        tile_copy(self.builder, target, source, rows, columns, self._by_columns(name), self.parameters.numbering)

    def _bring(self, index: ScalarValue, buffer: ScalarValue) -> None:
        """Copy an iteration's tiles of A and B into a buffer, with zeros for elements beyond the matrices."""
        size, extents, strides = self.sizes, self.extents, {"a": self.extents["k"], "b": self.extents["n"]}
        depth = self.writer.scaled("depth", index, size.depth)
        a = Window(self.arrays["a"], strides["a"], self.row0, depth, (extents["m"], extents["k"]))
        b = Window(self.arrays["b"], strides["b"], depth, self.column0, (extents["k"], extents["n"]))
        self._copy_to_stage("a", a, buffer, size.rows, size.depth)
        self._copy_to_stage("b", b, buffer, size.depth, size.columns)

    def _parity(self, index: ScalarValue, addend: int) -> ScalarValue:
        writer = self.writer
        later = self._plus(index, addend)
        return self.builder.arithmetic(writer.name("parity"), "modulo", later, writer.literal(2))

    def _single(self, index: ScalarValue, current: Sequence[Matrix]) -> list[Matrix]:
        self._bring(index, self.writer.literal(0))
        self.builder.barrier()
        following = self._multiply(self.writer.literal(0), current)
        self.builder.barrier()
        return following

    def _double(self, index: ScalarValue, current: Sequence[Matrix]) -> list[Matrix]:
        """Multiply the tiles of one buffer while the next tiles are copied into the other; zeros follow the last tiles."""
        self._bring(self._plus(index, 1), self._parity(index, 1))
        following = self._multiply(self._parity(index, 0), current)
        self.builder.barrier()
        return following

    def _load(self, name: str, row: ScalarValue, column: ScalarValue) -> Matrix:
        """Load the matrix at a row and column of a tile; buffers count as further lines."""
        writer, stage = self.writer, self.stages[name]
        line, within = (column, row) if self._by_columns(name) else (row, column)
        first = writer.sum(f"{name}_first", writer.scaled(f"{name}_line", line, stage.tiles.stride), within)
        return stage.load(writer.name(name), first)

    def _multiply(self, buffer: ScalarValue, current: Sequence[Matrix]) -> list[Matrix]:
        writer, row = self.writer, self.row
        base = {name: writer.scaled(f"{name}_lines", buffer, self._lines_of(name)) for name in "ab"}
        totals = list(current)
        for step in range(self.parameters.steps):
            depth: ScalarValue = writer.literal(step * row.k)
            if self.parameters.split == "depth":
                depth = writer.scaled("own_depth", self.subgroup, row.k * self.parameters.steps, step * row.k)
            a = self._load("a", *self._lines("a", base["a"], self.own[0], depth))
            for i, total in enumerate(totals):
                b = self._load("b", *self._lines("b", base["b"], depth, self._plus(self.own[1], i * row.n)))
                totals[i] = self.builder.muladd(writer.name("sum"), total.type, a, b, total, row.operands or None)
        return totals

    def _lines(self, name: str, base: ScalarValue, row: ScalarValue, column: ScalarValue) -> tuple[ScalarValue, ScalarValue]:
        """Return row and column after adding the lines before the buffer."""
        if self.buffers == 1:
            return row, column
        writer = self.writer
        if self._by_columns(name):
            return row, writer.sum("line", base, column)
        return writer.sum("line", base, row), column

    def _finish(self, sums: Sequence[Matrix]) -> list[Matrix]:
        builder, name = self.builder, self.writer.name
        match self.parameters.epilogue:
            case "polynomial":
                found = []
                for total in sums:
                    square = builder.elementwise(name("square"), "multiply", total, total)
                    factor = builder.literal(bits_of(total.type.component, -3), total.type.component)
                    found.append(builder.elementwise(name("result"), "add", square, scaled(builder, name("triple"), total, factor)))
                return found
            case "gate":
                # Multiply each sum by the next one, as in a gated layer; negate a single sum.
                if len(sums) == 1:
                    return [builder.negate(name("result"), sums[0])]
                product = builder.elementwise(name("gated"), "multiply", sums[0], sums[1])
                return [product, builder.elementwise(name("rest"), "subtract", product, sums[0])]
            case _:
                return list(sums)

    def _store(self, results: Sequence[Matrix]) -> None:
        """Store the results in their array at once, or in shared memory, from which all invocations copy them."""
        if self.parameters.out == "direct":
            self._store_directly(results)
            return
        for i, matrix in enumerate(results):
            self._store_tile("d", matrix, i, self.own)

    def _store_tile(self, name: str, matrix: Matrix, number: int, begin: tuple[ScalarValue, ScalarValue]) -> None:
        writer, stage = self.writer, self.stages[name]
        first_row, first_column = begin
        column = self._plus(first_column, number * self.row.n)
        first = writer.sum("d_first", writer.scaled("d_line", first_row, stage.tiles.stride), column)
        stage.store(matrix, first)

    def _bring_out(self) -> None:
        """Copy the result from workgroup memory to the buffer, within the bounds of the matrix."""
        writer, size, stage = self.writer, self.sizes, self.stages["d"]
        self.builder.barrier()
        limits = self.extents["m"], self.extents["n"]
        target = Window(self.arrays["d"], self.extents["n"], self.row0, self.column0, limits)
        source = Window(stage.array, writer.literal(stage.tiles.stride), writer.literal(0), writer.literal(0))
        tile_copy(self.builder, target, source, size.rows, size.columns, numbering=self.parameters.numbering)

    def _store_directly(self, results: Sequence[Matrix]) -> None:
        row = self.writer.sum("row", self.row0, self.own[0])
        for i, matrix in enumerate(results):
            column = self.writer.sum("column", self.column0, self._plus(self.own[1], i * self.row.n))
            line = self.builder.arithmetic(self.writer.name("line"), "multiply", row, self.extents["n"])
            first = self.writer.sum("first", line, column)
            self.builder.store(matrix, self.arrays["d"], first, self.extents["n"], Layout.ROW_MAJOR)

    def _add_up(self, results: Sequence[Matrix]) -> None:
        """Store every subgroup's part of the sum; the first subgroup adds them up."""
        writer, builder, lines = self.writer, self.builder, self._lines_of("part")
        own = writer.scaled("own_lines", self.subgroup, lines)
        for i, matrix in enumerate(results):
            self._store_tile("part", matrix, i, (own, writer.literal(0)))
        builder.barrier()
        with builder.arm() as first:
            totals = []
            for i in range(len(results)):
                parts = [
                    self._load("part", writer.literal(part * lines), writer.literal(i * self.row.n))
                    for part in range(self.parameters.subgroup_count)
                ]
                total = parts[0]
                for part in parts[1:]:
                    total = builder.elementwise(writer.name("total"), "add", total, part)
                totals.append(total)
            self._store(totals)
        builder.branch(Condition(self.subgroup, "equal", writer.literal(0)), first)

    def draw(self, name: str, _parameters: Parameters, _program: Program, rng: np.random.Generator) -> Subcase:
        """Draw whole numbers whose sums are exact in any order and use most bits of the accumulator."""
        size, row = self.sizes, self.row
        most = kernels.budget(row)
        if row.result.is_float and self.parameters.epilogue != "none":
            most = int(most**0.5) - 3
        a, b = kernels.factors(row, (size.m, size.n, size.k), most - most // 4, rng)
        numbers = {"a": a.astype(row.a.dtype), "b": b.astype(row.b.dtype)}
        if "c" in self.arrays:
            numbers["c"] = kernels.addends((size.m, size.n), row.c, most // 4, rng).astype(row.c.dtype)
        inputs = {which: np.ascontiguousarray(matrix).view(np.uint8).reshape(-1) for which, matrix in numbers.items()}
        return Subcase(name, inputs)


def build(parameters: Parameters) -> Built:
    """Build a case."""
    kernel = _StagedProduct(parameters)
    return Built(kernel.write(), kernel.draw)
