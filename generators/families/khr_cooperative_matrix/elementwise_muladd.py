"""elementwise_muladd: arithmetic on an operand of a multiply-add before it, on its result after it, or between two of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.inputs import elementwise as inputs
from generators.inputs.whole_numbers import any_signs, budget
from generators.layouts.matrix_arrays import matrix_source, matrix_target, tiled
from generators.layouts.row_types import row_type
from generators.numerics.formats import bits_of
from generators.operands.run_time import from_host
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import LAYOUTS, SOURCE_NAMES, Scoped
from generators.program.builder import ProgramBuilder
from generators.program.built import Built
from generators.program.program import Program, Subcase
from generators.program.values import Matrix, MatrixType
from generators.property_rows import PropertyRow, parse_row
from generators.types import Layout

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


def _scales_integers(parameters: Parameters) -> bool:
    component = row_type(parameters.row, _taken(parameters), parameters.scope).component
    return parameters.operation == "times_scalar" and not component.is_float


def _follows(parameters: Parameters) -> bool:
    """Return whether the result can be C of the next multiply-add, where there is one: it has its type."""
    return parameters.place != "between" or parameters.row.c is parameters.row.result


PREDICATES: Mapping[str, Callable[[Parameters], bool]] = {
    "follows": _follows,
    "has_arithmetic": _has_arithmetic,
    "scales_integers": _scales_integers,
    "wraps": lambda parameters: not parameters.row.saturating,
}


def _types(parameters: Parameters) -> dict[str, MatrixType]:
    """Return the matrix types by array: a, b, c, d, and other, the second operand of a binary operation."""
    types = {name: row_type(parameters.row, name, parameters.scope) for name in "abcd"}
    if parameters.operation in ("add", "subtract", "multiply"):
        types["other"] = types[_taken(parameters)]
    return types


class _ElementwiseMuladdWriter:
    """Writes the program of one case.

    Attributes:
        types, arrays: by name of the array.
    """

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.types = _types(parameters)
        self.builder = ProgramBuilder(parameters.scope, subgroups=parameters.subgroups)
        self.arrays = {
            name: (matrix_target if name == "d" else matrix_source)(
                self.builder, name, tiled(type_, parameters.layout, False, (parameters.instances, 1))
            )
            for name, type_ in self.types.items()
        }

    def load(self, name: str) -> Matrix:
        """Load the matrix of array ``name``."""
        return self.arrays[name].load(at=self.arrays[name].product())

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
        self.arrays["d"].store(result, self.arrays["d"].product())
        return self.builder.build()


def _factor_limits(row: PropertyRow, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest magnitudes in each column of A and row of B, (K,), whose products are at most ``most``.

    Where there is room, columns of A with all bits of their type are in turn with rows of B that have all bits.
    """
    wide_a, wide_b = ((1 << component.precision) - 1 for component in (row.a, row.b))
    if most < max(wide_a, wide_b):
        side = max(1, math.isqrt(most))
        return np.full(row.k, min(side, wide_a)), np.full(row.k, min(side, wide_b))
    even = np.arange(row.k) % 2 == 0
    return np.where(even, wide_a, min(wide_a, most // wide_b)), np.where(even, min(wide_b, most // wide_a), wide_b)


def _float_limits(parameters: Parameters) -> dict[str, np.ndarray]:
    """Return the largest magnitudes of whole numbers for which every sum is exact in the narrowest accumulation, however a compiler
    combines the operation with the multiply-add: the sum of all terms, ``_GROWTH`` + 1 times over, fits its bits (facts.md C5, C31). Each
    array can be broadcast to its matrix."""
    row, taken = parameters.row, _taken(parameters)
    share = budget(row) // (2 * (_GROWTH + 1))
    a, b = _factor_limits(row, share // row.k)
    limits = {"a": a, "b": b[:, None], "c": np.array(share)}
    limits["other"] = limits["c"] if taken == "d" else limits[taken]
    if parameters.operation != "negate" and taken != "d":
        limits[taken] = np.maximum(1, limits[taken] // _GROWTH)
        limits["other"] = limits[taken]
    if parameters.operation == "multiply":
        limits["other"] = np.array(_GROWTH)
    return limits


def build(parameters: Parameters) -> Built:
    """Build a case: its program, and random bits for integers, whole numbers of both signs for floats."""
    writer, limits = _ElementwiseMuladdWriter(parameters), _float_limits(parameters)

    def draw(name: str, _: Parameters, program: Program, rng: np.random.Generator) -> Subcase:
        arrays: dict[str, np.ndarray] = {}
        for array, type_ in writer.types.items():
            if array == "d":
                continue
            component = type_.component
            shape = (program.instances, 1, *type_.shape)
            if component.is_float:
                drawn = any_signs(rng.integers(1, limits[array], shape, endpoint=True), rng).astype(component.dtype)
            else:
                drawn = inputs.integers(component, "add", "random", shape, rng)[0]
            arrays[array] = writer.arrays[array].tiles.contents(drawn, rng)
        scalars = {
            operand.name: inputs.scalar(operand.type, rng)
            if not operand.type.is_float
            else bits_of(operand.type, int(rng.choice(np.array(_SCALARS))))
            for operand in from_host(program)
        }
        return Subcase(name, arrays, scalars)

    return Built(writer.write(), draw)
