"""tensor_block: loads of tensors that consist of blocks, with and without decode functions.

Axis values are those of cases/nv_cooperative_matrix2/tensor_block.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.errors import GeneratorError
from generators.families.nv_cooperative_matrix2.tensor_block.tensors import (
    LAST,
    PLACES,
    SETTINGS,
    BlockedTensor,
    block_of,
    blocked_tensor,
    slice_of,
)
from generators.layouts.block_decoders import CALLS, DECODERS, Decoder, decode_function
from generators.layouts.block_formats import FORMATS, TABLE, set_scales
from generators.layouts.tensor_tiles import Tensor, contents, matrix_in, matrix_out, tensor_in
from generators.layouts.tensor_writer import CLAMP_VALUE, LayoutStep, TensorWriter
from generators.parameters.vocabulary import CLAMP_MODES, SCOPES, SHAPE, SOURCES, SUBGROUPS, USES, TakenValues, Values, instances, shape_of
from generators.program.builder import ProgramBuilder
from generators.program.memory import Array, Pointee
from generators.program.program import Program, Subcase
from generators.program.tensor import TensorLayoutType, TensorView, TensorViewType
from generators.program.tensor_access import TensorLoad
from generators.program.values import Matrix, MatrixType
from generators.property_rows import PropertyRow
from generators.types import COMPONENT_TYPES, ComponentType, StorageClass, Use

_POINTEES = {"u8": Pointee(COMPONENT_TYPES["u8"]), "u32": Pointee(COMPONENT_TYPES["u32"]), "uvec4": Pointee(COMPONENT_TYPES["u32"], 4)}
_MOST_BYTES = 1 << 18

AXES: TakenValues = {
    "component": COMPONENT_TYPES.keys(),
    "use": USES.keys(),
    "shape": SHAPE,
    "scope": SCOPES.keys(),
    "subgroups": SUBGROUPS,
    "rank": (1, 2, 3, 4, 5),
    "block": re.compile(r"[1-9]\d*(x[1-9]\d*){0,4}"),
    "decode": DECODERS,
    "last": LAST,
    "place": PLACES,
    "mode": CLAMP_MODES.keys(),
    "setting": SETTINGS,
    "view": ("none", "permuted", "clip", "permuted_clip"),
    "loads": ("one", "several"),
    "then": ("store", "muladd"),
    "calls": CALLS,
    "control": ("none", "for", "against"),
    "coordinates": ("u32", "s32"),
    "source": SOURCES,
    "integer": ("u32", "s32"),
    "storage": ("storage_buffer", "physical_storage_buffer"),
    "pointee": _POINTEES.keys(),
    "pattern": ("index", "bits", "small"),
}


def _has_format(values: Values) -> bool:
    """A format has a number of elements, and results of some types."""
    block_format, block = FORMATS.get(values["decode"]), block_of(values)
    if block is None:
        return False
    if block_format is None:
        # What codes coordinates as a number needs a conversion from integers, which bfloat16 and 8-bit floats do not have.
        return values["decode"] != "coordinates" or COMPONENT_TYPES[values["component"]].has_arithmetic
    return bool(np.prod(block) == block_format.elements) and values["component"] in block_format.components


def _fits(values: Values) -> bool:
    tensor = blocked_tensor(values)
    return tensor is not None and tensor.blocks * _unit(values) * instances(values) <= _MOST_BYTES


def _multiplies(values: Values) -> bool:
    """Integers of 8 bits and floats of 16 bits are multiplied, as A or B."""
    return values["then"] == "store" or (values["use"] != "acc" and values["component"] in ("f16", "bf16", "s8", "u8"))


def _rounds_strides(values: Values) -> bool:
    """Default strides count blocks of which the last of a line is not whole (TA-DIM-03); the first dimension has no part in them."""
    tensor = blocked_tensor(values)
    if tensor is None or values["setting"] not in ("before", "again"):
        return False
    return any(size % block for size, block in zip(tensor.sizes[1:], tensor.block[1:], strict=True))


PREDICATES: Mapping[str, Callable[[Values], bool]] = {
    "fits": _fits,
    "has_format": _has_format,
    "multiplies": _multiplies,
    "rounds_strides": _rounds_strides,
}


def _unit(values: Values) -> int:
    """Bytes from one block to the next."""
    component, block = COMPONENT_TYPES[values["component"]], block_of(values)
    assert block is not None, "the constraint 'has_format' excludes blocks of more dimensions than the tensor's"
    return component.bytes if values["decode"] == "none" else Decoder(values["decode"], component, block).pointee.bytes


def _blocked(values: Values) -> BlockedTensor:
    tensor = blocked_tensor(values)
    if tensor is None:
        raise GeneratorError("tensor_block: the constraint 'fits' must exclude this case")
    return tensor


def _type(values: Values) -> MatrixType:
    rows, columns = shape_of(values)
    return MatrixType(COMPONENT_TYPES[values["component"]], SCOPES[values["scope"]], rows, columns, USES[values["use"]])


def _view(writer: TensorWriter, values: Values) -> TensorView | None:
    if values["view"] == "none":
        return None
    rank = int(values["rank"])
    rows, columns = shape_of(values)
    order = tuple(range(rank))
    type_ = TensorViewType(order[::-1] if "permuted" in values["view"] else order)
    if "clip" not in values["view"]:
        return writer.view("view", type_)
    return writer.view("view", type_, ("clip", (1, rows - 3, 2, columns - 3)))


@dataclass(frozen=True)
class _Written:
    """A program in the making, who wrote its layout, and where the blocks are."""

    builder: ProgramBuilder
    writer: TensorWriter
    source: Tensor


def _written(values: Values) -> _Written:
    type_, tensor, kind = _type(values), _blocked(values), values["decode"]
    component = type_.component
    builder = ProgramBuilder(SCOPES[values["scope"]], subgroups=int(values["subgroups"]))
    writer = TensorWriter(builder, values["source"], values["integer"] == "s32")
    unit = COMPONENT_TYPES["u8"] if kind != "none" else component
    source = tensor_in(
        builder, "source", unit, tensor.blocks * _unit(values) // unit.bytes, StorageClass(values["storage"]), _POINTEES[values["pointee"]]
    )
    layout_type = TensorLayoutType(int(values["rank"]), CLAMP_MODES[values["mode"]])
    clamp: list[LayoutStep] = [("clamp_value", (CLAMP_VALUE,))] if values["mode"] == "constant" else []
    layout = writer.layout("layout", layout_type, *tensor.steps, *clamp, slice_of(tensor))
    view = _view(writer, values)
    first = source.begin(builder, writer.number("first", source.first, signed=False))
    clipped = "clip" in values["view"]
    before = matrix_in(builder, "before", type_) if clipped else builder.splat("before", type_, builder.literal(1, component))
    table = None
    if kind in FORMATS and FORMATS[kind].table:
        table = builder.array("table", Pointee(COMPONENT_TYPES["s8"]), len(TABLE), StorageClass.STORAGE_BUFFER, "input")

    def loaded(name: str, result: Literal["value", "code", "coordinates"] = "value") -> Matrix:
        matrix = Matrix(name, type_)
        decode = None
        if kind != "none":
            decoder = Decoder(
                kind,
                component,
                tensor.block,
                COMPONENT_TYPES[values["coordinates"]],
                values["calls"],
                values["control"],
                table,
                result,
            )
            decode = decode_function(decoder, f"decode_{result}")
        builder.add(TensorLoad(matrix, source.array, first, before, layout, view, None, decode))
        return matrix

    matrix = loaded("matrix")
    if values["then"] == "muladd":
        _multiply(builder, matrix)
    else:
        matrix_out(builder, "target", matrix)
    if values["loads"] == "several":
        matrix_out(builder, "codes", loaded("codes_loaded", "code"))
        matrix_out(builder, "hashes", loaded("hashes_loaded", "coordinates"))
    return _Written(builder, writer, source)


def _multiply(builder: ProgramBuilder, matrix: Matrix) -> None:
    """Multiplies with a matrix of the other use and adds a third one. The other is as wide as a device of today has it: eight with eight
    rows or columns, else 16."""
    rows, columns = matrix.type.shape
    component, scope = matrix.type.component, matrix.type.scope
    is_a = matrix.type.use is Use.A
    inner, outer = (columns, rows) if is_a else (rows, columns)
    free = 8 if inner == 8 else 16
    m, n = (outer, free) if is_a else (free, outer)
    other_type = MatrixType(component, scope, inner, n, Use.B) if is_a else MatrixType(component, scope, m, inner, Use.A)
    total = _sum_type(component)
    other = matrix_in(builder, "other", other_type)
    addend_type = MatrixType(total, scope, m, n, Use.ACCUMULATOR)
    addend = matrix_in(builder, "addend", addend_type)
    operands = None if component.is_float else PropertyRow(m, n, inner, component, component, total, total, False).operands
    a, b = (matrix, other) if is_a else (other, matrix)
    matrix_out(builder, "target", builder.muladd("product", addend_type, a, b, addend, operands))


def _sum_type(component: ComponentType) -> ComponentType:
    if component.is_float:
        return COMPONENT_TYPES["f32"]
    return COMPONENT_TYPES["s32" if component.is_signed else "u32"]


def program(values: Values) -> Program:
    """The program of a case: a load of blocks, and a plain store of what it gives or of a multiply-add with it."""
    return _written(values).builder.build()


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """Every byte of the source array is filled, those that no block of the slice has too; scales are set where blocks begin."""
    component = COMPONENT_TYPES[values["component"]]
    written = _written(values)
    inputs = {"source": _source(values, written.source, rng)}
    for array in program.arrays:
        if array.name == "before":
            inputs["before"] = contents(array, component, "index", rng)
        elif array.name == "table":
            inputs["table"] = TABLE.view(np.uint8).copy()
        elif array.name in ("other", "addend"):
            limit = 63 if array.name == "other" else 100_000
            inputs[array.name] = _whole_numbers(array, limit, rng)
    return Subcase(name, inputs, written.writer.operands)


def _whole_numbers(array: Array, limit: int, rng: np.random.Generator) -> np.ndarray:
    component = array.pointee.component
    low = -limit if component.is_float or component.is_signed else 0
    return np.ascontiguousarray(rng.integers(low, limit, array.count, endpoint=True).astype(component.dtype)).view(np.uint8)


def _source(values: Values, source: Tensor, rng: np.random.Generator) -> np.ndarray:
    """Elements of the component type in a pattern; where a function decodes a format, random bytes with scales."""
    kind, component, array = values["decode"], COMPONENT_TYPES[values["component"]], source.array
    if kind in ("none", "planes"):
        if values["pattern"] != "small":
            return contents(array, component, values["pattern"], rng)
        # Whole numbers, whose products add up exactly.
        whole = Array(array.name, Pointee(component), array.bytes // component.bytes, array.storage, "input")
        return np.resize(_whole_numbers(whole, 63, rng), array.bytes)
    data = rng.integers(0, 256, array.bytes, np.uint8)
    if kind in FORMATS:
        pitch = array.pointee.bytes
        begins = [(source.first + i * source.pitch) * pitch for i in range(instances(values))]
        set_scales(data, FORMATS[kind], begins, _blocked(values).blocks, component, rng)
    return data
