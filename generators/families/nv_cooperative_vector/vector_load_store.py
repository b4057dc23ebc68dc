"""vector_load_store: each invocation moves its own vector, and every byte must end up where the offset puts it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.inputs.patterns import Pattern, pattern_bits
from generators.layouts.inner_arrays import POINTS_TO, InnerArrays, PointsTo
from generators.layouts.placement import PointeeName, fills, pointee_of, stage_in, stage_out
from generators.layouts.vector_arrays import VectorArray
from generators.parameters.declaration import parameter
from generators.parameters.matrices import INTEGERS
from generators.parameters.memory_masks import MASKS, Masks
from generators.parameters.vectors import FIRST_VECTORS, INVOCATIONS, LENGTH, Vectors
from generators.parameters.vocabulary import SOURCE_NAMES, STORAGE_CLASSES
from generators.program.control_flow import Carried, Condition, Exit
from generators.program.load_store import MemoryOperand
from generators.program.memory import Array, Pointee, Role
from generators.program.program import Built, Program, Subcase
from generators.program.scalars import ScalarConvert
from generators.program.values import CooperativeVectorType, Scalar, ScalarValue, Value
from generators.program.vector_builder import VectorBuilder
from generators.types import COMPONENT_TYPES, ComponentType, MemoryAccess, StorageClass

_U32 = COMPONENT_TYPES["u32"]

_GUARDS: Mapping[str, int] = {"tight": 0, "one": 16, "far": 240}
"""The minimum number of bytes between two vectors."""

_HEAD = 48
"""Bytes of the member before an inner array."""


def _stages(parameters: Parameters) -> bool:
    """Return whether workgroup memory is used."""
    return StorageClass.WORKGROUP in (parameters.load_storage, parameters.store_storage)


@dataclass(frozen=True, kw_only=True)
class Parameters(Vectors):
    """The parameters of a case."""

    component: ComponentType = parameter("component type of the vectors", labels=COMPONENT_TYPES, then=LENGTH)
    load_storage: StorageClass = parameter("where the source is", default="storage_buffer", labels=STORAGE_CLASSES)
    store_storage: StorageClass = parameter("where the target is", default="storage_buffer", labels=STORAGE_CLASSES)
    load_pointee: PointeeName = parameter("the elements of the source array", default="component")
    store_pointee: PointeeName = parameter("the elements of the target array", default="component")
    array_stride: Literal["own", "wide"] = parameter(
        "the ArrayStride of both arrays: the size of an element, or four times as much",
        default="own",
        applies=lambda parameters: not _stages(parameters),
    )
    gap: int = parameter("bytes between vectors", default="one", labels=_GUARDS)
    first: int = parameter("where the first vector begins", default="minimal", labels=FIRST_VECTORS)
    source: SOURCE_NAMES = parameter("where the offset of the first vector comes from", default="literal")
    integer: ComponentType = parameter("the integer type of offsets", default="u32", labels=INTEGERS, then=INVOCATIONS)
    control: Literal["straight", "half", "branches", "loop"] = parameter(
        "which invocations move vectors: all, or the odd ones; odd and even ones in two branches; or each in a loop of its own length",
        default="straight",
    )
    order: Literal["forward", "backward", "scattered", "shared"] = parameter(
        "which vector an invocation loads: its own, the vector of its mirror image, any vector, or the same one in all invocations",
        default="forward",
        applies=lambda parameters: parameters.control in ("straight", "half"),
    )
    memory: Masks | None = parameter("memory operands of the accesses", default="none", labels=MASKS)
    points_to: PointsTo = parameter(POINTS_TO, default="block")
    reload: Literal["none", "same", "shifted"] = parameter(
        "whether an invocation loads from the target before and after its store: nothing, the place of its vector, or 16 bytes after it",
        default="none",
        applies=lambda parameters: parameters.control in ("straight", "half") and not _stages(parameters),
    )


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Pattern = parameter("the bits of the source")


def _fits(parameters: Parameters) -> bool:
    """Return whether the vectors of a workgroup fit into its memory, and a buffer into 4 MiB."""
    pitch = -(-(parameters.length * parameters.component.bytes + parameters.gap) // 16) * 16
    size = parameters.first + pitch * parameters.invocations * parameters.workgroups
    return size <= (12 * 1024 if _stages(parameters) else 1 << 22)


def _one_name(parameters: Parameters) -> bool:
    """Return whether the pointee has only this label: a u32 array of u32 vectors has the component as its pointee."""
    same = parameters.component is _U32
    return not same or not {parameters.load_pointee, parameters.store_pointee} & {"u32", "uvec4"}


def _points_fit(parameters: Parameters) -> bool:
    """Return whether inner arrays exist: in buffers whose arrays have the strides of their elements."""
    own = parameters.points_to == "own"
    plain = not _stages(parameters) and parameters.array_stride == "own" and parameters.integer is _U32
    return parameters.points_to == "block" or (plain and not (own and parameters.first > 64))


def _reload_fits(parameters: Parameters) -> bool:
    """Return whether other invocations leave the loaded bytes alone (16 bytes after each vector belong to nobody), and the bytes have one
    value: a device may flush floats."""
    alone = parameters.gap >= 16 and parameters.array_stride == "own"
    return parameters.reload == "none" or (alone and not parameters.component.is_float)


PREDICATES: Mapping[str, Callable[[Parameters], bool]] = {
    "fits": _fits,
    "one_name": _one_name,
    "points_fit": _points_fit,
    "reload_fits": _reload_fits,
}


class _VectorLoadStoreWriter:
    """Writes the program of one case."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.builder = parameters.builder()
        self.vectors = VectorBuilder(self.builder)
        self.lanes = parameters.lanes
        slots = CooperativeVectorType(parameters.component, parameters.length)
        self.inner = InnerArrays(parameters.points_to, _HEAD)
        first, gap = parameters.first, parameters.gap
        if self.inner.points_to != "block":
            first += _HEAD
        if self.inner.is_own:
            gap += first
        self.slots = VectorArray(slots, self.lanes, first, gap)
        self.type = CooperativeVectorType(parameters.component, parameters.extent(self.builder))
        self.seen: list[Array] = []

    def _pointee(self, name: PointeeName) -> Pointee:
        return pointee_of(name, self.parameters.component)

    def _first(self) -> ScalarValue:
        parameters = self.parameters
        first = self.inner.relative(self.slots.first)
        return self.builder.operand("first", parameters.integer, parameters.source, first, first + 16)

    def _offset(self, name: str, first: ScalarValue, slot: ScalarValue) -> ScalarValue:
        builder, integer = self.builder, self.parameters.integer
        if self.inner.is_own:
            return first
        number = slot
        if integer is not _U32:
            number = builder.result_of(ScalarConvert(Value(f"{name}_slot", integer), slot))
        scaled = builder.arithmetic(f"{name}_scaled", "multiply", number, builder.literal(self.slots.pitch, integer))
        return builder.arithmetic(name, "add", scaled, first)

    def _slot(self, me: Scalar) -> ScalarValue:
        """Return the slot of the vector that an invocation loads."""
        builder, last = self.builder, self.lanes - 1
        match self.parameters.order:
            case "backward":
                return builder.arithmetic("backward", "subtract", builder.literal(last), me)
            case "scattered":
                # This is not a permutation for every number of lanes: some vectors are loaded twice.
                spread = builder.arithmetic("spread", "multiply", me, builder.literal(7))
                moved = builder.arithmetic("moved", "add", spread, builder.literal(3))
                return builder.arithmetic("scattered", "modulo", moved, builder.literal(self.lanes))
            case "shared":
                return builder.literal(last)
            case _:
                return me

    def _array(self, name: str, pointee: Pointee, role: Role, storage: StorageClass) -> Array:
        stride = 4 * pointee.bytes if self.parameters.array_stride == "wide" else None
        inner = self.inner.declared(self.slots.bytes, self.slots.pitch, pointee.bytes)
        return self.builder.array(name, pointee, self.slots.bytes // pointee.bytes, storage, role, stride, inner=inner)

    def write(self) -> Program:
        """Write the program."""
        parameters, builder = self.parameters, self.builder
        first = self._first()
        of_source, of_target = self._pointee(parameters.load_pointee), self._pointee(parameters.store_pointee)
        if _stages(parameters):
            source = stage_in(builder, "source", of_source, self.slots.bytes // of_source.bytes, parameters.load_storage)
            staged = stage_out(builder, "target", of_target, self.slots.bytes // of_target.bytes, parameters.store_storage)
            target = staged.array
        else:
            source = self._array("source", of_source, "input", parameters.load_storage)
            role: Role = "output" if parameters.reload == "none" else "inout"
            target = self._array("target", of_target, role, parameters.store_storage)
            staged = None
        if parameters.reload != "none":
            self.seen = [self.slots.declare(builder, name, "output") for name in ("seen_before", "seen_after")]
        me = Value("me", _U32)
        with builder.per_invocation(me, parameters.invocations):
            self._move(me, first, source, target)
        if staged is not None:
            staged.finish(builder)
        return builder.build()

    def _move(self, me: Scalar, first: ScalarValue, source: Array, target: Array) -> None:
        builder, control = self.builder, self.parameters.control
        odd = builder.arithmetic("odd", "and", me, builder.literal(1))
        if control == "half":
            with builder.arm() as moves:
                self._copy("", me, first, source, target)
            builder.branch(Condition(odd, "equal", builder.literal(1)), moves)
        elif control == "branches":
            with builder.arm() as then:
                self._copy("odd_", me, first, source, target)
            with builder.arm() as otherwise:
                self._copy("even_", me, first, source, target)
            builder.branch(Condition(odd, "equal", builder.literal(1)), then, otherwise)
        elif control == "loop":
            self._loop(me, first, source, target)
        else:
            self._copy("", me, first, source, target)

    def _memory(self, stores: bool) -> MemoryOperand | None:
        masks = self.parameters.memory
        if masks is None:
            return None
        mask = masks.store if stores else masks.load
        return MemoryOperand(mask, 16 if MemoryAccess.ALIGNED in mask else None)

    def _copy(self, prefix: str, me: Scalar, first: ScalarValue, source: Array, target: Array) -> None:
        vectors = self.vectors
        slot = me if prefix else self._slot(me)
        loads, stores = self._memory(stores=False), self._memory(stores=True)
        begin, to = self._offset(f"{prefix}from", first, slot), self._offset(f"{prefix}to", first, me)
        from_inner, to_inner = (self.inner.chosen(self.builder, number) for number in (slot, me))
        vector = vectors.load(f"{prefix}vector", self.type, source, begin, loads, from_inner)
        if self.parameters.reload == "none":
            vectors.store(vector, target, to, stores, to_inner)
            return
        at = to
        if self.parameters.reload == "shifted":
            at = self.builder.arithmetic(f"{prefix}shifted", "add", to, self.builder.literal(16, self.parameters.integer))
        before = vectors.load(f"{prefix}before", self.type, target, at, loads, to_inner)
        vectors.store(vector, target, to, stores, to_inner)
        after = vectors.load(f"{prefix}after", self.type, target, at, loads, to_inner)
        shown = self.slots.offset(self.builder, f"{prefix}shown", me)
        for found, array in zip((before, after), self.seen, strict=True):
            vectors.store(found, array, shown)

    def _loop(self, me: Scalar, first: ScalarValue, source: Array, target: Array) -> None:
        """Load all vectors up to the invocation's own, and store the last one."""
        builder, vectors = self.builder, self.vectors
        zero, loads, inner = builder.literal(0), self._memory(stores=False), self.inner
        begin = vectors.load("begin", self.type, source, self._offset("begin_from", first, zero), loads, inner.chosen(builder, zero))
        current, index = Value("current", self.type), Value("index", _U32)
        following = Value("following", self.type)
        enough = builder.arithmetic("enough", "add", me, builder.literal(1))
        with builder.loop(index, builder.literal(self.lanes), [Carried(begin, current, following)]):
            builder.add(Exit("break", Condition(index, "equal", enough)))
            vectors.load("following", self.type, source, self._offset("loop_from", first, index), loads, inner.chosen(builder, index))
        vectors.store(current, target, self._offset("to", first, me), self._memory(stores=True), inner.chosen(builder, me))


def build(parameters: Parameters) -> Built:
    """Build a case: its program, and a source filled with a pattern, including the bytes between vectors."""
    writer = _VectorLoadStoreWriter(parameters)
    built = writer.write()
    component = parameters.component

    def draw(name: str, chosen: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        count = writer.slots.bytes // component.bytes
        bits = pattern_bits(chosen.pattern, component, count, rng)
        inputs = {"source": np.ascontiguousarray(bits).view(np.uint8)}
        if parameters.reload != "none":
            inputs["target"] = np.ascontiguousarray(pattern_bits("random", component, count, rng)).view(np.uint8)
        return Subcase(name, inputs | fills(program, rng))

    return Built(built, draw)
