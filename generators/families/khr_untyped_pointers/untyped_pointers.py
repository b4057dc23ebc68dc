"""untyped_pointers: loads and stores through pointers that have no pointee type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from generators.inputs.patterns import pattern_bits
from generators.layouts.byte_tiles import ByteTiles
from generators.layouts.matrix_arrays import WORKGROUP_BYTES
from generators.layouts.placement import PointeeName, pointee_of
from generators.operands.run_time import run_time_operands
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import LAYOUTS, STORAGE_CLASSES, USES, Scoped, parse_shape
from generators.program.builder import U32, ProgramBuilder
from generators.program.memory import Array, Pointee, Pointers
from generators.program.program import Built, Program, Subcase
from generators.program.values import Matrix, MatrixType, ScalarValue, Source
from generators.routines.workgroup import copy
from generators.types import COMPONENT_TYPES, ComponentType, Layout, StorageClass, Use

_BLOCK_OFFSET = 32
"""Byte offset of workgroup arrays in their blocks."""


@dataclass(frozen=True, kw_only=True)
class Parameters(Scoped):
    """The parameters of a case."""

    component: ComponentType = parameter("component type of the matrix", labels=COMPONENT_TYPES)
    use: Use = parameter("use of the matrix", default="a", labels=USES)
    shape: tuple[int, int] = parameter("rows and columns of the matrix", default="8x8", decode=parse_shape)
    untyped: Literal["both", "load", "store"] = parameter("the accesses that go through untyped pointers", default="both")
    pointers: Pointers = parameter("whether variables are untyped too, or only access chains", default="untyped_variable")
    base: PointeeName = parameter("the elements of the array that is the Base Type of chains", default="component")
    storage: StorageClass = parameter("where the arrays are", default="storage_buffer", labels=STORAGE_CLASSES)
    load: Layout = parameter("layout of the load", default="row", labels=LAYOUTS)
    store: Layout = parameter("layout of the store", default="row", labels=LAYOUTS)
    padding: int = parameter("padding after each line, in units of the minimum alignment", default=0)
    source: Source = parameter("where the strides come from", default="literal", then=("subgroups",))


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Literal["index", "bits"] = parameter("the bits of the source")


def _tiles(parameters: Parameters, layout: Layout, padding: int) -> ByteTiles:
    type_ = MatrixType(parameters.component, parameters.scope, *parameters.shape, parameters.use)
    return ByteTiles(type_, layout, padding, parameters.instances)


def _load_tiles(parameters: Parameters) -> ByteTiles:
    return _tiles(parameters, parameters.load, parameters.padding)


def _store_tiles(parameters: Parameters) -> ByteTiles:
    return _tiles(parameters, parameters.store, parameters.padding + 1 if parameters.padding else 0)


def _fits(parameters: Parameters) -> bool:
    if parameters.storage is not StorageClass.WORKGROUP:
        return True
    return _load_tiles(parameters).bytes + _store_tiles(parameters).bytes + 2 * _BLOCK_OFFSET <= WORKGROUP_BYTES


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {"fits_workgroup_memory": _fits}


class _UntypedWriter:
    """Writes the program of one case."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.builder = ProgramBuilder(parameters.scope, parameters.subgroups)
        self.strides: dict[str, int] = {}

    def write(self) -> Program:
        """Write the program: a load, and a store of the loaded matrix."""
        given, taken = _load_tiles(self.parameters), _store_tiles(self.parameters)
        source = self._source(given)
        target, finish = self._target(taken)
        matrix = self._load(source, given)
        self._store(matrix, target, taken)
        finish()
        return self.builder.build()

    def _array(self, name: str, tiles: ByteTiles, role: Literal["input", "output", "scratch"], access: Literal["load", "store"]) -> Array:
        parameters = self.parameters
        shared = role == "scratch"
        pointers = parameters.pointers if parameters.untyped in ("both", access) else "typed"
        pointee = Pointee(parameters.component)
        storage = StorageClass.WORKGROUP if shared else parameters.storage
        block = _BLOCK_OFFSET if shared else None
        array = Array(name, pointee, tiles.length(pointee), storage, role, pointers=pointers, block=block)
        return self.builder.declare(array)

    def _plain(self, name: str, tiles: ByteTiles, role: Literal["input", "output"]) -> Array:
        pointee = Pointee(self.parameters.component)
        return self.builder.array(name, pointee, tiles.length(pointee), StorageClass.STORAGE_BUFFER, role)

    def _source(self, tiles: ByteTiles) -> Array:
        """Return the array to load from."""
        if self.parameters.storage is not StorageClass.WORKGROUP:
            return self._array("source", tiles, "input", "load")
        buffer = self._plain("source", tiles, "input")
        shared = self._array("source_shared", tiles, "scratch", "load")
        copy(self.builder, shared, buffer)
        self.builder.barrier()
        return shared

    def _target(self, tiles: ByteTiles) -> tuple[Array, Callable[[], None]]:
        """Return the array to store to, and the steps that bring it to the host."""
        if self.parameters.storage is not StorageClass.WORKGROUP:
            return self._array("target", tiles, "output", "store"), lambda: None
        fill, buffer = self._plain("target_fill", tiles, "input"), self._plain("target", tiles, "output")
        shared = self._array("target_shared", tiles, "scratch", "store")
        copy(self.builder, shared, fill)
        self.builder.barrier()

        def finish() -> None:
            self.builder.barrier()
            copy(self.builder, buffer, shared)

        return shared, finish

    def _seen(self, array: Array) -> Array:
        """Return the array as the access chains into it see it."""
        pointee = pointee_of(self.parameters.base, self.parameters.component)
        if not array.is_untyped or pointee == array.pointee:
            return array
        return replace(array, name=f"{array.name}_seen", pointee=pointee, length=array.bytes // pointee.bytes, alias_of=array)

    def _stride(self, name: str, array: Array, tiles: ByteTiles) -> ScalarValue:
        value = tiles.stride_of(array)
        self.strides[name] = value
        return self.builder.operand(name, U32, self.parameters.source, value, value + tiles.alignment)

    def _load(self, array: Array, tiles: ByteTiles) -> Matrix:
        builder, seen, type_ = self.builder, self._seen(array), tiles.type
        first = tiles.first(builder, "load", seen)
        return builder.load("matrix", type_, seen, first, self._stride("load_stride", seen, tiles), tiles.layout)

    def _store(self, matrix: Matrix, array: Array, tiles: ByteTiles) -> None:
        builder, seen = self.builder, self._seen(array)
        first = tiles.first(builder, "store", seen)
        builder.store(matrix, seen, first, self._stride("store_stride", seen, tiles), tiles.layout)


def build(parameters: Parameters) -> Built:
    """Build a case. All bytes of the source, padding included, hold the pattern."""
    writer = _UntypedWriter(parameters)
    program = writer.write()
    component, strides = parameters.component, writer.strides

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        inputs = {}
        for array in program.arrays:
            if array.role == "input":
                pattern = parameters.pattern if array.name == "source" else "bits"
                inputs[array.name] = pattern_bits(pattern, component, array.count, rng).view(np.uint8)
        return Subcase(name, inputs, run_time_operands(program, strides))

    return Built(program, draw)
