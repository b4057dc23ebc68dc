"""conversion: a matrix of one component type becomes a matrix of another, alone, in chains, and around a multiply-add.

Axis values are those of cases/khr_cooperative_matrix/conversion.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from generators.errors import GeneratorError
from generators.inputs import conversion_products, conversions
from generators.inputs.conversions import Step
from generators.layouts.placement import Target, fills, stage_in, stage_out
from generators.layouts.tiles import Tiles, first_tile, fit_workgroup_memory
from generators.parameters.vocabulary import (
    LAYOUT_LETTERS,
    SCOPES,
    SHAPE,
    STORAGE,
    SUBGROUPS,
    USES,
    TakenValues,
    Values,
    instances,
    shape_of,
)
from generators.program.builder import ProgramBuilder
from generators.program.conversion import Conversion, agrees, is_float8
from generators.program.conversion import conversions as allowed_conversions
from generators.program.memory import Array, Pointee
from generators.program.program import Program, Subcase
from generators.program.values import Matrix, MatrixType
from generators.property_rows import PropertyRow, parse_row
from generators.types import COMPONENT_TYPES, ComponentType, Layout, StorageClass, Use

_DIRECT = ("alone", "kept")
_CHAINS = ("back", "through")
_PRODUCTS = ("before", "after")
_FORMS = (*_DIRECT, *_CHAINS, "both", *_PRODUCTS)

_FACTORS: Mapping[str, str] = MappingProxyType(
    {"f16": "f32", "bf16": "f32", "f32": "f32", "f64": "f64", "e4m3": "f32", "e5m2": "f32", "s8": "s32", "u8": "u32"}
)
"""Component type of A and B -> of C and Result, for a multiply-add after the conversion."""

_SUMS: Mapping[str, str] = MappingProxyType({"f16": "f16", "f32": "f16", "f64": "f64", "bf16": "bf16", "s32": "s8", "u32": "u8"})
"""Component type of C and Result -> of A and B, for a multiply-add before the conversion."""


def _type(values: Values, axis: str) -> ComponentType:
    return COMPONENT_TYPES[values[axis]]


def _conversion(source: ComponentType, target: ComponentType, crossed: bool) -> Conversion | None:
    """The instruction that agrees with the types, or the one that does not; None where there is none."""
    found = [c for c in allowed_conversions(source, target) if agrees(c, source, target) is not crossed]
    return found[0] if found else None


def _pairs(values: Values) -> tuple[tuple[ComponentType, ComponentType], ...]:
    """Source and target of each conversion: one, or for a chain and for two targets of one source, two."""
    source, target = _type(values, "from"), _type(values, "to")
    match values["form"]:
        case "back":
            return (source, target), (target, source)
        case "through":
            return (source, _type(values, "third")), (_type(values, "third"), target)
        case "both":
            return (source, target), (source, _type(values, "third"))
        case _:
            return ((source, target),)


def _steps(values: Values) -> tuple[Step, ...] | None:
    """The conversions of a case; None where the axes name one that no instruction makes."""
    crossed = values["signs"] == "crossed"
    found = []
    for source, target in _pairs(values):
        conversion = _conversion(source, target, crossed)
        if conversion is None:
            return None
        found.append(Step(source, target, conversion))
    return tuple(found)


def steps(values: Values) -> tuple[Step, ...]:
    """The conversions of a case.

    Raises:
        GeneratorError: the axes name one that no instruction makes.
    """
    found = _steps(values)
    if found is None:
        raise GeneratorError("conversion: the constraint 'convertible' must exclude this case")
    return found


def _row(values: Values) -> PropertyRow | None:
    """The row of the multiply-add that the converted matrix enters, or whose result is converted; None where there is none."""
    rows, columns = shape_of(values)
    if values["form"] == "before":
        factor = values["to"]
        result = _FACTORS.get(factor)
        if result is None or values["use"] == "acc":
            return None
        # 8 where the known depth is 8: the rows of today's devices
        other = 8 if 8 in (rows, columns) and (rows == columns or values["use"] == "a") else 16
        m, n, k = (rows, other, columns) if values["use"] == "a" else (other, columns, rows)
    else:
        result = values["from"]
        sums = _SUMS.get(result)
        if sums is None or values["use"] != "acc":
            return None
        factor = sums
        depth = 32 if COMPONENT_TYPES[factor].bits == 8 else 16
        m, n, k = rows, columns, 8 if (rows, columns) == (8, 8) else depth
    return parse_row(f"{m}x{n}x{k}.{factor}.{factor}.{result}.{result}")


def row(values: Values) -> PropertyRow:
    """The row of a case with a multiply-add.

    Raises:
        GeneratorError: there is none.
    """
    found = _row(values)
    if found is None:
        raise GeneratorError("conversion: the constraint 'multiplies' must exclude this case")
    return found


@dataclass(frozen=True)
class Place:
    """A matrix in memory: its type's component and use, and its tiles."""

    use: Use
    tiles: Tiles


def _place(values: Values, component: ComponentType, shape: tuple[int, int], use: Use, store: bool = False) -> Place:
    """Lines with a gap after each, one tile for each scope instance, aligned as Vulkan asks (KHR-ALIGN-01)."""
    layout = LAYOUT_LETTERS[values["layouts"][int(store)]]
    rows, columns = shape
    runs, run = (rows, columns) if layout is Layout.ROW_MAJOR else (columns, rows)
    granule = max(1, min(16, run * component.bytes) // component.bytes)
    stride = run + granule
    pitch = -(-(stride * (runs - 1) + run) // granule) * granule + granule
    return Place(use, Tiles(component, rows, columns, layout, stride, pitch, 1, pitch * instances(values)))


@dataclass(frozen=True)
class Plan:
    """The matrices that a case loads and stores, by name of the array."""

    sources: dict[str, Place]
    targets: dict[str, Place]


def plan(values: Values) -> Plan:
    """Works out the arrays of a case."""
    source, target, use, shape = _type(values, "from"), _type(values, "to"), USES[values["use"]], shape_of(values)

    def taken(component: ComponentType) -> Place:
        return _place(values, component, shape, use, store=True)

    given = _place(values, source, shape, use)
    match values["form"]:
        case "alone":
            return Plan({"source": given}, {"converted": taken(target)})
        case "kept":
            return Plan({"source": given}, {"converted": taken(target), "kept": taken(source)})
        case "back":
            return Plan({"source": given}, {"converted": taken(target), "again": taken(source)})
        case "through":
            return Plan({"source": given}, {"converted": taken(target)})
        case "both":
            return Plan({"source": given}, {"converted": taken(target), "other": taken(_type(values, "third"))})
    of = row(values)
    a, b, c = (
        _place(values, component, size, which)
        for component, size, which in (
            (of.a, (of.m, of.k), Use.A),
            (of.b, (of.k, of.n), Use.B),
            (of.c, (of.m, of.n), Use.ACCUMULATOR),
        )
    )
    if values["form"] == "after":
        return Plan({"a": a, "b": b, "c": c}, {"converted": taken(target), "product": taken(source)})
    result = _place(values, of.result, (of.m, of.n), Use.ACCUMULATOR, store=True)
    factors = {"a": a, "b": b, "c": c} | {values["use"]: given}
    return Plan(factors, {"product": result, "kept": taken(source)})


def _convertible(values: Values) -> bool:
    return _steps(values) is not None


def _saturates(values: Values) -> bool:
    return values["saturation"] == "none" or is_float8(_type(values, "to"))


def _third(values: Values) -> bool:
    """Where a third type is named it is third; elsewhere it is the axis's first."""
    if values["form"] not in ("through", "both"):
        return bool(values["third"] == "f32")
    return values["third"] not in (values["from"], values["to"])


def _by_types(values: Values) -> bool:
    return values["signs"] == "types" or values["form"] in _DIRECT


def _multiplies(values: Values) -> bool:
    return values["form"] not in _PRODUCTS or _row(values) is not None


def _fits(values: Values) -> bool:
    """Workgroup memory holds all arrays."""
    worked = plan(values)
    return fit_workgroup_memory(
        StorageClass(values["storage"]), (place.tiles for place in (*worked.sources.values(), *worked.targets.values()))
    )


def _needed(values: Values) -> bool:
    """Whether there is such data for the case."""
    pattern, form = values["pattern"], values["form"]
    if form in _PRODUCTS:
        return bool(pattern == "products")
    if form in _CHAINS:
        return bool(pattern == "chained")
    found = steps(values)
    byte_wide = found[0].source.bits == 8
    match pattern:
        case "bytes":
            return byte_wide
        case "edges" | "random":
            return not byte_wide
        case "overflow":
            return len(found) == 1 and conversions.can_overflow(found[0])
        case "infinite":
            return form == "alone" and conversions.has_infinity(found[0])
        case _:
            return False


def _part(values: Values) -> bool:
    """Whether the part has values of a list that the ones before have not."""
    rows, columns = shape_of(values)
    return conversions.is_new(values["pattern"], int(values["part"]), rows * columns)


def _any_step(holds: Callable[[Step], bool]) -> Callable[[Values], bool]:
    """Whether a conversion of the case is of a kind, for what only such cases cover."""
    return lambda values: any(holds(step) for step in _steps(values) or ())


def _narrows(step: Step) -> bool:
    """FConvert to a type that has fewer bits, or fewer in its significand."""
    shorter = step.target.bits < step.source.bits or step.target.precision < step.source.precision
    return step.conversion is Conversion.F_TO_F and shorter


PREDICATES: Mapping[str, Callable[[Values], bool]] = {
    "convertible": _convertible,
    "saturates": _saturates,
    "third": _third,
    "by_types": _by_types,
    "multiplies": _multiplies,
    "fits_workgroup_memory": _fits,
    "needed": _needed,
    "part": _part,
    "casts_bits": _any_step(lambda step: step.conversion is Conversion.BITCAST),
    "converts_numbers": _any_step(lambda step: step.conversion is not Conversion.BITCAST),
    "makes_float8": _any_step(lambda step: is_float8(step.target)),
    "narrows": _any_step(_narrows),
    "truncates": _any_step(lambda step: step.conversion in (Conversion.F_TO_S, Conversion.F_TO_U)),
}

AXES: TakenValues = {
    "from": COMPONENT_TYPES.keys(),
    "to": COMPONENT_TYPES.keys(),
    "use": USES.keys(),
    "shape": SHAPE,
    "signs": ("types", "crossed"),
    "saturation": ("none", "largest"),
    "form": _FORMS,
    "third": COMPONENT_TYPES.keys(),
    "layouts": re.compile("[rc]{2}"),
    "storage": STORAGE,
    "scope": SCOPES.keys(),
    "subgroups": SUBGROUPS,
    "pattern": ("bytes", "edges", "random", "overflow", "infinite", "chained", "products"),
    "part": range(8),
}


class _Writer:
    """Writes the program of one case."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.plan = plan(values)
        self.steps = steps(values)
        self.scope = SCOPES[values["scope"]]
        self.builder = ProgramBuilder(self.scope, subgroups=int(values["subgroups"]))
        storage = StorageClass(values["storage"])
        self.sources: dict[str, Array] = {
            name: stage_in(self.builder, name, Pointee(place.tiles.component), place.tiles.length, storage)
            for name, place in self.plan.sources.items()
        }
        self.targets: dict[str, Target] = {
            name: stage_out(self.builder, name, Pointee(place.tiles.component), place.tiles.length, storage)
            for name, place in self.plan.targets.items()
        }

    def load(self, name: str) -> Matrix:
        """The matrix of array ``name``."""
        place = self.plan.sources[name]
        tiles = place.tiles
        type_ = MatrixType(tiles.component, self.scope, tiles.rows, tiles.columns, place.use)
        stride = self.builder.literal(tiles.stride)
        return self.builder.load(f"matrix_{name}", type_, self.sources[name], first_tile(self.builder, name, tiles), stride, tiles.layout)

    def store(self, matrix: Matrix, name: str) -> None:
        """Stores ``matrix`` to array ``name``."""
        tiles = self.plan.targets[name].tiles
        self.builder.store(
            matrix, self.targets[name].array, first_tile(self.builder, name, tiles), self.builder.literal(tiles.stride), tiles.layout
        )

    def convert(self, name: str, matrix: Matrix, step: Step) -> Matrix:
        """``matrix`` converted by ``step``, saturating where the case says so and the type can."""
        saturating = self.values["saturation"] == "largest" and is_float8(step.target)
        return self.builder.convert(name, matrix, step.target, step.conversion, saturating)

    def conversions(self) -> None:
        """The forms without a multiply-add."""
        source, first, last = self.load("source"), self.steps[0], self.steps[-1]
        match self.values["form"]:
            case "through":
                self.store(self.convert("matrix_converted", self.convert("matrix_between", source, first), last), "converted")
                return
            case "back":
                converted = self.convert("matrix_converted", source, first)
                again = self.convert("matrix_again", converted, last)
                self.store(converted, "converted")
                self.store(again, "again")
                return
        converted = self.convert("matrix_converted", source, first)
        other = self.convert("matrix_other", source, last) if self.values["form"] == "both" else None
        self.store(converted, "converted")
        if other is not None:
            self.store(other, "other")
        if self.values["form"] == "kept":
            self.store(source, "kept")

    def before(self) -> None:
        """A converted matrix is A or B of a multiply-add; the unconverted one is stored too."""
        loaded = {name: self.load(name) for name in "abc"}
        which = self.values["use"]
        factors = loaded | {which: self.convert("matrix_converted", loaded[which], self.steps[0])}
        self.store(self.multiply(factors), "product")
        self.store(loaded[which], "kept")

    def after(self) -> None:
        """The result of a multiply-add is converted, and stored both ways."""
        product = self.multiply({name: self.load(name) for name in "abc"})
        self.store(self.convert("matrix_converted", product, self.steps[0]), "converted")
        self.store(product, "product")

    def multiply(self, factors: Mapping[str, Matrix]) -> Matrix:
        """The multiply-add of the case's row."""
        of = row(self.values)
        type_ = MatrixType(of.result, self.scope, of.m, of.n, Use.ACCUMULATOR)
        return self.builder.muladd("matrix_product", type_, factors["a"], factors["b"], factors["c"], of.operands or None)

    def finish(self) -> Program:
        """The program, with its outputs copied out of workgroup memory."""
        for target in self.targets.values():
            target.finish(self.builder)
        return self.builder.build()


def program(values: Values) -> Program:
    """The program of a case."""
    writer = _Writer(values)
    match values["form"]:
        case "before":
            writer.before()
        case "after":
            writer.after()
        case _:
            writer.conversions()
    return writer.finish()


def _bits(values: Values, found: Sequence[Step], count: int, rng: np.random.Generator) -> np.ndarray:
    """The elements of the source, (count,)."""
    match values["pattern"]:
        case "bytes":
            return conversions.fill(conversions.every_byte(found), count, int(values["part"]))
        case "edges":
            return conversions.fill(conversions.edges(found), count, int(values["part"]))
        case "random":
            return conversions.random(found, count, rng)
        case "overflow":
            return conversions.overflowing(found[0], count, rng)
        case "infinite":
            return conversions.infinite(found[0].source, count, rng)
        case _:
            return conversions.chained(found, count, rng)


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """The operands of the case's pattern; random bytes between the lines of a matrix."""
    worked = plan(values)
    if values["form"] in _PRODUCTS:
        of, step = row(values), steps(values)[0]
        if values["form"] == "before":
            elements = conversion_products.before(of, step, values["use"], program.instances, rng)
        else:
            elements = conversion_products.after(of, step, program.instances, rng)
    else:
        rows, columns = shape_of(values)
        bits = _bits(values, steps(values), program.instances * rows * columns, rng)
        elements = {"source": bits.reshape(program.instances, rows, columns)}
    arrays = {array: place.tiles.place(elements[array][:, None], rng) for array, place in worked.sources.items()}
    return Subcase(name, arrays | fills(program, rng))
