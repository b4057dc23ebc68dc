"""vector_variables: vectors of single invocations in variables, arrays and structs, in parts and as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.families.nv_cooperative_vector.vector_variables.parameters import PREDICATES, Index, Parameters
from generators.inputs.patterns import normal_bits, tame_bits
from generators.layouts.vector_arrays import VectorArray
from generators.program.builder import U32
from generators.program.composites import CompositeConstruct, CompositeExtract, CompositeInsert, CopyMemory, CopyObject
from generators.program.construction import CooperativeVectorConstant
from generators.program.control_flow import Condition
from generators.program.functions import Function, PointerParameter
from generators.program.memory import Array, Pointee
from generators.program.program import Built, Program, Subcase
from generators.program.values import (
    Aggregate,
    AnyValue,
    ArrayType,
    CooperativeVector,
    CooperativeVectorType,
    Extent,
    Operand,
    Scalar,
    ScalarValue,
    Selected,
    StructType,
    Value,
    ValueType,
    is_aggregate,
    is_cooperative_vector,
    is_scalar,
)
from generators.program.variables import Initializer, Path, Variable, leaves, length, part_type
from generators.program.vector_builder import VectorBuilder
from generators.types import ComponentType, StorageClass

__all__ = ["PREDICATES", "Parameters", "build"]

_INITIAL_SEED = 41
"""Seed of the constants with which variables are initialized."""

_LONGER = 2
"""Additional components of the second vector type in a struct."""


@dataclass(frozen=True)
class _Slots:
    """The vectors of one type in memory; each invocation has ``slots`` adjacent ones.

    Attributes:
        type: the type of the vectors in the program.
        slots: number for one invocation.
        place: the placement of all vectors.
        array: that contains them.
    """

    type: CooperativeVectorType
    slots: int
    place: VectorArray
    array: Array


class _VectorVariablesWriter:
    """Writes the program of one case."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.builder = parameters.builder()
        self.vectors = VectorBuilder(self.builder)
        self.lanes = parameters.lanes
        self.me = Value("me", U32)
        self.length = self._extent("length", parameters.length, parameters.length + 3, parameters.length_from)
        self.count = self._extent("count", parameters.count, parameters.count + 1, parameters.count_from)
        self.type = self._holder()
        found = list(leaves(self.type))
        self.parts = [(path, type_) for path, type_ in found if isinstance(type_, CooperativeVectorType)]
        self.scalars = [path for path, type_ in found if isinstance(type_, ComponentType)]
        self.boxes = [self.builder.variable("box", self.type, parameters.storage, self._initial())]
        if parameters.copy != "none":
            self.boxes.append(self.builder.variable("other", self.type, parameters.other_storage))
        self.indices: dict[int, Operand] = {}
        self.sources: dict[CooperativeVectorType, _Slots] = {}
        self.targets: dict[CooperativeVectorType, _Slots] = {}
        for number, type_ in enumerate(dict.fromkeys(type_ for _, type_ in self.parts)):
            those = sum(one == type_ for _, one in self.parts)
            # One more vector than the variable has: it replaces another.
            self.sources[type_] = self._slots(f"source{number}", "input", type_, those + 1)
            self.targets[type_] = self._slots(f"target{number}", "output", type_, those * len(self.boxes))
        self.turns = self._own("turns", "invocation" in (parameters.write, parameters.read))
        self.places = self._own("places", parameters.change == "components" and parameters.at == "invocation")
        self.place: Operand | None = None
        if parameters.change == "components" and parameters.at == "operand":
            self.place = self._operand("place", max(0, parameters.length - 2), 0)

    def _extent(self, name: str, value: int, default: int, source: Literal["literal", "specialization"]) -> int | Operand:
        return value if source == "literal" else self.builder.operand(name, U32, source, value, default)

    def _operand(self, name: str, value: int, default: int) -> Operand:
        return self.builder.operand(name, U32, self.parameters.source, value, default)

    def _own(self, name: str, used: bool) -> Array | None:
        """Declare an array with a number for each invocation, if the program uses it."""
        if not used:
            return None
        return self.builder.array(name, Pointee(U32), self.lanes, StorageClass.STORAGE_BUFFER, "input")

    def _slots(self, name: str, role: Literal["input", "output"], type_: CooperativeVectorType, slots: int) -> _Slots:
        place = VectorArray(CooperativeVectorType(type_.component, type_.count), self.lanes * slots)
        return _Slots(type_, slots, place, place.declare(self.builder, name, role))

    def _holder(self) -> ValueType:
        component = self.parameters.component
        one = CooperativeVectorType(component, self.length)
        longer = CooperativeVectorType(component, self.parameters.length + _LONGER)
        match self.parameters.holder:
            case "vector":
                return one
            case "array":
                return ArrayType(one, self.count)
            case "array_of_array":
                return ArrayType(ArrayType(one, 2), self.count)
            case "struct":
                return StructType("Mixed", (one, longer, U32, one))
            case "array_of_struct":
                return ArrayType(StructType("Mixed", (one, U32, longer)), self.count)
            case "struct_of_array":
                return StructType("Mixed", (ArrayType(longer, self.count), U32, ArrayType(one, 2)))
            case _:
                return ArrayType(StructType("Mixed", (ArrayType(one, self.count), longer, U32)), 2)

    def _initial(self) -> Initializer | None:
        """Return the initial value of the variable."""
        if self.parameters.start == "constant":
            return self._constant(self.type, "initial", np.random.default_rng(_INITIAL_SEED))
        return "null" if self.parameters.start == "null" else None

    def _constant(self, type_: ValueType, name: str, rng: np.random.Generator) -> Initializer:
        if isinstance(type_, CooperativeVectorType):
            replicated = isinstance(type_.length, Operand)
            bits = tame_bits(type_.component, 1 if replicated else type_.count, rng)
            values = tuple(self.builder.literal(int(one), type_.component) for one in bits)
            return CooperativeVectorConstant(Value(name, type_), values, replicated)
        if isinstance(type_, ArrayType | StructType):
            return tuple(self._constant(part_type(type_, (i,)), f"{name}_{i}", rng) for i in range(length(type_)))
        return self.builder.literal(0)

    @property
    def last(self) -> tuple[int, ...]:
        """The path to the last vector that has the first vector's type."""
        return next(path for path, type_ in reversed(self.parts) if type_ == self.parts[0][1])

    # Indices

    def path(self, prefix: str, path: tuple[int, ...], index: Index, turn: Scalar | None) -> Path:
        """Return the path with array indices of the kind ``index``. ``turn`` is added to the invocation's indices, modulo the length of the
        array."""
        found: list[int | ScalarValue] = []
        for depth, number in enumerate(path):
            container = part_type(self.type, path[:depth])
            if not isinstance(container, ArrayType) or index in ("constant", "loop"):
                found.append(number)
            elif index == "operand":
                found.append(self._index(number))
            else:
                assert turn is not None, "indices of invocations are loaded"
                name = self.builder.fresh(f"{prefix}turned")
                moved = self.builder.arithmetic(f"{name}_sum", "add", turn, self.builder.literal(number))
                found.append(self.builder.arithmetic(name, "modulo", moved, self._scalar(container.length)))
        return tuple(found)

    def _scalar(self, value: Extent) -> ScalarValue:
        assert not isinstance(value, Selected), "lengths are numbers or specialization constants"
        return self.builder.literal(value) if isinstance(value, int) else value

    def _index(self, index: int) -> Operand:
        if index not in self.indices:
            # A different index that even the shortest array has, so an unspecialized constant is still a valid index.
            self.indices[index] = self._operand(f"index_{index}", index, index - 1 if index else 1)
        return self.indices[index]

    def turn(self, name: str, index: Index, more: int) -> Scalar | None:
        """Read the rotation of the invocation's indices, and add ``more``."""
        if index != "invocation":
            return None
        assert self.turns is not None
        own = self.builder.read_scalar(f"{name}_own", self.turns, self.me)
        return self.builder.arithmetic(name, "add", own, self.builder.literal(more))

    # Memory

    def load(self, name: str, type_: CooperativeVectorType, number: int | Scalar) -> CooperativeVector:
        """Load a vector of the invocation."""
        slots = self.sources[type_]
        return self.vectors.load(name, type_, slots.array, self._offset(f"{name}_from", slots, self.me, number))

    def _offset(self, name: str, slots: _Slots, owner: ScalarValue, number: int | Scalar) -> Scalar:
        builder = self.builder
        first = builder.arithmetic(f"{name}_first", "multiply", owner, builder.literal(slots.slots))
        slot = builder.arithmetic(f"{name}_slot", "add", first, builder.literal(number) if isinstance(number, int) else number)
        return slots.place.offset(builder, name, slot)

    def spare(self, name: str) -> CooperativeVector:
        """Load a vector of the first type that no variable holds yet."""
        _, type_ = self.parts[0]
        return self.load(name, type_, self.sources[type_].slots - 1)

    # Steps

    def write(self) -> Program:
        """Write the program."""
        with self.builder.per_invocation(self.me, self.parameters.invocations):
            self.fill()
            if self.parameters.copy != "none":
                self.copy()
            self.controlled()
            self.store()
        return self.builder.build()

    def fill(self) -> None:
        """Put every vector into the first variable, and the number of the invocation into a scalar. The variable keeps its initial value in
        its last vector, or in every other component of its only vector."""
        builder, box, write = self.builder, self.boxes[0], self.parameters.write
        if write == "loop":
            type_, index = self.parts[0][1], Value("filling", U32)
            with builder.loop(index, self._scalar(self.count), []):
                builder.set(box, (index,), self.load("filled", type_, index))
            return
        turn = self.turn("write_turn", write, 0)
        taken = dict.fromkeys(self.sources, 0)
        begun = self.parameters.start != "none"
        for number, (path, type_) in enumerate(self.parts[: len(self.parts) - begun]):
            vector = self.load(f"vector{number}", type_, taken[type_])
            taken[type_] += 1
            builder.set(box, self.path(f"write{number}_", path, write, turn), vector)
        if begun and len(self.parts) == 1:
            whole = self.load("whole", self.parts[0][1], 0)
            for i in range(0, self.parameters.length, 2):
                builder.set(box, (i,), self.vectors.extract(f"component{i}", whole, i))
        for number, path in enumerate(self.scalars):
            builder.set(box, self.path(f"tell{number}_", path, write, turn), self.me)

    def copy(self) -> None:
        """Copy the first variable to the other one."""
        builder, (box, other) = self.builder, self.boxes
        if self.parameters.copy == "copy_memory":
            builder.add(CopyMemory(other, (), box, ()))
            return
        whole = builder.get("copied_whole", box)
        match self.parameters.copy:
            case "load_store":
                builder.set(other, (), whole)
            case "copy_object":
                copied = builder.result_of(CopyObject(Value("copied", whole.type), whole))
                builder.set(other, (), copied)
            case "construct":
                assert is_aggregate(whole), "vectors are not constructed of parts here"
                builder.set(other, (), self._constructed(whole))
            case "insert":
                inserted = builder.result_of(CompositeInsert(Value("inserted", whole.type), self.spare("insertion"), whole, self.last))
                builder.set(other, (), inserted)
                # The operand is stored after its use and must be unchanged.
                builder.set(box, (), whole)
            case _:
                for number, (leaf, type_) in enumerate(leaves(whole.type)):
                    value = builder.result_of(CompositeExtract(Value(f"leaf{number}", type_), whole, leaf))
                    builder.set(other, leaf, value)

    def _constructed(self, whole: Aggregate) -> Aggregate:
        parts: list[AnyValue] = []
        for index in range(length(whole.type)):
            parts.append(Value(f"part{index}", part_type(whole.type, (index,))))
            self.builder.add(CompositeExtract(parts[-1], whole, (index,)))
        made = Value("constructed", whole.type)
        self.builder.add(CompositeConstruct(made, tuple(parts)))
        return made

    def controlled(self) -> None:
        """Change the first variable, in the case's control flow."""
        builder, box, me = self.builder, self.boxes[0], self.me
        if self.parameters.change == "none":
            return
        spare, at = self.spare("spare"), self._at()
        if self.parameters.control == "straight":
            self.changed("", spare, at)
            return
        if self.parameters.control == "loop":
            rounds = builder.arithmetic("rounds", "modulo", me, builder.literal(3))
            with builder.loop(Value("round", U32), rounds, []):
                self.changed("", spare, at)
            return
        odd = builder.arithmetic("odd", "and", me, builder.literal(1))
        with builder.arm() as then:
            self.changed("", spare, at)
        otherwise = []
        if self.parameters.control == "branches":
            with builder.arm() as otherwise:
                builder.set(box, self.parts[-1][0], self._of_last_type(spare))
        builder.branch(Condition(odd, "equal", builder.literal(1)), then, otherwise)

    def _of_last_type(self, spare: CooperativeVector) -> CooperativeVector:
        _, type_ = self.parts[-1]
        return spare if spare.type == type_ else self.load("another", type_, self.sources[type_].slots - 1)

    def _at(self) -> int | ScalarValue:
        """Return the index of the component to change."""
        if self.places is not None:
            return self.builder.read_scalar("own_place", self.places, self.me)
        return self.place if self.place is not None else self.parameters.length // 3

    def changed(self, prefix: str, spare: CooperativeVector, at: int | ScalarValue) -> None:
        """Change the first variable, or call a function that does."""
        builder, box, passing = self.builder, self.boxes[0], self.parameters.passing
        if passing == "inline":
            self.change(prefix, box, spare, at)
            return
        own = not isinstance(at, int)
        inner_spare = Value("given_spare", spare.type)
        inner_at = Value("given_place", U32) if own else at
        scalars: tuple[Scalar, ...] = (inner_at,) if is_scalar(inner_at) and isinstance(inner_at, Value) else ()
        arguments: Sequence[ScalarValue] = (at,) if not isinstance(at, int) else ()
        if passing == "pointer":
            pointed = Variable("pointed", self.type, self.parameters.storage)
            with builder.arm() as body:
                self.change("inner_", pointed, inner_spare, inner_at)
            by_pointer = Function("changes", (PointerParameter(pointed), inner_spare, *scalars), tuple(body), None)
            builder.call("nothing", by_pointer, (box, spare, *arguments))
            return
        held, given = Variable("held", self.type), Value("given_whole", self.type)
        with builder.arm() as body:
            builder.set(held, (), given)
            self.change("inner_", held, inner_spare, inner_at)
            result = builder.get("inner_whole", held)
        function = Function("changed", (given, inner_spare, *scalars), tuple(body), result, variables=(held,))
        returned = builder.call("returned_whole", function, (builder.get("passed_whole", box), spare, *arguments))
        assert returned is not None, "the function returns the whole"
        builder.set(box, (), returned)

    def change(self, prefix: str, box: Variable, spare: CooperativeVector, at: int | ScalarValue) -> None:
        """Change a variable of the case's type."""
        builder, (first, _), last = self.builder, self.parts[0], self.last
        match self.parameters.change:
            case "replace":
                builder.set(box, first, spare)
            case "exchange":
                former, latter = builder.get(f"{prefix}former", box, *first), builder.get(f"{prefix}latter", box, *last)
                builder.set(box, last, former)
                builder.set(box, first, latter)
            case "rotate":
                step = Value(f"{prefix}turning", U32)
                rounds = builder.arithmetic(f"{prefix}turns", "subtract", self._scalar(self.count), builder.literal(1))
                with builder.loop(step, rounds, []):
                    following = builder.arithmetic(f"{prefix}following", "add", step, builder.literal(1))
                    former, latter = builder.get(f"{prefix}former", box, step), builder.get(f"{prefix}latter", box, following)
                    builder.set(box, (step,), latter)
                    builder.set(box, (following,), former)
            case "components":
                from_end = self._from_end(prefix, at)
                former, latter = builder.get(f"{prefix}former", box, *first, at), builder.get(f"{prefix}latter", box, *last, from_end)
                builder.set(box, (*last, from_end), former)
                builder.set(box, (*first, at), latter)

    def _from_end(self, prefix: str, at: int | ScalarValue) -> int | ScalarValue:
        """Return the mirror image of the index ``at``: as far from the end as ``at`` is from the beginning."""
        if isinstance(at, int):
            return self.parameters.length - 1 - at
        last = self.builder.arithmetic(f"{prefix}last_place", "subtract", self._scalar(self.length), self.builder.literal(1))
        return self.builder.arithmetic(f"{prefix}from_end", "subtract", last, at)

    def store(self) -> None:
        """Store every vector of every variable; a scalar in the variable selects the invocation whose slots it goes to."""
        builder, read, taken = self.builder, self.parameters.read, dict.fromkeys(self.targets, 0)
        turn = self.turn("read_turn", read, 1)
        for box in self.boxes:
            if read == "loop":
                self._store_in_loop(box)
                continue
            owner: ScalarValue = self.me
            for number, (path, type_) in enumerate(self.parts):
                name = f"{box.name}_{number}"
                vector = builder.get(f"{name}_read", box, *self.path(f"{name}_", path, read, turn))
                assert is_cooperative_vector(vector), "the path leads to a vector"
                if number == 0 and self.scalars:
                    owner = builder.get_scalar(f"{box.name}_told", box, *self.path(f"{name}_told_", self.scalars[0], read, turn))
                slots = self.targets[type_]
                self.vectors.store(vector, slots.array, self._offset(f"{name}_to", slots, owner, taken[type_]))
                taken[type_] += 1

    def _store_in_loop(self, box: Variable) -> None:
        builder, (_, type_) = self.builder, self.parts[0]
        slots, index = self.targets[type_], Value(f"{box.name}_reading", U32)
        start = self.boxes.index(box) * len(self.parts)
        with builder.loop(index, self._scalar(self.count), []):
            vector = builder.get(f"{box.name}_read", box, index)
            assert is_cooperative_vector(vector), "elements are vectors"
            number = builder.arithmetic(f"{box.name}_number", "add", index, builder.literal(start))
            self.vectors.store(vector, slots.array, self._offset(f"{box.name}_to", slots, self.me, number))


def build(parameters: Parameters) -> Built:
    """Build a case: its program, and random bits with few repetitions."""
    writer = _VectorVariablesWriter(parameters)

    def draw(name: str, _: Parameters, __: Program, rng: np.random.Generator) -> Subcase:
        inputs = {}
        for slots in writer.sources.values():
            place = slots.place
            bits = normal_bits(place.type.component, place.slots * place.type.count, rng)
            inputs[slots.array.name] = place.pack(bits.reshape(place.slots, place.type.count))
        for array, choices in ((writer.turns, parameters.count), (writer.places, parameters.length)):
            if array is not None:
                order = rng.permutation(max(writer.lanes, choices))[: writer.lanes] % choices
                inputs[array.name] = np.ascontiguousarray(order).astype(np.uint32).view(np.uint8)
        return Subcase(name, inputs)

    return Built(writer.write(), draw)
