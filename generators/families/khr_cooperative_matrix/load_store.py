"""load_store: a matrix goes from memory into registers and back, and every byte must land where the layout says.

Axis values are those of cases/khr_cooperative_matrix/load_store.yaml.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from generators.errors import GeneratorError
from generators.inputs.patterns import PATTERNS, pattern_bits
from generators.layouts.placement import POINTEES, fills, pointee_of, stage_in, stage_out
from generators.parameters.vocabulary import (
    LAYOUTS,
    SCOPES,
    SHAPE,
    SOURCES,
    STORAGE,
    SUBGROUPS,
    USES,
    TakenValues,
    Values,
    instances,
    shape_of,
)
from generators.program.builder import U32, ProgramBuilder
from generators.program.load_store import MemoryOperand
from generators.program.memory import Pointee
from generators.program.program import Program, Subcase
from generators.program.values import MatrixType, ScalarValue
from generators.types import COMPONENT_TYPES, ComponentType, Layout, MemoryAccess, StorageClass

_WORKGROUP_BYTES = 12 * 1024
"""The most that one workgroup array of this family takes: two of them, and 8 KiB that a driver may reserve, fit in the 32 KiB that
every device has for workgroup memory."""


@dataclass(frozen=True)
class Side:
    """Where one matrix lies in its array, all counted in the array's pointee.

    Attributes:
        pointee: of the array.
        alignment: bytes that pointer and stride must be aligned to: the least of 16 and a row's (column's) bytes (KHR-ALIGN-01).
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


def _side(values: Values, direction: str) -> Side | None:
    """The placement that the axes ask for; None where it would be misaligned or too large."""
    component = COMPONENT_TYPES[values["component"]]
    rows, columns = shape_of(values)
    layout = LAYOUTS[values[direction]]
    runs, run = (rows, columns) if layout is Layout.ROW_MAJOR else (columns, rows)
    pointee = pointee_of(values[f"{direction}_pointee"], component)
    run_bytes = run * component.bytes
    alignment = min(16, run_bytes)
    granule = math.lcm(alignment, pointee.bytes) // pointee.bytes
    tight = _round_up(run_bytes, pointee.bytes) // pointee.bytes
    if tight % granule:
        return None
    match values[f"{direction}_stride"]:
        case "zero":
            stride = 0
        case "tight":
            stride = tight
        case "padded":
            stride = tight + granule * (2 if direction == "store" else 1)
        case "odd":
            if granule % 2 == 0:
                return None
            stride = tight + granule * (2 if direction == "store" else 1)
            stride += granule if stride % 2 == 0 else 0
        case "large":
            stride = _round_up(4096 // pointee.bytes + 1, granule)
        case _:
            # Truncated to 16 bits it is no stride that another defect gives: not that of lines close together.
            stride = _round_up((1 << 16) // pointee.bytes + tight + 1, granule)
    match values["first"]:
        case "zero":
            first = 0
        case "minimal":
            first = granule
        case _:
            far = 2048 if values[f"{direction}_storage"] == "workgroup" else 1 << 16
            first = _round_up(far // pointee.bytes + 1, granule)
    used = stride * (runs - 1) + tight
    pitch = _round_up(used, granule) + granule
    length = first + pitch * instances(values)
    if values[f"{direction}_storage"] == "workgroup" and length * pointee.bytes > _WORKGROUP_BYTES:
        return None
    return Side(pointee, alignment, granule, first, stride, pitch, length)


def _aligned(values: Values) -> bool:
    return _side(values, "load") is not None and _side(values, "store") is not None


def _pointee_fits(values: Values) -> bool:
    """A u32 or uvec4 pointee adds nothing where it is the component itself; a vector needs whole vectors in every row."""
    return all(not (values[f"{d}_pointee"] == "u32" and values["component"] == "u32") for d in ("load", "store"))


PREDICATES: Mapping[str, Callable[[Values], bool]] = {"aligned": _aligned, "pointee_fits": _pointee_fits}

_UNORDERED = MemoryAccess.VOLATILE | MemoryAccess.ALIGNED | MemoryAccess.NONTEMPORAL
_VISIBLE = MemoryAccess.NON_PRIVATE_POINTER | MemoryAccess.MAKE_POINTER_VISIBLE
_AVAILABLE = MemoryAccess.NON_PRIVATE_POINTER | MemoryAccess.MAKE_POINTER_AVAILABLE

_MASKS: Mapping[str, Mapping[str, MemoryAccess]] = {
    "explicit_none": {"load": MemoryAccess.NONE, "store": MemoryAccess.NONE},
    "volatile": {"load": MemoryAccess.VOLATILE, "store": MemoryAccess.VOLATILE},
    "aligned": {"load": MemoryAccess.ALIGNED, "store": MemoryAccess.ALIGNED},
    "nontemporal": {"load": MemoryAccess.NONTEMPORAL, "store": MemoryAccess.NONTEMPORAL},
    "non_private": {"load": MemoryAccess.NON_PRIVATE_POINTER, "store": MemoryAccess.NON_PRIVATE_POINTER},
    "coherent": {"load": _VISIBLE, "store": _AVAILABLE},
    "all": {"load": _UNORDERED | _VISIBLE, "store": _UNORDERED | _AVAILABLE},
}

_STRIDES = ("tight", "padded", "odd", "large", "huge")

AXES: TakenValues = {
    "component": COMPONENT_TYPES.keys(),
    "use": USES.keys(),
    "shape": SHAPE,
    "scope": SCOPES.keys(),
    "subgroups": SUBGROUPS,
    "action": ("copy", "load_only", "store_only"),
    "load": LAYOUTS.keys(),
    "store": LAYOUTS.keys(),
    "load_storage": STORAGE,
    "store_storage": STORAGE,
    "load_pointee": POINTEES,
    "store_pointee": POINTEES,
    "load_stride": (*_STRIDES, "zero"),
    "store_stride": _STRIDES,
    "source": SOURCES,
    "integer": ("u32", "s32", "u64", "s64"),
    "first": ("zero", "minimal", "far"),
    "memory": ("none", *_MASKS),
    "pattern": PATTERNS,
}


def _memory(values: Values, direction: str, alignment: int) -> MemoryOperand | None:
    if values["memory"] == "none":
        return None
    mask = _MASKS[values["memory"]][direction]
    return MemoryOperand(mask, alignment if mask & MemoryAccess.ALIGNED else None)


def _place(builder: ProgramBuilder, values: Values, direction: str, side: Side) -> tuple[ScalarValue, ScalarValue]:
    """The operands for first element and stride, from the source that the case asks for."""
    source = values["source"]
    component = COMPONENT_TYPES[values["integer"]]
    stride = builder.operand(f"{direction}_stride", component, source, side.stride, side.stride + side.granule)
    first: ScalarValue = builder.operand(f"{direction}_first", U32, source, side.first, side.first + side.granule)
    if builder.instances > 1:
        first = builder.offset(f"{direction}_element", first, builder.instance_index(), side.pitch)
    return first, stride


def _splat(component: ComponentType) -> int:
    """Bits of a value that a narrower or a wider reading of it would change."""
    if component.is_float:
        return int(np.array(-1.75).astype(component.dtype).view(component.bits_dtype))
    return int.from_bytes(bytes(range(0x93, 0x93 + component.bytes)), "big")


def program(values: Values) -> Program:
    """The program of a case: load, store, or both."""
    component = COMPONENT_TYPES[values["component"]]
    rows, columns = shape_of(values)
    type_ = MatrixType(component, SCOPES[values["scope"]], rows, columns, USES[values["use"]])
    load, store = _side(values, "load"), _side(values, "store")
    if load is None or store is None:
        raise GeneratorError("load_store: the constraint 'aligned' must exclude this case")
    builder = ProgramBuilder(type_.scope_value, subgroups=int(values["subgroups"]))
    action = values["action"]
    if action == "store_only":
        matrix = builder.splat("matrix", type_, builder.operand("value", component, values["source"], _splat(component)))
    else:
        source = stage_in(builder, "source", load.pointee, load.length, StorageClass(values["load_storage"]))
    target = stage_out(builder, "target", store.pointee, store.length, StorageClass(values["store_storage"]))
    if action != "store_only":
        first, stride = _place(builder, values, "load", load)
        matrix = builder.load("matrix", type_, source, first, stride, LAYOUTS[values["load"]], _memory(values, "load", load.alignment))
    if action != "load_only":
        first, stride = _place(builder, values, "store", store)
        builder.store(matrix, target.array, first, stride, LAYOUTS[values["store"]], _memory(values, "store", store.alignment))
        target.finish(builder)
    return builder.build()


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """The whole source array, padding included, holds the pattern, so that a wrong address reads a wrong value. Without a load, the
    pattern gives the stored value where that comes from outside of the shader."""
    component = COMPONENT_TYPES[values["component"]]
    inputs = fills(program, rng)
    for array in program.arrays:
        if array.name == "source":
            count = array.bytes // component.bytes
            data = np.zeros(array.bytes, np.uint8)
            data[: count * component.bytes] = pattern_bits(values["pattern"], component, count, rng).view(np.uint8)
            inputs["source"] = data
    outside = {operand.name for operand in program.operands if operand.source in ("push_constant", "buffer")}
    places: dict[str, int] = {}
    for direction in ("load", "store"):
        side = _side(values, direction)
        assert side is not None
        places |= {f"{direction}_first": side.first, f"{direction}_stride": side.stride}
    if "value" in outside:
        places["value"] = int(pattern_bits(values["pattern"], component, 8, rng)[-1])
    return Subcase(name, inputs, {key: value for key, value in places.items() if key in outside})
