"""aggregates: matrices in arrays and structs, written, moved and read in parts and as a whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.inputs.patterns import random_bits
from generators.layouts.matrix_arrays import MatrixArray, matrix_source, matrix_target, tight
from generators.layouts.row_types import row_type
from generators.operands.run_time import run_time_operands
from generators.parameters.declaration import parameter
from generators.parameters.matrices import OneRow
from generators.parameters.vocabulary import SCOPE, SOURCE_NAMES, layouts_of
from generators.program.builder import U32, ProgramBuilder
from generators.program.composites import CompositeConstruct, CompositeExtract, CompositeInsert, CopyMemory, CopyObject
from generators.program.program import Built, Program, Subcase
from generators.program.values import (
    Aggregate,
    AnyValue,
    ArrayType,
    Extent,
    Matrix,
    MatrixType,
    Operand,
    Scalar,
    StructType,
    Value,
    ValueType,
    is_aggregate,
    is_scalar,
)
from generators.program.variables import Path, Variable, leaves, length, part_type
from generators.types import ComponentType, Layout

_WITHIN = ("none", "exchange", "rotate")
"""Moves that need only one variable."""

_Storage = Literal["function", "private"]
_Index = Literal["constant", "operand", "loop"]


@dataclass(frozen=True, kw_only=True)
class Parameters(OneRow):
    """The parameters of a case."""

    member: Literal["a", "b", "c"] = parameter("the operand of the row whose type the matrices of arrays have", default="c", then=SCOPE)
    layouts: tuple[Layout, ...] = parameter("the layouts of loads and of stores", default="rr", decode=layouts_of(2))
    holder: Literal["array", "array_of_array", "struct", "array_of_struct", "struct_of_array", "nested"] = parameter(
        "the type of the variables", default="array"
    )
    count: int = parameter("length of the array", default=4)
    length: Literal["literal", "specialization"] = parameter("where that length comes from", default="literal")
    storage: _Storage = parameter("storage class of the variable", default="function")
    other_storage: _Storage = parameter(
        "storage class of the variable that is a copy", default="function", applies=lambda parameters: parameters.move not in _WITHIN
    )
    write: _Index = parameter("the indices used to write parts", default="constant")
    read: _Index = parameter("the indices used to read parts", default="constant")
    source: SOURCE_NAMES = parameter("where indices that are operands come from", default="push_constant")
    move: Literal["none", "load_store", "copy_memory", "copy_object", "construct", "insert", "parts", "exchange", "rotate"] = parameter(
        "how the whole is copied, or which of its parts change places", default="none"
    )


PREDICATES: Mapping[str, Callable[[Parameters], bool]] = {}


class _AggregatesWriter:
    """Writes the program of one case.

    Attributes:
        given: value of each operand that a specialization constant or the host supplies.
    """

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.builder = ProgramBuilder(parameters.scope, subgroups=parameters.subgroups)
        count = parameters.count
        self.given: dict[str, int] = {}
        self.length = self._operand("length", parameters.length, count, count + 1)
        self.type = self._holder(count if parameters.length == "literal" else self.length)
        found = list(leaves(self.type))
        self.matrices = [(path, type_) for path, type_ in found if isinstance(type_, MatrixType)]
        self.scalars = [path for path, type_ in found if isinstance(type_, ComponentType)]
        self.boxes = [self.builder.variable("box", self.type, parameters.storage)]
        if parameters.move not in _WITHIN:
            self.boxes.append(self.builder.variable("other", self.type, parameters.other_storage))
        self.indices: dict[int, Operand] = {}
        self.sources: dict[MatrixType, MatrixArray] = {}
        self.targets: dict[MatrixType, MatrixArray] = {}
        instances = self.builder.instances
        load, store = parameters.layouts
        for number, type_ in enumerate(dict.fromkeys(type_ for _, type_ in self.matrices)):
            tiles = sum(t == type_ for _, t in self.matrices)
            # One more tile than matrices: it replaces a matrix after a move.
            given, taken = tight(type_, load, (instances, tiles + 1)), tight(type_, store, (instances, tiles * len(self.boxes)))
            self.sources[type_] = matrix_source(self.builder, f"source{number}", given, label="place")
            self.targets[type_] = matrix_target(self.builder, f"target{number}", taken, label="place")
        if self.builder.instances > 1:
            self.builder.instance_index()

    def _operand(self, name: str, source: SOURCE_NAMES, value: int, default: int) -> Operand:
        if source != "literal":
            self.given[name] = value
        return self.builder.operand(name, U32, source, value, default)

    def _holder(self, count: Extent) -> ValueType:
        parameters = self.parameters
        a, b, c = (row_type(parameters.row, member, parameters.scope) for member in "abc")
        one = {"a": a, "b": b, "c": c}[parameters.member]
        match parameters.holder:
            case "array":
                return ArrayType(one, count)
            case "array_of_array":
                return ArrayType(ArrayType(one, 2), count)
            case "struct":
                return StructType("Mixed", (a, b, c, U32, one))
            case "array_of_struct":
                return ArrayType(StructType("Mixed", (a, U32, c)), count)
            case "struct_of_array":
                return StructType("Mixed", (ArrayType(b, count), U32, ArrayType(c, 2)))
            case _:
                return ArrayType(StructType("Mixed", (ArrayType(one, count), c, U32)), 2)

    def path(self, path: tuple[int, ...], index: _Index) -> Path:
        """Return the path. Its array indices come from operands unless they are constants."""
        if index == "constant":
            return path
        found: list[int | Operand] = []
        for depth, number in enumerate(path):
            into_array = isinstance(part_type(self.type, path[:depth]), ArrayType)
            found.append(self._index(number) if into_array else number)
        return tuple(found)

    def _index(self, index: int) -> Operand:
        if index not in self.indices:
            # A different index that even the shortest array has, so an unspecialized constant is still a valid index.
            default = index - 1 if index else 1
            self.indices[index] = self._operand(f"index_{index}", self.parameters.source, index, default)
        return self.indices[index]

    def fill(self) -> None:
        """Load every matrix of the first variable from a different tile, and set every scalar to the number of the first tile."""
        builder, box = self.builder, self.boxes[0]
        if self.parameters.write == "loop":
            tiles, index = self.sources[self.matrices[0][1]], Value("filling", U32)
            with builder.loop(index, self.length, []):
                builder.set(box, (index,), tiles.load_tile("filled", index))
            return
        taken = dict.fromkeys(self.sources, 0)
        for number, (path, type_) in enumerate(self.matrices):
            matrix = self.sources[type_].load_tile(f"matrix{number}", taken[type_])
            taken[type_] += 1
            builder.set(box, self.path(path, self.parameters.write), matrix)
        for path in self.scalars:
            builder.set(box, self.path(path, self.parameters.write), builder.literal(0))

    def spare(self) -> tuple[tuple[int, ...], Matrix]:
        """Return the path of a matrix, and a matrix of its type that no variable holds yet."""
        path, type_ = self.matrices[-1]
        source = self.sources[type_]
        return path, source.load_tile("spare", source.tiles.steps - 1)

    def whole(self, name: str) -> Aggregate:
        """Read the first variable as a whole."""
        value = self.builder.get(name, self.boxes[0])
        assert is_aggregate(value), "holders are aggregates"
        return value

    def move(self) -> None:
        """Copy the first variable to the other one, and then change the first; or exchange parts of it."""
        builder, kind, write = self.builder, self.parameters.move, self.parameters.write
        if kind in _WITHIN:
            self._within()
            return
        box, other = self.boxes
        path, spare = self.spare()
        if kind == "copy_memory":
            builder.add(CopyMemory(other, (), box, ()))
        else:
            self._by_value(path, spare)
        if kind != "insert":
            builder.set(box, self.path(path, write) if write != "loop" else path, spare)

    def _by_value(self, path: tuple[int, ...], spare: Matrix) -> None:
        builder, other, whole = self.builder, self.boxes[1], self.whole("whole")
        result = whole
        match self.parameters.move:
            case "copy_object":
                result = Value("copied", whole.type)
                builder.add(CopyObject(result, whole))
            case "construct":
                parts: list[AnyValue] = []
                for index in range(length(whole.type)):
                    parts.append(Value(f"part{index}", part_type(whole.type, (index,))))
                    builder.add(CompositeExtract(parts[-1], whole, (index,)))
                result = Value("constructed", whole.type)
                builder.add(CompositeConstruct(result, tuple(parts)))
            case "insert":
                result = Value("inserted", whole.type)
                builder.add(CompositeInsert(result, spare, whole, path))
                # The operand is stored after its use and must be unchanged.
                builder.set(self.boxes[0], (), whole)
            case "parts":
                for number, (leaf, type_) in enumerate(leaves(whole.type)):
                    value = Value(f"leaf{number}", type_)
                    builder.add(CompositeExtract(value, whole, leaf))
                    builder.set(other, leaf, value)
                return
        builder.set(other, (), result)

    def _within(self) -> None:
        builder, box, count = self.builder, self.boxes[0], self.parameters.count
        if self.parameters.move == "exchange":
            # With one known and one unknown index, a compiler cannot split the array into a variable for each element.
            first, last = self.path((0,), "operand"), (count - 1,)
            former, latter = builder.get("former", box, *first), builder.get("latter", box, *last)
            builder.set(box, last, former)
            builder.set(box, first, latter)
        elif self.parameters.move == "rotate":
            step = Value("turning", U32)
            rounds = self._operand("rounds", self.parameters.source, count - 1, count - 2)
            with builder.loop(step, rounds, []):
                following = builder.arithmetic("following", "add", step, builder.literal(1))
                former, latter = builder.get("former", box, step), builder.get("latter", box, following)
                builder.set(box, (step,), latter)
                builder.set(box, (following,), former)

    def store(self) -> None:
        """Store every matrix of every variable to a different tile. The scalar of a struct chooses the tile of its variable's first
        matrix."""
        builder, taken = self.builder, dict.fromkeys(self.targets, 0)
        for box in self.boxes:
            if self.parameters.read == "loop":
                self._store_in_loop(box)
                continue
            for number, (path, type_) in enumerate(self.matrices):
                tile: int | Scalar = taken[type_]
                matrix = builder.get_matrix(f"{box.name}_{number}", box, *self.path(path, self.parameters.read))
                if number == 0 and self.scalars:
                    told = builder.get(f"{box.name}_told", box, *self.path(self.scalars[0], self.parameters.read))
                    assert is_scalar(told), "the path leads to a scalar"
                    tile = builder.arithmetic(f"{box.name}_tile", "add", told, builder.literal(taken[type_]))
                self.targets[type_].store_tile(matrix, tile)
                taken[type_] += 1

    def _store_in_loop(self, box: Variable) -> None:
        builder, tiles = self.builder, self.targets[self.matrices[0][1]]
        index = Value(f"{box.name}_reading", U32)
        start = self.parameters.count * self.boxes.index(box)
        with builder.loop(index, self.length, []):
            tile = builder.arithmetic(f"{box.name}_tile", "add", index, builder.literal(start))
            tiles.store_tile(builder.get_matrix(f"{box.name}_read", box, index), tile)


def build(parameters: Parameters) -> Built:
    """Build a case: its program, and random bits that make all matrices different."""
    writer = _AggregatesWriter(parameters)
    writer.fill()
    writer.move()
    writer.store()

    def draw(name: str, _: Parameters, program: Program, rng: np.random.Generator) -> Subcase:
        arrays = [array for array in program.arrays if array.role == "input"]
        inputs = {array.name: random_bits(array.pointee.component, array.count, rng).view(np.uint8) for array in arrays}
        return Subcase(name, inputs, run_time_operands(program, writer.given))

    return Built(writer.builder.build(), draw)
