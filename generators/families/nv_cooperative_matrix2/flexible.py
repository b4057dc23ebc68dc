"""flexible: matrices of sizes that only flexible dimensions allow, at subgroup and at workgroup scope.

Axis values are those of cases/nv_cooperative_matrix2/flexible.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from generators.inputs import integers, products
from generators.inputs.patterns import index_coded
from generators.inputs.products import Chain, Operands
from generators.layouts.placement import Target, fills, stage_out
from generators.layouts.tensor_writer import LayoutStep, TensorWriter
from generators.layouts.tiles import Tiles, tiled
from generators.parameters.vocabulary import LAYOUT_LETTERS, TakenValues, Values
from generators.program.builder import U32, ProgramBuilder
from generators.program.callbacks import Binary, Choose, Expression, constant, element_function
from generators.program.control_flow import Carried
from generators.program.functions import Function
from generators.program.memory import Array, Pointee, Role
from generators.program.per_element import PerElement
from generators.program.program import Program, Subcase
from generators.program.reduce import Reduce
from generators.program.tensor import TensorLayout, TensorLayoutType
from generators.program.tensor_access import TensorLoad, TensorStore
from generators.program.values import Matrix, MatrixType, Operand, Scalar
from generators.property_rows import FlexibleRow, PropertyRow, parse_flexible_row
from generators.types import ClampMode, ComponentType, Layout, ReduceMode, Scope, StorageClass, Use

_MULTIPLES = re.compile(r"([1-9]\d*)x([1-9]\d*)x([1-9]\d*)")
_ONE_SIDE = re.compile(r"([mnk])([1-9]\d*)")
_REDUCTIONS = {"reduce_rows": ReduceMode.ROW, "reduce_columns": ReduceMode.COLUMN, "reduce_all": ReduceMode.ROW_AND_COLUMN}
_TRIPS = 3
_REPEATED = ("loop",)

AXES: TakenValues = {
    "row": None,
    "size": re.compile(rf"{_MULTIPLES.pattern}|{_ONE_SIDE.pattern}"),
    "does": ("muladd", "loop", "load_store", "tensor", "per_element", *_REDUCTIONS),
    "beside": None,
    "instances": range(1, 9),
    "layouts": re.compile("[rc]{4}"),
    "data": ("first", "second"),
}


def _row(values: Values) -> FlexibleRow:
    return parse_flexible_row(values["row"])


def sized(values: Values) -> PropertyRow | None:
    """The row of the case's sizes: multiples of each granularity, or one of each but for one size; None if that is no multiple."""
    row = _row(values).granularity
    multiples = _MULTIPLES.fullmatch(values["size"])
    if multiples is not None:
        m, n, k = (int(factor) for factor in multiples.groups())
        return replace(row, m=row.m * m, n=row.n * n, k=row.k * k)
    side = _ONE_SIDE.fullmatch(values["size"])
    assert side is not None, "AXES allows multiples and single sides"
    name, size = side.group(1), int(side.group(2))
    changed = {"m": replace(row, m=size), "n": replace(row, n=size), "k": replace(row, k=size)}[name]
    return changed if size % int(getattr(row, name)) == 0 else None


def _multiple(values: Values) -> bool:
    return sized(values) is not None


def _beside_workgroup(values: Values) -> bool:
    """Workgroup memory beside matrices of workgroup scope alone."""
    return values["beside"] == 0 or _row(values).subgroups is not None


PREDICATES: Mapping[str, Callable[[Values], bool]] = {
    "multiple": _multiple,
    "beside_workgroup": _beside_workgroup,
    "of_workgroup": lambda values: _row(values).subgroups is not None,
}


def chain(values: Values) -> Chain:
    """The multiply-adds of a case, over all its instances."""
    row = sized(values)
    assert row is not None, "the constraint 'multiple' excludes the case"
    return Chain(row, int(values["instances"]), 1, _TRIPS if values["does"] in _REPEATED else 1)


def plan(values: Values) -> dict[str, Tiles]:
    """Tiles of A, B, C and D for every instance, by name of the array; those that are stored again, too."""
    row, count = chain(values).row, (int(values["instances"]), 1)
    layout = {name: LAYOUT_LETTERS[letter] for name, letter in zip("abcd", values["layouts"], strict=True)}
    shapes = {"a": (row.a, (row.m, row.k)), "b": (row.b, (row.k, row.n)), "c": (row.c, (row.m, row.n)), "d": (row.result, (row.m, row.n))}
    if values["does"] == "load_store":
        found = {name: tiled(*shapes[name], layout[name], True, count) for name in "abc"}
        other = {Layout.ROW_MAJOR: Layout.COLUMN_MAJOR, Layout.COLUMN_MAJOR: Layout.ROW_MAJOR}
        return found | {f"{name}_again": tiled(*shapes[name], other[layout[name]], True, count) for name in "abc"}
    if values["does"] == "tensor":
        layout = dict.fromkeys("abcd", Layout.ROW_MAJOR)
    return {name: tiled(*shapes[name], layout[name], True, count) for name in "abcd"}


def _reduction(component: ComponentType) -> Function:
    """The smaller of two: of positive elements it shows zeros with which a matrix is filled up to whole fragments."""
    one, other = Scalar("one", component), Scalar("other", component)
    return element_function("smaller", (one, other), Choose(Binary("less", one, other), one, other))


def _by_place(component: ComponentType) -> Function:
    """The opposite of an element where the top bit of a sum is set, in which every bit of row and column has a share: places that are
    counted in a fragment instead of the matrix, or in fewer bits, are another pattern."""
    row, column, element = Scalar("row", U32), Scalar("column", U32), Scalar("element", component)
    at: Expression = Binary(
        "add", Binary("multiply", row, constant(U32, 0x9E3779B1)), Binary("multiply", column, constant(U32, 0x85EBCA6B))
    )
    minus_one = int(np.array([-1]).astype(component.dtype).view(component.bits_dtype)[0])
    chosen = Binary("equal", Binary("and", at, constant(U32, 1 << 31)), constant(U32, 0))
    opposite = Binary("multiply", element, constant(component, minus_one))
    return element_function("by_place", (row, column, element), Choose(chosen, element, opposite))


class _Writer:
    """Writes the program of one case."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.plan = plan(values)
        self.row = chain(values).row
        subgroups = _row(values).subgroups
        self.scope = Scope.SUBGROUP if subgroups is None else Scope.WORKGROUP
        count = int(values["instances"])
        if subgroups is None:
            self.builder = ProgramBuilder(self.scope, subgroups=count)
        else:
            self.builder = ProgramBuilder(self.scope, subgroups=subgroups, workgroups=count)
        self.arrays: dict[str, Array] = {}
        for name, tiles in self.plan.items():
            written = name == "d" or name.endswith("_again")
            role: Role = "output" if written else "input"
            self.arrays[name] = self.builder.array(name, Pointee(tiles.component), tiles.length, StorageClass.STORAGE_BUFFER, role)
        self.beside: Target | None = None
        if values["beside"]:
            self.beside = stage_out(self.builder, "beside", Pointee(U32), int(values["beside"]) // 4, StorageClass.WORKGROUP)
        self.tensors = TensorWriter(self.builder, "push_constant")

    def _first(self, name: str) -> Operand | Scalar:
        builder = self.builder
        zero = builder.literal(0)
        if builder.instances == 1:
            return zero
        return builder.offset(f"{name}_first", zero, builder.instance_index(), self.plan[name].pitch)

    def type_of(self, name: str, use: Use) -> MatrixType:
        """Of the matrix in array ``name``."""
        tiles = self.plan[name]
        return MatrixType(tiles.component, self.scope, tiles.rows, tiles.columns, use)

    def layout(self, name: str) -> TensorLayout:
        """The layout of the whole matrix in array ``name``."""
        tiles = self.plan[name]
        steps: list[LayoutStep] = [("dimension", (tiles.rows, tiles.columns)), ("stride", (tiles.stride, 1))]
        return self.tensors.layout(f"layout_{name}", TensorLayoutType(2, ClampMode.CONSTANT), *steps)

    def load(self, name: str, use: Use) -> Matrix:
        """The matrix of array ``name``, by tensor addressing where that is what the case does."""
        builder, tiles, type_ = self.builder, self.plan[name], self.type_of(name, use)
        if self.values["does"] != "tensor":
            return builder.load(f"matrix_{name}", type_, self.arrays[name], self._first(name), builder.literal(tiles.stride), tiles.layout)
        before = builder.splat(f"before_{name}", type_, builder.literal(1, tiles.component))
        result = Matrix(f"matrix_{name}", type_)
        builder.add(TensorLoad(result, self.arrays[name], self._first(name), before, self.layout(name)))
        return result

    def store(self, matrix: Matrix, name: str) -> None:
        """Stores ``matrix`` to array ``name``."""
        builder, tiles = self.builder, self.plan[name]
        if self.values["does"] == "tensor":
            builder.add(TensorStore(matrix, self.arrays[name], self._first(name), self.layout(name)))
            return
        builder.store(matrix, self.arrays[name], self._first(name), builder.literal(tiles.stride), tiles.layout)

    def muladd(self, name: str, a: Matrix, b: Matrix, c: Matrix) -> Matrix:
        """``a`` x ``b`` + ``c``."""
        return self.builder.muladd(name, self.type_of("d", Use.ACCUMULATOR), a, b, c, self.row.operands or None)

    def _computed(self, a: Matrix, b: Matrix, c: Matrix) -> Matrix:
        does = self.values["does"]
        if does == "loop":
            trips = self.tensors.number("trip_count", _TRIPS, signed=False)
            carried: list[Carried] = []
            with self.builder.loop(Scalar("iteration", U32), trips, carried):
                current = Matrix("accumulator", c.type)
                carried.append(Carried(c, current, self.muladd("following", a, b, current)))
            return carried[0].current
        product = self.muladd("product", a, b, c)
        result = Matrix("changed", product.type)
        if does in _REDUCTIONS:
            self.builder.add(Reduce(result, product, _REDUCTIONS[does], _reduction(self.row.result)))
            return result
        if does == "per_element":
            self.builder.add(PerElement(result, product, _by_place(self.row.result)))
            return result
        return product

    def write(self) -> Program:
        """The whole program."""
        a, b, c = self.load("a", Use.A), self.load("b", Use.B), self.load("c", Use.ACCUMULATOR)
        if self.values["does"] == "load_store":
            for matrix, name in ((a, "a"), (b, "b"), (c, "c")):
                self.store(matrix, f"{name}_again")
        else:
            self.store(self._computed(a, b, c), "d")
        if self.beside is not None:
            self.beside.finish(self.builder)
        return self.builder.build()


def program(values: Values) -> Program:
    """The program of a case."""
    return _Writer(values).write()


def _drawn(values: Values, of: Chain, rng: np.random.Generator) -> Operands:
    """Operands that are exact, and that need the upper bits of their types."""
    second = values["data"] == "second"
    if of.row.result.is_float:
        return products.identity(of, rng, which="permutation") if second and of.repeats == 1 else products.exact(of, rng)
    if of.row.saturating:
        return integers.saturating(of, rng, end="inside" if second else "high")
    return (integers.edges if second else integers.wrapping)(of, rng)


def _positive(operands: Operands, row: PropertyRow) -> Operands:
    """``operands`` with sums above zero, as ``_reduction`` needs them: floats without their signs, integers with C so large that no sum of
    products of bytes makes it negative, nor too large."""
    if row.result.is_float:
        return Operands(np.abs(operands.a), np.abs(operands.b), np.abs(operands.c))
    if not row.result.is_signed:
        return operands
    return replace(operands, c=(operands.c & 0x3FFFFFFF) + operands.c.dtype.type(1 << 29))


def _moved(of: Chain, half: int) -> dict[str, np.ndarray]:
    """Elements of which position decides the bits."""
    row, shapes = of.row, dict(zip("abc", of.shapes, strict=True))
    shapes["c"] = (of.instances, 1, row.m, row.n)
    kinds = {"a": row.a, "b": row.b, "c": row.c}
    return {name: index_coded(kinds[name], int(np.prod(shape)), half).reshape(shape) for name, shape in shapes.items()}


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """Operands of the case; random bytes between the lines of a matrix."""
    of, worked = chain(values), plan(values)
    if values["does"] == "load_store":
        drawn = _moved(of, int(values["data"] == "second"))
    else:
        operands = _drawn(values, of, rng)
        # The second data keep their signs, so that a comparison of the other signedness shows.
        if values["does"] in _REDUCTIONS and values["data"] == "first":
            operands = _positive(operands, of.row)
        drawn = {"a": operands.a, "b": operands.b, "c": operands.c[:, None]}
    arrays = {array: worked[array].place(np.ascontiguousarray(data), rng) for array, data in drawn.items()}
    writer = _Writer(values)
    writer.write()
    return Subcase(name, arrays | fills(program, rng), writer.tensors.operands)
