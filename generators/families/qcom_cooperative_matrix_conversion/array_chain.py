"""array_chain: conversions beside multiply-adds, as in convolutions, successive layers, and attention."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.inputs.whole_numbers import few, odd_near, up_to
from generators.layouts.invocation_arrays import InvocationArrays, construct, extract, invocation_arrays, lines_of_use, packed
from generators.layouts.matrix_arrays import MatrixArray, Tiles, matrix_source, matrix_target, tiled
from generators.layouts.placement import fills
from generators.numerics.exactness import permitted_precision
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import types_in
from generators.program.array_conversion import ExtractSubArray
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Carried, Condition
from generators.program.program import Built, Program, Subcase
from generators.program.scalars import ScalarConvert
from generators.program.shape import WorkgroupShape
from generators.program.values import ArrayType, ArrayValue, Matrix, MatrixType, ScalarValue, Value, extent
from generators.types import COMPONENT_TYPES, ComponentType, Layout, MatrixOperands, Scope, Use

Part = Literal["all", "half", "quarter"]
_PARTS: Mapping[Part, int] = {"all": 1, "half": 2, "quarter": 4}
_LINE_BYTES = 32
_S32 = COMPONENT_TYPES["s32"]


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of a case."""

    types: tuple[ComponentType, ComponentType, ComponentType, ComponentType] = parameter(
        "component types of A, B, C and Result of the first multiply-add", default="f16.f16.f16.f16", decode=types_in
    )
    form: Literal["product", "layers", "unrolled", "loop"] = parameter(
        "product: A and B are constructed, and rows of the result extracted. layers: rows of a result become the A of a second "
        "multiply-add. unrolled: parts of the rows become the A, or the B, of multiply-adds, one after the other; loop: in a loop",
        default="product",
    )
    elements: Literal["component", "packed"] = parameter("the elements of arrays: components, or u32 with their bits", default="component")
    next_use: Literal["a", "b"] = parameter(
        "what parts of rows become", default="a", applies=lambda parameters: parameters.form in ("unrolled", "loop")
    )
    rows: Part = parameter("rows of the result, for the invocations of a subgroup", default="half")
    columns: Part = parameter("columns of the result, for the invocations of a subgroup", default="all")
    subgroup_size: int = parameter("the subgroup size that the pipeline requires", default=64)
    subgroups: int = parameter("subgroups of the workgroup", default=1)

    @property
    def m(self) -> int:
        """Rows of the result."""
        return self.subgroup_size // _PARTS[self.rows]

    @property
    def n(self) -> int:
        """Columns of the result."""
        return self.subgroup_size // _PARTS[self.columns]

    @property
    def k(self) -> int:
        """Columns of A."""
        return _LINE_BYTES // self.types[0].bytes

    def array(self, component: ComponentType, length: int) -> ArrayType:
        """Return the type of an array with the given number of components."""
        if self.elements == "packed":
            return ArrayType(U32, length * component.bytes // U32.bytes)
        return ArrayType(component, length)


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    run: int = parameter("number of the run; each run has different numbers")


def _goes_on(parameters: Parameters) -> bool:
    """Tell whether rows of the result can be rows of A: they have the same type, and the length of A's rows or a multiple of it."""
    a, _, _, result = parameters.types
    match parameters.form:
        case "product":
            return True
        case "layers":
            return a is result and parameters.n == parameters.k
        case _:
            return a is result and parameters.n >= 2 * parameters.k


def _has_elements(parameters: Parameters) -> bool:
    """Tell whether all arrays can have such elements: no text defines the length of a u32 array that is taken from an s32 matrix."""
    return parameters.elements == "component" or parameters.types[3].is_float


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {"goes_on": _goes_on, "has_elements": _has_elements}


class _Writer:
    """Writes the program of a case, and draws its data."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        shape = WorkgroupShape(subgroup_size=parameters.subgroup_size)
        self.builder = ProgramBuilder(Scope.SUBGROUP, parameters.subgroups, shape=shape)
        m, n, k = parameters.m, parameters.n, parameters.k
        a, b, c, result = parameters.types
        self.types = {
            "a": self._type(a, m, k, Use.A),
            "b": self._type(b, k, n, Use.B),
            "c": self._type(c, m, n, Use.ACCUMULATOR),
            "result": self._type(result, m, n, Use.ACCUMULATOR),
        }
        self.c = self._source("c", self.types["c"])
        if parameters.form == "product":
            self.arrays = {name: self._input(name, self.types[name]) for name in "ab"}
            self.target = self._arrays("rows", parameters.array(result, n), "output")
            return
        self.first = {name: self._source(name, self.types[name]) for name in "ab"}
        # The second factors, which parts of the first result's rows multiply, and the initial value of the sum.
        self.parts = n // k if parameters.form != "layers" else 1
        other = self._type(b, k, n, Use.B) if self.use is Use.A else self._type(a, m, k, Use.A)
        self.other = self._source("other", other, self.parts)
        columns = n if self.use is Use.A else m
        self.sum_type = self._type(result, m, columns, Use.ACCUMULATOR)
        self.start = self._source("start", self.sum_type)
        self.sum: MatrixArray = matrix_target(self.builder, "sum", self._tiles(self.sum_type))

    @property
    def use(self) -> Use:
        """The use that rows of the first result get."""
        return Use.B if self.parameters.next_use == "b" else Use.A

    @property
    def operands(self) -> MatrixOperands | None:
        """Return the sign flags of the multiply-add."""
        flags = (MatrixOperands.A_SIGNED, MatrixOperands.B_SIGNED, MatrixOperands.C_SIGNED, MatrixOperands.RESULT_SIGNED)
        found = MatrixOperands(0)
        for type_, flag in zip(self.parameters.types, flags, strict=True):
            if type_.is_signed and not type_.is_float:
                found |= flag
        return found or None

    def _type(self, component: ComponentType, rows: int, columns: int, use: Use) -> MatrixType:
        return MatrixType(component, Scope.SUBGROUP, rows, columns, use)

    def _tiles(self, type_: MatrixType, steps: int = 1) -> Tiles:
        layout = Layout.COLUMN_MAJOR if type_.use is Use.B else Layout.ROW_MAJOR
        return tiled(type_, layout, 1, (self.parameters.subgroups, steps))

    def _source(self, name: str, type_: MatrixType, steps: int = 1) -> MatrixArray:
        return matrix_source(self.builder, name, self._tiles(type_, steps))

    def _arrays(self, name: str, type_: ArrayType, role: Literal["input", "output"]) -> InvocationArrays:
        return invocation_arrays(self.builder, name, type_, self.parameters.subgroups * self.parameters.subgroup_size, role)

    def _input(self, name: str, type_: MatrixType) -> InvocationArrays:
        return self._arrays(name, self.parameters.array(type_.component, self.parameters.k), "input")

    def write(self) -> Program:
        """Write the program."""
        self.builder.instance_index()
        match self.parameters.form:
            case "product":
                self._product()
            case "loop":
                self._loop(self._rows())
            case _:
                self._unrolled(self._rows())
        return self.builder.build()

    def _product(self) -> None:
        """Construct A and B, multiply, and store the result's rows, which invocations get."""
        builder, size = self.builder, self.parameters.subgroup_size
        factors = []
        me = Value("me", U32)
        with builder.per_invocation(me, size):
            given = {name: arrays.load(f"array_{name}", me) for name, arrays in self.arrays.items()}
        for name, array in given.items():
            factors.append(construct(builder, f"matrix_{name}", self.types[name], array))
        result = builder.muladd("result", self.types["result"], factors[0], factors[1], self.c.load(), self.operands)
        rows = extract(builder, "rows_of_result", result, self.target.type)
        later = Value("later", U32)
        with builder.per_invocation(later, size):
            position = builder.arithmetic("position", "modulo", later, builder.literal(size))
            with builder.arm() as then:
                self.target.store(rows, later)
            builder.branch(Condition(position, "less", builder.literal(self.parameters.m)), then)

    def _rows(self) -> ArrayValue:
        """Multiply, and return the result's rows, which invocations get."""
        parameters = self.parameters
        loaded = [self.first[name].load() for name in "ab"]
        result = self.builder.muladd("result", self.types["result"], loaded[0], loaded[1], self.c.load(), self.operands)
        return extract(self.builder, "rows_of_result", result, parameters.array(parameters.types[3], parameters.n))

    @property
    def taken(self) -> ArrayType:
        """The type of a part of a row."""
        return self.parameters.array(self.parameters.types[0], self.parameters.k)

    def _part(self, prefix: str, rows: ArrayValue, start: ScalarValue | None) -> ArrayValue:
        """Take the part of each row that begins at an s32 index; without an index, take the whole row."""
        if start is None:
            return rows
        part = Value(f"{prefix}part", self.taken)
        with self.builder.per_invocation(Value(f"{prefix}me", U32), self.parameters.subgroup_size):
            self.builder.add(ExtractSubArray(part, rows, start))
        return part

    def _multiplied(self, prefix: str, part: ArrayValue, tile: int | ScalarValue, before: Matrix) -> Matrix:
        """Turn the part of the rows into a factor, and add its product with the matrix ``tile``."""
        builder, parameters = self.builder, self.parameters
        k = parameters.k
        type_ = self.types["a"] if self.use is Use.A else self._type(parameters.types[1], k, parameters.m, Use.B)
        factor = construct(builder, f"{prefix}factor", type_, part)
        assert not hasattr(tile, "source"), "a tile is a literal number or a computed one"
        other = self.other.load_tile(f"{prefix}second", tile)  # type: ignore[arg-type]
        a, b = (factor, other) if self.use is Use.A else (other, factor)
        return builder.muladd(f"{prefix}total", self.sum_type, a, b, before, self.operands)

    def _unrolled(self, rows: ArrayValue) -> None:
        """Add up the products of all parts of the rows, one step after another; each layer of ``layers`` takes the whole rows."""
        total = self.start.load("sum_of_none")
        length = extent(self.taken.length)
        for number in range(self.parts):
            start = None if self.parameters.form == "layers" else self.builder.literal(number * length, _S32)
            total = self._multiplied(f"step_{number}_", self._part(f"step_{number}_", rows, start), number, total)
        self.sum.store(total)

    def _loop(self, rows: ArrayValue) -> None:
        """Add up the same products in a loop over the parts."""
        builder, length = self.builder, extent(self.taken.length)
        step, before = Value("step", U32), self.start.load("sum_of_none")
        current, carried = Value("current", self.sum_type), list[Carried]()
        with builder.loop(step, builder.literal(self.parts), carried):
            scaled = builder.arithmetic("scaled", "multiply", step, builder.literal(length))
            start = builder.result_of(ScalarConvert(Value("begin", _S32), scaled))
            carried.append(Carried(before, current, self._multiplied("", self._part("", rows, start), step, current)))
        self.sum.store(current)

    def draw(self, name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        """Draw small numbers with exact, nonzero results in any order; 8-bit integers may be any numbers."""
        inputs = self._factors(parameters.run, rng) if parameters.form == "product" else self._chained(rng)
        return Subcase(name, inputs | fills(program, rng))

    def _factors(self, run: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw A, B and C. Some floats of A, or of B in every second run, need all bits that sums have."""
        inputs = {}
        for name, numbers in self._numbers(run, rng).items():
            type_ = self.types[name]
            bits = numbers.astype(type_.component.dtype).view(type_.component.bits_dtype)
            if name == "c":
                inputs[name] = self.c.tiles.contents(bits, rng)
            else:
                lines = lines_of_use(bits, type_.use_value)
                inputs[name] = packed(lines, self.arrays[name].element, type_.component, self.parameters.subgroup_size)
        return inputs

    def _numbers(self, run: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        shapes = {name: (self.parameters.subgroups, *self.types[name].shape) for name in "abc"}
        a, b, c, result = self.parameters.types
        if not a.is_float:
            return {name: rng.integers(0, 1 << type_.bits, shapes[name], np.uint64) for name, type_ in zip("abc", (a, b, c), strict=True)}
        # Conversions of arrays may change zeros (F-QC-7), so the other terms of a sum are small.
        most = (1 << permitted_precision(a, b, c, result)) - 1
        numbers = {name: up_to(limit, shapes[name], rng) for name, limit in (("a", 3), ("b", 3))}
        wide, other = ("a", "b") if run % 2 else ("b", "a")
        numbers[other] = np.sign(numbers[other])
        lines = numbers[wide] if wide == "a" else numbers[wide].swapaxes(-1, -2)
        chosen = lines[:, ::2, :]
        alone = few(1, chosen.shape, rng)
        chosen[...] = np.where(alone, odd_near(most - most // 4 - self.parameters.k, chosen.shape, rng), np.sign(chosen))
        return numbers | {"c": odd_near(most // 4, shapes["c"], rng)}

    def _chained(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw a first result of small nonzero numbers, and second factors with two numbers in each line."""
        parameters, subgroups = self.parameters, self.parameters.subgroups
        m, n, k = parameters.m, parameters.n, parameters.k
        # Each row of A has one number, so a result is the sum of C and one number of B.
        first = np.zeros((subgroups, m, k))
        rows = np.arange(m)
        first[:, rows, rows * 5 % k] = rng.choice([-1, 1], (subgroups, m))
        second = rng.integers(1, 3, (subgroups, k, n)) * rng.choice([-1, 1], (subgroups, k, n))
        begin = 4 * rng.integers(1, 4, (subgroups, m, n)) * rng.choice([-1, 1], (subgroups, m, n))
        rows_, columns = self.other.tiles.type.shape
        other = np.zeros((subgroups, self.parts, rows_, columns))
        lines = np.arange(columns if self.use is Use.A else rows_)
        for places in (lines % k, (3 * lines + 1) % k):
            chosen = rng.choice([-2, -1, 1, 2], (subgroups, self.parts, len(lines)))
            at = (places, lines) if self.use is Use.A else (lines, places)
            other[:, :, at[0], at[1]] = chosen
        start = rng.integers(-8, 9, (subgroups, *self.sum_type.shape))
        numbers = {"a": (self.first["a"], first), "b": (self.first["b"], second), "c": (self.c, begin), "start": (self.start, start)}
        numbers["other"] = self.other, other
        return {name: array.tiles.contents(drawn.astype(array.tiles.component.dtype), rng) for name, (array, drawn) in numbers.items()}


def build(parameters: Parameters) -> Built:
    """Build a case."""
    writer = _Writer(parameters)
    return Built(writer.write(), writer.draw)
