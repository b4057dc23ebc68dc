"""get_coordinate: each invocation asks for the coordinates of its components."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

import numpy as np

from generators.inputs.patterns import tame_bits
from generators.layouts.matrix_arrays import Tiles, matrix_source, matrix_target, tight
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import SCOPE, Scoped, layouts_of, parse_shape
from generators.program.builder import ProgramBuilder
from generators.program.elements import ComponentsPlaced, CoordinateUse
from generators.program.functions import Function, PointerParameter
from generators.program.program import Built, Program, Subcase
from generators.program.values import MatrixType, Value, is_matrix
from generators.program.variables import Variable
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
    called: Literal["no", "pointer", "value"] = parameter(
        "whether a function asks for the coordinates: no; to change a variable to which it gets a pointer; or to return a matrix",
        default="no",
    )
    layouts: tuple[Layout, ...] = parameter("the layouts of loads and of stores", default="rr", decode=layouts_of(2), then=SCOPE)

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
    """Tell whether the type can represent the number of every element and has conversions from u32; integers wrap."""
    component = parameters.component
    rows, columns = parameters.shape
    return parameters.what == "mask" or not component.is_float or rows * (columns + 1) <= 1 << component.precision


PREDICATES: Mapping[str, Callable[[Parameters], bool]] = {"numbers_fit": _numbers_fit}


def _by_pointer(builder: ProgramBuilder, asked: ComponentsPlaced) -> None:
    """Call a function that places the components in a variable of its caller."""
    held, given = Variable("held", asked.target.type, asked.target.storage), Value("given", asked.matrix.type)
    with builder.arm() as body:
        place_components(builder, replace(asked, target=held, matrix=given))
    function = Function("place", (PointerParameter(held), given), tuple(body), None)
    builder.call("", function, (asked.target, asked.matrix))


def _by_value(builder: ProgramBuilder, asked: ComponentsPlaced) -> None:
    """Call a function that returns the matrix whose components it places."""
    held, given = Variable("held", asked.target.type, "function"), Value("given", asked.matrix.type)
    with builder.arm() as body:
        builder.set(held, (), given)
        place_components(builder, replace(asked, target=held, matrix=given))
        returned = builder.get_matrix("held_placed", held)
    function = Function("place", (given,), tuple(body), returned, variables=(held,))
    result = builder.call("returned", function, (asked.matrix,))
    assert is_matrix(result), "the function returns a matrix"
    builder.set(asked.target, (), result)


_PLACING: Mapping[str, Callable[[ProgramBuilder, ComponentsPlaced], None]] = MappingProxyType(
    {"no": place_components, "pointer": _by_pointer, "value": _by_value}
)


def build(parameters: Parameters) -> Built:
    """Build a case: its program, and random data without zeros or denormals."""
    builder = ProgramBuilder(parameters.scope, subgroups=parameters.subgroups, maintenance1=True)
    source = matrix_source(builder, "source", parameters.tiles, label="place")
    target = matrix_target(builder, "target", parameters.stored, label="place")
    matrix = source.load_tile("matrix", 0)
    placed = builder.variable("placed", matrix.type, "function")
    builder.set(placed, (), matrix)
    _PLACING[parameters.called](builder, ComponentsPlaced(placed, matrix, parameters.what, parameters.leading))
    target.store_tile(builder.get_matrix("matrix_placed", placed), 0)
    program = builder.build()

    def draw(name: str, _: Parameters, program: Program, rng: np.random.Generator) -> Subcase:
        array = program.array("source")
        return Subcase(name, {"source": tame_bits(array.pointee.component, array.count, rng).view(np.uint8)})

    return Built(program, draw)
