"""load_store: a matrix goes from memory into registers and back, and every byte must land where the layout says."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.errors import GeneratorError
from generators.inputs.patterns import Pattern, pattern_bits
from generators.layouts.placement import PointeeName, fills, pointee_of, stage_in, stage_out
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import LAYOUTS, SOURCE_NAMES, STORAGE_CLASSES, USES, Scoped, parse_shape
from generators.program.builder import U32, ProgramBuilder
from generators.program.built import Built
from generators.program.load_store import MemoryOperand
from generators.program.memory import Pointee
from generators.program.program import Program, Subcase
from generators.program.values import MatrixType, ScalarValue
from generators.types import COMPONENT_TYPES, ComponentType, Layout, MemoryAccess, StorageClass, Use

_WORKGROUP_BYTES = 12 * 1024
"""Bytes of the largest workgroup array of this family: two of them, and 8 KiB that a driver may reserve, fit in the 32 KiB of workgroup
memory that every device has."""


@dataclass(frozen=True)
class Masks:
    """The memory operands of load and store."""

    load: MemoryAccess
    store: MemoryAccess


_UNORDERED = MemoryAccess.VOLATILE | MemoryAccess.ALIGNED | MemoryAccess.NONTEMPORAL
_VISIBLE = MemoryAccess.NON_PRIVATE_POINTER | MemoryAccess.MAKE_POINTER_VISIBLE
_AVAILABLE = MemoryAccess.NON_PRIVATE_POINTER | MemoryAccess.MAKE_POINTER_AVAILABLE

_MASKS: Mapping[str, Masks | None] = {
    "none": None,
    "explicit_none": Masks(MemoryAccess.NONE, MemoryAccess.NONE),
    "volatile": Masks(MemoryAccess.VOLATILE, MemoryAccess.VOLATILE),
    "aligned": Masks(MemoryAccess.ALIGNED, MemoryAccess.ALIGNED),
    "nontemporal": Masks(MemoryAccess.NONTEMPORAL, MemoryAccess.NONTEMPORAL),
    "non_private": Masks(MemoryAccess.NON_PRIVATE_POINTER, MemoryAccess.NON_PRIVATE_POINTER),
    "coherent": Masks(_VISIBLE, _AVAILABLE),
    "all": Masks(_UNORDERED | _VISIBLE, _UNORDERED | _AVAILABLE),
}

_INTEGERS = {name: COMPONENT_TYPES[name] for name in ("u32", "s32", "u64", "s64")}

StoreStride = Literal["padded", "tight", "odd", "large", "huge"]
Stride = Literal[StoreStride, "zero"]


def _loads(parameters: Parameters) -> bool:
    return parameters.action != "store_only"


def _stores(parameters: Parameters) -> bool:
    return parameters.action != "load_only"


@dataclass(frozen=True, kw_only=True)
class Parameters(Scoped):
    """The parameters of a case."""

    component: ComponentType = parameter("component type of the matrix", labels=COMPONENT_TYPES)
    use: Use = parameter("use of the matrix", default="a", labels=USES)
    shape: tuple[int, int] = parameter("rows and columns of the matrix", default="16x16", decode=parse_shape)
    action: Literal["copy", "load_only", "store_only"] = parameter("what the shader does with the matrix", default="copy")
    load: Layout = parameter("layout of the load", default="row", labels=LAYOUTS, applies=_loads)
    store: Layout = parameter("layout of the store", default="row", labels=LAYOUTS, applies=_stores)
    load_storage: StorageClass = parameter("where the source is", default="storage_buffer", labels=STORAGE_CLASSES, applies=_loads)
    store_storage: StorageClass = parameter("where the target is", default="storage_buffer", labels=STORAGE_CLASSES, applies=_stores)
    load_pointee: PointeeName = parameter("what the pointer of the load points to", default="component", applies=_loads)
    store_pointee: PointeeName = parameter("what the pointer of the store points to", default="component", applies=_stores)
    load_stride: Stride = parameter("distance between rows (columns) of the source", default="padded", applies=_loads)
    store_stride: StoreStride = parameter("distance between rows (columns) of the target", default="padded", applies=_stores)
    source: SOURCE_NAMES = parameter("where strides and first elements come from", default="literal")
    integer: ComponentType = parameter("integer type of the strides", default="u32", labels=_INTEGERS)
    first: Literal["zero", "minimal", "far"] = parameter("where in its array the first matrix begins", default="zero")
    memory: Masks | None = parameter("memory operands of the accesses", default="none", labels=_MASKS)


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Pattern = parameter("the bits of the source")


@dataclass(frozen=True)
class Access:
    """The load or the store of a case. Reads a parameter only when asked for it, as predicates must."""

    parameters: Parameters
    name: Literal["load", "store"]

    @property
    def stores(self) -> bool:
        """Tell whether it is the store."""
        return self.name == "store"

    @property
    def layout(self) -> Layout:
        """Its layout."""
        return self.parameters.store if self.stores else self.parameters.load

    @property
    def storage(self) -> StorageClass:
        """Where its array is."""
        return self.parameters.store_storage if self.stores else self.parameters.load_storage

    @property
    def pointee(self) -> Pointee:
        """What its pointer points to."""
        return pointee_of(self.parameters.store_pointee if self.stores else self.parameters.load_pointee, self.parameters.component)

    @property
    def stride(self) -> Stride:
        """The kind of its stride."""
        return self.parameters.store_stride if self.stores else self.parameters.load_stride

    def memory(self, alignment: int) -> MemoryOperand | None:
        """Return its memory operand, which states ``alignment`` (bytes) where the mask asks for it."""
        masks = self.parameters.memory
        if masks is None:
            return None
        mask = masks.store if self.stores else masks.load
        return MemoryOperand(mask, alignment if mask & MemoryAccess.ALIGNED else None)


@dataclass(frozen=True)
class Side:
    """Where the matrices of one access are in its array, all counted in the array's pointee.

    Attributes:
        pointee: of the array.
        alignment: required alignment of pointer and stride, in bytes: the least of 16 and a row's (column's) bytes (KHR-ALIGN-01).
        granule: the least number of elements that keeps that alignment.
        first: element of the first scope instance's matrix.
        stride: between rows (columns).
        pitch: between the matrices of two scope instances.
        length: of the array.
    """

    pointee: Pointee
    alignment: int
    granule: int
    first: int
    stride: int
    pitch: int
    length: int


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def _side(access: Access) -> Side | None:
    """Return the placement that the parameters ask for; None where it would be misaligned or too large."""
    component = access.parameters.component
    rows, columns = access.parameters.shape
    runs, run = (rows, columns) if access.layout is Layout.ROW_MAJOR else (columns, rows)
    pointee = access.pointee
    run_bytes = run * component.bytes
    alignment = min(16, run_bytes)
    granule = math.lcm(alignment, pointee.bytes) // pointee.bytes
    tight = _round_up(run_bytes, pointee.bytes) // pointee.bytes
    if tight % granule:
        return None
    match access.stride:
        case "zero":
            stride = 0
        case "tight":
            stride = tight
        case "padded":
            stride = tight + granule * (2 if access.stores else 1)
        case "odd":
            if granule % 2 == 0:
                return None
            stride = tight + granule * (2 if access.stores else 1)
            stride += granule if stride % 2 == 0 else 0
        case "large":
            stride = _round_up(4096 // pointee.bytes + 1, granule)
        case "huge":
            # Truncated to 16 bits it differs from the strides that other defects give, such as the stride of adjacent lines.
            stride = _round_up((1 << 16) // pointee.bytes + tight + 1, granule)
    match access.parameters.first:
        case "zero":
            first = 0
        case "minimal":
            first = granule
        case "far":
            far = 2048 if access.storage is StorageClass.WORKGROUP else 1 << 16
            first = _round_up(far // pointee.bytes + 1, granule)
    used = stride * (runs - 1) + tight
    pitch = _round_up(used, granule) + granule
    length = first + pitch * access.parameters.instances
    if access.storage is StorageClass.WORKGROUP and length * pointee.bytes > _WORKGROUP_BYTES:
        return None
    return Side(pointee, alignment, granule, first, stride, pitch, length)


def _aligned(parameters: Parameters) -> bool:
    return _side(Access(parameters, "load")) is not None and _side(Access(parameters, "store")) is not None


def _pointee_fits(parameters: Parameters) -> bool:
    """Tell whether no u32 pointee is the component itself, which is a case of its own."""
    if parameters.load_pointee == "u32" and parameters.component is U32:
        return False
    return not (parameters.store_pointee == "u32" and parameters.component is U32)


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {"aligned": _aligned, "pointee_fits": _pointee_fits}


def _place(builder: ProgramBuilder, access: Access, side: Side) -> tuple[ScalarValue, ScalarValue]:
    """Return the operands for first element and stride, from the source that the case asks for."""
    source, component, name = access.parameters.source, access.parameters.integer, access.name
    stride = builder.operand(f"{name}_stride", component, source, side.stride, side.stride + side.granule)
    first: ScalarValue = builder.operand(f"{name}_first", U32, source, side.first, side.first + side.granule)
    if builder.instances > 1:
        first = builder.offset(f"{name}_element", first, builder.instance_index(), side.pitch)
    return first, stride


def _splat(component: ComponentType) -> int:
    """Return the bits of a value that a narrower or a wider reading of it would change."""
    if component.is_float:
        return int(np.array(-1.75).astype(component.dtype).view(component.bits_dtype))
    return int.from_bytes(bytes(range(0x93, 0x93 + component.bytes)), "big")


def build(parameters: Parameters) -> Built:
    """Build a case: load, store, or both.

    The whole source array, padding included, holds the pattern, so a wrong address reads a wrong value. Without a load, the pattern gives
    the stored value where that comes from outside of the shader.
    """
    component = parameters.component
    type_ = MatrixType(component, parameters.scope, *parameters.shape, parameters.use)
    loading, storing = Access(parameters, "load"), Access(parameters, "store")
    load, store = _side(loading), _side(storing)
    if load is None or store is None:
        raise GeneratorError("load_store: the constraint 'aligned' must exclude this case")
    builder = ProgramBuilder(type_.scope_value, subgroups=parameters.subgroups)
    if parameters.action == "store_only":
        matrix = builder.splat("matrix", type_, builder.operand("value", component, parameters.source, _splat(component)))
    else:
        source = stage_in(builder, "source", load.pointee, load.length, loading.storage)
    target = stage_out(builder, "target", store.pointee, store.length, storing.storage)
    if parameters.action != "store_only":
        first, stride = _place(builder, loading, load)
        matrix = builder.load("matrix", type_, source, first, stride, loading.layout, loading.memory(load.alignment))
    if parameters.action != "load_only":
        first, stride = _place(builder, storing, store)
        builder.store(matrix, target.array, first, stride, storing.layout, storing.memory(store.alignment))
        target.finish(builder)
    places = {"load_first": load.first, "load_stride": load.stride, "store_first": store.first, "store_stride": store.stride}

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        inputs = fills(program, rng)
        for array in program.arrays:
            if array.name == "source":
                count = array.bytes // component.bytes
                data = np.zeros(array.bytes, np.uint8)
                data[: count * component.bytes] = pattern_bits(parameters.pattern, component, count, rng).view(np.uint8)
                inputs["source"] = data
        outside = {operand.name for operand in program.operands if operand.source in ("push_constant", "buffer")}
        operands = {key: value for key, value in places.items() if key in outside}
        if "value" in outside:
            operands["value"] = int(pattern_bits(parameters.pattern, component, 8, rng)[-1])
        return Subcase(name, inputs, operands)

    return Built(builder.build(), draw)
