"""aggregates: matrices in arrays and structs, written, moved and read by parts and as wholes.

Axis values are those of cases/khr_cooperative_matrix/aggregates.yaml.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from generators.inputs.patterns import random_bits
from generators.layouts.row_types import row_type
from generators.layouts.tile_arrays import TileArray, tile_array
from generators.parameters.vocabulary import LAYOUT_LETTERS, SCOPES, SOURCES, SUBGROUPS, TakenValues, Values
from generators.program.builder import U32, ProgramBuilder
from generators.program.composites import CompositeConstruct, CompositeExtract, CompositeInsert, CopyMemory, CopyObject
from generators.program.program import Program, Subcase
from generators.program.values import Extent, Matrix, MatrixType, Operand, Scalar
from generators.program.variables import (
    Aggregate,
    ArrayType,
    Path,
    StructType,
    Value,
    ValueType,
    Variable,
    length,
    named_value,
    part_type,
)
from generators.property_rows import parse_row
from generators.types import ComponentType, Scope

_HOLDERS = ("array", "array_of_array", "struct", "array_of_struct", "struct_of_array", "nested")
_MOVES = ("none", "load_store", "copy_memory", "copy_object", "construct", "insert", "parts", "exchange", "rotate")
_INDICES = ("constant", "operand", "loop")

AXES: TakenValues = {
    "row": None,
    "member": ("a", "b", "c"),
    "scope": SCOPES.keys(),
    "subgroups": SUBGROUPS,
    "layouts": ("rr", "rc", "cr", "cc"),
    "holder": _HOLDERS,
    "count": range(2, 9),
    "length": ("literal", "specialization"),
    "storage": ("function", "private"),
    "other_storage": ("function", "private"),
    "write": _INDICES,
    "read": _INDICES,
    "source": SOURCES,
    "move": _MOVES,
}

PREDICATES: Mapping[str, Callable[[Values], bool]] = {}

Leaf = tuple[tuple[int, ...], MatrixType | ComponentType]


def _leaves(type_: ValueType, path: tuple[int, ...] = ()) -> Iterator[Leaf]:
    """The matrices and scalars of a type, in order."""
    if isinstance(type_, MatrixType | ComponentType):
        yield path, type_
        return
    assert isinstance(type_, ArrayType | StructType), "holders have matrices and scalars"
    for index in range(length(type_)):
        yield from _leaves(part_type(type_, (index,)), (*path, index))


class _Writer:
    """Writes the program of one case."""

    def __init__(self, values: Values) -> None:
        self.values = values
        scope = SCOPES[values["scope"]]
        self.builder = ProgramBuilder(scope, subgroups=int(values["subgroups"]))
        count = int(values["count"])
        self.length = self.builder.operand("length", U32, values["length"], count, count + 1)
        self.type = self._holder(count if values["length"] == "literal" else self.length, scope)
        leaves = list(_leaves(self.type))
        self.matrices = [(path, type_) for path, type_ in leaves if isinstance(type_, MatrixType)]
        self.scalars = [path for path, type_ in leaves if isinstance(type_, ComponentType)]
        self.boxes = [self.builder.variable("box", self.type, values["storage"])]
        if values["move"] not in ("none", "exchange", "rotate"):
            self.boxes.append(self.builder.variable("other", self.type, values["other_storage"]))
        self.indices: dict[int, Operand] = {}
        self.sources: dict[MatrixType, TileArray] = {}
        self.targets: dict[MatrixType, TileArray] = {}
        load, store = (LAYOUT_LETTERS[letter] for letter in values["layouts"])
        for number, type_ in enumerate(dict.fromkeys(type_ for _, type_ in self.matrices)):
            tiles = sum(t == type_ for _, t in self.matrices)
            # One more than there are matrices: what replaces a matrix after a move.
            self.sources[type_] = tile_array(self.builder, f"source{number}", type_, tiles + 1, load)
            self.targets[type_] = tile_array(self.builder, f"target{number}", type_, tiles * len(self.boxes), store, output=True)
        if self.builder.instances > 1:
            self.builder.instance_index()

    def _holder(self, count: Extent, scope: Scope) -> ValueType:
        row = parse_row(self.values["row"])
        a, b, c = (row_type(row, member, scope) for member in "abc")
        one = {"a": a, "b": b, "c": c}[self.values["member"]]
        match self.values["holder"]:
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

    def path(self, path: tuple[int, ...], how: str) -> Path:
        """The path with its array indices from operands, where ``how`` says so."""
        if how == "constant":
            return path
        found: list[int | Operand] = []
        for place, index in enumerate(path):
            into_array = isinstance(part_type(self.type, path[:place]), ArrayType)
            found.append(self._index(index) if into_array else index)
        return tuple(found)

    def _index(self, index: int) -> Operand:
        if index not in self.indices:
            # Another index of the shortest array, so that a constant left at its default is a place that exists.
            default = index - 1 if index else 1
            self.indices[index] = self.builder.operand(f"index_{index}", U32, self.values["source"], index, default)
        return self.indices[index]

    def fill(self) -> None:
        """Every matrix of the first variable from a tile of its own; every scalar is the number of the first tile."""
        builder, box = self.builder, self.boxes[0]
        if self.values["write"] == "loop":
            tiles, index = self.sources[self.matrices[0][1]], Scalar("filling", U32)
            with builder.loop(index, self.length, []):
                builder.set(box, (index,), tiles.load(builder, "filled", index))
            return
        taken = dict.fromkeys(self.sources, 0)
        for number, (path, type_) in enumerate(self.matrices):
            matrix = self.sources[type_].load(builder, f"matrix{number}", taken[type_])
            taken[type_] += 1
            builder.set(box, self.path(path, self.values["write"]), matrix)
        for path in self.scalars:
            builder.set(box, self.path(path, self.values["write"]), builder.literal(0))

    def spare(self) -> tuple[tuple[int, ...], Matrix]:
        """The path of a matrix, and another matrix of its type that is nowhere yet."""
        path, type_ = self.matrices[-1]
        tiles = self.sources[type_]
        return path, tiles.load(self.builder, "spare", tiles.count - 1)

    def whole(self, name: str) -> Aggregate:
        """The first variable as a value."""
        value = self.builder.get(name, self.boxes[0])
        assert isinstance(value, Aggregate), "holders are aggregates"
        return value

    def move(self) -> None:
        """Fills the other variable from the first, and then changes the first; or changes places within it."""
        builder, kind = self.builder, self.values["move"]
        if kind in ("none", "exchange", "rotate"):
            self._within(kind)
            return
        box, other = self.boxes
        path, spare = self.spare()
        if kind == "copy_memory":
            builder.add(CopyMemory(other, (), box, ()))
        else:
            self._by_value(kind, path, spare)
        if kind != "insert":
            builder.set(box, self.path(path, self.values["write"]) if self.values["write"] != "loop" else path, spare)

    def _by_value(self, kind: str, path: tuple[int, ...], spare: Matrix) -> None:
        builder, other, whole = self.builder, self.boxes[1], self.whole("whole")
        result = whole
        match kind:
            case "copy_object":
                result = Aggregate("copied", whole.type)
                builder.add(CopyObject(result, whole))
            case "construct":
                parts: list[Value] = []
                for index in range(length(whole.type)):
                    parts.append(named_value(f"part{index}", part_type(whole.type, (index,))))
                    builder.add(CompositeExtract(parts[-1], whole, (index,)))
                result = Aggregate("constructed", whole.type)
                builder.add(CompositeConstruct(result, tuple(parts)))
            case "insert":
                result = Aggregate("inserted", whole.type)
                builder.add(CompositeInsert(result, spare, whole, path))
                # The operand is stored after its use, as what it was before.
                builder.set(self.boxes[0], (), whole)
            case "parts":
                for number, (leaf, type_) in enumerate(_leaves(whole.type)):
                    value = named_value(f"leaf{number}", type_)
                    builder.add(CompositeExtract(value, whole, leaf))
                    builder.set(other, leaf, value)
                return
        builder.set(other, (), result)

    def _within(self, kind: str) -> None:
        builder, box = self.builder, self.boxes[0]
        if kind == "exchange":
            # One index known and one not: the array cannot be split into variables of its elements.
            first, last = self.path((0,), "operand"), (int(self.values["count"]) - 1,)
            former, latter = builder.get("former", box, *first), builder.get("latter", box, *last)
            builder.set(box, last, former)
            builder.set(box, first, latter)
        elif kind == "rotate":
            step = Scalar("turning", U32)
            rounds = builder.operand("rounds", U32, self.values["source"], int(self.values["count"]) - 1, int(self.values["count"]) - 2)
            with builder.loop(step, rounds, []):
                following = builder.arithmetic("following", "add", step, builder.literal(1))
                former, latter = builder.get("former", box, step), builder.get("latter", box, following)
                builder.set(box, (step,), latter)
                builder.set(box, (following,), former)

    def store(self) -> None:
        """Every matrix of every variable to a tile of its own; the scalar of a struct says where the first of its variable goes."""
        builder, taken = self.builder, dict.fromkeys(self.targets, 0)
        for box in self.boxes:
            if self.values["read"] == "loop":
                self._store_in_loop(box)
                continue
            for number, (path, type_) in enumerate(self.matrices):
                tile: int | Scalar = taken[type_]
                matrix = builder.get_matrix(f"{box.name}_{number}", box, *self.path(path, self.values["read"]))
                if number == 0 and self.scalars:
                    told = builder.get(f"{box.name}_told", box, *self.path(self.scalars[0], self.values["read"]))
                    assert isinstance(told, Scalar), "the path leads to a scalar"
                    tile = builder.arithmetic(f"{box.name}_tile", "add", told, builder.literal(taken[type_]))
                self.targets[type_].store(builder, matrix, tile)
                taken[type_] += 1

    def _store_in_loop(self, box: Variable) -> None:
        builder, tiles = self.builder, self.targets[self.matrices[0][1]]
        index = Scalar(f"{box.name}_reading", U32)
        start = int(self.values["count"]) * self.boxes.index(box)
        with builder.loop(index, self.length, []):
            tile = builder.arithmetic(f"{box.name}_tile", "add", index, builder.literal(start))
            tiles.store(builder, builder.get_matrix(f"{box.name}_read", box, index), tile)


def program(values: Values) -> Program:
    """The program of a case."""
    writer = _Writer(values)
    writer.fill()
    writer.move()
    writer.store()
    return writer.builder.build()


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """Random bits, so that no two matrices are equal; indices and trip counts at what their names say."""
    given = [array for array in program.arrays if array.role == "input"]
    inputs = {array.name: random_bits(array.pointee.component, array.count, rng).view(np.uint8) for array in given}
    operands = {}
    for operand in program.operands:
        if operand.source in ("push_constant", "buffer"):
            operands[operand.name] = int(values["count"]) - 1 if operand.name == "rounds" else int(operand.name.removeprefix("index_"))
    return Subcase(name, inputs, operands)
