"""flexible: matrices of sizes that only flexible dimensions allow, at subgroup and at workgroup scope."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, cast

import numpy as np

from generators.inputs import integers, products
from generators.inputs.patterns import index_coded
from generators.inputs.products import Chain, Operands
from generators.layouts.matrix_arrays import OTHER_LAYOUT, MatrixArray, Tiles, matrix_source, matrix_target, tiled
from generators.layouts.placement import Target, fills, stage_out
from generators.layouts.row_types import row_type
from generators.layouts.tensor_writer import TensorWriter, matrix_steps
from generators.numerics.formats import bits_of
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import layouts_of
from generators.program.builder import U32, ProgramBuilder
from generators.program.callbacks import PerElement, Reduce
from generators.program.control_flow import Carried
from generators.program.expressions import Binary, Choose, Expression, constant, element_function
from generators.program.functions import Function
from generators.program.memory import Pointee
from generators.program.program import Built, Program, Subcase
from generators.program.tensor_access import TensorLoad, TensorStore
from generators.program.values import Matrix, TensorLayout, TensorLayoutType, Value
from generators.property_rows import FlexibleRow, PropertyRow, parse_flexible_row
from generators.types import ClampMode, ComponentType, Layout, ReduceMode, Scope, StorageClass

_TRIPS = 3
_REDUCTIONS: Mapping[str, ReduceMode] = MappingProxyType(
    {"reduce_rows": ReduceMode.ROW, "reduce_columns": ReduceMode.COLUMN, "reduce_all": ReduceMode.ROW_AND_COLUMN}
)


@dataclass(frozen=True)
class Multiples:
    """Sizes that are multiples of each granularity."""

    m: int
    n: int
    k: int

    def of(self, granularity: PropertyRow) -> PropertyRow:
        """Return the row of these sizes."""
        return replace(granularity, m=granularity.m * self.m, n=granularity.n * self.n, k=granularity.k * self.k)


@dataclass(frozen=True)
class OneSide:
    """Sizes that equal the granularities, except one.

    Attributes:
        name: the name of the different size.
        size: that size, in elements.
    """

    name: Literal["m", "n", "k"]
    size: int

    def of(self, granularity: PropertyRow) -> PropertyRow | None:
        """Return the row of these sizes; None if the size is not a multiple of its granularity."""
        match self.name:
            case "m":
                least, row = granularity.m, replace(granularity, m=self.size)
            case "n":
                least, row = granularity.n, replace(granularity, n=self.size)
            case "k":
                least, row = granularity.k, replace(granularity, k=self.size)
        return row if self.size % least == 0 else None


_MULTIPLES = re.compile(r"([1-9]\d*)x([1-9]\d*)x([1-9]\d*)")
_ONE_SIDE = re.compile(r"([mnk])([1-9]\d*)")


def parse_size(text: str) -> Multiples | OneSide:
    """Return the sizes that a label such as ``3x1x2`` or ``m256`` names.

    Raises:
        ValueError: it is not such a label.
    """
    if multiples := _MULTIPLES.fullmatch(text):
        return Multiples(*(int(factor) for factor in multiples.groups()))
    if side := _ONE_SIDE.fullmatch(text):
        return OneSide(cast(Literal["m", "n", "k"], side.group(1)), int(side.group(2)))
    raise ValueError("expected multiples of the granularities, such as 3x1x2, or one size, such as m256")


def _of_workgroup(parameters: Parameters) -> bool:
    return parameters.row.subgroups is not None


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of a case."""

    row: FlexibleRow = parameter("the row of flexible dimensions", decode=parse_flexible_row)
    size: Multiples | OneSide = parameter(
        "the sizes: multiples of the row's granularities, or one size that differs from them", default="1x1x1", decode=parse_size
    )
    does: Literal["muladd", "loop", "load_store", "tensor", "per_element", "reduce_rows", "reduce_columns", "reduce_all"] = parameter(
        "what is done with the matrices"
    )
    beside: int = parameter(
        "bytes of workgroup memory beside the matrices, since a device may reserve some for matrices of workgroup scope",
        default=0,
        applies=_of_workgroup,
    )
    instances: int = parameter("scope instances: subgroups of a workgroup, or workgroups", default=1)
    layouts: tuple[Layout, ...] = parameter(
        "the layouts of A, B, C and Result; tensors have strides in place of layouts",
        default="rrrr",
        decode=layouts_of(4),
        applies=lambda parameters: parameters.does != "tensor",
    )

    @property
    def scope(self) -> Scope:
        """The scope of the matrices."""
        return Scope.SUBGROUP if self.row.subgroups is None else Scope.WORKGROUP

    @property
    def sized(self) -> PropertyRow | None:
        """The row of the case's sizes; None if one is not a multiple of its granularity."""
        return self.size.of(self.row.granularity)


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    data: Literal["first", "second"] = parameter("which of two kinds of data")


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "multiple": lambda parameters: parameters.sized is not None,
    "of_workgroup": _of_workgroup,
}


def _chain(parameters: Parameters) -> Chain:
    """Return the multiply-adds of a case, over all its instances."""
    row = parameters.sized
    assert row is not None, "the constraint 'multiple' excludes the case"
    return Chain(row, parameters.instances, 1, _TRIPS if parameters.does == "loop" else 1)


def _tiles(parameters: Parameters, row: PropertyRow) -> dict[str, Tiles]:
    """Lay out tiles for every instance, by name of the array: A, B, C and either the result or, in the other layout, all three again."""
    count = (parameters.instances, 1)
    layout = dict(zip("abcd", parameters.layouts, strict=True))
    types = {name: row_type(row, name, parameters.scope) for name in "abcd"}
    found = {name: tiled(types[name], layout[name], True, count) for name in "abcd"}
    if parameters.does == "load_store":
        del found["d"]
        found |= {f"{name}_again": tiled(types[name], OTHER_LAYOUT[layout[name]], True, count) for name in "abc"}
    return found


def _smaller(component: ComponentType) -> Function:
    """Return the smaller of two elements. If all elements are positive, it reveals zeros with which a device pads fragments of a matrix."""
    one, other = Value("one", component), Value("other", component)
    return element_function("smaller", (one, other), Choose(Binary("less", one, other), one, other))


def _by_place(component: ComponentType) -> Function:
    """Negate an element if the top bit of a sum is set. Every bit of row and column contributes to the sum: a row or column that is counted
    in a fragment instead of the matrix, or in fewer bits, gives a different pattern."""
    row, column, element = Value("row", U32), Value("column", U32), Value("element", component)
    at: Expression = Binary(
        "add", Binary("multiply", row, constant(U32, 0x9E3779B1)), Binary("multiply", column, constant(U32, 0x85EBCA6B))
    )
    chosen = Binary("equal", Binary("and", at, constant(U32, 1 << 31)), constant(U32, 0))
    opposite = Binary("multiply", element, constant(component, bits_of(component, -1)))
    return element_function("by_place", (row, column, element), Choose(chosen, element, opposite))


class _FlexibleMatrices:
    """Writes the program of a case, and draws its data."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.chain = _chain(parameters)
        self.row = self.chain.row
        subgroups, count = parameters.row.subgroups, parameters.instances
        if subgroups is None:
            self.builder = ProgramBuilder(parameters.scope, subgroups=count)
        else:
            self.builder = ProgramBuilder(parameters.scope, subgroups=subgroups, workgroups=count)
        self.arrays: dict[str, MatrixArray] = {}
        for name, tiles in _tiles(parameters, self.row).items():
            written = name == "d" or name.endswith("_again")
            self.arrays[name] = (matrix_target if written else matrix_source)(self.builder, name, tiles)
        self.beside: Target | None = None
        if parameters.beside:
            self.beside = stage_out(self.builder, "beside", Pointee(U32), parameters.beside // 4, StorageClass.WORKGROUP)
        self.tensors = TensorWriter(self.builder, "push_constant")

    def layout(self, name: str) -> TensorLayout:
        """Create the layout of the whole matrix in array ``name``."""
        steps = matrix_steps(self.arrays[name].tiles)
        return self.tensors.layout(f"layout_{name}", TensorLayoutType(2, ClampMode.CONSTANT), *steps)

    def load(self, name: str) -> Matrix:
        """Load the matrix of array ``name``, by tensor addressing if the case asks for it."""
        builder, source = self.builder, self.arrays[name]
        if self.parameters.does != "tensor":
            return source.load()
        type_ = source.tiles.type
        before = builder.splat(f"before_{name}", type_, builder.literal(1, type_.component))
        return builder.result_of(TensorLoad(Value(f"matrix_{name}", type_), source.array, source.first(), before, self.layout(name)))

    def store(self, matrix: Matrix, name: str) -> None:
        """Store ``matrix`` to array ``name``."""
        target = self.arrays[name]
        if self.parameters.does == "tensor":
            self.builder.add(TensorStore(matrix, target.array, target.first(), self.layout(name)))
        else:
            target.store(matrix)

    def muladd(self, name: str, a: Matrix, b: Matrix, c: Matrix) -> Matrix:
        """Compute ``a`` x ``b`` + ``c``."""
        return self.builder.muladd(name, self.arrays["d"].tiles.type, a, b, c, self.row.operands or None)

    def _computed(self, a: Matrix, b: Matrix, c: Matrix) -> Matrix:
        does = self.parameters.does
        if does == "loop":
            trips = self.tensors.number("trip_count", _TRIPS, signed=False)
            carried, current = list[Carried](), Value("accumulator", c.type)
            with self.builder.loop(Value("iteration", U32), trips, carried):
                carried.append(Carried(c, current, self.muladd("following", a, b, current)))
            return current
        product = self.muladd("product", a, b, c)
        result = Value("changed", product.type)
        if does in _REDUCTIONS:
            self.builder.add(Reduce(result, product, _REDUCTIONS[does], _smaller(self.row.result)))
            return result
        if does == "per_element":
            self.builder.add(PerElement(result, product, _by_place(self.row.result)))
            return result
        return product

    def write(self) -> Program:
        """Write the whole program."""
        a, b, c = (self.load(name) for name in "abc")
        if self.parameters.does == "load_store":
            for matrix, name in ((a, "a"), (b, "b"), (c, "c")):
                self.store(matrix, f"{name}_again")
        else:
            self.store(self._computed(a, b, c), "d")
        if self.beside is not None:
            self.beside.finish(self.builder)
        return self.builder.build()

    def draw(self, name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        """Draw the operands; random bytes follow the lines of a matrix."""
        second = parameters.data == "second"
        if parameters.does == "load_store":
            drawn = _moved(self.chain, half=int(second))
        else:
            operands = _operands(self.chain, second, rng)
            # The second kind of data keeps its signs, which reveals a comparison with the wrong signedness.
            if parameters.does in _REDUCTIONS and not second:
                operands = _positive(operands, self.row)
            drawn = {"a": operands.a, "b": operands.b, "c": operands.c[:, None]}
        arrays = {array: self.arrays[array].tiles.contents(data, rng) for array, data in drawn.items()}
        return Subcase(name, arrays | fills(program, rng))


def _operands(chain: Chain, second: bool, rng: np.random.Generator) -> Operands:
    """Draw operands whose sums are exact and need the upper bits of their types."""
    if chain.row.result.is_float:
        return products.identity(chain, rng, which="permutation") if second and chain.repeats == 1 else products.exact(chain, rng)
    if chain.row.saturating:
        return integers.saturating(chain, rng, end="inside" if second else "high")
    return (integers.edges if second else integers.wrapping)(chain, rng)


def _positive(operands: Operands, row: PropertyRow) -> Operands:
    """Return ``operands`` with sums above zero, as ``_smaller`` needs: floats lose their signs, and a signed C is so large that adding
    products of bytes leaves it positive without overflow."""
    if row.result.is_float:
        return Operands(np.abs(operands.a), np.abs(operands.b), np.abs(operands.c))
    if not row.result.is_signed:
        return operands
    return replace(operands, c=(operands.c & 0x3FFFFFFF) + operands.c.dtype.type(1 << 29))


def _moved(chain: Chain, half: int) -> dict[str, np.ndarray]:
    """Return elements whose bits depend on their position."""
    row, shapes = chain.row, dict(zip("abc", chain.shapes, strict=True))
    shapes["c"] = (chain.instances, 1, row.m, row.n)
    components = {"a": row.a, "b": row.b, "c": row.c}
    return {name: index_coded(components[name], math.prod(shape), half).reshape(shape) for name, shape in shapes.items()}


def build(parameters: Parameters) -> Built:
    """Build a case."""
    writer = _FlexibleMatrices(parameters)
    return Built(writer.write(), writer.draw)
