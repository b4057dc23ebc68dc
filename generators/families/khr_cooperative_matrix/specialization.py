"""specialization: the operands of matrix types, loads and stores come from specialization constants.

If a parameter has several values, the case has one module and a pipeline for each value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from generators.inputs.patterns import pattern_bits
from generators.layouts.matrix_arrays import WORKGROUP_BYTES, Tiles, granule_of, rounded_up, tiled
from generators.layouts.placement import fills, stage_in, stage_out
from generators.operands import constants
from generators.operands.constants import (
    CACHES,
    SUBMISSIONS,
    Constants,
    ConstantSource,
    Varying,
    counts_instances,
    pipeline_labels,
    varying,
    varying_among,
)
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import LAYOUTS, SCOPES, STORAGE_CLASSES, USES, parse_shape
from generators.program.builder import ProgramBuilder
from generators.program.memory import Pointee
from generators.program.program import Built, Program, Subcase
from generators.program.values import MatrixType, Operand, ScalarValue
from generators.types import COMPONENT_TYPES, ComponentType, Layout, Scope, StorageClass, Use


def _has_twin(parameters: Parameters) -> bool:
    return parameters.twin != "none"


def _has_several(parameters: Parameters) -> bool:
    return any(not one.is_single for one in _varying(parameters).values())


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of a case."""

    component: ComponentType = parameter("component type of the matrices", labels=COMPONENT_TYPES)
    use: Varying[Use] = parameter("use of the matrices", default="acc", decode=varying_among(USES))
    shape: Varying[tuple[int, int]] = parameter("rows and columns of the matrices", default="16x16", decode=varying(parse_shape))
    scope: Varying[Scope] = parameter("scope of the matrices", default="subgroup", decode=varying_among(SCOPES))
    subgroups: Varying[int] = parameter("subgroups of the workgroup", default="1", decode=varying(int))
    load: Varying[Layout] = parameter("layout of the loads", default="row", decode=varying_among(LAYOUTS))
    store: Varying[Layout] = parameter("layout of the stores", default="column", decode=varying_among(LAYOUTS))
    padding: Varying[int] = parameter("granules of 16 bytes between lines", default="1", decode=varying(int))
    storage: StorageClass = parameter("where the arrays are", default="storage_buffer", labels=STORAGE_CLASSES)
    rows_from: ConstantSource = parameter("where the number of rows comes from", default="specialization")
    columns_from: ConstantSource = parameter("where the number of columns comes from", default="specialization")
    scope_from: ConstantSource = parameter("where the scope comes from", default="specialization")
    use_from: ConstantSource = parameter("where the use comes from", default="specialization")
    layout_from: ConstantSource = parameter("where the layouts come from", default="specialization")
    stride_from: ConstantSource = parameter("where the strides come from", default="specialization")
    twin: Literal["none", "rows", "columns", "use", "scope"] = parameter(
        "in which constant a second matrix type differs from the first", default="none"
    )
    twin_value: Literal["different", "equal", "default"] = parameter(
        "whether the second type has another value, an equal one from another constant, or the constant's default as a literal",
        default="different",
        applies=_has_twin,
    )
    cache: bool = parameter("whether pipelines come from the data of a cache", default="none", labels=CACHES)
    submission: bool = parameter(
        "whether pipelines run their dispatches in turn, in one submission", default="apart", labels=SUBMISSIONS, applies=_has_several
    )


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Literal["index", "index_high", "bits"] = parameter("the bits of the source")


@dataclass(frozen=True)
class TypeValues:
    """The operands of a matrix type in one pipeline."""

    rows: int
    columns: int
    use: Use
    scope: Scope

    def of(self, component: ComponentType) -> MatrixType:
        """Return the matrix type of these operands."""
        return MatrixType(component, self.scope, self.rows, self.columns, self.use)


@dataclass(frozen=True)
class Pipeline:
    """The values of one pipeline.

    Attributes:
        types: the matrix type, and its twin if the case has one.
        load, store: layouts. ``padding``: granules between lines. ``subgroups``: in the workgroup.
        label: the values that vary.
    """

    types: tuple[TypeValues, ...]
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
    """Return another number of rows or columns that devices also support."""
    return value // 2 if value >= 16 else 2 * value


def _twin(parameters: Parameters, type_: TypeValues) -> TypeValues:
    """Return the second type, which is equal if only the constant's id differs."""
    if parameters.twin_value == "equal":
        return type_
    match parameters.twin:
        case "rows":
            return replace(type_, rows=_halved(type_.rows))
        case "columns":
            return replace(type_, columns=_halved(type_.columns))
        case "use":
            return replace(type_, use=Use((type_.use + 1) % 2))
        case _:
            return replace(type_, scope=Scope.SUBGROUP if type_.scope is Scope.WORKGROUP else Scope.WORKGROUP)


def _varying(
    parameters: Parameters,
) -> dict[str, Varying[Any]]:
    """Return the parameters that may differ between pipelines, by name."""
    return {
        "use": parameters.use,
        "shape": parameters.shape,
        "scope": parameters.scope,
        "subgroups": parameters.subgroups,
        "load": parameters.load,
        "store": parameters.store,
        "padding": parameters.padding,
    }


def pipelines(parameters: Parameters) -> list[Pipeline]:
    """Return the values of each pipeline of a case."""
    found = []
    for number, label in enumerate(pipeline_labels(_varying(parameters))):
        type_ = TypeValues(*parameters.shape.of(number), parameters.use.of(number), parameters.scope.of(number))
        types = (type_, _twin(parameters, type_)) if _has_twin(parameters) else (type_,)
        layouts = parameters.load.of(number), parameters.store.of(number)
        found.append(Pipeline(types, *layouts, parameters.padding.of(number), parameters.subgroups.of(number), label))
    return found


@dataclass(frozen=True)
class Frame:
    """Literals that all pipelines of a case share, in components.

    Attributes:
        load, store: the minimum strides; literal strides are the same in every pipeline.
        load_pitch, store_pitch: distance from one matrix to the next; matrices are in instance order, each with its twin.
        matrices: number of places in each array.
    """

    load: int
    store: int
    load_pitch: int
    store_pitch: int
    matrices: int


def _loaded(component: ComponentType, own: Pipeline, values: TypeValues, least: int) -> Tiles:
    return tiled(values.of(component), own.load, own.padding, granule=granule_of(component), least=least)


def _stored(component: ComponentType, own: Pipeline, values: TypeValues, least: int) -> Tiles:
    # Strides of stores differ from strides of loads, so the results reveal a device that confuses them.
    return tiled(values.of(component), own.store, own.padding + 1, granule=granule_of(component), least=least)


def _all_tiles(component: ComponentType, all_: list[Pipeline], least: tuple[int, int]) -> tuple[list[Tiles], list[Tiles]]:
    types = [(each, type_) for each in all_ for type_ in each.types]
    return [_loaded(component, *each, least[0]) for each in types], [_stored(component, *each, least[1]) for each in types]


def frame(parameters: Parameters, all_: list[Pipeline]) -> Frame:
    """Return the literals that the pipelines of a case share."""
    component, least = parameters.component, (0, 0)
    loads, stores = _all_tiles(component, all_, least)
    if parameters.stride_from == "literal" or _has_twin(parameters):
        least = max(one.stride for one in loads), max(one.stride for one in stores)
        loads, stores = _all_tiles(component, all_, least)
    granule = granule_of(component)
    load_pitch, store_pitch = (rounded_up(max(one.span for one in group), granule) + granule for group in (loads, stores))
    return Frame(*least, load_pitch, store_pitch, max(each.instances for each in all_) * len(all_[0].types))


def _fits(parameters: Parameters) -> bool:
    if parameters.storage is not StorageClass.WORKGROUP:
        return True
    shared = frame(parameters, pipelines(parameters))
    return (shared.load_pitch + shared.store_pitch) * shared.matrices * parameters.component.bytes <= WORKGROUP_BYTES


def _varies_by_constant(parameters: Parameters) -> bool:
    """Tell whether the pipelines differ only in specialization constants."""
    if parameters.use_from == "literal" and parameters.use.varies:
        return False
    if parameters.scope_from == "literal" and parameters.scope.varies:
        return False
    if parameters.layout_from == "literal" and (parameters.load.varies or parameters.store.varies):
        return False
    if parameters.stride_from == "literal" and parameters.padding.varies:
        return False
    shapes = parameters.shape.values
    if parameters.rows_from == "literal" and len({rows for rows, _ in shapes}) > 1:
        return False
    return parameters.columns_from != "literal" or len({columns for _, columns in shapes}) == 1


def _twin_source(parameters: Parameters) -> ConstantSource:
    """Return the source of the constant in which the twin differs."""
    match parameters.twin:
        case "rows":
            return parameters.rows_from
        case "columns":
            return parameters.columns_from
        case "use":
            return parameters.use_from
        case _:
            return parameters.scope_from


def _twins(parameters: Parameters) -> bool:
    """Tell whether the twin can exist: it differs in a constant that is specialized, in a module with one pipeline."""
    if not _has_twin(parameters):
        return True
    if parameters.twin == "use" and parameters.use.values == (Use.ACCUMULATOR,):
        return False
    if parameters.twin == "scope" and parameters.subgroups.values != (1,):
        # The position of an instance's matrix is counted in instances of one scope.
        return False
    return _twin_source(parameters) == "specialization" and all(one.is_single for one in _varying(parameters).values())


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "fits_workgroup_memory": _fits,
    "varies_by_constant": _varies_by_constant,
    "twins": _twins,
    "counts_instances": lambda parameters: counts_instances(parameters.scope, parameters.subgroups),
}


class _PipelineWriter:
    """Writes the program of one pipeline."""

    def __init__(self, parameters: Parameters, all_: list[Pipeline], shared: Frame, own: Pipeline) -> None:
        self.parameters, self.all, self.frame, self.own = parameters, all_, shared, own
        self.component = parameters.component
        self.builder = ProgramBuilder(own.types[0].scope, subgroups=own.subgroups)
        self.constants = Constants(self.builder)

    def types(self) -> list[MatrixType]:
        """Return the matrix type, and its twin, which is equal except for the one constant in which it differs."""
        give, own, parameters = self.constants, self.own.types[0], self.parameters
        rows_from, columns_from, use_from = parameters.rows_from, parameters.columns_from, parameters.use_from
        # A literal twin has the default value of the other's constant.
        literal = parameters.twin_value == "default"
        taken = [each.types[0] for each in self.all] if literal else [type_ for each in self.all for type_ in each.types]
        defaults = {
            "rows": constants.other_extent([type_.rows for type_ in taken]),
            "columns": constants.other_extent([type_.columns for type_ in taken]),
            "use": constants.default_among((Use.ACCUMULATOR, Use.A, Use.B), [type_.use for type_ in taken]),
        }
        twin = self.own.types[-1]
        if literal:
            defaults |= {"rows": twin.rows, "columns": twin.columns, "use": twin.use}
            defaults |= {kind: default for kind, default in self._plain_defaults().items() if kind != parameters.twin}
        scopes = constants.default_among((Scope.WORKGROUP, Scope.SUBGROUP), [each.types[0].scope for each in self.all])
        first = MatrixType(
            self.component,
            give.scope(parameters.scope_from, own.scope, scopes),
            give.number(rows_from, "rows", own.rows, defaults["rows"]),
            give.number(columns_from, "columns", own.columns, defaults["columns"]),
            give.use(use_from, "use", own.use, defaults["use"]),
        )
        match parameters.twin:
            case "none":
                return [first]
            case "rows":
                rows = twin.rows if literal else give.number(rows_from, "twin_rows", twin.rows, defaults["rows"])
                return [first, replace(first, rows=rows)]
            case "columns":
                columns = twin.columns if literal else give.number(columns_from, "twin_columns", twin.columns, defaults["columns"])
                return [first, replace(first, columns=columns)]
            case "use":
                use = twin.use if literal else give.use(use_from, "twin_use", twin.use, defaults["use"])
                return [first, replace(first, use=use)]
            case "scope":
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
        default = constants.default_among(tuple(Layout), [getattr(each, direction) for each in self.all])
        return self.constants.layout(self.parameters.layout_from, f"{direction}_layout", value, default)

    def _stride(self, direction: str) -> ScalarValue:
        tiles, least = (_loaded, self.frame.load) if direction == "load" else (_stored, self.frame.store)

        def of(each: Pipeline) -> int:
            return tiles(self.component, each, each.types[0], least).stride

        default = max(map(of, self.all)) + granule_of(self.component)
        return self.constants.scalar(self.parameters.stride_from, f"{direction}_stride", of(self.own), default)

    def write(self) -> Program:
        """Write the program: each matrix goes from its place in the source to its place in the target."""
        builder, shared = self.builder, self.frame
        storage = self.parameters.storage
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
        return replace(built, label=self.own.label, pipeline_cache=self.parameters.cache)

    def _first(self, direction: str, number: int, step: int, pitch: int, counted: bool) -> ScalarValue:
        start = self.builder.literal(number * pitch)
        return self.builder.offset(f"{direction}_{number}", start, self.builder.instance_index(), step) if counted else start


def build(parameters: Parameters) -> Built:
    """Build the program of a case's first pipeline, with the programs of the others.

    The whole source, padding included, holds the pattern, so a wrong address or size reads a wrong value.
    """
    all_ = pipelines(parameters)
    shared = frame(parameters, all_)

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        source = program.array("source")
        data = pattern_bits(parameters.pattern, parameters.component, source.count, rng).view(np.uint8)
        return Subcase(name, {"source": data} | fills(program, rng))

    return Built(constants.together([_PipelineWriter(parameters, all_, shared, own).write() for own in all_], parameters.submission), draw)
