"""get_coordinate: each invocation asks which elements its components are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from generators.inputs.patterns import tame_bits
from generators.layouts.matrix_arrays import Tiles, matrix_source, matrix_target, tight
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import Scoped, layouts_of, parse_shape
from generators.program.builder import ProgramBuilder
from generators.program.built import Built
from generators.program.elements import ComponentsPlaced, CoordinateUse
from generators.program.program import Program, Subcase
from generators.program.values import MatrixType
from generators.routines.elements import place_components
from generators.types import COMPONENT_TYPES, ComponentType, Layout, Use


@dataclass(frozen=True, kw_only=True)
class Parameters(Scoped):
    """The parameters of a case."""

    component: ComponentType = parameter("the component type", labels=COMPONENT_TYPES)
    use: Use = parameter("the use", default="acc", labels={"a": Use.A, "b": Use.B, "acc": Use.ACCUMULATOR})
    shape: tuple[int, int] = parameter("rows and columns", default="16x16", decode=parse_shape)
    what: CoordinateUse = parameter(
        "what is done with coordinates: each element becomes its number, or 0 above the diagonal", default="number"
    )
    leading: int = parameter("how many components are asked for by literal indices, before the loop", default=0)
    layouts: tuple[Layout, ...] = parameter("of loads and of stores", default="rr", decode=layouts_of(2))

    @property
    def tiles(self) -> Tiles:
        """The tiles of the source, one for each scope instance."""
        return self._tiles(self.layouts[0])

    @property
    def stored(self) -> Tiles:
        """The tiles of the target."""
        return self._tiles(self.layouts[1])

    def _tiles(self, layout: Layout) -> Tiles:
        type_ = MatrixType(self.component, self.scope, *self.shape, self.use)
        return tight(type_, layout, (self.instances, 1))


def _numbers_fit(parameters: Parameters) -> bool:
    """Tell whether the type has the number of every element, and conversions from u32; integers wrap."""
    component = parameters.component
    rows, columns = parameters.shape
    return parameters.what == "mask" or not component.is_float or rows * (columns + 1) <= 1 << component.precision


PREDICATES: Mapping[str, Callable[[Parameters], bool]] = {"numbers_fit": _numbers_fit}


def build(parameters: Parameters) -> Built:
    """Build a case: its program, and random data without zeros or denormals."""
    builder = ProgramBuilder(parameters.scope, subgroups=parameters.subgroups, maintenance1=True)
    source = matrix_source(builder, "source", parameters.tiles, label="place")
    target = matrix_target(builder, "target", parameters.stored, label="place")
    matrix = source.load_tile("matrix", 0)
    placed = builder.variable("placed", matrix.type, "function")
    builder.set(placed, (), matrix)
    place_components(builder, ComponentsPlaced(placed, matrix, parameters.what, parameters.leading))
    target.store_tile(builder.get_matrix("matrix_placed", placed), 0)
    program = builder.build()

    def draw(name: str, _: Parameters, program: Program, rng: np.random.Generator) -> Subcase:
        array = program.array("source")
        return Subcase(name, {"source": tame_bits(array.pointee.component, array.count, rng).view(np.uint8)})

    return Built(program, draw)
