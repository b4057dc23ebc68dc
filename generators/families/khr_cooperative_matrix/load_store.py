"""load_store: a matrix goes from memory into registers and back, and every byte must end up where the layout puts it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.errors import GeneratorError, Rule
from generators.inputs.patterns import Pattern, counted_bytes, pattern_bits
from generators.layouts.matrix_arrays import ALIGNMENT, MatrixArray, Tiles, lines_of, matrix_source, matrix_target, rounded_up
from generators.layouts.placement import PointeeName, add_witness, fills, pointee_of
from generators.layouts.tensors import pattern_contents
from generators.numerics.formats import bits_of
from generators.operands.run_time import run_time_operands
from generators.parameters.declaration import parameter
from generators.parameters.memory_masks import MASKS, Masks
from generators.parameters.vocabulary import LAYOUTS, SCOPE, SOURCE_NAMES, STORAGE_CLASSES, USES, Scoped, parse_shape
from generators.program.builder import U32, ProgramBuilder
from generators.program.load_store import MemoryOperand
from generators.program.memory import Inner, Pointee
from generators.program.program import Built, Program, Subcase
from generators.program.values import MatrixType, ScalarValue
from generators.types import COMPONENT_TYPES, ComponentType, Layout, MemoryAccess, StorageClass, Use

_WORKGROUP_BYTES = 12 * 1024
"""Size in bytes of this family's largest workgroup array. Two such arrays and 8 KiB that a driver may reserve fit in the 32 KiB of
workgroup memory that every device has."""


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
    shape: tuple[int, int] = parameter("rows and columns of the matrix", default="16x16", decode=parse_shape, then=SCOPE)
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
    nesting: Literal["flat", "row", "member"] = parameter(
        "how the arrays are declared: as arrays of elements, of arrays, or of structs with an array", default="flat"
    )
    memory: Masks | None = parameter("memory operands of the accesses", default="none", labels=MASKS)


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
        """The storage of its array."""
        return self.parameters.store_storage if self.stores else self.parameters.load_storage

    @property
    def pointee(self) -> Pointee:
        """The type that its pointer points to."""
        return pointee_of(self.parameters.store_pointee if self.stores else self.parameters.load_pointee, self.parameters.component)

    @property
    def stride(self) -> Stride:
        """The kind of its stride."""
        return self.parameters.store_stride if self.stores else self.parameters.load_stride

    @property
    def lines(self) -> tuple[int, int]:
        """The number of lines of the matrix in memory, and the bytes of a line."""
        lines, line = lines_of(self.parameters.shape, self.layout)
        return lines, line * self.parameters.component.bytes

    @property
    def alignment(self) -> int:
        """Required alignment of pointer and stride in bytes: the smaller of 16 and the size of a line (KHR-ALIGN-01)."""
        return min(ALIGNMENT, self.lines[1])

    @property
    def granule(self) -> int:
        """The smallest number of pointees that keeps that alignment."""
        return math.lcm(self.alignment, self.pointee.bytes) // self.pointee.bytes

    @property
    def memory(self) -> MemoryOperand | None:
        """Its memory operand, which states the alignment if the mask asks for it."""
        masks = self.parameters.memory
        if masks is None:
            return None
        mask = masks.store if self.stores else masks.load
        return MemoryOperand(mask, self.alignment if mask & MemoryAccess.ALIGNED else None)


def _beyond_16_bits(pointee: Pointee) -> int:
    """Return 2^16, or for pointees of more than 4 bytes the number of pointees in 2^16 bytes, so arrays stay below a few MiB."""
    return (1 << 16) if pointee.bytes <= 4 else (1 << 16) // pointee.bytes


def _tiles(access: Access) -> Tiles | None:
    """Return the placement that the parameters ask for; None if it would be misaligned or too large."""
    parameters, pointee, granule = access.parameters, access.pointee, access.granule
    lines, line = access.lines
    tight = -(-line // pointee.bytes)
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
            stride = rounded_up(4096 // pointee.bytes + 1, granule)
        case "huge":
            # Truncated to 16 bits, the stride differs from the strides that other defects produce, such as the stride of adjacent lines.
            stride = rounded_up(_beyond_16_bits(pointee) + tight + 1, granule)
    match parameters.first:
        case "zero":
            first = 0
        case "minimal":
            first = granule
        case "far":
            far = 2048 // pointee.bytes if access.storage is StorageClass.WORKGROUP else _beyond_16_bits(pointee)
            first = rounded_up(far + 1, granule)
    # With a stride of 0 there is one line, and more elements follow it in the array: a device that assumes adjacent lines loads those.
    pitch = rounded_up((stride or tight) * (lines - 1) + tight, granule) + granule
    type_ = MatrixType(parameters.component, parameters.scope, *parameters.shape, parameters.use)
    if parameters.nesting != "flat":
        inner = _inner(access, first + pitch)
        # Each instance has its own inner array, and there is one more before the first and after the last.
        end = inner.pitch * (parameters.instances + 2)
        start = inner.pitch + inner.head + first
        found = Tiles(type_, access.layout, stride, inner.pitch, parameters.instances, 1, start, pointee, end)
    else:
        found = Tiles(type_, access.layout, stride, pitch, parameters.instances, first=first, of=pointee)
    return None if access.storage is StorageClass.WORKGROUP and found.bytes > _WORKGROUP_BYTES else found


def _inner(access: Access, length: int) -> Inner:
    """Return inner arrays of ``length`` elements; in structs, 16 bytes or more precede them."""
    size = access.pointee.bytes
    return Inner(length, math.lcm(ALIGNMENT, size) // size if access.parameters.nesting == "member" else 0)


def _array(builder: ProgramBuilder, access: Access, tiles: Tiles) -> MatrixArray:
    """Declare the source or the target."""
    name: Literal["source", "target"] = "target" if access.stores else "source"
    head = _inner(access, 0).head
    inner = None if access.parameters.nesting == "flat" else Inner(tiles.pitch - head, head)
    return (matrix_target if access.stores else matrix_source)(builder, name, tiles, access.storage, "element", inner)


def _fits(name: Literal["load", "store"]) -> Callable[[Parameters], bool]:
    """Return a predicate that tells whether the load or the store is aligned and its array fits in memory. It reads only the parameters of
    that access, so it has few combinations to decide."""
    return lambda parameters: _tiles(Access(parameters, name)) is not None


def _adjacent(parameters: Parameters) -> bool:
    """Tell whether source and target are aligned if both are in workgroup memory: its arrays may follow each other without a gap
    (F-KHR-22)."""
    accesses = Access(parameters, "load"), Access(parameters, "store")
    if any(access.storage is not StorageClass.WORKGROUP for access in accesses):
        return True
    placed = [_tiles(access) for access in accesses]
    return not any(tiles is not None and tiles.bytes % access.alignment for tiles in placed for access in accesses)


def _pointee_fits(parameters: Parameters) -> bool:
    """Tell whether a pointee called u32 differs from the component type: another label names the component itself."""
    if parameters.load_pointee == "u32" and parameters.component is U32:
        return False
    return not (parameters.store_pointee == "u32" and parameters.component is U32)


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "load_fits": _fits("load"),
    "store_fits": _fits("store"),
    "adjacent_arrays_aligned": _adjacent,
    "pointee_fits": _pointee_fits,
}


def _operands(array: MatrixArray, access: Access) -> tuple[ScalarValue, ScalarValue]:
    """Return the operands for the first element and the stride, from the source that the case asks for."""
    source, component, name, tiles = access.parameters.source, access.parameters.integer, access.name, array.tiles
    stride = array.builder.operand(f"{name}_stride", component, source, tiles.stride, tiles.stride + access.granule)
    first = array.builder.operand(f"{name}_first", U32, source, tiles.first, tiles.first + access.granule)
    return array.of_instance(first, name), stride


def _splat(component: ComponentType) -> int:
    """Return the bits of a value that changes if it is read with fewer or more bits."""
    return bits_of(component, -1.75) if component.is_float else counted_bytes(component)


def build(parameters: Parameters) -> Built:
    """Build a case: load, store, or both.

    The whole source array, padding included, holds the pattern, so a wrong address reads a wrong value. Without a load, the pattern
    supplies the stored value if that comes from outside the shader.
    """
    component = parameters.component
    loading, storing = Access(parameters, "load"), Access(parameters, "store")
    load, store = _tiles(loading), _tiles(storing)
    if load is None or store is None:
        raise GeneratorError(Rule.CONSTRAINT, "load_store: the constraints 'load_fits' and 'store_fits' must exclude this case")
    builder = ProgramBuilder(parameters.scope, subgroups=parameters.subgroups)
    if parameters.action == "store_only":
        matrix = builder.splat("matrix", load.type, builder.operand("value", component, parameters.source, _splat(component)))
    else:
        source = _array(builder, loading, load)
    target = _array(builder, storing, store)
    if parameters.action != "store_only":
        matrix = source.load("matrix", *_operands(source, loading), memory=loading.memory)
    if parameters.action == "load_only":
        add_witness(builder)
    else:
        target.store(matrix, *_operands(target, storing), memory=storing.memory)
        target.finish(builder)
    places = {"load_first": load.first, "load_stride": load.stride, "store_first": store.first, "store_stride": store.stride}

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        inputs = fills(program, rng)
        if parameters.action != "store_only":
            inputs["source"] = pattern_contents(program.array("source"), component, parameters.pattern, rng)
        # Without a load, the pattern supplies the value.
        values = places | {"value": int(pattern_bits(parameters.pattern, component, 8, rng)[-1])}
        return Subcase(name, inputs, run_time_operands(program, values))

    return Built(builder.build(), draw)
