"""shader_objects: a kernel runs as a shader object instead of a compute pipeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from generators.inputs import integers, products
from generators.inputs.products import Chain
from generators.layouts.matrix_arrays import matrix_sources, matrix_targets
from generators.layouts.placement import fills
from generators.layouts.product_tiles import product_tiles
from generators.numerics.formats import bits_of
from generators.operands.run_time import run_time_operands
from generators.parameters.declaration import parameter
from generators.parameters.matrices import OneRow
from generators.parameters.vocabulary import FULL_SUBGROUPS, SOURCE_NAMES, STORAGE_CLASSES, SUBGROUP_SIZES
from generators.program.builder import U32, ProgramBuilder
from generators.program.program import Built, FurtherEntryPoint, Program, Subcase
from generators.program.shape import LocalSize, WorkgroupShape
from generators.program.values import Extent, MatrixType
from generators.routines.scaling import scaled
from generators.stages import ShaderObject
from generators.types import ComponentType, Layout, StorageClass

_LAYOUTS = (Layout.ROW_MAJOR, Layout.COLUMN_MAJOR, Layout.COLUMN_MAJOR, Layout.ROW_MAJOR)
_SCALE, _DEFAULT_SCALE = 2, 8
_NAMES: Mapping[str, tuple[str, str | None]] = {"main": ("main", None), "second": ("work", "main")}
"""By label, the names of the entry point that runs and of another one, if there is one."""

_SIDES: Mapping[str, tuple[str, str]] = {"a": ("m", "k"), "b": ("k", "n"), "c": ("m", "n"), "d": ("m", "n")}


@dataclass(frozen=True, kw_only=True)
class Parameters(OneRow):
    """The parameters of a case."""

    code: ShaderObject = parameter(
        "what the shader object is made of: the module, or the binary code of another shader object; or it runs in turn with a pipeline",
        default="spirv",
    )
    extents: Literal["literal", "specialization"] = parameter("where the sizes of the matrices come from", default="literal")
    scale: SOURCE_NAMES = parameter("where the factor of the result comes from", default="specialization")
    local_size: LocalSize = parameter("how the module states the local size", default="x_constant")
    full: bool | None = parameter("whether full subgroups are required", default="if_possible", labels=FULL_SUBGROUPS)
    subgroup_size: int | None = parameter("the subgroup size that is required", default="device", labels=SUBGROUP_SIZES)
    names: tuple[str, str | None] = parameter("how the entry points are called", default="main", labels=_NAMES)
    storage: StorageClass = parameter("where the arrays are", default="storage_buffer", labels=STORAGE_CLASSES, then=("subgroups",))


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    run: int = parameter("number of the draw")


def _fits(parameters: Parameters) -> bool:
    return product_tiles(parameters.row, parameters.scope, _LAYOUTS, True, parameters.instances).fit(parameters.storage)


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "fits_workgroup_memory": _fits,
    "has_arithmetic": lambda parameters: parameters.row.result.has_arithmetic,
    "knows_local_size": lambda parameters: parameters.local_size != "literals" or parameters.subgroup_size is not None,
    "specializes": lambda parameters: "specialization" in (parameters.extents, parameters.scale) or parameters.local_size != "literals",
}


class _ShaderObjectWriter:
    """Writes the program of one entry point.

    Attributes:
        scale: the factor of its result; the entry point that does not run has a different factor.
    """

    def __init__(self, parameters: Parameters, scale: int) -> None:
        self.parameters, self.scale = parameters, scale
        self.tiles = product_tiles(parameters.row, parameters.scope, _LAYOUTS, True, parameters.instances)
        shape = WorkgroupShape(1, 1, parameters.local_size, parameters.subgroup_size, parameters.full)
        self.builder = ProgramBuilder(parameters.scope, parameters.subgroups, shape=shape)
        self._extents: dict[str, Extent] = {}

    def extent(self, side: str) -> Extent:
        """Return M, N or K: one constant for all types."""
        row = self.parameters.row
        value = {"m": row.m, "n": row.n, "k": row.k}[side]
        if self.parameters.extents == "literal":
            return value
        if side not in self._extents:
            self._extents[side] = self.builder.operand(side, U32, "specialization", value, 2 * value)
        return self._extents[side]

    def type(self, name: str) -> MatrixType:
        """Return the type of A, B, C or Result."""
        tiles = self.tiles.given[name] if name in self.tiles.given else self.tiles.d[name]
        rows, columns = _SIDES[name]
        return replace(tiles.type, rows=self.extent(rows), columns=self.extent(columns))

    def write(self) -> Program:
        """Write (A x B + C) times a factor."""
        parameters, tiles, builder = self.parameters, self.tiles, self.builder
        sources = matrix_sources(builder, tiles.given, parameters.storage)
        targets = matrix_targets(builder, tiles.d, parameters.storage)
        component = tiles.d["d"].type.component
        scale, other = _bits(component, self.scale), _bits(component, _DEFAULT_SCALE)
        factor = builder.operand("scale", component, parameters.scale, scale, other)
        given = {
            name: builder.load(
                f"matrix_{name}", self.type(name), each.array, each.product(), builder.literal(each.tiles.stride), each.tiles.layout
            )
            for name, each in sources.items()
        }
        product = builder.muladd("product", self.type("d"), given["a"], given["b"], given["c"], tiles.row.operands or None)
        targets["d"].store(scaled(builder, "scaled", product, factor), targets["d"].product())
        targets["d"].finish(builder)
        return builder.build()


def _bits(component: ComponentType, value: int) -> int:
    return bits_of(component, float(value)) if component.is_float else value


def build(parameters: Parameters) -> Built:
    """Build a case. Two dispatches differ only in their data, and each scope instance has its own data."""
    writer = _ShaderObjectWriter(parameters, _SCALE)
    name, other_name = parameters.names
    program = replace(writer.write(), shader_object=parameters.code, entry_point=name)
    if other_name is not None:
        other = _ShaderObjectWriter(replace(parameters, extents="literal", scale="literal"), _DEFAULT_SCALE).write()
        program = replace(program, further=(FurtherEntryPoint(other_name, other, (32, 1, 1)),))
    tiles = writer.tiles

    def draw(name: str, _: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        chain = Chain(tiles.row, program.instances, 1, 1)
        drawn = (products.exact if tiles.row.result.is_float else integers.wrapping)(chain, rng)
        values = {"a": drawn.a, "b": drawn.b, "c": drawn.c[:, None]}
        arrays = {array: each.contents(values[array], rng) for array, each in tiles.given.items()}
        given = run_time_operands(program, {"scale": _bits(tiles.d["d"].type.component, _SCALE)})
        return Subcase(name, arrays | fills(program, rng), given)

    return Built(program, draw)
