"""entry_points: a module has several entry points, and the pipeline runs one of them."""

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
from generators.parameters.declaration import parameter
from generators.parameters.matrices import OneRow
from generators.parameters.vocabulary import STORAGE_CLASSES
from generators.program.builder import ProgramBuilder
from generators.program.functions import Function
from generators.program.program import FIRST_FREE_CONSTANT_ID, Built, FurtherEntryPoint, Program, Subcase
from generators.program.values import Matrix, Scalar, Value, is_matrix
from generators.property_rows import PropertyRow, parse_row
from generators.routines.scaling import scaled, scaling
from generators.types import ComponentType, Layout, StorageClass

_LAYOUTS = (Layout.ROW_MAJOR, Layout.COLUMN_MAJOR, Layout.COLUMN_MAJOR, Layout.ROW_MAJOR)
_NAMES: Mapping[str, tuple[str, str]] = {
    "main_runs": ("main", "other"),
    "main_is_other": ("work", "main"),
    "prefix": ("main", "main_2"),
    "longer": ("main_2", "main"),
}
"""By label, the names of the entry point that runs and of the other entry point."""

_OTHER_ROWS: Mapping[str, PropertyRow] = {
    one: parse_row(other)
    for pair in (
        ("8x8x8.f16.f16.f32.f32", "8x8x8.s8.s8.s32.s32"),
        ("16x16x16.f16.f16.f32.f32", "16x16x32.s8.s8.s32.s32"),
    )
    for one, other in (pair, pair[::-1])
}
"""By property row, another row that devices with this row also have."""

_OTHER_CONSTANTS = 100
"""SpecId of the first specialization constant of the other entry point."""

Other = Literal["result", "types", "shared_memory"]


@dataclass(frozen=True, kw_only=True)
class Parameters(OneRow):
    """The parameters of a case."""

    other: Other = parameter("what the other entry point has that this one lacks", default="result")
    names: tuple[str, str] = parameter("how the entry points are called", default="main_runs", labels=_NAMES)
    order: bool = parameter("which is first in the module", default="runs_first", labels={"runs_first": False, "other_first": True})
    local_size: tuple[int, int, int] = parameter(
        "local size of the other entry point", default="larger", labels={"larger": (128, 2, 1), "single": (1, 1, 1)}
    )
    storage: StorageClass = parameter("where the arrays are", default="storage_buffer", labels=STORAGE_CLASSES)
    called: bool = parameter("whether both call a function", default="apart", labels={"apart": False, "shared": True}, then=("subgroups",))


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    run: int = parameter("number of the draw")


def _fits(parameters: Parameters) -> bool:
    return product_tiles(parameters.row, parameters.scope, _LAYOUTS, True, parameters.instances).fit(parameters.storage)


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "fits_workgroup_memory": _fits,
    "has_arithmetic": lambda parameters: parameters.row.result.has_arithmetic,
    "has_other_row": lambda parameters: parameters.other != "types" or str(parameters.row) in _OTHER_ROWS,
}


class _EntryPointWriter:
    """Writes the program of one entry point.

    Attributes:
        runs: whether the pipeline runs it.
    """

    def __init__(self, parameters: Parameters, runs: bool) -> None:
        self.parameters, self.runs = parameters, runs
        row = parameters.row if runs or parameters.other != "types" else _OTHER_ROWS[str(parameters.row)]
        self.tiles = product_tiles(row, parameters.scope, _LAYOUTS, True, parameters.instances)
        first = FIRST_FREE_CONSTANT_ID if runs else _OTHER_CONSTANTS
        self.builder = ProgramBuilder(parameters.scope, parameters.subgroups, first_constant=first)

    def write(self) -> Program:
        """Write A x B + C, or in the other entry point A x B - C, times a constant."""
        parameters, tiles, builder = self.parameters, self.tiles, self.builder
        has_shared = parameters.other == "shared_memory" and not self.runs
        storage = StorageClass.WORKGROUP if has_shared else parameters.storage
        sources = matrix_sources(builder, tiles.a | tiles.b | tiles.c, storage)
        targets = matrix_targets(builder, tiles.d, storage)
        given = {name: source.load(at=source.product()) for name, source in sources.items()}
        c = given["c"] if self.runs else builder.negate("negated_c", given["c"])
        product = builder.muladd("product", tiles.d["d"].type, given["a"], given["b"], c, tiles.row.operands or None)
        target = targets["d"]
        target.store(self._scaled(product), target.product())
        target.finish(builder)
        return builder.build()

    def _scaled(self, product: Matrix) -> Matrix:
        """Return the product times a specialization constant, computed in a function if both entry points call it. Powers of two are
        exact."""
        builder, component = self.builder, product.type.component
        value, default = (2, 8) if self.runs else (4, 4)
        weight = builder.operand("weight", component, "specialization", _bits(component, value), _bits(component, default))
        if not self.parameters.called:
            return scaled(builder, "scaled", product, weight)
        given: Matrix = Value("given", product.type)
        by: Scalar = Value("by", component)
        inner: Matrix = Value("inner", product.type)
        scale = Function(f"scale_{component}", (given, by), scaling(inner, given, by), inner)
        result = builder.call("scaled", scale, (product, weight))
        assert is_matrix(result), "the function returns a matrix"
        return result


def _bits(component: ComponentType, value: int) -> int:
    return bits_of(component, float(value)) if component.is_float else value


def build(parameters: Parameters) -> Built:
    """Build a case. The entry point that does not run would store different results."""
    name, other_name = parameters.names
    main, other = _EntryPointWriter(parameters, True), _EntryPointWriter(parameters, False)
    further = FurtherEntryPoint(other_name, other.write(), parameters.local_size, parameters.order)
    program = replace(main.write(), entry_point=name, further=(further,))
    tiles = main.tiles

    def draw(name: str, _: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        chain = Chain(tiles.row, program.instances, 1, 1)
        drawn = (products.exact if tiles.row.result.is_float else integers.wrapping)(chain, rng)
        given = (tiles.a | tiles.b | tiles.c).items()
        values = {"a": drawn.a, "b": drawn.b, "c": drawn.c[:, None]}
        return Subcase(name, {array: each.contents(values[array], rng) for array, each in given} | fills(program, rng))

    return Built(program, draw)
