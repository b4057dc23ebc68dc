"""kernel_staged: matrix products whose tiles go through workgroup memory.

Axis values are those of cases/khr_cooperative_matrix/kernel_staged.yaml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from generators.engine_kernels.parts import CARRIES, HINTS, PAIR, TAILS, KernelWriter, pair, with_tail
from generators.inputs import kernels
from generators.layouts.row_types import row_type
from generators.numerics.formats import bits_of
from generators.parameters.vocabulary import SOURCES, TakenValues, Values
from generators.program.builder import ProgramBuilder
from generators.program.control_flow import Condition
from generators.program.memory import Array, Pointee, Role
from generators.program.program import Program, Subcase
from generators.program.tile_copy import TileCopy, Window
from generators.program.values import Matrix, ScalarValue
from generators.property_rows import PropertyRow, parse_row
from generators.types import ComponentType, Layout, Scope, StorageClass

_GRANULE = 16
"""Bytes to which lines in workgroup memory are aligned."""

AXES: TakenValues = {
    "row": None,
    "split": ("tiles", "depth"),
    "subgroups": PAIR,
    "grid": PAIR,
    "accumulators": (1, 2),
    "steps": (1, 2),
    "trips": (0, 1, 2, 3),
    "buffers": (1, 2),
    "tail": TAILS,
    "layouts": ("rr", "rc", "cr", "cc"),
    "padding": ("none", "some"),
    "start": ("zero", "loaded"),
    "epilogue": ("none", "polynomial", "gate"),
    "out": ("staged", "direct"),
    "source": SOURCES,
    "carry": CARRIES,
    "hint": HINTS,
}


@dataclass(frozen=True)
class Sizes:
    """What a workgroup computes (rows x columns, ``depth`` of K in each iteration), and M, N, K of the whole."""

    row: PropertyRow
    rows: int
    columns: int
    depth: int
    m: int
    n: int
    k: int


def sizes(values: Values) -> Sizes:
    """The sizes of a case."""
    row = parse_row(values["row"])
    (down, across), (grid_m, grid_n) = pair(values["subgroups"]), pair(values["grid"])
    accumulators, tail = int(values["accumulators"]), values["tail"]
    rows, columns = row.m, row.n * accumulators
    depth = row.k * int(values["steps"])
    if values["split"] == "tiles":
        rows, columns = rows * down, columns * across
    else:
        depth *= down * across
    m, n, k = rows * grid_m, columns * grid_n, depth * max(1, int(values["trips"]))
    return Sizes(
        row,
        rows,
        columns,
        depth,
        *with_tail(tail, m, n, k),
    )


def _fits(values: Values) -> bool:
    """Workgroup memory is small."""
    size, row = sizes(values), parse_row(values["row"])
    pad = _GRANULE if values["padding"] == "some" else 0
    count = pair(values["subgroups"])[0] * pair(values["subgroups"])[1]
    lines = (size.depth + pad) * (size.rows + size.columns + 2 * pad)
    partial = count + 1 if values["split"] == "depth" else 1
    sums = (size.columns + pad) * size.rows * max(2, partial) * row.result.bytes
    return int(values["buffers"]) * lines * row.a.bytes + sums <= 16384


PREDICATES: Mapping[str, Callable[[Values], bool]] = {"fits": _fits}


@dataclass(frozen=True)
class _Stage:
    """Tiles of a matrix in workgroup memory, one behind the other in lines of ``stride``.

    ``lines``: of one tile. ``turned``: whether the tile lies in columns.
    """

    array: Array
    lines: int
    stride: int
    turned: bool


class _Product:
    def __init__(self, values: Values) -> None:
        self.values = values
        self.sizes = size = sizes(values)
        self.row = row = size.row
        self.down, self.across = pair(values["subgroups"])
        self.grid_m, self.grid_n = pair(values["grid"])
        self.accumulators, self.buffers = int(values["accumulators"]), int(values["buffers"])
        self.builder = ProgramBuilder(Scope.SUBGROUP, self.down * self.across, self.grid_m * self.grid_n)
        self.writer = KernelWriter(self.builder, values["source"], values["carry"], values["hint"])
        self.arrays = {
            "a": self._buffer("a", row.a, size.m * size.k, "input"),
            "b": self._buffer("b", row.b, size.k * size.n, "input"),
        }
        layouts = values["layouts"]
        self.stages = {
            "a": self._stage("a", row.a, size.rows, size.depth, layouts[0] == "c", self.buffers),
            "b": self._stage("b", row.b, size.depth, size.columns, layouts[1] == "c", self.buffers),
        }
        if values["start"] == "loaded":
            self.arrays["c"] = self._buffer("c", row.c, size.m * size.n, "input")
            self.stages["c"] = self._stage("c", row.c, size.rows, size.columns, False, 1)
        self.arrays["d"] = self._buffer("d", row.result, size.m * size.n, "output")
        if values["split"] == "depth":
            self.stages["part"] = self._stage("part", row.result, size.rows, size.columns, False, self.down * self.across)
        if values["out"] == "staged":
            self.stages["d"] = self._stage("d", row.result, size.rows, size.columns, False, 1)

    def _buffer(self, name: str, component: ComponentType, length: int, role: Role) -> Array:
        return self.builder.array(name, Pointee(component), length, StorageClass.STORAGE_BUFFER, role)

    def _stage(self, name: str, component: ComponentType, rows: int, columns: int, turned: bool, count: int) -> _Stage:
        lines, line = (columns, rows) if turned else (rows, columns)
        granule = _GRANULE // component.bytes
        stride = -(-line // granule) * granule + (granule if self.values["padding"] == "some" else 0)
        array = self.builder.array(f"{name}_tiles", Pointee(component), lines * stride * count, StorageClass.WORKGROUP, "scratch")
        return _Stage(array, lines, stride, turned)

    def write(self) -> Program:
        """The whole kernel."""
        writer, builder, size = self.writer, self.builder, self.sizes
        self.row0, self.column0 = self._tile()
        self.subgroup = builder.built_in_index("subgroup") if self.down * self.across > 1 else writer.literal(0)
        self.extents = {name: writer.number(f"extent_{name}", getattr(size, name), signed=False) for name in "mnk"}
        self.place = self._place()
        starts = self._starts()
        double = self.buffers == 2
        if double:
            self._bring(writer.literal(0), writer.literal(0))
            builder.barrier()
        sums = writer.repeat(int(self.values["trips"]), starts, self._double if double else self._single)
        results = self._finish(sums)
        if self.values["split"] == "depth":
            self._add_up(results)
        else:
            self._store(results)
        if self.values["out"] == "staged":
            self._bring_out()
        return builder.build()

    def _tile(self) -> tuple[ScalarValue, ScalarValue]:
        """The first row and column of the workgroup."""
        writer, builder = self.writer, self.builder
        if self.grid_m * self.grid_n == 1:
            return writer.literal(0), writer.literal(0)
        index = builder.built_in_index("workgroup")
        width = writer.number("grid_width", self.grid_n, signed=False)
        tile_m = builder.arithmetic("tile_m", "divide", index, width)
        tile_n = builder.arithmetic("tile_n", "modulo", index, width)
        return writer.scaled("row0", tile_m, self.sizes.rows), writer.scaled("column0", tile_n, self.sizes.columns)

    def _place(self) -> tuple[ScalarValue, ScalarValue]:
        """The first row and column of this subgroup inside of what the workgroup computes."""
        writer, builder = self.writer, self.builder
        if self.values["split"] == "depth" or self.down * self.across == 1:
            return writer.literal(0), writer.literal(0)
        width = writer.literal(self.across)
        down = builder.arithmetic("subgroup_m", "divide", self.subgroup, width)
        across = builder.arithmetic("subgroup_n", "modulo", self.subgroup, width)
        return writer.scaled("subgroup_row", down, self.row.m), writer.scaled("subgroup_column", across, self.row.n * self.accumulators)

    def _starts(self) -> list[Matrix]:
        type_ = row_type(self.row, "d", Scope.SUBGROUP)
        if self.values["start"] == "zero":
            return [self.writer.zero("start", type_) for _ in range(self.accumulators)]
        limits = self.extents["m"], self.extents["n"]
        source = Window(self.arrays["c"], self.extents["n"], self.row0, self.column0, limits)
        self._copy("c", source, self.writer.literal(0), self.sizes.rows, self.sizes.columns)
        self.builder.barrier()
        row, column = self.place
        return [self._load("c", row, self._plus(column, i * self.row.n)) for i in range(self.accumulators)]

    def _plus(self, value: ScalarValue, addend: int) -> ScalarValue:
        return self.writer.scaled("plus", value, 1, addend) if addend else value

    def _copy(self, name: str, source: Window, buffer: ScalarValue, rows: int, columns: int) -> None:
        stage = self.stages[name]
        first = self.writer.scaled(f"{name}_buffer", buffer, stage.lines)
        target = Window(stage.array, self.writer.literal(stage.stride), first, self.writer.literal(0))
        self.builder.add(TileCopy(target, source, rows, columns, stage.turned))

    def _bring(self, index: ScalarValue, buffer: ScalarValue) -> None:
        """The tiles of A and B of an iteration into a buffer; beyond the matrices are zeros."""
        size, extents, strides = self.sizes, self.extents, {"a": self.extents["k"], "b": self.extents["n"]}
        depth = self.writer.scaled("depth", index, size.depth)
        a = Window(self.arrays["a"], strides["a"], self.row0, depth, (extents["m"], extents["k"]))
        b = Window(self.arrays["b"], strides["b"], depth, self.column0, (extents["k"], extents["n"]))
        self._copy("a", a, buffer, size.rows, size.depth)
        self._copy("b", b, buffer, size.depth, size.columns)

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
        """The next tiles are brought while these are multiplied; those behind the last ones are zeros."""
        self._bring(self._plus(index, 1), self._parity(index, 1))
        following = self._multiply(self._parity(index, 0), current)
        self.builder.barrier()
        return following

    def _load(self, name: str, row: ScalarValue, column: ScalarValue) -> Matrix:
        """The matrix at a row and column of a tile; buffers count as further lines."""
        writer, stage = self.writer, self.stages[name]
        line, place = (column, row) if stage.turned else (row, column)
        first = writer.sum(f"{name}_first", writer.scaled(f"{name}_line", line, stage.stride), place)
        layout = Layout.COLUMN_MAJOR if stage.turned else Layout.ROW_MAJOR
        # The sums of parts have the result's type.
        type_ = row_type(self.row, "d" if name == "c" else name, Scope.SUBGROUP)
        return self.builder.load(writer.name(name), type_, stage.array, first, writer.literal(stage.stride), layout)

    def _multiply(self, buffer: ScalarValue, current: Sequence[Matrix]) -> list[Matrix]:
        writer, row = self.writer, self.row
        base = {name: writer.scaled(f"{name}_lines", buffer, self.stages[name].lines) for name in "ab"}
        totals = list(current)
        for step in range(int(self.values["steps"])):
            depth: ScalarValue = writer.literal(step * row.k)
            if self.values["split"] == "depth":
                depth = writer.scaled("own_depth", self.subgroup, row.k * int(self.values["steps"]), step * row.k)
            a = self._load("a", *self._lines("a", base["a"], self.place[0], depth))
            for i, total in enumerate(totals):
                b = self._load("b", *self._lines("b", base["b"], depth, self._plus(self.place[1], i * row.n)))
                totals[i] = self.builder.muladd(writer.name("sum"), total.type, a, b, total, row.operands or None)
        return totals

    def _lines(self, name: str, base: ScalarValue, row: ScalarValue, column: ScalarValue) -> tuple[ScalarValue, ScalarValue]:
        """Row and column with the lines before the buffer."""
        if self.buffers == 1:
            return row, column
        writer = self.writer
        if self.stages[name].turned:
            return row, writer.sum("line", base, column)
        return writer.sum("line", base, row), column

    def _finish(self, sums: Sequence[Matrix]) -> list[Matrix]:
        builder, name = self.builder, self.writer.name
        match self.values["epilogue"]:
            case "polynomial":
                found = []
                for total in sums:
                    square = builder.elementwise(name("square"), "multiply", total, total)
                    three = builder.literal(bits_of(total.type.component, 3), total.type.component)
                    found.append(builder.elementwise(name("result"), "add", square, builder.times_scalar(name("triple"), total, three)))
                return found
            case "gate":
                # Each sum times the one beside it, as a gated layer has it; of one sum its negative.
                if len(sums) == 1:
                    return [builder.negate(name("result"), sums[0])]
                product = builder.elementwise(name("gated"), "multiply", sums[0], sums[1])
                return [product, builder.elementwise(name("rest"), "subtract", product, sums[0])]
            case _:
                return list(sums)

    def _store(self, results: Sequence[Matrix]) -> None:
        if self.values["out"] == "direct":
            self._store_directly(results)
            return
        for i, matrix in enumerate(results):
            self._store_tile("d", matrix, i, self.place)

    def _store_tile(self, name: str, matrix: Matrix, number: int, place: tuple[ScalarValue, ScalarValue]) -> None:
        writer, stage = self.writer, self.stages[name]
        column = self._plus(place[1], number * self.row.n)
        first = writer.sum("d_first", writer.scaled("d_line", place[0], stage.stride), column)
        self.builder.store(matrix, stage.array, first, writer.literal(stage.stride), Layout.ROW_MAJOR)

    def _bring_out(self) -> None:
        """From workgroup memory to the buffer, without what hangs over."""
        writer, size, stage = self.writer, self.sizes, self.stages["d"]
        self.builder.barrier()
        limits = self.extents["m"], self.extents["n"]
        target = Window(self.arrays["d"], self.extents["n"], self.row0, self.column0, limits)
        source = Window(stage.array, writer.literal(stage.stride), writer.literal(0), writer.literal(0))
        self.builder.add(TileCopy(target, source, size.rows, size.columns))

    def _store_directly(self, results: Sequence[Matrix]) -> None:
        row = self.writer.sum("row", self.row0, self.place[0])
        for i, matrix in enumerate(results):
            column = self.writer.sum("column", self.column0, self._plus(self.place[1], i * self.row.n))
            line = self.builder.arithmetic(self.writer.name("line"), "multiply", row, self.extents["n"])
            first = self.writer.sum("first", line, column)
            self.builder.store(matrix, self.arrays["d"], first, self.extents["n"], Layout.ROW_MAJOR)

    def _add_up(self, results: Sequence[Matrix]) -> None:
        """Every subgroup stores its part of the sum; the first one adds all parts."""
        writer, builder, stage = self.writer, self.builder, self.stages["part"]
        own = writer.scaled("own_lines", self.subgroup, stage.lines)
        for i, matrix in enumerate(results):
            self._store_tile("part", matrix, i, (own, writer.literal(0)))
        builder.barrier()
        with builder.arm() as first:
            totals = []
            for i in range(len(results)):
                parts = [
                    self._load("part", writer.literal(part * stage.lines), writer.literal(i * self.row.n))
                    for part in range(self.down * self.across)
                ]
                total = parts[0]
                for part in parts[1:]:
                    total = builder.elementwise(writer.name("total"), "add", total, part)
                totals.append(total)
            self._store(totals)
        builder.branch(Condition(self.subgroup, "equal", writer.literal(0)), first)


def program(values: Values) -> Program:
    """The program of a case."""
    return _Product(values).write()


def subcase(name: str, values: Values, _: Program, rng: np.random.Generator) -> Subcase:
    """Whole numbers whose sums are exact in any order, and use most of the bits of the accumulation."""
    kernel = _Product(values)
    kernel.write()
    size, row = kernel.sizes, kernel.row
    most = kernels.budget(row)
    if row.result.is_float and values["epilogue"] != "none":
        most = int(most**0.5) - 3
    a, b = kernels.factors(row, (size.m, size.n, size.k), most // 2, rng)
    numbers = {"a": a.astype(row.a.dtype), "b": b.astype(row.b.dtype)}
    if "c" in kernel.arrays:
        numbers["c"] = kernels.addends((size.m, size.n), row.c, most // 2, rng).astype(row.c.dtype)
    inputs = {which: np.ascontiguousarray(matrix).view(np.uint8).reshape(-1) for which, matrix in numbers.items()}
    return Subcase(name, inputs, kernel.writer.operands)
