"""specialization_length: workgroup arrays whose length is a specialization constant, or one that a specialization constant selects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from generators.inputs.patterns import Pattern, pattern_bits
from generators.layouts.matrix_arrays import ALIGNMENT, WORKGROUP_BYTES, MatrixArray, Tiles, granule_of, rounded_up, tiled
from generators.operands import constants
from generators.operands.constants import CACHES, Varying, pipeline_labels, varying_among
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import LAYOUTS, SCOPE, USES, Scoped, parse_shape
from generators.program.builder import U32, ProgramBuilder
from generators.program.memory import Array, Pointee
from generators.program.program import Built, Program, Subcase
from generators.program.values import Extent, MatrixType, Selected
from generators.routines.workgroup import copy
from generators.types import COMPONENT_TYPES, ComponentType, Layout, StorageClass, Use

_BIG = {"before": 37, "between": 91, "after": 53}
"""Lengths of the neighbours if they are long and odd."""

_NEIGHBOURS: Mapping[str, tuple[str, ...]] = {
    "before": ("before",),
    "between": ("between",),
    "all": ("before", "between", "after"),
    "none": (),
}
"""Label -> names of the arrays before, between and after the matrix arrays."""

LengthSource = Literal["selected", "specialization", "literal"]
"""Sources of a length: a specialization constant that selects one of two lengths, a specialization constant that is the length, or a
literal."""

_SIZES: Mapping[str, bool] = {"one": False, "big": True}
"""Label -> whether a neighbour is big, or has the length of one element."""


def _has_neighbours(parameters: Parameters) -> bool:
    return bool(parameters.neighbours)


@dataclass(frozen=True, kw_only=True)
class Parameters(Scoped):
    """The parameters of a case."""

    component: ComponentType = parameter("component type of the matrices", labels=COMPONENT_TYPES)
    use: Use = parameter("use of the matrices", default="acc", labels=USES)
    shape: tuple[int, int] = parameter("rows and columns of the matrices", default="16x16", decode=parse_shape, then=SCOPE)
    load: Layout = parameter("layout of the load", default="row", labels=LAYOUTS)
    store: Layout = parameter("layout of the store", default="column", labels=LAYOUTS)
    length: LengthSource = parameter("where the lengths of the matrices' arrays come from", default="selected")
    neighbours: tuple[str, ...] = parameter("the other workgroup arrays", default="all", labels=_NEIGHBOURS)
    neighbour: ComponentType = parameter(
        "component type of the other arrays", default="u8", labels=COMPONENT_TYPES, applies=_has_neighbours
    )
    neighbour_length: LengthSource = parameter("where their lengths come from", default="selected", applies=_has_neighbours)
    neighbour_size: Varying[bool] = parameter(
        "whether their lengths are big", default="one", decode=varying_among(_SIZES), applies=_has_neighbours
    )
    cache: bool = parameter("whether pipelines come from the data of a cache", default="none", labels=CACHES)


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Literal["index", "bits"] = parameter("the bits of the source")


@dataclass(frozen=True)
class ArraySizes:
    """The positions of the matrices in each array, and the lengths of the arrays."""

    load: Tiles
    store: Tiles
    source: int
    target: int


def _length(component: ComponentType, least: int) -> int:
    """Return the length of an array that needs ``least`` elements, rounded up so the next array can be aligned too."""
    return rounded_up(least, ALIGNMENT // component.bytes)


def sizes(parameters: Parameters) -> ArraySizes:
    """Return the sizes of a case. The arrays need one element after a matrix."""
    component = parameters.component
    type_, granule = MatrixType(component, parameters.scope, *parameters.shape, parameters.use), granule_of(component)
    placed = []
    for layout, padding in ((parameters.load, 1), (parameters.store, 2)):
        tiles = tiled(type_, layout, padding, (parameters.instances, 1), granule=granule)
        placed.append(replace(tiles, pitch=rounded_up(tiles.span, granule)))
    source, target = (_length(component, tiles.pitch * (tiles.instances - 1) + tiles.span + 1) for tiles in placed)
    return ArraySizes(placed[0], placed[1], source, target)


def _fits(parameters: Parameters) -> bool:
    found, neighbour = sizes(parameters), parameters.neighbour
    neighbours = sum(_length(neighbour, big) for big in _BIG.values()) * neighbour.bytes
    return (found.source + found.target) * parameters.component.bytes + neighbours <= WORKGROUP_BYTES


def _varies_by_constant(parameters: Parameters) -> bool:
    return parameters.neighbour_length != "literal" or parameters.neighbour_size.is_single


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {"fits_workgroup_memory": _fits, "varies_by_constant": _varies_by_constant}


class _LengthWriter:
    """Writes the program of one pipeline, whose neighbours are ``big`` or not."""

    def __init__(self, parameters: Parameters, big: bool, label: str) -> None:
        self.parameters, self.big, self.label = parameters, big, label
        self.component = parameters.component
        self.builder = ProgramBuilder(parameters.scope, subgroups=parameters.subgroups)

    def _length(self, source: LengthSource, name: str, value: int, other: int) -> Extent:
        """Return the length ``value``; ``other`` is its minimum and the default of a constant."""
        match source:
            case "literal":
                return value
            case "specialization":
                return self.builder.operand(f"{name}_length", U32, "specialization", value, other)
            case "selected":
                # Its default selects the length that this case does not have.
                return Selected(self.builder.operand(f"{name}_flag", U32, "specialization", 1, 0), value, other)

    def _neighbour_length(self, name: str) -> tuple[Extent, int]:
        parameters, neighbour = self.parameters, self.parameters.neighbour
        big, one = _length(neighbour, _BIG[name]), _length(neighbour, 1)
        count = big if self.big else one
        if parameters.neighbour_length == "selected":
            default = 0 if self.big or not parameters.neighbour_size.is_single else 1
            flag = self.builder.operand(f"{name}_flag", U32, "specialization", int(self.big), default)
            return Selected(flag, big, one), count
        # A length that none of the pipelines has.
        return self._length(parameters.neighbour_length, name, count, 3), count

    def _scratch(self, name: str, pointee: Pointee, length: Extent) -> Array:
        return self.builder.array(f"{name}_shared", pointee, length, StorageClass.WORKGROUP, "scratch")

    def _buffer(self, name: str, pointee: Pointee, count: int, role: str) -> Array:
        return self.builder.array(name, pointee, count, StorageClass.STORAGE_BUFFER, "input" if role == "input" else "output")

    def write(self) -> Program:
        """Write the program: all data go into workgroup memory, matrices move from one array to another, and all data come back."""
        builder, parameters, found = self.builder, self.parameters, sizes(self.parameters)
        pointee, aside = Pointee(self.component), Pointee(parameters.neighbour)
        kept: list[tuple[Array, Array, Array]] = []

        def keep(name: str) -> None:
            if name in parameters.neighbours:
                length, count = self._neighbour_length(name)
                given, back = self._buffer(name, aside, count, "input"), self._buffer(f"{name}_back", aside, count, "output")
                kept.append((self._scratch(name, aside, length), given, back))

        keep("before")
        given = self._buffer("source", pointee, found.source, "input")
        source = self._scratch("source", pointee, self._length(parameters.length, "source", found.source, 5))
        keep("between")
        fill, back = self._buffer("target_fill", pointee, found.target, "input"), self._buffer("target", pointee, found.target, "output")
        target = self._scratch("target", pointee, self._length(parameters.length, "target", found.target, 7))
        keep("after")

        for scratch, buffer, _ in kept:
            copy(builder, scratch, buffer)
        copy(builder, target, fill)
        copy(builder, source, given)
        builder.barrier()
        loaded, stored = (
            MatrixArray(array, array, builder, name, tiles)
            for name, array, tiles in (("load", source, found.load), ("store", target, found.store))
        )
        load_at, store_at = loaded.first(), stored.first()
        stored.store(loaded.load("matrix", load_at), store_at)
        builder.barrier()
        copy(builder, back, target)
        for scratch, _, buffer in kept:
            copy(builder, buffer, scratch)
        return replace(builder.build(), label=self.label, pipeline_cache=parameters.cache)


def build(parameters: Parameters) -> Built:
    """Build the program of a case's first pipeline, with the programs of the others.

    The source has the pattern and every other array random bits of its type, so overlapping arrays are noticed.
    """
    labels = pipeline_labels({"neighbour_size": parameters.neighbour_size})
    writers = [_LengthWriter(parameters, parameters.neighbour_size.of(number), label) for number, label in enumerate(labels)]

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        inputs = {}
        for array in program.arrays:
            if array.role == "input":
                pattern: Pattern = parameters.pattern if array.name == "source" else "bits"
                inputs[array.name] = pattern_bits(pattern, array.pointee.component, array.count, rng).view(np.uint8)
        return Subcase(name, inputs)

    return Built(constants.together([writer.write() for writer in writers]), draw)
