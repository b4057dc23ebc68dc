"""elementwise_muladd: arithmetic on an operand of a multiply-add before it, on its result after it, or between two of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.inputs import elementwise as inputs
from generators.inputs.whole_numbers import any_signs, budget, up_to, wide_factors
from generators.layouts.matrix_arrays import matrix_source, matrix_target, tiled
from generators.layouts.row_types import row_type
from generators.numerics.formats import bits_of
from generators.operands.run_time import from_host
from generators.parameters.declaration import parameter
from generators.parameters.matrices import OneRow
from generators.parameters.vocabulary import LAYOUTS, SOURCE_NAMES
from generators.program.builder import ProgramBuilder
from generators.program.program import Built, Program, Subcase
from generators.program.values import Matrix, MatrixType
from generators.types import Layout

_GROWTH = 3
"""How many times larger an operation may make a float operand: scalars and factors are at most this large, and a sum is at most twice as
large."""

_SCALARS = (-3, 3, -2)
_SCALAR, _DEFAULT = -3, 2


@dataclass(frozen=True, kw_only=True)
class Parameters(OneRow):
    """The parameters of a case."""

    place: Literal["a", "b", "c", "result", "between"] = parameter(
        "what the operation takes: an operand, the result, or the result of the first of two multiply-adds"
    )
    operation: Literal["add", "subtract", "multiply", "negate", "times_scalar"] = parameter("the operation")
    source: SOURCE_NAMES = parameter(
        "where the scalar comes from", default="literal", applies=lambda parameters: parameters.operation == "times_scalar"
    )
    layout: Layout = parameter("layout of all matrices", default="row", labels=LAYOUTS)


def _taken(parameters: Parameters) -> str:
    """Return the name of the array with the type of the operation's operand."""
    return "d" if parameters.place in ("result", "between") else parameters.place


def _has_arithmetic(parameters: Parameters) -> bool:
    return row_type(parameters.row, _taken(parameters), parameters.scope).component.has_arithmetic


def _scales_integers(parameters: Parameters) -> bool:
    component = row_type(parameters.row, _taken(parameters), parameters.scope).component
    return parameters.operation == "times_scalar" and not component.is_float


def _follows(parameters: Parameters) -> bool:
    """Return whether the result can be C of the next multiply-add, if there is one: the two have one type."""
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
        types, arrays: the matrix types and the arrays, by name of the array.
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


@dataclass(frozen=True)
class _Shares:
    """The largest magnitudes of whole numbers whose sums are all exact in the bits that must be kept.

    Attributes:
        products: the magnitude of all products of an element together.
        c: the magnitude of an element of C.
        other: the magnitude of an element of the other operand.
    """

    products: int
    c: int
    other: int


def _shares(parameters: Parameters) -> _Shares:
    """Divide the bits of a float multiply-add among its terms, however a compiler combines the operation with it (facts.md C5, C31)."""
    operation, place, budget_ = parameters.operation, parameters.place, budget(parameters.row)
    scales = operation in ("multiply", "times_scalar")
    growth = _GROWTH if scales else 1
    # The number and the size of the products and C in the last sum.
    products = {"a": growth, "b": growth, "result": growth, "between": 1 + growth}.get(place, 1)
    if operation in ("add", "subtract") and place in ("a", "b"):
        products = 2
    c = growth if place in ("c", "result", "between") else 1
    largest = max(1, budget_ * 5 // 8 // products)
    rest = budget_ - largest * products
    return _Shares(largest, max(1, rest // 2 // c), _GROWTH if scales else max(1, rest // 2))


def _floats(parameters: Parameters, shapes: Mapping[str, tuple[int, ...]], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw whole numbers for the arrays of floats, by name."""
    row, taken, shares = parameters.row, _taken(parameters), _shares(parameters)
    limits = (1 << row.a.precision) - 1, (1 << row.b.precision) - 1
    a, b = wide_factors((shapes["a"], shapes["b"]), shares.products, limits, rng)
    drawn = {"a": a, "b": b, "c": up_to(min(shares.c, (1 << row.c.precision) - 1), shapes["c"], rng)}
    if "other" in shapes:
        limit = np.full(shapes["other"], shares.other)
        if taken in ("a", "b") and parameters.operation != "multiply":
            # The number added to a factor is not larger than the factor, and it is 0 beside factors that are alone.
            limit = np.abs(drawn[taken])
        other = any_signs(np.where(limit > 0, rng.integers(1, np.maximum(1, limit), endpoint=True), 0), rng)
        if taken in ("a", "b") and parameters.operation in ("add", "subtract"):
            # A factor of 0 would hide that its term is lost.
            other = np.where(drawn[taken] == (-other if parameters.operation == "add" else other), -other, other)
        drawn["other"] = other
    return drawn


def build(parameters: Parameters) -> Built:
    """Build a case: its program, and random bits for integers, whole numbers of both signs for floats."""
    writer = _ElementwiseMuladdWriter(parameters)

    def draw(name: str, _: Parameters, program: Program, rng: np.random.Generator) -> Subcase:
        types = {array: type_ for array, type_ in writer.types.items() if array != "d"}
        shapes = {array: (program.instances, 1, *type_.shape) for array, type_ in types.items()}
        arrays: dict[str, np.ndarray] = {}
        floats = _floats(parameters, shapes, rng) if parameters.row.result.is_float else {}
        for array, type_ in types.items():
            component = type_.component
            if array in floats:
                drawn = floats[array].astype(component.dtype)
            else:
                drawn = inputs.integers(component, "add", "random", shapes[array], rng)[0]
            arrays[array] = writer.arrays[array].tiles.contents(drawn, rng)
        scalars = {
            operand.name: inputs.scalar(operand.type, rng)
            if not operand.type.is_float
            else bits_of(operand.type, int(rng.choice(np.array(_SCALARS))))
            for operand in from_host(program)
        }
        return Subcase(name, arrays, scalars)

    return Built(writer.write(), draw)
