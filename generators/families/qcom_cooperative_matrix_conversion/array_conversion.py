"""array_conversion: arrays of invocations become the rows of a matrix, or the columns of a B, and lines become arrays again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.inputs.array_conversions import Pattern, drawn
from generators.layouts.invocation_arrays import InvocationArrays, construct, extract, invocation_arrays, lines_of_use, packed
from generators.layouts.matrix_arrays import MatrixArray, Tiles, matrix_source, matrix_target, tiled
from generators.layouts.placement import fills
from generators.parameters.declaration import parameter
from generators.parameters.vectors import COMPONENTS
from generators.parameters.vocabulary import LAYOUTS, USES
from generators.program.array_conversion import BitCastArray
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Condition
from generators.program.program import Built, Program, Subcase
from generators.program.shape import LATEST, Version, WorkgroupShape
from generators.program.values import ArrayType, ArrayValue, Matrix, MatrixType, ScalarValue, Value
from generators.program.variables import Variable
from generators.routines.invocation_control import zeros
from generators.types import ComponentType, Layout, Scope, Use

Width = Literal["all", "half", "quarter"]
Lines = Literal["all", "half", "quarter", "three_quarters", "five_eighths"]
_EIGHTHS: Mapping[Lines, int] = {"all": 8, "half": 4, "quarter": 2, "three_quarters": 6, "five_eighths": 5}

_LINE_BYTES = 32
"""Bytes of a row of A, and of a column of B (QC-CC-07, QC-CC-10)."""

_TILES = 3
"""Number of matrices of a subgroup if a loop converts one after another."""

_FACTORS = ("f16", "f32", "s8", "u8")
_ACCUMULATORS = ("f16", "f32", "s32", "u32")


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of a case."""

    component: ComponentType = parameter("the component type of the matrix", labels=COMPONENTS)
    use: Use = parameter("the use of the matrix", default="acc", labels=USES)
    lines: Lines = parameter("rows of the matrix, of B columns, for the invocations of a subgroup", default="all")
    width: Width = parameter(
        "columns of an accumulator for the invocations of a subgroup",
        default="all",
        applies=lambda parameters: parameters.use is Use.ACCUMULATOR,
    )
    subgroup_size: int = parameter("the subgroup size that the pipeline requires", default=64)
    subgroups: int = parameter("subgroups of the workgroup", default=1)
    way: Literal["construct", "extract", "round_trip", "reconstruct"] = parameter(
        "what is converted: arrays to a matrix, which is stored; a loaded matrix to arrays; arrays to a matrix and back; or a matrix to "
        "arrays and back",
        default="construct",
    )
    elements: Literal["component", "packed"] = parameter(
        "the elements of the arrays of the first conversion: of the component type, or u32 with the bits of components", default="component"
    )
    back: Literal["same", "other"] = parameter(
        "the elements of the arrays of the second conversion; between an extraction and a construction they are cast",
        default="same",
        applies=lambda parameters: parameters.way in ("round_trip", "reconstruct"),
    )
    layout: Layout = parameter(
        "the layout of the matrix in memory", default="row", labels=LAYOUTS, applies=lambda parameters: parameters.way != "round_trip"
    )
    held: Literal["value", "variable"] = parameter("whether arrays go through a variable of each invocation", default="value")
    control: Literal["straight", "branch", "loop"] = parameter(
        "where conversions are: outside control flow; in both arms of a branch, by the number of the subgroup; or in a "
        "loop over three matrices",
        default="straight",
    )

    version: Version = parameter("the version of SPIR-V that the module has", default="1.6", labels={"1.3": (1, 3), "1.6": (1, 6)})

    @property
    def shape(self) -> tuple[int, int]:
        """Number of lines of the matrix, and of components in a line."""
        lines = self.subgroup_size * _EIGHTHS[self.lines] // 8
        if self.use is Use.ACCUMULATOR:
            return lines, self.subgroup_size * _EIGHTHS[self.width] // 8
        return lines, _LINE_BYTES // self.component.bytes

    @property
    def matrix_type(self) -> MatrixType:
        """The type of the matrix."""
        lines, line = self.shape
        rows, columns = (line, lines) if self.use is Use.B else (lines, line)
        return MatrixType(self.component, Scope.SUBGROUP, rows, columns, self.use)

    def array_type(self, first: bool) -> ArrayType:
        """Return the type of the arrays of the first or the second conversion."""
        is_packed = (self.elements == "packed") != (not first and self.back == "other")
        if is_packed:
            return ArrayType(U32, self.shape[1] * self.component.bytes // U32.bytes)
        return ArrayType(self.component, self.shape[1])

    @property
    def conversions(self) -> tuple[tuple[str, bool], ...]:
        """The conversions, ``construct`` or ``extract``, each with a flag that tells whether the arrays have the first type."""
        match self.way:
            case "round_trip":
                return ("construct", True), ("extract", False)
            case "reconstruct":
                return ("extract", True), ("construct", False)
            case _:
                return ((self.way, True),)


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Pattern = parameter("how the components are drawn")


def _has_use(parameters: Parameters) -> bool:
    """Tell whether matrices of this use have the component type (QC-CC-07, QC-CC-10, QC-CC-12)."""
    return parameters.component.name in (_ACCUMULATORS if parameters.use is Use.ACCUMULATOR else _FACTORS)


def _has_elements(parameters: Parameters) -> bool:
    """Tell whether all conversions of the case can have such arrays: no text defines the length of a u32 array that is taken from an s32
    matrix, u32 components have only one kind of array (QC-CX-05, F-QC-8), and casts take no bytes (QC-BC-01)."""
    component = parameters.component
    if component.bits == 8 and parameters.way == "reconstruct" and parameters.back == "other":
        return False
    if component.name == "u32":
        return parameters.elements == "component" and parameters.back == "same"
    if component.name != "s32":
        return True
    return all(parameters.array_type(first).element is component for way, first in parameters.conversions if way == "extract")


def _constructs_packed(parameters: Parameters) -> bool:
    """Tell whether a matrix is made from arrays whose elements are not single components (QC-CC-14)."""
    return any(
        way == "construct" and parameters.array_type(first).element is not parameters.component for way, first in parameters.conversions
    )


def _needed(parameters: SubcaseParameters) -> bool:
    """Tell whether the pattern tests something new for the component type."""
    return parameters.pattern != "index_high" or parameters.component.bits == 8


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "has_use": _has_use,
    "has_elements": _has_elements,
    "constructs_packed": _constructs_packed,
    "needed": _needed,
}


class _Writer:
    """Writes the program of a case, and draws its data."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        full = None if parameters.version == LATEST else True
        shape = WorkgroupShape(subgroup_size=parameters.subgroup_size, full_subgroups=full, version=parameters.version)
        self.builder = ProgramBuilder(Scope.SUBGROUP, parameters.subgroups, shape=shape)
        self.count = {"straight": 1, "branch": 2, "loop": _TILES}[parameters.control]
        self.given: InvocationArrays | None = None
        self.taken: InvocationArrays | None = None
        self.source: MatrixArray | None = None
        self.target: MatrixArray | None = None
        if parameters.way in ("construct", "round_trip"):
            self.given = self._arrays("given", True, "input")
        else:
            self.source = matrix_source(self.builder, "source", self._tiles())
        if parameters.way in ("construct", "reconstruct"):
            self.target = matrix_target(self.builder, "target", self._tiles())
        else:
            self.taken = self._arrays("taken", parameters.way == "extract", "output")

    @property
    def invocations(self) -> int:
        """Number of invocations in the workgroup."""
        return self.parameters.subgroups * self.parameters.subgroup_size

    def _arrays(self, name: str, first: bool, role: Literal["input", "output"]) -> InvocationArrays:
        return invocation_arrays(self.builder, name, self.parameters.array_type(first), self.count * self.invocations, role)

    def _tiles(self) -> Tiles:
        parameters = self.parameters
        return tiled(parameters.matrix_type, parameters.layout, 1, (parameters.subgroups, self.count))

    def write(self) -> Program:
        """Write the conversions, in the control flow of the case."""
        builder, control = self.builder, self.parameters.control
        instance = builder.instance_index()
        match control:
            case "straight":
                self._convert("", builder.literal(0))
            case "loop":
                index = Value("tile", U32)
                with builder.loop(index, builder.literal(self.count), []):
                    self._convert("", index)
            case "branch":
                odd = builder.arithmetic("odd", "and", instance, builder.literal(1))
                with builder.arm() as then:
                    self._convert("odd_", builder.literal(1))
                with builder.arm() as otherwise:
                    self._convert("even_", builder.literal(0))
                builder.branch(Condition(odd, "equal", builder.literal(1)), then, otherwise)
        return builder.build()

    def _convert(self, prefix: str, tile: ScalarValue) -> None:
        parameters = self.parameters
        array: ArrayValue | None = None
        matrix: Matrix | None = None
        if self.given is not None:
            array = self._load(self.given, f"{prefix}given", tile)
        elif self.source is not None:
            matrix = self.source.load(f"{prefix}matrix", self._first(self.source, prefix, tile))
        for number, (way, first) in enumerate(parameters.conversions):
            if way == "construct":
                assert array is not None
                array = self._cast(f"{prefix}cast_{number}", array, parameters.array_type(first))
                matrix = construct(self.builder, f"{prefix}matrix_{number}", parameters.matrix_type, array)
            else:
                assert matrix is not None
                array = extract(self.builder, f"{prefix}rows_{number}", matrix, parameters.array_type(first))
                if parameters.held == "variable":
                    array = self._held(f"{prefix}rows_{number}", array)
        if self.target is not None:
            assert matrix is not None
            self.target.store(matrix, self._first(self.target, prefix, tile))
        elif self.taken is not None:
            assert array is not None
            self._store(self.taken, prefix, array, tile)

    def _cast(self, name: str, array: ArrayValue, type_: ArrayType) -> ArrayValue:
        """Return the array as elements of ``type_``, if it has others."""
        if array.type == type_:
            return array
        with self.builder.per_invocation(Value(f"{name}_me", U32), self.parameters.subgroup_size):
            return self.builder.result_of(BitCastArray(Value(name, type_), array))

    def _first(self, array: MatrixArray, prefix: str, tile: ScalarValue) -> ScalarValue:
        """Return the first element of the matrix ``tile`` of this subgroup."""
        builder, tiles = self.builder, array.tiles
        name = f"{prefix}{array.name}"
        begin = builder.offset(f"{name}_tile", builder.literal(tiles.first), tile, tiles.pitch)
        return builder.offset(f"{name}_first", begin, builder.instance_index(), tiles.own_pitch)

    def _slot(self, name: str, me: ScalarValue, tile: ScalarValue) -> ScalarValue:
        """Return the slot of an invocation's array: each tile of all subgroups, then the next tile."""
        return self.builder.offset(name, me, tile, self.invocations)

    def _load(self, arrays: InvocationArrays, name: str, tile: ScalarValue) -> ArrayValue:
        builder, me = self.builder, Value(f"{name}_me", U32)
        with builder.per_invocation(me, self.parameters.subgroup_size):
            loaded = arrays.load(name, self._slot(f"{name}_slot", me, tile))
            if self.parameters.held == "variable":
                variable = builder.variable(f"{name}_variable", loaded.type)
                builder.set(variable, (), loaded)
                return self._get(f"{name}_again", variable, loaded.type)
        return loaded

    def _get(self, name: str, variable: Variable, type_: ArrayType) -> ArrayValue:
        return Value(self.builder.get(name, variable).name, type_)

    def _has_row(self, name: str, me: ScalarValue) -> Condition:
        """Return whether the invocation has a row, or a column of B."""
        builder, (lines, _) = self.builder, self.parameters.shape
        lane = builder.arithmetic(f"{name}_position", "modulo", me, builder.literal(self.parameters.subgroup_size))
        return Condition(lane, "less", builder.literal(lines))

    def _held(self, name: str, value: ArrayValue) -> ArrayValue:
        """Store ``value`` to a zero-initialized variable if the invocation has a row, and load the variable."""
        builder, me = self.builder, Value(f"{name}_me", U32)
        variable = builder.variable(f"{name}_variable", value.type)
        with builder.per_invocation(me, self.parameters.subgroup_size):
            builder.set(variable, (), zeros(builder, value.type, f"{name}_zeros"))
            with builder.arm() as then:
                builder.set(variable, (), value)
            builder.branch(self._has_row(name, me), then)
            return self._get(f"{name}_again", variable, value.type)

    def _store(self, arrays: InvocationArrays, prefix: str, value: ArrayValue, tile: ScalarValue) -> None:
        """Store the arrays of the invocations that have a row."""
        builder, me = self.builder, Value(f"{prefix}later", U32)
        with builder.per_invocation(me, self.parameters.subgroup_size):
            with builder.arm() as then:
                arrays.store(value, self._slot(f"{prefix}slot", me, tile))
            builder.branch(self._has_row(f"{prefix}later", me), then)

    def draw(self, name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        """Draw the components of all matrices; invocations beyond the rows have set bits, which are NaN in floats."""
        type_ = parameters.matrix_type
        rows, columns = type_.shape
        bits = drawn(parameters.pattern, parameters.component, self.count * parameters.subgroups * rows * columns, rng)
        matrices = bits.reshape(self.count, parameters.subgroups, rows, columns)
        if self.source is not None:
            # The tiles of a subgroup are adjacent.
            inputs = {"source": self.source.tiles.contents(matrices.swapaxes(0, 1), rng)}
        else:
            assert self.given is not None
            lines = lines_of_use(matrices.reshape(-1, rows, columns), parameters.use)
            inputs = {"given": packed(lines, self.given.element, parameters.component, parameters.subgroup_size)}
        return Subcase(name, inputs | fills(program, rng))


def build(parameters: Parameters) -> Built:
    """Build a case."""
    writer = _Writer(parameters)
    return Built(writer.write(), writer.draw)
