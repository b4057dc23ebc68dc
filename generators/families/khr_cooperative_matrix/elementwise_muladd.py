"""elementwise_muladd: arithmetic on an operand of a multiply-add before it, on its result after it, or between two of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.inputs import elementwise as inputs
from generators.layouts.row_types import row_type
from generators.layouts.tiles import Tiles, tiled
from generators.numerics.exactness import accumulation_precision
from generators.numerics.formats import bits_of
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import LAYOUTS, SOURCE_NAMES, Scoped
from generators.program.builder import ProgramBuilder
from generators.program.built import Built
from generators.program.memory import Array, Pointee
from generators.program.program import Program, Subcase
from generators.program.values import Matrix, MatrixType, ScalarValue
from generators.property_rows import PropertyRow, parse_row
from generators.types import Layout, StorageClass

_GROWTH = 3
"""How many times larger an operation may make a float operand: a scalar and a factor are at most this, a sum is at most twice."""

_SCALARS = (-3, 3, -2)
_SCALAR, _DEFAULT = -3, 2


@dataclass(frozen=True, kw_only=True)
class Parameters(Scoped):
    """The parameters of a case."""

    row: PropertyRow = parameter("the property row", decode=parse_row)
    place: Literal["a", "b", "c", "result", "between"] = parameter(
        "what the operation takes: an operand, the result, or the result of the first of two multiply-adds"
    )
    operation: Literal["add", "subtract", "multiply", "negate", "times_scalar"] = parameter("the operation")
    source: SOURCE_NAMES = parameter(
        "where the scalar comes from", default="literal", applies=lambda parameters: parameters.operation == "times_scalar"
    )
    layout: Layout = parameter("layout of all matrices", default="row", labels=LAYOUTS)


def _taken(parameters: Parameters) -> str:
    """Return the name of the array whose type the operand of the operation has."""
    return "d" if parameters.place in ("result", "between") else parameters.place


def _has_arithmetic(parameters: Parameters) -> bool:
    return row_type(parameters.row, _taken(parameters), parameters.scope).component.has_arithmetic


def _follows(parameters: Parameters) -> bool:
    """Return whether the result can be C of the next multiply-add, where there is one: it has its type."""
    return parameters.place != "between" or parameters.row.c is parameters.row.result


PREDICATES: Mapping[str, Callable[[Parameters], bool]] = {
    "follows": _follows,
    "has_arithmetic": _has_arithmetic,
    "wraps": lambda parameters: not parameters.row.saturating,
}


def _types(parameters: Parameters) -> dict[str, MatrixType]:
    """Return the matrix types by array: a, b, c, d, and other, the second operand of a binary operation."""
    types = {name: row_type(parameters.row, name, parameters.scope) for name in "abcd"}
    if parameters.operation in ("add", "subtract", "multiply"):
        types["other"] = types[_taken(parameters)]
    return types


class _ProgramWriter:
    """Writes the program of one case.

    Attributes:
        types, tiles, arrays: by name of the array.
    """

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.types = _types(parameters)
        count = (parameters.instances, 1)
        self.tiles: dict[str, Tiles] = {
            name: tiled(type_.component, type_.shape, parameters.layout, False, count) for name, type_ in self.types.items()
        }
        self.builder = ProgramBuilder(parameters.scope, subgroups=parameters.subgroups)
        self.arrays: dict[str, Array] = {
            name: self.builder.array(
                name, Pointee(tiles.component), tiles.length, StorageClass.STORAGE_BUFFER, "output" if name == "d" else "input"
            )
            for name, tiles in self.tiles.items()
        }

    def _first(self, name: str) -> ScalarValue:
        """Compute where the tile of this instance begins."""
        builder = self.builder
        if builder.instances == 1:
            return builder.literal(0)
        return builder.arithmetic(f"{name}_first", "multiply", builder.instance_index(), builder.literal(self.tiles[name].pitch))

    def load(self, name: str) -> Matrix:
        """Load the matrix of array ``name``."""
        builder, tiles = self.builder, self.tiles[name]
        return builder.load(
            f"matrix_{name}", self.types[name], self.arrays[name], self._first(name), builder.literal(tiles.stride), tiles.layout
        )

    def operate(self, matrix: Matrix) -> Matrix:
        """Apply the case's operation."""
        builder, operation = self.builder, self.parameters.operation
        component = matrix.type.component
        match operation:
            case "negate":
                return builder.negate("negated", matrix)
            case "times_scalar":
                value, default = bits_of(component, _SCALAR), bits_of(component, _DEFAULT)
                return builder.times_scalar("scaled", matrix, builder.operand("scalar", component, self.parameters.source, value, default))
            case _:
                return builder.elementwise("combined", operation, matrix, self.load("other"))

    def write(self) -> Program:
        """Write the program."""
        operands = {name: self.load(name) for name in "abc"}
        place = self.parameters.place
        if place in operands:
            operands[place] = self.operate(operands[place])
        flags = self.parameters.row.operands or None
        result = self.builder.muladd("product", self.types["d"], operands["a"], operands["b"], operands["c"], flags)
        if place in ("result", "between"):
            result = self.operate(result)
        if place == "between":
            result = self.builder.muladd("second", self.types["d"], operands["a"], operands["b"], result, flags)
        tiles = self.tiles["d"]
        self.builder.store(result, self.arrays["d"], self._first("d"), self.builder.literal(tiles.stride), tiles.layout)
        return self.builder.build()


def _float_limits(parameters: Parameters) -> dict[str, int]:
    """Return the largest magnitudes of whole numbers for which every sum is exact in the narrowest accumulation, however a compiler
    combines the operation with the multiply-add: the sum of all terms, ``_GROWTH`` + 1 times over, fits its bits (facts.md C5, C31)."""
    row, taken = parameters.row, _taken(parameters)
    budget = (1 << accumulation_precision(row.a, row.b, row.c, row.result)) - 1
    share = budget // (2 * (_GROWTH + 1))
    side = max(1, math.isqrt(share // row.k))
    limits = {"a": min(side, (1 << row.a.precision) - 1), "b": min(side, (1 << row.b.precision) - 1), "c": share}
    limits["other"] = limits["c"] if taken == "d" else limits[taken]
    if parameters.operation != "negate" and taken != "d":
        limits[taken] = max(1, limits[taken] // _GROWTH)
        limits["other"] = limits[taken]
    if parameters.operation == "multiply":
        limits["other"] = _GROWTH
    return limits


def build(parameters: Parameters) -> Built:
    """Build a case: its program, and random bits for integers, whole numbers of both signs for floats."""
    writer, limits = _ProgramWriter(parameters), _float_limits(parameters)

    def draw(name: str, _: Parameters, program: Program, rng: np.random.Generator) -> Subcase:
        arrays: dict[str, np.ndarray] = {}
        for array, tiles in writer.tiles.items():
            if array == "d":
                continue
            shape = (program.instances, 1, tiles.rows, tiles.columns)
            if tiles.component.is_float:
                magnitudes = rng.integers(1, limits[array], shape, endpoint=True)
                drawn = (magnitudes * rng.choice(np.array([-1, 1]), shape)).astype(tiles.component.dtype)
            else:
                drawn = inputs.integers(tiles.component, "add", "random", shape, rng)[0]
            arrays[array] = tiles.place(drawn, rng)
        scalars = {
            operand.name: inputs.scalar(operand.type, rng)
            if not operand.type.is_float
            else bits_of(operand.type, int(rng.choice(np.array(_SCALARS))))
            for operand in program.operands
            if operand.source in ("push_constant", "buffer")
        }
        return Subcase(name, arrays, scalars)

    return Built(writer.write(), draw)
