"""specialization_length: workgroup arrays whose length is a specialization constant, or one that a specialization constant selects.

Axis values are those of cases/khr_cooperative_matrix/specialization_length.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from generators.inputs.patterns import pattern_bits
from generators.layouts.tiles import WORKGROUP_BYTES
from generators.operands import constants
from generators.operands.constants import Room, described, parse_shape, room, rounded_up
from generators.parameters.vocabulary import LAYOUTS, SCOPES, SHAPE, SUBGROUPS, USES, TakenValues, Values
from generators.program.builder import U32, ProgramBuilder
from generators.program.memory import Array, Pointee
from generators.program.program import Program, Subcase
from generators.program.values import Extent, MatrixType, Selected
from generators.types import COMPONENT_TYPES, ComponentType, Scope, StorageClass

_BIG = {"before": 37, "between": 91, "after": 53}
"""Lengths of the neighbours where they are long and odd."""

_BASE = 16
"""Bytes to which a matrix access is aligned at most (KHR-ALIGN-01)."""

POLICY = (
    "no rule aligns the beginning of a workgroup array, and no program can ask for it (F-KHR-22): "
    "that element 0 of one is a place for a matrix, whatever lies before it, is the policy of this suite"
)

_NAMES: Mapping[str, tuple[str, ...]] = {
    "none": (),
    "before": ("before",),
    "between": ("between",),
    "all": ("before", "between", "after"),
}

AXES: TakenValues = {
    "component": COMPONENT_TYPES.keys(),
    "use": USES.keys(),
    "shape": SHAPE,
    "scope": SCOPES.keys(),
    "subgroups": SUBGROUPS,
    "load": LAYOUTS.keys(),
    "store": LAYOUTS.keys(),
    "length": ("literal", "specialization", "selected"),
    "neighbours": _NAMES.keys(),
    "neighbour": COMPONENT_TYPES.keys(),
    "neighbour_length": ("literal", "specialization", "selected"),
    "neighbour_size": re.compile(r"(one|big)(\+(one|big))*"),
    "cache": ("none", "round_trip"),
    "placement": ("aligned", "odd"),
    "pattern": ("index", "bits"),
}


@dataclass(frozen=True)
class Sizes:
    """Where the matrices lie in each array, in components: the place of each, from one instance to the next, and the lengths."""

    load: Room
    store: Room
    load_pitch: int
    store_pitch: int
    source: int
    target: int


def _length(values: Values, component: ComponentType, least: int) -> int:
    """The length of an array that needs ``least`` elements: itself, or so many that whatever follows can be aligned as well."""
    unit = 1 if values["placement"] == "odd" else _BASE // component.bytes
    return -(-least // unit) * unit


def sizes(values: Values) -> Sizes:
    """The sizes of a case. The arrays end one element behind a matrix, so that lengths are odd where nothing rounds them up."""
    component, shape = COMPONENT_TYPES[values["component"]], parse_shape(values["shape"])
    instances = int(values["subgroups"]) if SCOPES[values["scope"]] is Scope.SUBGROUP else 1
    load, store = room(component, shape, LAYOUTS[values["load"]], 1), room(component, shape, LAYOUTS[values["store"]], 2)
    load_pitch, store_pitch = rounded_up(load.span, component), rounded_up(store.span, component)
    return Sizes(
        load,
        store,
        load_pitch,
        store_pitch,
        _length(values, component, load_pitch * (instances - 1) + load.span + 1),
        _length(values, component, store_pitch * (instances - 1) + store.span + 1),
    )


def _fits(values: Values) -> bool:
    found = sizes(values)
    neighbour = COMPONENT_TYPES[values["neighbour"]]
    neighbours = sum(_length(values, neighbour, big) for big in _BIG.values()) * neighbour.bytes
    return (found.source + found.target) * COMPONENT_TYPES[values["component"]].bytes + neighbours <= WORKGROUP_BYTES


def _varies_by_constant(values: Values) -> bool:
    return values["neighbour_length"] != "literal" or "+" not in values["neighbour_size"]


PREDICATES: Mapping[str, Callable[[Values], bool]] = {"fits_workgroup_memory": _fits, "varies_by_constant": _varies_by_constant}


class _Writer:
    """Writes the program of one pipeline; ``size`` is that of its neighbours."""

    def __init__(self, values: Values, size: str, label: str) -> None:
        self.values, self.size, self.label = values, size, label
        self.component = COMPONENT_TYPES[values["component"]]
        self.builder = ProgramBuilder(SCOPES[values["scope"]], subgroups=int(values["subgroups"]))

    def _length(self, kind: str, name: str, value: int, other: int) -> Extent:
        """The length ``value``, as the axis says; ``other`` is the least that it could be, and what a constant gives by default."""
        match self.values[kind]:
            case "literal":
                return value
            case "specialization":
                return self.builder.operand(f"{name}_length", U32, "specialization", value, other)
            case _:
                # Its default gives what this case does not have.
                return Selected(self.builder.operand(f"{name}_flag", U32, "specialization", 1, 0), value, other)

    def _neighbour_length(self, name: str) -> tuple[Extent, int]:
        neighbour = COMPONENT_TYPES[self.values["neighbour"]]
        big, one = _length(self.values, neighbour, _BIG[name]), _length(self.values, neighbour, 1)
        count = big if self.size == "big" else one
        varies = "+" in self.values["neighbour_size"]
        if self.values["neighbour_length"] == "selected":
            default = 0 if self.size == "big" or varies else 1
            flag = self.builder.operand(f"{name}_flag", U32, "specialization", int(self.size == "big"), default)
            return Selected(flag, big, one), count
        # One that none of the pipelines has.
        return self._length("neighbour_length", name, count, 3), count

    def _scratch(self, name: str, pointee: Pointee, length: Extent) -> Array:
        return self.builder.array(f"{name}_shared", pointee, length, StorageClass.WORKGROUP, "scratch")

    def _buffer(self, name: str, pointee: Pointee, count: int, role: str) -> Array:
        return self.builder.array(name, pointee, count, StorageClass.STORAGE_BUFFER, "input" if role == "input" else "output")

    def write(self) -> Program:
        """The program: everything goes into workgroup memory, matrices from one array to another, and everything comes back."""
        builder, values, found = self.builder, self.values, sizes(self.values)
        pointee, aside = Pointee(self.component), Pointee(COMPONENT_TYPES[values["neighbour"]])
        kept: list[tuple[Array, Array, Array]] = []

        def keep(name: str) -> None:
            if name in _NAMES[values["neighbours"]]:
                length, count = self._neighbour_length(name)
                given, back = self._buffer(name, aside, count, "input"), self._buffer(f"{name}_back", aside, count, "output")
                kept.append((self._scratch(name, aside, length), given, back))

        keep("before")
        given = self._buffer("source", pointee, found.source, "input")
        source = self._scratch("source", pointee, self._length("length", "source", found.source, 5))
        keep("between")
        fill, back = self._buffer("target_fill", pointee, found.target, "input"), self._buffer("target", pointee, found.target, "output")
        target = self._scratch("target", pointee, self._length("length", "target", found.target, 7))
        keep("after")

        for scratch, buffer, _ in kept:
            builder.copy(scratch, buffer)
        builder.copy(target, fill)
        builder.copy(source, given)
        builder.barrier()
        rows, columns = parse_shape(values["shape"])
        type_ = MatrixType(self.component, SCOPES[values["scope"]], rows, columns, USES[values["use"]])
        first_load, first_store = builder.literal(0), builder.literal(0)
        if builder.instances > 1:
            index = builder.instance_index()
            load_at = builder.offset("load_first", first_load, index, found.load_pitch)
            store_at = builder.offset("store_first", first_store, index, found.store_pitch)
            matrix = builder.load("matrix", type_, source, load_at, builder.literal(found.load.stride), LAYOUTS[values["load"]])
            builder.store(matrix, target, store_at, builder.literal(found.store.stride), LAYOUTS[values["store"]])
        else:
            matrix = builder.load("matrix", type_, source, first_load, builder.literal(found.load.stride), LAYOUTS[values["load"]])
            builder.store(matrix, target, first_store, builder.literal(found.store.stride), LAYOUTS[values["store"]])
        builder.barrier()
        builder.copy(back, target)
        for scratch, _, buffer in kept:
            builder.copy(buffer, scratch)
        policy = POLICY if values["placement"] == "odd" else ""
        return replace(builder.build(policy), label=self.label, pipeline_cache=values["cache"] == "round_trip")


def program(values: Values) -> Program:
    """The program of a case's first pipeline, with those of the others."""
    each = constants.pipelines(values, ("neighbour_size",))
    return constants.together([_Writer(values, one["neighbour_size"], described(one, values)).write() for one in each])


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """The source has the pattern, every other array random bits of its type, so that one that overlaps another shows."""
    inputs = {}
    for array in program.arrays:
        if array.role == "input":
            pattern = values["pattern"] if array.name == "source" else "bits"
            inputs[array.name] = pattern_bits(pattern, array.pointee.component, array.count, rng).view(np.uint8)
    return Subcase(name, inputs)
