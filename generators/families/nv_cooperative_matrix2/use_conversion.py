"""use_conversion: an accumulator becomes an A or B, unchanged, converted, or transposed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from generators.errors import GeneratorError, Rule
from generators.inputs import conversions
from generators.inputs.conversions import Step
from generators.inputs.patterns import index_coded, random_bits
from generators.layouts.matrix_arrays import Tiles, fit_workgroup_memory, matrix_source, matrix_targets, tiled
from generators.layouts.placement import fills
from generators.numerics.formats import denormals
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import SCOPE, STORAGE_CLASSES, OfEitherExtension, Scoped, layouts_of, parse_shape
from generators.program.builder import ProgramBuilder
from generators.program.conversion import Conversion, MatrixConvert, Transpose, TransposedConvert, UseConvert, agrees, is_float8
from generators.program.conversion import conversions as allowed_conversions
from generators.program.program import Built, Program, Subcase
from generators.program.values import Matrix, MatrixType, Value
from generators.types import COMPONENT_TYPES, ComponentType, Layout, StorageClass, Use

_TRANSPOSED = ("transpose", "transpose_first", "transpose_last")


def _saturates(parameters: Parameters) -> bool:
    """Tell whether results are 8-bit floats, the types to which the decoration applies."""
    return parameters.to is not None and is_float8(parameters.to)


@dataclass(frozen=True, kw_only=True)
class Parameters(Scoped, OfEitherExtension):
    """The parameters of a case."""

    from_: ComponentType = parameter("the component type of the accumulator", labels=COMPONENT_TYPES)
    to: ComponentType | None = parameter(
        "the component type that it becomes, if that is different", default="same", labels={"same": None, **COMPONENT_TYPES}
    )
    use: Use = parameter("what it becomes", labels={"a": Use.A, "b": Use.B})
    shape: tuple[int, int] = parameter("rows and columns of the accumulator", default="16x16", decode=parse_shape)
    way: Literal["use", "convert_first", "convert_last", "transpose", "transpose_first", "transpose_last"] = parameter(
        "by which instructions: one that changes the use, and the component if that changes too; a conversion of components before it "
        "(convert_first) or after it; a transposition, alone, before a conversion (transpose_first), or after one",
        default="use",
    )
    form: Literal["kept", "alone", "both", "negated_before", "negated_after"] = parameter(
        "what else is done: the accumulator is stored afterwards; nothing; it also becomes the other use; or elements are negated",
        default="kept",
    )
    saturation: bool = parameter(
        "whether results are saturated to the largest value", default="none", labels={"none": False, "largest": True}, applies=_saturates
    )
    layouts: tuple[Layout, ...] = parameter("the layouts of loads and of stores", default="rc", decode=layouts_of(2))
    storage: StorageClass = parameter("where the arrays are", default="storage_buffer", labels=STORAGE_CLASSES, then=SCOPE)

    @property
    def target(self) -> ComponentType:
        """The component type of the result."""
        return self.from_ if self.to is None else self.to

    @property
    def transposed(self) -> bool:
        """Whether the matrix is transposed."""
        return self.way in _TRANSPOSED


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Literal["index", "index_high", "bits", "normal", "bytes", "edges", "random", "overflow"] = parameter(
        "how the data are drawn: where elements only move, by position or random; where they are converted, from lists or random"
    )
    part: int = parameter("which part of a list that is longer than the matrix")


def _step(parameters: Parameters) -> Step | None:
    """Return the case's conversion of components, by the instruction that matches the types; None if it has none.

    Raises:
        GeneratorError: no instruction converts them.
    """
    source, target = parameters.from_, parameters.target
    if source is target:
        return None
    found = _instruction(source, target)
    if found is None:
        raise GeneratorError(Rule.CONSTRAINT, "use_conversion: the constraint 'convertible' must exclude this case")
    return Step(source, target, found)


def _instruction(source: ComponentType, target: ComponentType) -> Conversion | None:
    return next((c for c in allowed_conversions(source, target) if agrees(c, source, target)), None)


def _converts(parameters: Parameters) -> bool:
    """Return whether the numbers of elements are converted, and not only the signedness of their type."""
    found = _step(parameters)
    return found is not None and found.conversion is not Conversion.BITCAST


def _convertible(parameters: Parameters) -> bool:
    """Tell whether instructions convert the component: a bitcast does not change the use (CM2-CVT-02), and needs a second instruction."""
    source, target = parameters.from_, parameters.to
    if target is source:
        return False
    if target is None:
        return parameters.way in ("use", "transpose")
    conversion = _instruction(source, target)
    return conversion is not None and (conversion is not Conversion.BITCAST or parameters.way != "use")


def _transposes(parameters: Parameters) -> bool:
    """Tell whether the case can transpose, if it does so: a transposition gives a B, and components are converted before or after it."""
    if not parameters.transposed:
        return True
    return parameters.use is Use.B and parameters.form != "both" and (parameters.way == "transpose") == (parameters.to is None)


def _negates(parameters: Parameters) -> bool:
    """Tell whether elements can be negated, if the case negates them: negation needs a type with arithmetic, and values that are not
    rounded."""
    if not parameters.form.startswith("negated"):
        return True
    return parameters.to is None and parameters.from_.has_arithmetic


def _needed(parameters: SubcaseParameters) -> bool:
    """Tell whether the case has data of this pattern."""
    pattern, found = parameters.pattern, _step(parameters)
    if parameters.form.startswith("negated"):
        return pattern == "normal"
    if found is None:
        wide = parameters.from_.bits > 8
        return pattern in ("index", "bits") or (pattern == "index_high" and not wide)
    match pattern:
        case "bytes":
            return found.source.bits == 8
        case "edges" | "random":
            return found.source.bits > 8
        case "overflow":
            return conversions.can_overflow(found)
        case _:
            return False


def _part(parameters: SubcaseParameters) -> bool:
    """Tell whether the part has values of a list that earlier parts do not have."""
    rows, columns = parameters.shape
    return conversions.is_new(parameters.pattern, parameters.part, rows * columns)


def _fits(parameters: Parameters) -> bool:
    """Tell whether workgroup memory holds all arrays."""
    return fit_workgroup_memory(parameters.storage, _tiles(parameters).values())


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "convertible": _convertible,
    "converts": _converts,
    "moves": lambda parameters: not _converts(parameters),
    "transposes": _transposes,
    "negates": _negates,
    "needed": _needed,
    "part": _part,
    "fits_workgroup_memory": _fits,
}


def _tiles(parameters: Parameters) -> dict[str, Tiles]:
    """Lay out the tiles of each matrix that the case loads (``source``) or stores, by name of the array."""
    shape, count = parameters.shape, (parameters.instances, 1)
    load, store = parameters.layouts
    source = MatrixType(parameters.from_, parameters.scope, *shape, Use.ACCUMULATOR)
    result = MatrixType(parameters.target, parameters.scope, *(shape[::-1] if parameters.transposed else shape), parameters.use)
    found = {"source": tiled(source, load, True, count), "changed": tiled(result, store, True, count)}
    if parameters.form == "both":
        found["other"] = tiled(result, store, True, count)
    if parameters.form == "kept":
        found["kept"] = tiled(source, store, True, count)
    return found


class _UseChange:
    """Writes the program of a case, and draws its data."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.step = _step(parameters)
        self.builder = ProgramBuilder(parameters.scope, subgroups=parameters.subgroups, maintenance1=parameters.maintenance1)
        tiles = _tiles(parameters)
        self.source = matrix_source(self.builder, "source", tiles.pop("source"), parameters.storage)
        self.targets = matrix_targets(self.builder, tiles, parameters.storage)

    def _converted(self, name: str, matrix: Matrix, use: Use | None = None) -> Matrix:
        """Convert ``matrix`` to the target's component type and, if given, to ``use``, by one instruction."""
        assert self.step is not None, "the case converts components"
        type_ = replace(matrix.type, component=self.step.target)
        result = Value(name, type_ if use is None else replace(type_, use=use))
        return self.builder.result_of(MatrixConvert(result, matrix, self.step.conversion, self.parameters.saturation))

    def _moved(self, name: str, matrix: Matrix, use: Use) -> Matrix:
        return self.builder.result_of(UseConvert(Value(name, replace(matrix.type, use=use)), matrix))

    def _transposed(self, name: str, matrix: Matrix, use: Use = Use.B) -> Matrix:
        """Transpose ``matrix``, which maintenance1 does in an instruction that also converts its components."""
        type_ = replace(matrix.type, rows=matrix.type.columns, columns=matrix.type.rows, use=use)
        if not self.parameters.maintenance1:
            return self.builder.result_of(Transpose(Value(name, type_), matrix))
        result = Value(name, replace(type_, component=self.parameters.target))
        conversion = self.step.conversion if self.step is not None and _converts(self.parameters) else None
        self.builder.add(TransposedConvert(result, matrix, conversion, self.parameters.saturation))
        return result

    def changed(self, name: str, matrix: Matrix, use: Use) -> Matrix:
        """Apply the case's change to ``matrix``, with the result ``use``."""
        match self.parameters.way:
            case "use":
                return self._moved(name, matrix, use) if self.step is None else self._converted(name, matrix, use)
            case "convert_first":
                return self._moved(name, self._converted(f"{name}_between", matrix), use)
            case "convert_last":
                return self._converted(name, self._moved(f"{name}_between", matrix, use))
            case "transpose":
                return self._transposed(name, matrix, use)
            case "transpose_first":
                return self._converted(name, self._transposed(f"{name}_between", matrix))
            case "transpose_last":
                return self._transposed(name, self._converted(f"{name}_between", matrix))

    def write(self) -> Program:
        """Write the whole program."""
        form, use = self.parameters.form, self.parameters.use
        source = self.source.load()
        given = self.builder.negate("matrix_negated", source) if form == "negated_before" else source
        changed = self.changed("matrix_changed", given, use)
        other = self.changed("matrix_other", given, Use.B if use is Use.A else Use.A) if form == "both" else None
        self.targets["changed"].store(self.builder.negate("matrix_opposite", changed) if form == "negated_after" else changed)
        if other is not None:
            self.targets["other"].store(other)
        if form == "kept":
            self.targets["kept"].store(source)
        for target in self.targets.values():
            target.finish(self.builder)
        return self.builder.build()

    def draw(self, name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        """Draw the pattern across all matrices; random bytes follow the lines of a matrix."""
        rows, columns = parameters.shape
        bits = self._bits(parameters, program.instances * rows * columns, rng).reshape(-1, rows, columns)
        return Subcase(name, {"source": self.source.tiles.contents(bits, rng), **fills(program, rng)})

    def _bits(self, parameters: SubcaseParameters, count: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the elements of the source, (count,)."""
        source, found, part = parameters.from_, self.step, parameters.part
        match parameters.pattern:
            case "index":
                return _normal(index_coded(source, count), source)
            case "index_high":
                return _normal(index_coded(source, count, half=1), source)
            case "bits":
                return random_bits(source, count, rng)
            case "normal":
                return _normal(random_bits(source, count, rng), source)
        assert found is not None, "the pattern is for conversions of components"
        match parameters.pattern:
            case "bytes":
                return conversions.fill(conversions.every_byte([found]), count, part)
            case "edges":
                return conversions.fill(conversions.edges([found]), count, part)
            case "random":
                return conversions.random([found], count, rng)
            case "overflow":
                return conversions.overflowing(found, count, rng)


def _normal(bits: np.ndarray, component: ComponentType) -> np.ndarray:
    """Set an exponent bit of each denormal float, since a change of use may flush denormals to zero (facts.md C17)."""
    if not component.is_float:
        return bits
    tiny = denormals(bits.view(component.dtype).astype(np.float64), component)
    return np.where(tiny, bits | component.bits_dtype.type(1 << (component.precision - 1)), bits)


def build(parameters: Parameters) -> Built:
    """Build a case."""
    writer = _UseChange(parameters)
    return Built(writer.write(), writer.draw)
