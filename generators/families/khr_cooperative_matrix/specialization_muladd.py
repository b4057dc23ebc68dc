"""specialization_muladd: a multiply-add all of whose types come from specialization constants.

Axis values are those of cases/khr_cooperative_matrix/specialization_muladd.yaml. Where a value is ``a+b``, the case has one module and
a pipeline for each of its parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from generators.inputs import integers, products
from generators.inputs.products import Chain, Operands
from generators.layouts.tiles import Tiles
from generators.operands import constants
from generators.operands.constants import FROM, Constants, counts_instances, described, labels, room, rounded_up
from generators.parameters.vocabulary import LAYOUT_LETTERS, OPERAND_USES, SCOPES, TakenValues, Values
from generators.program.builder import U32, ProgramBuilder
from generators.program.memory import Pointee
from generators.program.program import Program, Subcase
from generators.program.values import Extent, Matrix, MatrixType, Operand, ScalarValue
from generators.property_rows import PropertyRow, parse_row
from generators.types import ComponentType, Layout, Scope, StorageClass

_VARYING = ("sizes", "scope", "subgroups", "layouts")
_SIDES = {"a": ("m", "k"), "b": ("k", "n"), "c": ("m", "n")}

_FLOATS: Mapping[str, Callable[[Chain, np.random.Generator], Operands]] = {
    "full": products.exact,
    "cancel": products.cancelling_exact,
    "permutation": partial(products.identity, which="permutation"),
}
_INTEGERS: Mapping[str, Callable[[Chain, np.random.Generator], Operands]] = {
    "full": integers.wrapping,
    "cancel": integers.edges,
    "permutation": integers.selecting,
}

AXES: TakenValues = {
    "types": re.compile(r"\w+(\.\w+){3}"),
    "sizes": re.compile(r"\d+x\d+x\d+(\+\d+x\d+x\d+)*"),
    "scope": re.compile(r"(subgroup|workgroup)(\+(subgroup|workgroup))*"),
    "subgroups": None,
    "layouts": re.compile(r"[rc]{4}(\+[rc]{4})*"),
    "ids": ("shared", "own", "mixed", "literal"),
    "scope_from": FROM,
    "layout_from": FROM,
    "stride_from": FROM,
    "cache": ("none", "round_trip"),
    "pattern": _FLOATS.keys(),
}


@dataclass(frozen=True)
class Pipeline:
    """The values of one pipeline: its property row, scope, subgroups, the layouts of A, B, C and Result, and what varies."""

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
        """M, N or K."""
        return {"m": self.row.m, "n": self.row.n, "k": self.row.k}[side]

    def shape(self, name: str) -> tuple[int, int]:
        """Rows and columns of A, B, C or Result."""
        rows, columns = _SIDES["c" if name == "d" else name]
        return self.extent(rows), self.extent(columns)

    def component(self, name: str) -> ComponentType:
        """The component type of A, B, C or Result."""
        return {"a": self.row.a, "b": self.row.b, "c": self.row.c, "d": self.row.result}[name]


def pipelines(values: Values) -> list[Pipeline]:
    """What each pipeline of a case has."""
    return [
        Pipeline(
            parse_row(f"{each['sizes']}.{values['types']}"),
            SCOPES[each["scope"]],
            int(each["subgroups"]),
            {name: LAYOUT_LETTERS[letter] for name, letter in zip("abcd", each["layouts"], strict=True)},
            described(each, values),
        )
        for each in constants.pipelines(values, _VARYING)
    ]


def tiles(values: Values, own: Pipeline) -> dict[str, Tiles]:
    """Where the matrices of a pipeline lie: pitches, and strides where they are literal, are those of all pipelines."""
    all_ = pipelines(values)
    found = {}
    for padding, name in enumerate("abcd"):
        component = own.component(name)

        def place(each: Pipeline, least: int, name: str = name, padding: int = padding) -> constants.Room:
            return room(each.component(name), each.shape(name), each.layouts[name], padding, least)

        least = max(place(each, 0).stride for each in all_) if values["stride_from"] == "literal" else 0
        pitch = rounded_up(max(place(each, least).span for each in all_), component)
        count = max(each.instances for each in all_)
        found[name] = Tiles(component, *own.shape(name), own.layouts[name], place(own, least).stride, pitch, 1, pitch * count)
    return found


def _varies_by_constant(values: Values) -> bool:
    """Only a specialization constant can differ between pipelines of one module."""
    sizes_vary = len(set(labels(values["sizes"]))) > 1 and values["ids"] in ("mixed", "literal")
    layouts_vary = len(set(labels(values["layouts"]))) > 1 and values["layout_from"] == "literal"
    scopes_vary = len(set(labels(values["scope"]))) > 1 and values["scope_from"] == "literal"
    return not (sizes_vary or layouts_vary or scopes_vary)


PREDICATES: Mapping[str, Callable[[Values], bool]] = {
    "varies_by_constant": _varies_by_constant,
    "counts_instances": counts_instances,
}


class _Writer:
    """Writes the program of one pipeline."""

    def __init__(self, values: Values, all_: list[Pipeline], own: Pipeline) -> None:
        self.values, self.all, self.own = values, all_, own
        self.builder = ProgramBuilder(own.scope, subgroups=own.subgroups)
        self.constants = Constants(self.builder, values)
        scopes = constants.default_among((Scope.WORKGROUP, Scope.SUBGROUP), [each.scope for each in all_])
        self.scope = self.constants.scope(own.scope, scopes)
        self.sides: dict[str, Operand] = {}

    def extent(self, name: str, side: str) -> Extent:
        """Rows or columns of a matrix type.

        Constants of one side have one default, so that the types of a module that nobody specializes fit each other (KHR-MAD-01);
        where a type has a literal, that is its value.
        """
        value = self.own.extent(side)
        default = constants.other_extent([each.extent(side) for each in self.all])
        match self.values["ids"]:
            case "literal":
                return value
            case "shared":
                return self._side(side, value, default)
            case "own":
                return self._side(f"{name}_{side}", value, default)
            case _:
                return value if name == "a" else self._side(side, value, default if side == "n" else value)

    def _side(self, name: str, value: int, default: int) -> Operand:
        if name not in self.sides:
            self.sides[name] = self.builder.operand(name, U32, "specialization", value, default)
        return self.sides[name]

    def type(self, name: str) -> MatrixType:
        """The type of A, B, C or Result."""
        kind = "c" if name == "d" else name
        rows, columns = _SIDES[kind]
        return MatrixType(self.own.component(name), self.scope, self.extent(kind, rows), self.extent(kind, columns), OPERAND_USES[kind])

    def _layout(self, name: str) -> Layout | Operand:
        taken = [each.layouts[name] for each in self.all]
        return self.constants.layout(f"{name}_layout", self.own.layouts[name], constants.default_among(tuple(Layout), taken))

    def _place(self, name: str, tile: Tiles, counted: bool) -> tuple[ScalarValue, ScalarValue]:
        builder = self.builder
        most = max(tiles(self.values, each)[name].stride for each in self.all)
        stride = self.constants.scalar("stride", f"{name}_stride", tile.stride, most + constants.granule_of(tile.component))
        first: ScalarValue = builder.literal(0)
        if counted:
            first = builder.arithmetic(f"{name}_first", "multiply", builder.instance_index(), builder.literal(tile.pitch))
        return first, stride

    def write(self) -> Program:
        """The program: three loads, one multiply-add, one store."""
        builder, storage = self.builder, StorageClass.STORAGE_BUFFER
        placed = tiles(self.values, self.own)
        counted = max(each.instances for each in self.all) > 1
        loaded: dict[str, Matrix] = {}
        for name in "abc":
            tile = placed[name]
            array = builder.array(name, Pointee(tile.component), tile.length, storage, "input")
            first, stride = self._place(name, tile, counted)
            loaded[name] = builder.load(f"matrix_{name}", self.type(name), array, first, stride, self._layout(name))
        target = builder.array("d", Pointee(placed["d"].component), placed["d"].length, storage, "output")
        flags = self.own.row.operands
        result = builder.muladd("product", self.type("d"), loaded["a"], loaded["b"], loaded["c"], flags or None)
        first, stride = self._place("d", placed["d"], counted)
        builder.store(result, target, first, stride, self._layout("d"))
        return replace(builder.build(), label=self.own.label, pipeline_cache=self.values["cache"] == "round_trip")


def program(values: Values) -> Program:
    """The program of a case's first pipeline, with those of the others."""
    all_ = pipelines(values)
    return constants.together([_Writer(values, all_, own).write() for own in all_])


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """Data that are exact in every order and need nearly all bits of the sum; products of single elements for ``permutation``."""
    own = next(each for each in pipelines(values) if each.label == program.label)
    patterns = _FLOATS if own.row.result.is_float else _INTEGERS
    drawn = patterns[values["pattern"]](Chain(own.row, own.instances, 1), rng)
    placed = tiles(values, own)
    data = {"a": drawn.a, "b": drawn.b, "c": drawn.c[:, None]}
    return Subcase(name, {array: placed[array].place(np.ascontiguousarray(bits), rng) for array, bits in data.items()})
