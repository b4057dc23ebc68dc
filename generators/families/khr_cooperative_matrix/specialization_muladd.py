"""specialization_muladd: a multiply-add whose types all come from specialization constants.

If a parameter has several values, the case has one module and a pipeline for each value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from generators.inputs import integers, products
from generators.inputs.products import Chain, Operands
from generators.layouts.matrix_arrays import MatrixArray, Tiles, granule_of, matrix_source, matrix_target, rounded_up, tiled
from generators.layouts.row_types import row_type
from generators.operands import constants
from generators.operands.constants import (
    CACHES,
    Constants,
    ConstantSource,
    Varying,
    counts_instances,
    pipeline_labels,
    varying,
    varying_among,
)
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import SCOPES, layouts_of, numbers_in, types_in
from generators.program.builder import U32, ProgramBuilder
from generators.program.program import Built, Program, Subcase
from generators.program.values import Extent, Matrix, MatrixType, Operand, ScalarValue
from generators.property_rows import PropertyRow
from generators.types import ComponentType, Layout, Scope

_SIDES = {"a": ("m", "k"), "b": ("k", "n"), "c": ("m", "n")}

Types = tuple[ComponentType, ComponentType, ComponentType, ComponentType]
"""Component types of A, B, C and Result."""

Draw = Callable[[Chain, np.random.Generator], Operands]
PatternName = Literal["full", "cancel", "permutation"]

_FLOATS: Mapping[PatternName, Draw] = {
    "full": products.exact,
    "cancel": products.cancelling_exact,
    "permutation": partial(products.identity, which="permutation"),
}
_INTEGERS: Mapping[PatternName, Draw] = {
    "full": integers.wrapping,
    "cancel": integers.edges,
    "permutation": integers.selecting,
}


@dataclass(frozen=True)
class MuladdSizes:
    """The sizes of a multiply-add: A is ``m`` x ``k``, B ``k`` x ``n``."""

    m: int
    n: int
    k: int


def _parse_sizes(text: str) -> MuladdSizes:
    """Return the sizes that ``MxNxK`` names; raises ValueError."""
    return MuladdSizes(*numbers_in(text, "M, N and K, such as 16x8x32"))


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of a case."""

    types: Types = parameter("component types of A, B, C and Result", decode=types_in)
    sizes: Varying[MuladdSizes] = parameter("sizes of the multiply-add", default="16x16x16", decode=varying(_parse_sizes))
    scope: Varying[Scope] = parameter("scope of the matrices", default="subgroup", decode=varying_among(SCOPES))
    subgroups: Varying[int] = parameter("subgroups of the workgroup", default="1", decode=varying(int))
    layouts: Varying[tuple[Layout, ...]] = parameter("the layouts of A, B, C and Result", default="rccr", decode=varying(layouts_of(4)))
    ids: Literal["shared", "own", "mixed", "literal"] = parameter(
        "whether types share the constants of their sizes, have their own constants, or have literals: A or all of them", default="shared"
    )
    scope_from: ConstantSource = parameter("where the scope comes from", default="specialization")
    layout_from: ConstantSource = parameter("where the layouts come from", default="specialization")
    stride_from: ConstantSource = parameter("where the strides come from", default="specialization")
    cache: bool = parameter("whether pipelines come from the data of a cache", default="none", labels=CACHES)


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: PatternName = parameter("how the data are drawn")


@dataclass(frozen=True)
class Pipeline:
    """The values of one pipeline: its property row, scope, subgroups, the layouts of A, B, C and Result, and a label of the values that
    vary."""

    row: PropertyRow
    scope: Scope
    subgroups: int
    layouts: Mapping[str, Layout]
    label: str

    @property
    def instances(self) -> int:
        """Scope instances."""
        return self.subgroups if self.scope is Scope.SUBGROUP else 1

    def extent(self, side: str) -> int:
        """Return M, N or K."""
        return {"m": self.row.m, "n": self.row.n, "k": self.row.k}[side]

    def type(self, name: str) -> MatrixType:
        """Return the type of A, B, C or Result."""
        return row_type(self.row, name, self.scope)


def pipelines(parameters: Parameters) -> list[Pipeline]:
    """Return the values of each pipeline of a case."""
    varied: dict[str, Varying[Any]] = {
        "sizes": parameters.sizes,
        "scope": parameters.scope,
        "subgroups": parameters.subgroups,
        "layouts": parameters.layouts,
    }
    found = []
    for number, label in enumerate(pipeline_labels(varied)):
        sizes, layouts = parameters.sizes.of(number), dict(zip("abcd", parameters.layouts.of(number), strict=True))
        row = PropertyRow(sizes.m, sizes.n, sizes.k, *parameters.types, saturating=False)
        found.append(Pipeline(row, parameters.scope.of(number), parameters.subgroups.of(number), layouts, label))
    return found


def tiles(all_: list[Pipeline], own: Pipeline, literal_strides: bool) -> dict[str, Tiles]:
    """Return the placement of a pipeline's matrices. All pipelines share the pitches, and literal strides."""
    found = {}
    for padding, name in enumerate("abcd"):
        granule = granule_of(own.type(name).component)
        count = max(each.instances for each in all_)

        def of(each: Pipeline, least: int, name: str = name, padding: int = padding, granule: int = granule, count: int = count) -> Tiles:
            return tiled(each.type(name), each.layouts[name], padding, (count, 1), granule=granule, least=least)

        least = max(of(each, 0).stride for each in all_) if literal_strides else 0
        found[name] = replace(of(own, least), pitch=rounded_up(max(of(each, least).span for each in all_), granule))
    return found


def _varies_by_constant(parameters: Parameters) -> bool:
    """Tell whether the pipelines differ only in specialization constants."""
    if parameters.sizes.varies and parameters.ids in ("mixed", "literal"):
        return False
    if parameters.layouts.varies and parameters.layout_from == "literal":
        return False
    return not (parameters.scope.varies and parameters.scope_from == "literal")


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "varies_by_constant": _varies_by_constant,
    "counts_instances": lambda parameters: counts_instances(parameters.scope, parameters.subgroups),
}


class _MuladdPipelineWriter:
    """Writes the program of pipeline number ``own``."""

    def __init__(self, parameters: Parameters, all_: list[Pipeline], placed: list[dict[str, Tiles]], own: int) -> None:
        self.parameters, self.all, self.placed = parameters, all_, placed
        self.own, self.tiles = all_[own], placed[own]
        self.builder = ProgramBuilder(self.own.scope, subgroups=self.own.subgroups)
        self.constants = Constants(self.builder)
        scopes = constants.default_among((Scope.WORKGROUP, Scope.SUBGROUP), [each.scope for each in all_])
        self.scope = self.constants.scope(parameters.scope_from, self.own.scope, scopes)
        self.sides: dict[str, Operand] = {}

    def extent(self, name: str, side: str) -> Extent:
        """Return the rows or columns of a matrix type.

        All constants of one side (M, N or K) have the same default, so the types of an unspecialized module fit each other (KHR-MAD-01). If
        one type has a literal for the side, the default is that literal.
        """
        value = self.own.extent(side)
        default = constants.other_extent([each.extent(side) for each in self.all])
        match self.parameters.ids:
            case "literal":
                return value
            case "shared":
                return self._side(side, value, default)
            case "own":
                return self._side(f"{name}_{side}", value, default)
            case "mixed":
                return value if name == "a" else self._side(side, value, default if side == "n" else value)

    def _side(self, name: str, value: int, default: int) -> Operand:
        if name not in self.sides:
            self.sides[name] = self.builder.operand(name, U32, "specialization", value, default)
        return self.sides[name]

    def type(self, name: str) -> MatrixType:
        """Return the type of A, B, C or Result."""
        kind = "c" if name == "d" else name
        rows, columns = _SIDES[kind]
        return replace(self.own.type(name), scope=self.scope, rows=self.extent(kind, rows), columns=self.extent(kind, columns))

    def _layout(self, name: str) -> Layout | Operand:
        default = constants.default_among(tuple(Layout), [each.layouts[name] for each in self.all])
        return self.constants.layout(self.parameters.layout_from, f"{name}_layout", self.own.layouts[name], default)

    def _operands(self, array: MatrixArray) -> tuple[ScalarValue, ScalarValue]:
        """Return the first element and the stride of the access to an array."""
        name, tiles = array.name, array.tiles
        default = max(each[name].stride for each in self.placed) + granule_of(tiles.component)
        stride = self.constants.scalar(self.parameters.stride_from, f"{name}_stride", tiles.stride, default)
        return array.product(), stride

    def write(self) -> Program:
        """Write the program: three loads, one multiply-add, one store."""
        builder = self.builder
        loaded: dict[str, Matrix] = {}
        for name in "abc":
            source = matrix_source(builder, name, self.tiles[name])
            operands = self._operands(source)
            loaded[name] = builder.load(f"matrix_{name}", self.type(name), source.array, *operands, self._layout(name))
        target = matrix_target(builder, "d", self.tiles["d"])
        flags = self.own.row.operands
        result = builder.muladd("product", self.type("d"), loaded["a"], loaded["b"], loaded["c"], flags or None)
        target.store(result, *self._operands(target), self._layout("d"))
        return replace(builder.build(), label=self.own.label, pipeline_cache=self.parameters.cache)


def build(parameters: Parameters) -> Built:
    """Build the program of a case's first pipeline, with the programs of the others.

    Data are exact in every order and need nearly all bits of the sum; with ``permutation``, each result is a product of single elements.
    """
    all_ = pipelines(parameters)
    placed = [tiles(all_, own, parameters.stride_from == "literal") for own in all_]
    by_label = {own.label: (own, own_tiles) for own, own_tiles in zip(all_, placed, strict=True)}

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        own, own_tiles = by_label[program.label]
        patterns = _FLOATS if own.row.result.is_float else _INTEGERS
        drawn = patterns[parameters.pattern](Chain(own.row, own.instances, 1), rng)
        data = {"a": drawn.a, "b": drawn.b, "c": drawn.c[:, None]}
        return Subcase(name, {array: own_tiles[array].contents(bits, rng) for array, bits in data.items()})

    return Built(constants.together([_MuladdPipelineWriter(parameters, all_, placed, number).write() for number in range(len(all_))]), draw)
