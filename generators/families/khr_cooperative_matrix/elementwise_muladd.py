"""elementwise_muladd: arithmetic on an operand of a multiply-add before it, on its result after it, or between two of them.

Axis values are those of cases/khr_cooperative_matrix/elementwise_muladd.yaml.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from generators.inputs import elementwise as inputs
from generators.layouts.tiles import Tiles, tiled
from generators.numerics.exactness import accumulation_precision
from generators.parameters.vocabulary import LAYOUTS, SOURCES, SUBGROUPS, TakenValues, Values, instances
from generators.program.builder import ProgramBuilder
from generators.program.elementwise import Operator
from generators.program.memory import Array, Pointee
from generators.program.program import Program, Subcase
from generators.program.values import Matrix, MatrixType, Operand, Scalar
from generators.property_rows import PropertyRow, parse_row
from generators.types import ComponentType, Scope, StorageClass, Use

_BINARY: tuple[Operator, ...] = ("add", "subtract", "multiply")
_GROWTH = 3
"""How many times larger an operation may make a float operand: a scalar and a factor are at most this, a sum is at most twice."""

_SCALARS = (-3, 3, -2)
_SCALAR, _DEFAULT = -3, 2


def _row(values: Values) -> PropertyRow:
    return parse_row(values["row"])


def _at(values: Values) -> str:
    """The operand that the operation takes, by the name of its array or of the result."""
    return "d" if values["place"] in ("result", "between") else str(values["place"])


def _kinds(row: PropertyRow) -> dict[str, tuple[ComponentType, tuple[int, int], Use]]:
    return {
        "a": (row.a, (row.m, row.k), Use.A),
        "b": (row.b, (row.k, row.n), Use.B),
        "c": (row.c, (row.m, row.n), Use.ACCUMULATOR),
        "d": (row.result, (row.m, row.n), Use.ACCUMULATOR),
    }


def _tiles(values: Values) -> dict[str, Tiles]:
    """Of each array: a, b, c, d, and other, the second operand of a binary operation."""
    kinds = _kinds(_row(values))
    if values["operation"] in _BINARY:
        kinds["other"] = kinds[_at(values)]
    layout, count = LAYOUTS[values["layout"]], (instances(values), 1)
    return {name: tiled(component, shape, layout, False, count) for name, (component, shape, _) in kinds.items()}


def _has_arithmetic(values: Values) -> bool:
    component = _kinds(_row(values))[_at(values)][0]
    return component.has_arithmetic


def _follows(values: Values) -> bool:
    """A result that is C of the next multiply-add has its type."""
    row = _row(values)
    return values["place"] != "between" or row.c is row.result


AXES: TakenValues = {
    "row": None,
    "scope": ("subgroup",),
    "subgroups": SUBGROUPS,
    "place": ("a", "b", "c", "result", "between"),
    "operation": (*_BINARY, "negate", "times_scalar"),
    "source": SOURCES,
    "layout": LAYOUTS.keys(),
}

PREDICATES: Mapping[str, Callable[[Values], bool]] = {
    "follows": _follows,
    "has_arithmetic": _has_arithmetic,
    "takes_a_scalar": lambda values: values["source"] == "literal" or values["operation"] == "times_scalar",
    "wraps": lambda values: not _row(values).saturating,
}


def _scalar_bits(component: ComponentType, value: int) -> int:
    return int(np.array([value]).astype(component.dtype).view(component.bits_dtype)[0])


class _Writer:
    """Writes the program of one case."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.row = _row(values)
        self.tiles = _tiles(values)
        self.builder = ProgramBuilder(Scope.SUBGROUP, subgroups=int(values["subgroups"]))
        self.arrays: dict[str, Array] = {
            name: self.builder.array(
                name, Pointee(tiles.component), tiles.length, StorageClass.STORAGE_BUFFER, "output" if name == "d" else "input"
            )
            for name, tiles in self.tiles.items()
        }

    def _type(self, name: str) -> MatrixType:
        component, (rows, columns), use = _kinds(self.row)[_at(self.values) if name == "other" else name]
        return MatrixType(component, Scope.SUBGROUP, rows, columns, use)

    def _first(self, name: str) -> Operand | Scalar:
        builder = self.builder
        if builder.instances == 1:
            return builder.literal(0)
        pitch = builder.literal(self.tiles[name].pitch)
        return builder.arithmetic(f"{name}_first", "multiply", builder.instance_index(), pitch)

    def load(self, name: str) -> Matrix:
        """The matrix of array ``name``."""
        stride = self.builder.literal(self.tiles[name].stride)
        return self.builder.load(
            f"matrix_{name}", self._type(name), self.arrays[name], self._first(name), stride, LAYOUTS[self.values["layout"]]
        )

    def operate(self, matrix: Matrix) -> Matrix:
        """The case's operation."""
        builder, operation = self.builder, self.values["operation"]
        component = matrix.type.component
        match operation:
            case "negate":
                return builder.negate("negated", matrix)
            case "times_scalar":
                value, default = (_scalar_bits(component, number) for number in (_SCALAR, _DEFAULT))
                return builder.times_scalar("scaled", matrix, builder.operand("scalar", component, self.values["source"], value, default))
            case _:
                return builder.elementwise("combined", operation, matrix, self.load("other"))

    def write(self) -> Program:
        """The program."""
        operands = {name: self.load(name) for name in "abc"}
        place = self.values["place"]
        if place in operands:
            operands[place] = self.operate(operands[place])
        flags = None if self.row.operands == 0 else self.row.operands
        result = self.builder.muladd("product", self._type("d"), operands["a"], operands["b"], operands["c"], flags)
        if place in ("result", "between"):
            result = self.operate(result)
        if place == "between":
            result = self.builder.muladd("second", self._type("d"), operands["a"], operands["b"], result, flags)
        tiles = self.tiles["d"]
        self.builder.store(result, self.arrays["d"], self._first("d"), self.builder.literal(tiles.stride), tiles.layout)
        return self.builder.build()


def program(values: Values) -> Program:
    """The program of a case."""
    return _Writer(values).write()


def _float_limits(values: Values) -> dict[str, int]:
    """Largest magnitudes of whole numbers for which every sum is exact in the narrowest accumulation, however a compiler combines the
    operation with the multiply-add: the sum of all terms, ``_GROWTH`` + 1 times over, fits its bits (facts.md C5, C31)."""
    row, place = _row(values), _at(values)
    budget = (1 << accumulation_precision(row.a, row.b, row.c, row.result)) - 1
    share = budget // (2 * (_GROWTH + 1))
    side = max(1, math.isqrt(share // row.k))
    limits = {"a": min(side, (1 << row.a.precision) - 1), "b": min(side, (1 << row.b.precision) - 1), "c": share}
    limits["other"] = limits["c"] if place == "d" else limits[place]
    if values["operation"] != "negate" and place != "d":
        limits[place] = max(1, limits[place] // _GROWTH)
        limits["other"] = limits[place]
    if values["operation"] == "multiply":
        limits["other"] = _GROWTH
    return limits


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """Random bits of integers, and whole numbers of both signs for floats."""
    arrays: dict[str, np.ndarray] = {}
    limits = _float_limits(values)
    for array, tiles in _tiles(values).items():
        if array == "d":
            continue
        shape = (program.instances, 1, tiles.rows, tiles.columns)
        if tiles.component.is_float:
            drawn = (rng.integers(1, limits[array], shape, endpoint=True) * rng.choice(np.array([-1, 1]), shape)).astype(
                tiles.component.dtype
            )
        else:
            drawn = inputs.integers(tiles.component, "add", "random", shape, rng)[0]
        arrays[array] = tiles.place(drawn, rng)
    scalars = {
        operand.name: inputs.scalar(operand.component, rng)
        if not operand.component.is_float
        else _scalar_bits(operand.component, int(rng.choice(np.array(_SCALARS))))
        for operand in program.operands
        if operand.source in ("push_constant", "buffer")
    }
    return Subcase(name, arrays, scalars)
