"""workgroup_shapes: local sizes, dispatches and subgroup sizes of every shape, with separate tiles for each subgroup."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.inputs import integers, products
from generators.inputs.patterns import Pattern, pattern_bits
from generators.inputs.products import Chain
from generators.layouts.matrix_arrays import fit_workgroup_memory, matrix_sources, matrix_targets
from generators.layouts.placement import fills
from generators.layouts.product_tiles import ProductTiles, product_tiles
from generators.parameters.declaration import parameter
from generators.parameters.matrices import OneRow
from generators.parameters.vocabulary import FULL_SUBGROUPS, STORAGE_CLASSES, SUBGROUP_SIZES, layouts_of, numbers_in
from generators.program.builder import U32, ProgramBuilder
from generators.program.memory import Pointee
from generators.program.program import Built, Program, Subcase
from generators.program.shape import LocalSize, WorkgroupShape
from generators.routines.subgroups import store_subgroups
from generators.types import Layout, StorageClass

_INVOCATIONS = 1024
"""Number of invocations in the largest workgroup of current devices."""

_INSTANCES = 64
"""Number of scope instances in the largest dispatch: more would take longer and test nothing new."""


@dataclass(frozen=True)
class Arrangement:
    """How the subgroups of a workgroup are arranged along its axes.

    Attributes:
        least: the minimum number of subgroups.
        halves: whether it splits the subgroups in two.
        along: subgroups -> invocations in y and z; the remaining factor is along x.
    """

    least: int
    halves: bool
    along: Callable[[int], tuple[int, int]]


_ARRANGEMENTS: Mapping[str, Arrangement] = {
    "x": Arrangement(1, False, lambda _: (1, 1)),
    "y": Arrangement(2, False, lambda subgroups: (subgroups, 1)),
    "z": Arrangement(2, False, lambda subgroups: (1, subgroups)),
    "xy": Arrangement(4, True, lambda _: (2, 1)),
    "xz": Arrangement(4, True, lambda subgroups: (1, subgroups // 2)),
    "yz": Arrangement(4, True, lambda subgroups: (2, subgroups // 2)),
}


def _parse_workgroups(text: str) -> tuple[int, int, int]:
    """Return the workgroups along x, y and z of a text such as ``2x3x1``; raises ValueError."""
    x, y, z = numbers_in(text, "positive counts along x, y and z, such as 2x3x1")
    return x, y, z


@dataclass(frozen=True, kw_only=True)
class Parameters(OneRow):
    """The parameters of a case."""

    form: Literal["copy", "muladd"] = parameter(
        "whether A, B and C are copied, or multiplied and added", default="copy", then=("subgroups",)
    )
    arrangement: Arrangement = parameter("along which axes the subgroups are arranged", default="x", labels=_ARRANGEMENTS)
    local_size: LocalSize = parameter("how the module states the local size", default="x_constant")
    subgroup_size: int | None = parameter("the subgroup size that the pipeline requires", default="device", labels=SUBGROUP_SIZES)
    full: bool | None = parameter("whether the pipeline requires full subgroups", default="if_possible", labels=FULL_SUBGROUPS)
    workgroups: tuple[int, int, int] = parameter("workgroups along each axis", default="1x1x1", decode=_parse_workgroups)
    storage: StorageClass = parameter("where the arrays are", default="storage_buffer", labels=STORAGE_CLASSES)
    built_ins: Literal["none", "first", "last"] = parameter("when the subgroup built-ins are stored", default="none")
    layouts: tuple[Layout, ...] = parameter("the layouts of A, B, C and Result", default="rccr", decode=layouts_of(4))


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Pattern = parameter("the bits of the operands", labels={"index": "index", "random": "bits"})


def _arranged(parameters: Parameters) -> bool:
    """Tell whether the arrangement fits: along two axes it splits the subgroups in two, along y or z it needs at least two."""
    subgroups, arrangement = parameters.subgroups, parameters.arrangement
    return subgroups >= arrangement.least and not (arrangement.halves and subgroups % 2)


def _fits_workgroup(parameters: Parameters) -> bool:
    size = parameters.subgroup_size
    return size is None or size * parameters.subgroups <= _INVOCATIONS


def _instances(parameters: Parameters) -> int:
    """Return the scope instances of the dispatch."""
    return math.prod(parameters.workgroups) * parameters.instances


def _tiles(parameters: Parameters) -> ProductTiles:
    """Return the tiles of all instances of the dispatch."""
    return product_tiles(parameters.row, parameters.scope, parameters.layouts, True, _instances(parameters))


def _fits_memory(parameters: Parameters) -> bool:
    """Tell whether workgroup memory holds all arrays."""
    if parameters.storage is not StorageClass.WORKGROUP:
        return True
    tiles = _tiles(parameters)
    inputs = [*tiles.given.values()]
    outputs = list(tiles.d.values()) if parameters.form == "muladd" else inputs
    several = math.prod(parameters.workgroups) > 1
    return fit_workgroup_memory(parameters.storage, inputs if several else inputs + outputs)


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "arranged": _arranged,
    "fits_workgroup": _fits_workgroup,
    "few_instances": lambda parameters: _instances(parameters) <= _INSTANCES,
    "fits_workgroup_memory": _fits_memory,
    "wraps": lambda parameters: not parameters.row.saturating,
}


class _TileWriter:
    """Writes the program of one case."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.tiles = _tiles(parameters)
        y, z = parameters.arrangement.along(parameters.subgroups)
        shape = WorkgroupShape(y, z, parameters.local_size, parameters.subgroup_size, parameters.full)
        self.builder = ProgramBuilder(parameters.scope, parameters.subgroups, parameters.workgroups, shape)

    def write(self) -> Program:
        """Load A, B and C; store each of them, or A x B + C."""
        builder, parameters, worked = self.builder, self.parameters, self.tiles
        storage, several = parameters.storage, math.prod(parameters.workgroups) > 1
        # Several workgroups cannot all write one buffer from their own workgroup memory.
        out = StorageClass.STORAGE_BUFFER if storage is StorageClass.WORKGROUP and several else storage
        given = worked.given
        taken = worked.d if parameters.form == "muladd" else {f"{name}_copy": tiles for name, tiles in given.items()}
        sources, targets = matrix_sources(builder, given, storage), matrix_targets(builder, taken, out)
        known, size = None, parameters.subgroup_size
        if parameters.built_ins != "none":
            assert size is not None, "workgroup_shapes: the constraints must exclude this case"
            lanes = math.prod(parameters.workgroups) * parameters.subgroups * size
            known = builder.array("subgroups", Pointee(U32, 4), lanes, StorageClass.STORAGE_BUFFER, "output")
        if known is not None and size is not None and parameters.built_ins == "first":
            store_subgroups(builder, known, size)

        matrices = {name: source.load(at=source.product()) for name, source in sources.items()}
        results = {f"{name}_copy": matrix for name, matrix in matrices.items()}
        if parameters.form == "muladd":
            operands = worked.row.operands or None
            results = {"d": builder.muladd("product", taken["d"].type, matrices["a"], matrices["b"], matrices["c"], operands)}
        for name, matrix in results.items():
            targets[name].store(matrix, targets[name].product())
        if known is not None and size is not None and parameters.built_ins == "last":
            store_subgroups(builder, known, size)
        for target in targets.values():
            target.finish(builder)
        return builder.build()


def _operands(worked: ProductTiles, instances: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw A, B and C of every instance, exact under any order of summation, (instances, 1, rows, columns)."""
    chain = Chain(worked.row, instances, 1, 1)
    drawn = (products.exact if worked.row.result.is_float else integers.wrapping)(chain, rng)
    return {"a": drawn.a, "b": drawn.b, "c": drawn.c[:, None]}


def build(parameters: Parameters) -> Built:
    """Build a case. A multiply-add has exact data; copies have bits that identify their position, or random bits. No two instances have the
    same data."""
    writer = _TileWriter(parameters)
    worked = writer.tiles
    given = worked.given

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        arrays: dict[str, np.ndarray] = {}
        if parameters.form == "muladd":
            drawn = _operands(worked, program.instances, rng)
            arrays = {array: tiles.contents(drawn[array], rng) for array, tiles in given.items()}
        else:
            arrays = {
                array: pattern_bits(parameters.pattern, tiles.component, tiles.length, rng).view(np.uint8) for array, tiles in given.items()
            }
        return Subcase(name, arrays | fills(program, rng))

    return Built(writer.write(), draw)
