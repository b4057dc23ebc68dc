"""workgroup_blocks: matrices in workgroup memory blocks with explicit layout, which may share their bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.inputs.patterns import pattern_bits
from generators.layouts.matrix_arrays import ALIGNMENT, WORKGROUP_BYTES, Tiles, matrix_source, matrix_target, tight
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import LAYOUTS, USES, Scoped, parse_shape
from generators.program.builder import ProgramBuilder
from generators.program.memory import Array
from generators.program.program import Built, Program, Subcase
from generators.program.values import MatrixType, ScalarValue
from generators.routines.workgroup import copy
from generators.types import COMPONENT_TYPES, ComponentType, Layout, StorageClass, Use

Form = Literal["aliased", "both_aliased", "filled", "emptied"]


@dataclass(frozen=True, kw_only=True)
class Parameters(Scoped):
    """The parameters of a case."""

    component: ComponentType = parameter("component type of the matrix that is written", labels=COMPONENT_TYPES)
    read: ComponentType = parameter(
        "component type of the matrix that is read from the other block",
        default="u8",
        labels=COMPONENT_TYPES,
        applies=lambda parameters: parameters.form in ("aliased", "both_aliased"),
    )
    use: Use = parameter("use of the matrices", default="acc", labels=USES)
    shape: tuple[int, int] = parameter("rows and columns of the matrices", default="8x8", decode=parse_shape)
    form: Form = parameter("who writes the blocks and who reads them", default="aliased")
    offset: int = parameter("byte of the block at which the array that is written begins", default=16)
    written: Layout = parameter("layout of the store to a block", default="row", labels=LAYOUTS)
    loaded: Layout = parameter("layout of the load from a block", default="row", labels=LAYOUTS, then=("subgroups",))


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Literal["index", "bits"] = parameter("the bits of the source")


_LEAD = 32
"""Bytes before the first matrix in the block that is written."""


def _type(parameters: Parameters, component: ComponentType) -> MatrixType:
    return MatrixType(component, parameters.scope, *parameters.shape, parameters.use)


def _written(parameters: Parameters) -> Tiles:
    """Return the matrices of the block that is written."""
    found = tight(_type(parameters, parameters.component), parameters.written, (parameters.instances, 1))
    first = _LEAD // parameters.component.bytes
    return Tiles(found.type, found.layout, found.stride, found.pitch, parameters.instances, first=first)


def _read(parameters: Parameters) -> Tiles:
    """Return the matrices of the block that is read. Each occupies the last bytes of a written matrix."""
    written, component = _written(parameters), parameters.read
    own = tight(_type(parameters, component), parameters.loaded)
    whole = written.pitch * parameters.component.bytes
    # The array begins 16 bytes into the array of the other block.
    skipped = _LEAD - ALIGNMENT + whole - own.pitch * component.bytes
    pitch, first = whole // component.bytes, skipped // component.bytes
    end = (written.bytes - ALIGNMENT) // component.bytes
    return Tiles(own.type, own.layout, own.stride, pitch, parameters.instances, first=first, end=end)


def _fits(parameters: Parameters) -> bool:
    return _written(parameters).bytes + parameters.offset <= WORKGROUP_BYTES


def _readable(parameters: Parameters) -> bool:
    """Tell whether the bits of one type are finite numbers of the other, whose matrix is not longer."""
    if parameters.form not in ("aliased", "both_aliased"):
        return True
    one, other = parameters.component, parameters.read
    return other.bytes <= one.bytes and (one == other or not (one.is_float and other.is_float))


def _aligned(parameters: Parameters) -> bool:
    """Tell whether every line of a tight matrix is aligned."""
    types = [parameters.component, parameters.read] if parameters.form in ("aliased", "both_aliased") else [parameters.component]
    return all(side * each.bytes % min(ALIGNMENT, side * each.bytes) == 0 for each in types for side in parameters.shape)


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "fits_workgroup_memory": _fits,
    "readable": _readable,
    "aligned": _aligned,
}


def _block(builder: ProgramBuilder, name: str, parameters: Parameters, tiles: Tiles) -> Array:
    array = Array(name, tiles.pointee, tiles.length, StorageClass.WORKGROUP, "scratch", block=parameters.offset)
    return builder.declare(array)


def _first(builder: ProgramBuilder, name: str, tiles: Tiles) -> ScalarValue:
    """Return the element at which the matrix of this scope instance begins."""
    begin = builder.literal(tiles.first)
    return begin if tiles.instances == 1 else builder.offset(f"{name}_first", begin, builder.instance_index(), tiles.own_pitch)


def _filled(builder: ProgramBuilder, parameters: Parameters) -> None:
    """Fill a block by plain stores, and load matrices from it."""
    tiles = _written(parameters)
    source = builder.array("source", tiles.pointee, tiles.length, StorageClass.STORAGE_BUFFER, "input")
    block = _block(builder, "block", parameters, tiles)
    copy(builder, block, source)
    builder.barrier()
    target = matrix_target(builder, "target", tight(tiles.type, Layout.ROW_MAJOR, (parameters.instances, 1)))
    first = _first(builder, "block", tiles)
    target.store(builder.load("matrix", tiles.type, block, first, builder.literal(tiles.stride), tiles.layout))


def _emptied(builder: ProgramBuilder, parameters: Parameters) -> None:
    """Store matrices to a block, and read it by plain loads."""
    tiles = _written(parameters)
    fill = builder.array("fill", tiles.pointee, tiles.length, StorageClass.STORAGE_BUFFER, "input")
    source = matrix_source(builder, "source", tight(tiles.type, Layout.ROW_MAJOR, (parameters.instances, 1)))
    block = _block(builder, "block", parameters, tiles)
    copy(builder, block, fill)
    builder.barrier()
    builder.store(source.load("matrix"), block, _first(builder, "block", tiles), builder.literal(tiles.stride), parameters.written)
    builder.barrier()
    target = builder.array("target", tiles.pointee, tiles.length, StorageClass.STORAGE_BUFFER, "output")
    copy(builder, target, block)


def _aliased(builder: ProgramBuilder, parameters: Parameters) -> None:
    """Store matrices to a block, and load matrices of another type from a second block that has the same bytes."""
    tiles, seen = _written(parameters), _read(parameters)
    source = matrix_source(builder, "source", tight(tiles.type, Layout.ROW_MAJOR, (parameters.instances, 1)))
    block = _block(builder, "block", parameters, tiles)
    other = Array(
        "other", seen.pointee, seen.length, StorageClass.WORKGROUP, "scratch", block=parameters.offset + ALIGNMENT, alias_of=block
    )
    builder.store(source.load("matrix"), block, _first(builder, "block", tiles), builder.literal(tiles.stride), tiles.layout)
    builder.barrier()
    target = matrix_target(builder, "target", tight(seen.type, Layout.ROW_MAJOR, (parameters.instances, 1)))
    at, stride = _first(builder, "other", seen), builder.literal(seen.stride)
    target.store(builder.load("read", seen.type, other, at, stride, seen.layout))
    if parameters.form == "both_aliased":
        # The data of the second block are in the first block.
        builder.barrier()
        second = matrix_source(builder, "second", tight(seen.type, Layout.ROW_MAJOR, (parameters.instances, 1)))
        builder.store(second.load("matrix_2"), other, at, stride, seen.layout)
        builder.barrier()
        back = matrix_target(builder, "back", tight(tiles.type, Layout.ROW_MAJOR, (parameters.instances, 1)))
        again = builder.load("again", tiles.type, block, _first(builder, "again", tiles), builder.literal(tiles.stride), tiles.layout)
        back.store(again)


_WRITERS: Mapping[Form, Callable[[ProgramBuilder, Parameters], None]] = {
    "filled": _filled,
    "emptied": _emptied,
    "aliased": _aliased,
    "both_aliased": _aliased,
}


def build(parameters: Parameters) -> Built:
    """Build a case. The sources hold the pattern, in bits that are finite numbers of the float types that move them."""
    builder = ProgramBuilder(parameters.scope, parameters.subgroups)
    _WRITERS[parameters.form](builder, parameters)
    aliased = parameters.form in ("aliased", "both_aliased")
    drawn = parameters.read if aliased and parameters.read.is_float else parameters.component

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        inputs = {}
        for array in program.arrays:
            if array.role == "input":
                pattern = "bits" if array.name in ("fill", "second") else parameters.pattern
                inputs[array.name] = pattern_bits(pattern, drawn, array.bytes // drawn.bytes, rng).view(np.uint8)
        return Subcase(name, inputs)

    return Built(builder.build(), draw)
