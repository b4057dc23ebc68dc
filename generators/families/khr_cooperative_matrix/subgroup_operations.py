"""subgroup_operations: subgroup operations beside a multiply-add, and as sources of its operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from generators.inputs import integers, products
from generators.inputs.products import Chain
from generators.layouts.matrix_arrays import MatrixArray, Tiles, granule_of, matrix_source, matrix_target, tiled
from generators.layouts.row_types import row_type
from generators.parameters.declaration import parameter
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Carried, Condition, Merged
from generators.program.memory import Array, Pointee
from generators.program.operation import Operation
from generators.program.program import Built, Program, Subcase
from generators.program.scalars import ScalarConvert
from generators.program.shape import WorkgroupShape
from generators.program.subgroup_operations import (
    BALLOT,
    BallotCount,
    BallotFind,
    Group,
    SubgroupAllEqual,
    SubgroupBallot,
    SubgroupBroadcast,
    SubgroupElect,
    SubgroupOperator,
    SubgroupReduce,
    SubgroupShuffle,
    SubgroupVote,
)
from generators.program.values import ArrayType, Matrix, Scalar, ScalarValue, Value
from generators.property_rows import PropertyRow, parse_row
from generators.routines.scaling import scaled
from generators.types import COMPONENT_TYPES, ComponentType, Layout, Scope, StorageClass

_CHOICES = 4
"""The number on which the matrices depend is below this limit."""

Reduction = Literal["add", "multiply", "min", "max", "and", "or", "xor"]
Arithmetic = Literal[Reduction, "inclusive_add", "exclusive_add", "inclusive_min", "exclusive_max"]
Balloted = Literal["ballot_count", "ballot_inclusive", "ballot_exclusive", "ballot_lowest", "ballot_highest"]
Named = Literal[Arithmetic, Balloted, "all", "any", "all_equal", "elect", "broadcast", "broadcast_first", "shuffle", "shuffle_xor"]

_INTEGER_ONLY = ("multiply", "and", "or", "xor", "exclusive_max")
_ANY_NUMBER = (*get_args(Arithmetic), "all_equal", "broadcast", "broadcast_first", "shuffle", "shuffle_xor")
_SCANS: Mapping[str, tuple[SubgroupOperator, Group]] = {
    "inclusive_add": ("add", "inclusive"),
    "exclusive_add": ("add", "exclusive"),
    "inclusive_min": ("min", "inclusive"),
    "exclusive_max": ("max", "exclusive"),
}
_COUNTS: Mapping[str, Group] = {"ballot_count": "reduce", "ballot_inclusive": "inclusive", "ballot_exclusive": "exclusive"}
_COMMON = (
    *get_args(Reduction),
    *("ballot_count", "ballot_lowest", "ballot_highest", "all", "any", "all_equal", "broadcast", "broadcast_first"),
)
"""Operations whose result is the same in the whole subgroup."""


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of a case."""

    row: PropertyRow = parameter("the property row", decode=parse_row)
    subgroup_size: int = parameter("the subgroup size that the pipeline requires", default=32)
    subgroups: int = parameter("subgroups of the workgroup", default=2)
    operation: Named = parameter("what the subgroup computes")
    number: ComponentType = parameter("type of the numbers that it computes with", default="u32", labels=COMPONENT_TYPES)
    purpose: Literal["beside", "offset", "stride", "trips", "element", "scale", "splat", "branch"] = parameter(
        "what the matrices take from the result", default="beside"
    )
    among: Literal["all", "halves"] = parameter("whether all invocations compute it together, or the odd ones separately", default="all")


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    run: int = parameter("number of the run; each run has different numbers")


def _has_operation(parameters: Parameters) -> bool:
    """Tell whether the subgroup has the operation on numbers of this type."""
    operation, number = parameters.operation, parameters.number
    if number is U32:
        return True
    return operation in _ANY_NUMBER and not (number.is_float and operation in _INTEGER_ONLY)


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "has_operation": _has_operation,
    "scales_floats": lambda parameters: parameters.purpose == "scale" and parameters.row.result.is_float,
    "has_arithmetic": lambda parameters: parameters.purpose != "scale" or parameters.row.result.has_arithmetic,
    "wraps": lambda parameters: not parameters.row.saturating,
}


class _SubgroupWriter:
    """Writes the program of a case."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.size = parameters.subgroup_size
        self.builder = ProgramBuilder(Scope.SUBGROUP, parameters.subgroups, shape=WorkgroupShape(subgroup_size=self.size))
        self.invocations = parameters.subgroups * self.size
        self.wanted: Scalar | None = None
        self.bit: ScalarValue = self.builder.literal(0)
        self.numbers = self._array("numbers", parameters.number, "input")
        self.order = self._array("order", U32, "input") if parameters.operation == "shuffle" else None
        self.tiles = {name: self._tiles(name, _CHOICES if name != "d" else 1) for name in "abcd"}
        self.sources = {name: matrix_source(self.builder, name, self.tiles[name]) for name in "abc"}
        self.target: MatrixArray = matrix_target(self.builder, "d", self.tiles["d"])
        self.results = self._array("results", U32, "output")

    def _array(self, name: str, component: ComponentType, role: Literal["input", "output"]) -> Array:
        return self.builder.array(name, Pointee(component), self.invocations, StorageClass.STORAGE_BUFFER, role)

    def _tiles(self, name: str, count: int) -> Tiles:
        type_ = row_type(self.parameters.row, name, Scope.SUBGROUP)
        layout = Layout.COLUMN_MAJOR if name == "b" else Layout.ROW_MAJOR
        # The gaps between the lines of the result leave room for every stride that may be chosen.
        padding = _CHOICES if name == "d" else 1
        return tiled(type_, layout, padding, (self.parameters.subgroups, count), granule=granule_of(type_.component))

    def write(self) -> Program:
        """Compute the result of each invocation, the number that the matrices take from it, and the multiply-add; store both results."""
        builder, operation = self.builder, self.parameters.operation
        together = self.parameters.among == "all" and operation in _COMMON
        builder.instance_index()
        index = Value("invocation", U32)
        with builder.per_invocation(index, self.size):
            own = builder.read_scalar("own", self.numbers, index)
            self.wanted = builder.read_scalar("wanted", self.order, index) if self.order is not None else None
            if operation in (*get_args(Balloted), "all", "any"):
                self.bit = builder.arithmetic("bit", "and", own, builder.literal(1))
            if not together:
                apart = self.parameters.among == "halves"
                result = self._apart(index, own) if apart else self._operation("result", own, 1, self.size - 1)
        if together:
            result = self._operation("result", own, 1, 0)
        common: Scalar = result
        if not together:
            common = Value("common", result.type)
            # An election chooses the first invocation, and the last invocation of a scan combines all others.
            elected = operation == "elect" and self.parameters.among == "all"
            builder.add(SubgroupBroadcast(common, result, 0 if elected else self.size - 1))
        self._multiply(self._choice(common))
        later = Value("invocation_later", U32)
        with builder.per_invocation(later, self.size):
            builder.write(self.results, later, self._u32("stored", result))
        self.target.finish(builder)
        return builder.build()

    def _apart(self, index: ScalarValue, own: Scalar) -> Scalar:
        """Compute the result separately among the even and the odd invocations."""
        builder = self.builder
        odd = builder.arithmetic("odd", "and", index, builder.literal(1))
        with builder.arm() as then:
            of_odd = self._operation("of_odd", own, 3, 2)
        with builder.arm() as otherwise:
            of_even = self._operation("of_even", own, 2, 2)
        result = Value("result", of_odd.type)
        builder.branch(Condition(odd, "equal", builder.literal(1)), then, otherwise, [Merged(result, (of_odd, of_even))])
        return result

    def _operation(self, name: str, own: Scalar, lane: int, mask: int) -> Scalar:
        """Add the operation. ``lane`` is the invocation whose value is broadcast, and ``mask`` the distance of a shuffle."""
        builder, operation, type_ = self.builder, self.parameters.operation, own.type
        asked = Condition(self.bit, "equal", builder.literal(1))
        result = Value(name, type_)
        counted = Value(name, U32)
        made: Operation
        match operation:
            case "add" | "multiply" | "min" | "max" | "and" | "or" | "xor":
                made = SubgroupReduce(result, operation, own)
            case _ if operation in _SCANS:
                made = SubgroupReduce(result, _SCANS[operation][0], own, _SCANS[operation][1])
            case _ if operation.startswith("ballot"):
                votes = Value(f"{name}_votes", BALLOT)
                builder.add(SubgroupBallot(votes, asked))
                result = counted
                group = _COUNTS.get(operation)
                if group is None:
                    made = BallotFind(result, votes, "lowest" if operation == "ballot_lowest" else "highest")
                else:
                    made = BallotCount(result, votes, group)
            case "all" | "any":
                made, result = SubgroupVote(counted, operation, asked), counted
            case "all_equal":
                made, result = SubgroupAllEqual(counted, own), counted
            case "elect":
                elected = Value(f"{name}_elected", U32)
                builder.add(SubgroupElect(elected))
                return builder.arithmetic(name, "multiply", elected, own)
            case "broadcast" | "broadcast_first":
                made = SubgroupBroadcast(result, own, lane if operation == "broadcast" else None)
            case "shuffle":
                assert self.wanted is not None, "the order is an input of shuffles"
                made = SubgroupShuffle(result, own, self.wanted)
            case _:
                made = SubgroupShuffle(result, own, builder.literal(mask or 1), exclusive_or=True)
        builder.add(made)
        return result

    def _u32(self, name: str, value: Scalar) -> Scalar:
        if value.type is U32:
            return value
        converted = Value(name, U32)
        self.builder.add(ScalarConvert(converted, value))
        return converted

    def _choice(self, common: Scalar) -> Scalar:
        """Return the number below ``_CHOICES`` on which the matrices depend."""
        return self.builder.arithmetic("choice", "and", self._u32("common_u32", common), self.builder.literal(_CHOICES - 1))

    def _multiply(self, choice: Scalar) -> None:
        builder, purpose = self.builder, self.parameters.purpose
        c = self._load("c", 0)
        match purpose:
            case "trips":
                self._store(self._repeated(choice, c))
            case "branch":
                with builder.arm() as then:
                    product = self._product(0, c)
                with builder.arm() as otherwise:
                    other = self._product(1, c)
                result = Value("merged", product.type)
                builder.branch(Condition(choice, "less", builder.literal(1)), then, otherwise, [Merged(result, (product, other))])
                self._store(result)
            case "offset":
                self._store(self._product(choice, c))
            case "element":
                self._store(self._product(0, self._element(choice)))
            case "splat":
                self._store(self._product(0, builder.splat("constant", c.type, self._as(choice, c.type.component))))
            case "scale":
                product = self._product(0, c)
                power = builder.arithmetic("power", "shift_left", builder.literal(1), choice)
                self._store(scaled(builder, "multiple", product, self._as(power, product.type.component)))
            case "stride":
                chosen = builder.arithmetic("chosen", "multiply", choice, builder.literal(self._granule))
                least = builder.literal(self.tiles["d"].stride - _CHOICES * self._granule)
                self._store(self._product(0, c), builder.arithmetic("stride", "add", chosen, least))
            case _:
                self._store(self._product(0, c))

    @property
    def _granule(self) -> int:
        return granule_of(self.tiles["d"].component)

    def _load(self, name: str, tile: int | Scalar) -> Matrix:
        label = f"{name}{tile}" if isinstance(tile, int) else f"{name}_chosen"
        return self.sources[name].load_tile(label, tile)

    def _store(self, matrix: Matrix, stride: ScalarValue | None = None) -> None:
        self.target.store(matrix, stride=stride)

    def _product(self, tile: int | Scalar, c: Matrix) -> Matrix:
        a, b = self._load("a", tile), self._load("b", tile if isinstance(tile, int) else 0)
        name = f"product_of_{a.name}"
        return self.builder.muladd(name, self.tiles["d"].type, a, b, c, self.parameters.row.operands or None)

    def _repeated(self, trips: Scalar, c: Matrix) -> Matrix:
        builder, index = self.builder, Value("iteration", U32)
        if self.tiles["c"].type != self.tiles["d"].type:
            c = self._product(_CHOICES - 1, c)
        current, carried = Value("sum", c.type), list[Carried]()
        with builder.loop(index, trips, carried):
            a, b = (self.sources[name].load_tile(f"{name}_next", index) for name in "ab")
            carried.append(Carried(c, current, builder.muladd("next", c.type, a, b, current, self.parameters.row.operands or None)))
        return current

    def _element(self, choice: Scalar) -> Matrix:
        """Load all of C into an array of matrices, and return the chosen one."""
        builder, type_ = self.builder, self.tiles["c"].type
        variable = builder.variable("matrices", ArrayType(type_, _CHOICES))
        for tile in range(_CHOICES):
            builder.set(variable, (tile,), self._load("c", tile) if tile else self.sources["c"].load_tile("c_first", 0))
        return builder.get_matrix("element", variable, choice)

    def _as(self, value: Scalar, component: ComponentType) -> ScalarValue:
        if component is U32:
            return value
        converted = Value(f"{value.name}_as_{component}", component)
        self.builder.add(ScalarConvert(converted, value))
        return converted

    def draw(self, name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        """Draw numbers that each decide a result, and operands with exact results in every order."""
        chain = Chain(parameters.row, program.instances, _CHOICES, 1)
        drawn = (products.exact if parameters.row.result.is_float else integers.wrapping)(chain, rng)
        c = np.stack([np.roll(drawn.c, 3 * tile, axis=-2) for tile in range(_CHOICES)], axis=1)
        inputs = {which: self.tiles[which].contents(data, rng) for which, data in zip("abc", (drawn.a, drawn.b, c), strict=True)}
        groups = [np.arange(first, first + self.size) for first in range(0, self.invocations, self.size)]
        if parameters.among == "halves":
            groups = [group[half::2] for group in groups for half in range(2)]
        numbers = np.zeros(self.invocations, parameters.number.dtype)
        order = np.zeros(self.invocations, np.uint32)
        for group in groups:
            # The other half and the next subgroup have different results of votes.
            numbers[group] = _drawn(parameters, len(group), (int(group[0]) + int(group[0]) // self.size + parameters.run) % 2 == 0, rng)
            order[group] = rng.permutation(group) % self.size
        inputs["numbers"] = numbers.view(np.uint8)
        if self.order is not None:
            inputs["order"] = order.view(np.uint8)
        return Subcase(name, inputs)


def _drawn(parameters: Parameters, count: int, flag: bool, rng: np.random.Generator) -> np.ndarray:
    """Draw the numbers of the invocations that compute together. ``flag`` tells whether a vote succeeds; one invocation decides it."""
    operation, number = parameters.operation, parameters.number
    values = rng.integers(1, 1 << 12, count) if number.is_float else rng.integers(0, 1 << 32, count, np.uint32)
    one = rng.integers(count)
    match operation:
        case "multiply":
            values |= 1
        case "or" | "and":
            # Each bit of the result depends on a single invocation.
            owner = rng.permutation(np.arange(32) % count)
            bits = np.array([sum(1 << bit for bit in range(32) if owner[bit] == lane) for lane in range(count)], np.uint32) & values
            values = bits if operation == "or" else ~bits
        case "ballot_lowest" | "ballot_highest" | "ballot_count" | "ballot_inclusive" | "ballot_exclusive":
            values[one] |= 1
            values[(one + 1) % count] &= 0xFFFFFFFE
        case "all" | "any":
            values = values | 1 if (operation == "all") else values & 0xFFFFFFFE
            if flag is (operation == "any"):
                values[one] ^= 1
        case "all_equal":
            values[:] = values[0]
            if not flag:
                values[one] += 1
    return values.astype(number.dtype) if number.is_float else values.astype(np.uint32).view(number.dtype)


def build(parameters: Parameters) -> Built:
    """Build a case."""
    writer = _SubgroupWriter(parameters)
    return Built(writer.write(), writer.draw)
