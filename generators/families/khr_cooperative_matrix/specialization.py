"""specialization: what matrix types and their loads and stores are made of comes from specialization constants.

Axis values are those of cases/khr_cooperative_matrix/specialization.yaml. Where a value is ``a+b``, the case has one module and a
pipeline for each of its parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from generators.inputs.patterns import PATTERNS, pattern_bits
from generators.layouts.placement import fills, stage_in, stage_out
from generators.layouts.tiles import WORKGROUP_BYTES
from generators.operands import constants
from generators.operands.constants import FROM, Constants, Room, counts_instances, described, labels, parse_shape, room, rounded_up
from generators.parameters.vocabulary import LAYOUTS, SCOPES, USES, TakenValues, Values
from generators.program.builder import ProgramBuilder
from generators.program.memory import Pointee
from generators.program.program import Program, Subcase
from generators.program.values import MatrixType, Operand, ScalarValue
from generators.types import COMPONENT_TYPES, Layout, Scope, StorageClass, Use

_VARYING = ("use", "shape", "scope", "subgroups", "load", "store", "padding")
_TWINS = ("rows", "columns", "use", "scope")

AXES: TakenValues = {
    "component": COMPONENT_TYPES.keys(),
    "use": re.compile(r"(a|b|acc)(\+(a|b|acc))*"),
    "shape": re.compile(r"[1-9]\d*x[1-9]\d*(\+[1-9]\d*x[1-9]\d*)*"),
    "scope": re.compile(r"(subgroup|workgroup)(\+(subgroup|workgroup))*"),
    "subgroups": None,
    "load": re.compile(r"(row|column)(\+(row|column))*"),
    "store": re.compile(r"(row|column)(\+(row|column))*"),
    "padding": None,
    "storage": ("storage_buffer", "workgroup"),
    "rows_from": FROM,
    "columns_from": FROM,
    "scope_from": FROM,
    "use_from": FROM,
    "layout_from": FROM,
    "stride_from": FROM,
    "twin": ("none", *_TWINS),
    "twin_value": ("different", "equal", "default"),
    "cache": ("none", "round_trip"),
    "pattern": PATTERNS,
}


@dataclass(frozen=True)
class Shown:
    """A matrix type as one pipeline sees it."""

    rows: int
    columns: int
    use: Use
    scope: Scope

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return self.rows, self.columns


@dataclass(frozen=True)
class Pipeline:
    """The values of one pipeline.

    Attributes:
        types: the matrix type, and its twin where the case has one.
        load, store: layouts. ``padding``: granules between lines. ``subgroups``: in the workgroup.
        label: what varies.
    """

    types: tuple[Shown, ...]
    load: Layout
    store: Layout
    padding: int
    subgroups: int
    label: str

    @property
    def instances(self) -> int:
        """Scope instances."""
        return self.subgroups if self.types[0].scope is Scope.SUBGROUP else 1


def _halved(value: int) -> int:
    """Another number of rows or columns that devices have, too."""
    return value // 2 if value >= 16 else 2 * value


def _twin(values: Values, type_: Shown) -> Shown:
    """The second type; where only the constant's id differs, an equal one."""
    if values["twin_value"] == "equal":
        return type_
    match values["twin"]:
        case "rows":
            return replace(type_, rows=_halved(type_.rows))
        case "columns":
            return replace(type_, columns=_halved(type_.columns))
        case "use":
            return replace(type_, use=Use((type_.use + 1) % 2))
        case _:
            return replace(type_, scope=Scope.SUBGROUP if type_.scope is Scope.WORKGROUP else Scope.WORKGROUP)


def pipelines(values: Values) -> list[Pipeline]:
    """What each pipeline of a case has."""
    found = []
    for each in constants.pipelines(values, _VARYING):
        rows, columns = parse_shape(each["shape"])
        type_ = Shown(rows, columns, USES[each["use"]], SCOPES[each["scope"]])
        types = (type_,) if values["twin"] == "none" else (type_, _twin(values, type_))
        label = described(each, values)
        found.append(Pipeline(types, LAYOUTS[each["load"]], LAYOUTS[each["store"]], int(each["padding"]), int(each["subgroups"]), label))
    return found


@dataclass(frozen=True)
class Frame:
    """What all pipelines of a case share because it is literal in their module, in components.

    Attributes:
        load, store: the least strides: literal ones are the same in every pipeline.
        load_pitch, store_pitch: from one matrix to the next: instance by instance, and each with its twin.
        matrices: places in either array.
    """

    load: int
    store: int
    load_pitch: int
    store_pitch: int
    matrices: int


def _rooms(values: Values, all_: list[Pipeline], least: tuple[int, int]) -> tuple[list[Room], list[Room]]:
    component = COMPONENT_TYPES[values["component"]]
    shapes = [(each, type_.shape) for each in all_ for type_ in each.types]
    loads = [room(component, shape, each.load, each.padding, least[0]) for each, shape in shapes]
    # Other than the load's, so that one taken for the other shows.
    stores = [room(component, shape, each.store, each.padding + 1, least[1]) for each, shape in shapes]
    return loads, stores


def frame(values: Values) -> Frame:
    """What the pipelines of a case share."""
    component, all_ = COMPONENT_TYPES[values["component"]], pipelines(values)
    least = (0, 0)
    loads, stores = _rooms(values, all_, least)
    if values["stride_from"] == "literal" or values["twin"] != "none":
        least = max(one.stride for one in loads), max(one.stride for one in stores)
        loads, stores = _rooms(values, all_, least)
    granule = constants.granule_of(component)
    load_pitch, store_pitch = (rounded_up(max(one.span for one in group), component) + granule for group in (loads, stores))
    return Frame(*least, load_pitch, store_pitch, max(each.instances for each in all_) * len(all_[0].types))


def _fits(values: Values) -> bool:
    if values["storage"] == "storage_buffer":
        return True
    shared = frame(values)
    return (shared.load_pitch + shared.store_pitch) * shared.matrices * COMPONENT_TYPES[values["component"]].bytes <= WORKGROUP_BYTES


def _varies_by_constant(values: Values) -> bool:
    """Only a specialization constant can differ between pipelines of one module."""
    fixed = {
        "use": values["use_from"],
        "scope": values["scope_from"],
        "load": values["layout_from"],
        "store": values["layout_from"],
        "padding": values["stride_from"],
    }
    for axis, source in fixed.items():
        if source == "literal" and len(set(labels(values[axis]))) > 1:
            return False
    shapes = [parse_shape(one) for one in labels(values["shape"])]
    return all(
        values[f"{kind}_from"] == "specialization" or len({shape[i] for shape in shapes}) == 1 for i, kind in enumerate(("rows", "columns"))
    )


def _twins(values: Values) -> bool:
    """A twin differs in a constant that is specialized, and is one of a module with one pipeline."""
    kind = values["twin"]
    if kind == "none":
        return bool(values["twin_value"] == "different")
    single = all(len(labels(values[axis])) == 1 for axis in _VARYING)
    if values["use"] == "acc" and kind == "use":
        return False
    if kind == "scope":
        # The place of an instance's matrix is counted in instances of one scope.
        single = single and str(values["subgroups"]) == "1"
    return single and bool(values[f"{kind}_from"] == "specialization")


PREDICATES: Mapping[str, Callable[[Values], bool]] = {
    "fits_workgroup_memory": _fits,
    "varies_by_constant": _varies_by_constant,
    "twins": _twins,
    "counts_instances": counts_instances,
}


class _Writer:
    """Writes the program of one pipeline."""

    def __init__(self, values: Values, all_: list[Pipeline], own: Pipeline) -> None:
        self.values, self.all, self.own = values, all_, own
        self.component = COMPONENT_TYPES[values["component"]]
        self.frame = frame(values)
        self.builder = ProgramBuilder(own.types[0].scope, subgroups=own.subgroups)
        self.constants = Constants(self.builder, values)

    def types(self) -> list[MatrixType]:
        """The matrix type, and its twin: equal but for the one constant in which it differs."""
        give, own = self.constants, self.own.types[0]
        shown = [type_ for each in self.all for type_ in each.types]
        # A literal twin has the value that the other's constant has by default.
        literal = self.values["twin_value"] == "default"
        shown_before = [each.types[0] for each in self.all] if literal else shown
        defaults = {
            "rows": constants.other_extent([type_.rows for type_ in shown_before]),
            "columns": constants.other_extent([type_.columns for type_ in shown_before]),
            "use": constants.default_among((Use.ACCUMULATOR, Use.A, Use.B), [type_.use for type_ in shown_before]),
        }
        twin = self.own.types[-1]
        if literal:
            defaults |= {"rows": twin.rows, "columns": twin.columns, "use": twin.use}
            defaults |= {kind: defaults_of for kind, defaults_of in self._plain_defaults().items() if kind != self.values["twin"]}
        first = MatrixType(
            self.component,
            give.scope(own.scope, constants.default_among((Scope.WORKGROUP, Scope.SUBGROUP), [each.types[0].scope for each in self.all])),
            give.number("rows", "rows", own.rows, defaults["rows"]),
            give.number("columns", "columns", own.columns, defaults["columns"]),
            give.use("use", own.use, defaults["use"]),
        )
        match self.values["twin"]:
            case "none":
                return [first]
            case "rows":
                return [first, replace(first, rows=twin.rows if literal else give.number("rows", "twin_rows", twin.rows, defaults["rows"]))]
            case "columns":
                columns = twin.columns if literal else give.number("columns", "twin_columns", twin.columns, defaults["columns"])
                return [first, replace(first, columns=columns)]
            case "use":
                return [first, replace(first, use=twin.use if literal else give.use("twin_use", twin.use, defaults["use"]))]
            case _:
                return [first, replace(first, scope=twin.scope)]

    def _plain_defaults(self) -> dict[str, int]:
        own = self.own.types[0]
        return {
            "rows": constants.other_extent([own.rows]),
            "columns": constants.other_extent([own.columns]),
            "use": constants.default_among((Use.ACCUMULATOR, Use.A, Use.B), [own.use]),
        }

    def _layout(self, direction: str) -> Layout | Operand:
        value = getattr(self.own, direction)
        taken = [getattr(each, direction) for each in self.all]
        return self.constants.layout(f"{direction}_layout", value, constants.default_among(tuple(Layout), taken))

    def _stride(self, direction: str) -> ScalarValue:
        least, padding = (self.frame.load, 0) if direction == "load" else (self.frame.store, 1)

        def of(each: Pipeline) -> int:
            return room(self.component, each.types[0].shape, getattr(each, direction), each.padding + padding, least).stride

        default = max(map(of, self.all)) + constants.granule_of(self.component)
        return self.constants.scalar("stride", f"{direction}_stride", of(self.own), default)

    def write(self) -> Program:
        """The program: each matrix from its place in the source to its place in the target."""
        builder, shared = self.builder, self.frame
        storage = StorageClass(self.values["storage"])
        pointee = Pointee(self.component)
        source = stage_in(builder, "source", pointee, shared.load_pitch * shared.matrices, storage)
        target = stage_out(builder, "target", pointee, shared.store_pitch * shared.matrices, storage)
        types = self.types()
        load, store = self._layout("load"), self._layout("store")
        load_stride, store_stride = self._stride("load"), self._stride("store")
        counted = max(each.instances for each in self.all) > 1
        moved = []
        for number, type_ in enumerate(types):
            first = self._first("load", number, shared.load_pitch * len(types), shared.load_pitch, counted)
            moved.append(builder.load(f"matrix_{number}", type_, source, first, load_stride, load))
        for number, matrix in enumerate(moved):
            first = self._first("store", number, shared.store_pitch * len(types), shared.store_pitch, counted)
            builder.store(matrix, target.array, first, store_stride, store)
        target.finish(builder)
        built = builder.build()
        return replace(built, label=self.own.label, pipeline_cache=self.values["cache"] == "round_trip")

    def _first(self, direction: str, number: int, step: int, pitch: int, counted: bool) -> ScalarValue:
        start = self.builder.literal(number * pitch)
        return self.builder.offset(f"{direction}_{number}", start, self.builder.instance_index(), step) if counted else start


def program(values: Values) -> Program:
    """The program of a case's first pipeline, with those of the others."""
    all_ = pipelines(values)
    return constants.together([_Writer(values, all_, own).write() for own in all_])


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """The whole source, padding included, holds the pattern, so that a wrong address or size reads a wrong value."""
    source = program.array("source")
    data = pattern_bits(values["pattern"], COMPONENT_TYPES[values["component"]], source.count, rng).view(np.uint8)
    return Subcase(name, {"source": data} | fills(program, rng))
