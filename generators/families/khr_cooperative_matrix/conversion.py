"""conversion: a matrix of one component type becomes a matrix of another, alone, in chains, and around a multiply-add."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from generators.errors import GeneratorError, Rule
from generators.inputs import conversion_products, conversions
from generators.inputs.conversions import Step, chosen_steps, conversion_pairs, convertible
from generators.layouts.matrix_arrays import Tiles, fit_workgroup_memory, matrix_sources, matrix_targets, tiled
from generators.layouts.placement import fills
from generators.layouts.row_types import row_type
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import SCOPE, STORAGE_CLASSES, USES, Scoped, layouts_of, parse_shape
from generators.program.builder import ProgramBuilder
from generators.program.conversion import Conversion, agrees, is_float8
from generators.program.conversion import conversions as allowed_conversions
from generators.program.program import Built, Program, Subcase
from generators.program.values import Matrix, MatrixType
from generators.property_rows import PropertyRow
from generators.types import COMPONENT_TYPES, ComponentType, Layout, StorageClass, Use

Form = Literal["alone", "kept", "back", "through", "both", "before", "after"]
"""The forms: one conversion, alone or with the source stored too; there and back; through a third type; to two types; of a factor before a
multiply-add; of the result after a multiply-add."""

_DIRECT = ("alone", "kept")
_CHAINS = ("back", "through")
_THIRD = ("through", "both")
_PRODUCTS = ("before", "after")

_FACTORS: Mapping[str, ComponentType] = MappingProxyType(
    {
        factor: COMPONENT_TYPES[result]
        for factor, result in (
            ("f16", "f32"),
            ("bf16", "f32"),
            ("f32", "f32"),
            ("f64", "f64"),
            ("e4m3", "f32"),
            ("e5m2", "f32"),
            ("s8", "s32"),
            ("u8", "u32"),
        )
    }
)
"""Component type of A and B -> of C and Result, for a multiply-add after the conversion."""

_SUMS: Mapping[str, ComponentType] = MappingProxyType(
    {
        result: COMPONENT_TYPES[factor]
        for result, factor in (("f16", "f16"), ("f32", "f16"), ("f64", "f64"), ("bf16", "bf16"), ("s32", "s8"), ("u32", "u8"))
    }
)
"""Component type of C and Result -> of A and B, for a multiply-add before the conversion."""

_FACTOR_NAMES: Mapping[Use, Literal["a", "b"]] = {Use.A: "a", Use.B: "b"}


def _has_third(parameters: Parameters) -> bool:
    return parameters.form in _THIRD


@dataclass(frozen=True, kw_only=True)
class Parameters(Scoped):
    """The parameters of a case."""

    from_: ComponentType = parameter("component type that is converted", labels=COMPONENT_TYPES)
    to: ComponentType = parameter("component type of the result", labels=COMPONENT_TYPES)
    use: Use = parameter("use of the matrices", default="acc", labels=USES)
    shape: tuple[int, int] = parameter("rows and columns of the matrices", default="16x16", decode=parse_shape)
    signs: Literal["types", "crossed"] = parameter("whether the instruction agrees with the signedness of the types", default="types")
    saturation: Literal["none", "largest"] = parameter(
        "whether conversions to 8-bit floats saturate to the largest one",
        default="none",
        applies=lambda parameters: is_float8(parameters.to),
    )
    form: Form = parameter("what is converted, and where the result goes", default="alone")
    third: ComponentType = parameter("the third type of two conversions", default="f32", labels=COMPONENT_TYPES, applies=_has_third)
    layouts: tuple[Layout, ...] = parameter("the layouts of loads and of stores", default="rc", decode=layouts_of(2))
    storage: StorageClass = parameter("where the arrays are", default="storage_buffer", labels=STORAGE_CLASSES, then=SCOPE)


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Literal["bytes", "edges", "random", "overflow", "infinite", "chained", "products"] = parameter("how the elements are drawn")
    part: int = parameter("which part of a list of values that is longer than the matrix")


def _conversion(source: ComponentType, target: ComponentType, crossed: bool) -> Conversion | None:
    """Return the instruction that matches the types, or the one that does not; None if there is none."""
    found = [c for c in allowed_conversions(source, target) if agrees(c, source, target) is not crossed]
    return found[0] if found else None


def _steps(parameters: Parameters) -> tuple[Step, ...] | None:
    """Return the conversions of a case; None if no instruction makes one of them."""
    crossed = parameters.signs == "crossed"
    pairs = conversion_pairs(parameters.form, parameters.from_, parameters.to, parameters.third)
    return chosen_steps(pairs, lambda source, target: _conversion(source, target, crossed))


def steps(parameters: Parameters) -> tuple[Step, ...]:
    """Return the conversions of a case.

    Raises:
        GeneratorError: no instruction makes one of them.
    """
    return convertible(_steps(parameters), "conversion")


def _row(parameters: Parameters) -> PropertyRow | None:
    """Return the row of the multiply-add whose factor or result is converted; None if there is none."""
    rows, columns = parameters.shape
    if parameters.form == "before":
        factor = parameters.to
        result = _FACTORS.get(factor.name)
        if result is None or parameters.use is Use.ACCUMULATOR:
            return None
        # Use 8 if the known depth is 8, as in the rows of current devices
        other = 8 if 8 in (rows, columns) and (rows == columns or parameters.use is Use.A) else 16
        m, n, k = (rows, other, columns) if parameters.use is Use.A else (other, columns, rows)
        return PropertyRow(m, n, k, factor, factor, result, result, saturating=False)
    result = parameters.from_
    sums = _SUMS.get(result.name)
    if sums is None or parameters.use is not Use.ACCUMULATOR:
        return None
    depth = 32 if sums.bits == 8 else 16
    return PropertyRow(rows, columns, 8 if (rows, columns) == (8, 8) else depth, sums, sums, result, result, saturating=False)


def row(parameters: Parameters) -> PropertyRow:
    """Return the row of a case with a multiply-add.

    Raises:
        GeneratorError: the case has no such row.
    """
    found = _row(parameters)
    if found is None:
        raise GeneratorError(Rule.CONSTRAINT, "conversion: the constraint 'multiplies' must exclude this case")
    return found


@dataclass(frozen=True)
class Matrices:
    """The matrices that a case loads and stores, by name of the array."""

    sources: dict[str, Tiles]
    targets: dict[str, Tiles]


def matrices(parameters: Parameters) -> Matrices:
    """Return the matrices of a case. Padding follows each of their lines.

    Raises:
        GeneratorError: the case has a multiply-add that no known row allows.
    """
    source, target, scope = parameters.from_, parameters.to, parameters.scope
    loaded, stored = parameters.layouts

    def placed(type_: MatrixType, layout: Layout) -> Tiles:
        return tiled(type_, layout, True, (parameters.instances, 1))

    def given(component: ComponentType) -> Tiles:
        return placed(MatrixType(component, scope, *parameters.shape, parameters.use), loaded)

    def taken(component: ComponentType) -> Tiles:
        return placed(MatrixType(component, scope, *parameters.shape, parameters.use), stored)

    match parameters.form:
        case "alone" | "through":
            return Matrices({"source": given(source)}, {"converted": taken(target)})
        case "kept":
            return Matrices({"source": given(source)}, {"converted": taken(target), "kept": taken(source)})
        case "back":
            return Matrices({"source": given(source)}, {"converted": taken(target), "again": taken(source)})
        case "both":
            return Matrices({"source": given(source)}, {"converted": taken(target), "other": taken(parameters.third)})
    of = row(parameters)
    operands = {name: placed(row_type(of, name, scope), loaded) for name in "abc"}
    if parameters.form == "after":
        return Matrices(operands, {"converted": taken(target), "product": taken(source)})
    result = placed(row_type(of, "d", scope), stored)
    return Matrices(operands | {_FACTOR_NAMES[parameters.use]: given(source)}, {"product": result, "kept": taken(source)})


def _convertible(parameters: Parameters) -> bool:
    return _steps(parameters) is not None


def _third(parameters: Parameters) -> bool:
    return parameters.form not in _THIRD or parameters.third not in (parameters.from_, parameters.to)


def _by_types(parameters: Parameters) -> bool:
    return parameters.signs == "types" or parameters.form in _DIRECT


def _multiplies(parameters: Parameters) -> bool:
    return parameters.form not in _PRODUCTS or _row(parameters) is not None


def _fits(parameters: Parameters) -> bool:
    """Tell whether workgroup memory holds all arrays."""
    if parameters.storage is not StorageClass.WORKGROUP:
        return True
    found = matrices(parameters)
    return fit_workgroup_memory(parameters.storage, (*found.sources.values(), *found.targets.values()))


def _needed(parameters: SubcaseParameters) -> bool:
    """Tell whether the case has data of this pattern."""
    pattern, form = parameters.pattern, parameters.form
    if form in _PRODUCTS:
        return pattern == "products"
    if form in _CHAINS:
        return pattern == "chained"
    found = steps(parameters)
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


def _part(parameters: SubcaseParameters) -> bool:
    """Tell whether the part has values of a list that earlier parts do not have."""
    rows, columns = parameters.shape
    return conversions.is_new(parameters.pattern, parameters.part, rows * columns)


def _any_step(holds: Callable[[Step], bool]) -> Callable[[Parameters], bool]:
    """Return a predicate that tells whether the case has a conversion of a kind, for requirements that only such cases cover."""
    return lambda parameters: any(holds(step) for step in _steps(parameters) or ())


def _narrows(step: Step) -> bool:
    """Tell whether it is FConvert to a type with fewer bits, or fewer bits in its significand."""
    shorter = step.target.bits < step.source.bits or step.target.precision < step.source.precision
    return step.conversion is Conversion.F_TO_F and shorter


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "convertible": _convertible,
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


class _ConversionWriter:
    """Writes the program of one case."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.steps = steps(parameters)
        self.row = row(parameters) if parameters.form in _PRODUCTS else None
        self.builder = ProgramBuilder(parameters.scope, subgroups=parameters.subgroups)
        found = matrices(parameters)
        self.sources = matrix_sources(self.builder, found.sources, parameters.storage)
        self.targets = matrix_targets(self.builder, found.targets, parameters.storage)

    def store(self, matrix: Matrix, name: str) -> None:
        """Store ``matrix`` to array ``name``."""
        self.targets[name].store(matrix)

    def convert(self, name: str, matrix: Matrix, step: Step) -> Matrix:
        """Convert ``matrix`` by ``step``, with saturation if the case asks for it and the type allows it."""
        saturating = self.parameters.saturation == "largest" and is_float8(step.target)
        return self.builder.convert(name, matrix, step.target, step.conversion, saturating)

    def conversions(self) -> None:
        """Write the forms without a multiply-add."""
        source, first, last = self.sources["source"].load(), self.steps[0], self.steps[-1]
        match self.parameters.form:
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
        other = self.convert("matrix_other", source, last) if self.parameters.form == "both" else None
        self.store(converted, "converted")
        if other is not None:
            self.store(other, "other")
        if self.parameters.form == "kept":
            self.store(source, "kept")

    def before(self) -> None:
        """Write a multiply-add whose A or B is a converted matrix; store the unconverted one too."""
        loaded = {name: source.load() for name, source in self.sources.items()}
        which = _FACTOR_NAMES[self.parameters.use]
        factors = loaded | {which: self.convert("matrix_converted", loaded[which], self.steps[0])}
        self.store(self.multiply(factors), "product")
        self.store(loaded[which], "kept")

    def after(self) -> None:
        """Write a conversion of the result of a multiply-add, and store both."""
        product = self.multiply({name: source.load() for name, source in self.sources.items()})
        self.store(self.convert("matrix_converted", product, self.steps[0]), "converted")
        self.store(product, "product")

    def multiply(self, factors: Mapping[str, Matrix]) -> Matrix:
        """Add the multiply-add of the case's row."""
        of = self.row
        assert of is not None
        type_ = row_type(of, "d", self.parameters.scope)
        return self.builder.muladd("matrix_product", type_, factors["a"], factors["b"], factors["c"], of.operands or None)

    def finish(self) -> Program:
        """Copy the outputs out of workgroup memory, and return the program."""
        for target in self.targets.values():
            target.finish(self.builder)
        return self.builder.build()


def _bits(parameters: SubcaseParameters, found: Sequence[Step], count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the elements of the source, (count,)."""
    match parameters.pattern:
        case "bytes":
            return conversions.fill(conversions.every_byte(found), count, parameters.part)
        case "edges":
            return conversions.fill(conversions.edges(found), count, parameters.part)
        case "random":
            return conversions.random(found, count, rng)
        case "overflow":
            return conversions.overflowing(found[0], count, rng)
        case "infinite":
            return conversions.infinite(found[0].source, count, rng)
        case _:
            return conversions.chained(found, count, rng)


def build(parameters: Parameters) -> Built:
    """Build a case. Operands have the subcase's pattern, with random bytes between the lines of a matrix.

    Raises:
        GeneratorError: no instruction or no known row fits the case.
    """
    writer = _ConversionWriter(parameters)
    match parameters.form:
        case "before":
            writer.before()
        case "after":
            writer.after()
        case _:
            writer.conversions()
    found, of = writer.steps, writer.row

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        if of is None:
            rows, columns = parameters.shape
            bits = _bits(parameters, found, program.instances * rows * columns, rng)
            elements = {"source": bits.reshape(program.instances, rows, columns)}
        elif parameters.form == "before":
            elements = conversion_products.before(of, found[0], _FACTOR_NAMES[parameters.use], program.instances, rng)
        else:
            elements = conversion_products.after(of, found[0], program.instances, rng)
        arrays = {array: source.tiles.contents(elements[array], rng) for array, source in writer.sources.items()}
        return Subcase(name, arrays | fills(program, rng))

    return Built(writer.finish(), draw)
