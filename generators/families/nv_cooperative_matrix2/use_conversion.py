"""use_conversion: an accumulator becomes an A or B, as it is, converted, or transposed.

Axis values are those of cases/nv_cooperative_matrix2/use_conversion.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from generators.errors import GeneratorError
from generators.inputs import conversions
from generators.inputs.conversions import Step
from generators.inputs.patterns import index_coded, random_bits
from generators.layouts.placement import Target, fills, stage_in, stage_out
from generators.layouts.tiles import Tiles, first_tile, fit_workgroup_memory, tiled
from generators.numerics.formats import denormals
from generators.parameters.vocabulary import LAYOUT_LETTERS, SCOPES, SHAPE, STORAGE, SUBGROUPS, TakenValues, Values, instances, shape_of
from generators.program.builder import ProgramBuilder
from generators.program.conversion import Conversion, MatrixConvert, agrees, is_float8
from generators.program.conversion import conversions as allowed_conversions
from generators.program.memory import Pointee
from generators.program.program import Program, Subcase
from generators.program.use_conversion import Transpose, UseConvert
from generators.program.values import Matrix, MatrixType
from generators.types import COMPONENT_TYPES, ComponentType, StorageClass, Use

_USES = {"a": Use.A, "b": Use.B}

_STRAIGHT = ("use", "convert_first", "convert_last")
_TRANSPOSED = ("transpose", "transpose_first", "transpose_last")
_MOVED = ("index", "index_high", "bits", "normal")
_CONVERTED = ("bytes", "edges", "random", "overflow")

AXES: TakenValues = {
    "from": COMPONENT_TYPES.keys(),
    "to": ("same", *COMPONENT_TYPES),
    "use": _USES.keys(),
    "shape": SHAPE,
    "way": (*_STRAIGHT, *_TRANSPOSED),
    "form": ("kept", "alone", "both", "negated_before", "negated_after"),
    "saturation": ("none", "largest"),
    "layouts": re.compile("[rc]{2}"),
    "storage": STORAGE,
    "scope": SCOPES.keys(),
    "subgroups": SUBGROUPS,
    "pattern": (*_MOVED, *_CONVERTED),
    "part": range(8),
}


def _source(values: Values) -> ComponentType:
    return COMPONENT_TYPES[values["from"]]


def _target(values: Values) -> ComponentType:
    return COMPONENT_TYPES[values["from"] if values["to"] == "same" else values["to"]]


def step(values: Values) -> Step | None:
    """The conversion of components that the case has, of the instruction that agrees with the types; None where it has none.

    Raises:
        GeneratorError: no instruction converts them.
    """
    source, target = _source(values), _target(values)
    if source is target:
        return None
    found = _instruction(source, target)
    if found is None:
        raise GeneratorError("use_conversion: the constraint 'convertible' must exclude this case")
    return Step(source, target, found)


def _instruction(source: ComponentType, target: ComponentType) -> Conversion | None:
    return next((c for c in allowed_conversions(source, target) if agrees(c, source, target)), None)


def _convertible(values: Values) -> bool:
    """A bitcast changes no use (CM2-CVT-02), so that it takes two instructions."""
    if values["to"] == values["from"]:
        return False
    source, target = _source(values), _target(values)
    conversion = _instruction(source, target)
    if source is target:
        return bool(values["way"] in ("use", "transpose"))
    return conversion is not None and bool(conversion is not Conversion.BITCAST or values["way"] != "use")


def _transposes(values: Values) -> bool:
    """A transposition gives a B; where components are converted, before or after it."""
    if values["way"] not in _TRANSPOSED:
        return True
    return bool(values["use"] == "b" and values["form"] != "both" and (values["way"] == "transpose") == (values["to"] == "same"))


def _negates(values: Values) -> bool:
    """Negation is for floats that have arithmetic, of values that are not rounded; and after the change of use of these alone."""
    if not values["form"].startswith("negated"):
        return True
    return values["to"] == "same" and COMPONENT_TYPES[values["from"]].has_arithmetic


def _saturates(values: Values) -> bool:
    return bool(values["saturation"] == "none") or (values["to"] != "same" and is_float8(_target(values)))


def _needed(values: Values) -> bool:
    """Whether there is such data for the case."""
    pattern, found = values["pattern"], step(values)
    if values["form"].startswith("negated"):
        return bool(pattern == "normal")
    if found is None:
        wide = _source(values).bits > 8
        return bool(pattern in ("index", "bits") or (pattern == "index_high" and not wide))
    match pattern:
        case "bytes":
            return found.source.bits == 8
        case "edges" | "random":
            return found.source.bits > 8
        case "overflow":
            return conversions.can_overflow(found)
        case _:
            return False


def _part(values: Values) -> bool:
    """Whether the part has values of a list that the ones before have not."""
    rows, columns = shape_of(values)
    return conversions.is_new(values["pattern"], int(values["part"]), rows * columns)


def _fits(values: Values) -> bool:
    """Workgroup memory holds all arrays."""
    return fit_workgroup_memory(StorageClass(values["storage"]), plan(values).values())


PREDICATES: Mapping[str, Callable[[Values], bool]] = {
    "convertible": _convertible,
    "transposes": _transposes,
    "negates": _negates,
    "saturates": _saturates,
    "needed": _needed,
    "part": _part,
    "fits_workgroup_memory": _fits,
}


def plan(values: Values) -> dict[str, Tiles]:
    """The tiles of each matrix that the case loads (``source``) or stores, by name of the array."""
    shape, count = shape_of(values), (instances(values), 1)
    load, store = (LAYOUT_LETTERS[letter] for letter in values["layouts"])
    moved = shape[::-1] if values["way"] in _TRANSPOSED else shape
    found = {
        "source": tiled(_source(values), shape, load, True, count),
        "changed": tiled(_target(values), moved, store, True, count),
    }
    if values["form"] == "both":
        found["other"] = tiled(_target(values), moved, store, True, count)
    if values["form"] == "kept":
        found["kept"] = tiled(_source(values), shape, store, True, count)
    return found


class _Writer:
    """Writes the program of one case."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.step = step(values)
        self.plan = plan(values)
        self.scope = SCOPES[values["scope"]]
        self.builder = ProgramBuilder(self.scope, subgroups=int(values["subgroups"]))
        storage = StorageClass(values["storage"])
        tiles = self.plan["source"]
        self.source = stage_in(self.builder, "source", Pointee(tiles.component), tiles.length, storage)
        self.targets: dict[str, Target] = {
            name: stage_out(self.builder, name, Pointee(tiles.component), tiles.length, storage)
            for name, tiles in self.plan.items()
            if name != "source"
        }

    def load(self) -> Matrix:
        """The accumulator."""
        tiles = self.plan["source"]
        type_ = MatrixType(tiles.component, self.scope, tiles.rows, tiles.columns, Use.ACCUMULATOR)
        stride = self.builder.literal(tiles.stride)
        return self.builder.load("matrix_source", type_, self.source, first_tile(self.builder, "source", tiles), stride, tiles.layout)

    def store(self, matrix: Matrix, name: str) -> None:
        """Stores ``matrix`` to array ``name``."""
        tiles = self.plan[name]
        self.builder.store(
            matrix, self.targets[name].array, first_tile(self.builder, name, tiles), self.builder.literal(tiles.stride), tiles.layout
        )

    def _converted(self, name: str, matrix: Matrix, use: Use | None = None) -> Matrix:
        """``matrix`` of the target's component type and of ``use``, by one instruction."""
        assert self.step is not None, "the case converts components"
        type_ = replace(matrix.type, component=self.step.target)
        result = Matrix(name, type_ if use is None else replace(type_, use=use))
        self.builder.add(MatrixConvert(result, matrix, self.step.conversion, self.values["saturation"] == "largest"))
        return result

    def _moved(self, name: str, matrix: Matrix, use: Use) -> Matrix:
        result = Matrix(name, replace(matrix.type, use=use))
        self.builder.add(UseConvert(result, matrix))
        return result

    def _transposed(self, name: str, matrix: Matrix) -> Matrix:
        type_ = matrix.type
        result = Matrix(name, replace(type_, rows=type_.columns, columns=type_.rows, use=Use.B))
        self.builder.add(Transpose(result, matrix))
        return result

    def changed(self, name: str, matrix: Matrix, use: Use) -> Matrix:
        """``matrix`` as the case changes it; of ``use``."""
        match self.values["way"]:
            case "use":
                return self._moved(name, matrix, use) if self.step is None else self._converted(name, matrix, use)
            case "convert_first":
                return self._moved(name, self._converted(f"{name}_between", matrix), use)
            case "convert_last":
                return self._converted(name, self._moved(f"{name}_between", matrix, use))
            case "transpose":
                return self._transposed(name, matrix)
            case "transpose_first":
                return self._converted(name, self._transposed(f"{name}_between", matrix))
            case _:
                return self._transposed(name, self._converted(f"{name}_between", matrix))

    def write(self) -> Program:
        """The whole program."""
        form, use = self.values["form"], _USES[self.values["use"]]
        source = self.load()
        given = self.builder.negate("matrix_negated", source) if form == "negated_before" else source
        changed = self.changed("matrix_changed", given, use)
        other = self.changed("matrix_other", given, Use.B if use is Use.A else Use.A) if form == "both" else None
        self.store(self.builder.negate("matrix_opposite", changed) if form == "negated_after" else changed, "changed")
        if other is not None:
            self.store(other, "other")
        if form == "kept":
            self.store(source, "kept")
        for target in self.targets.values():
            target.finish(self.builder)
        return self.builder.build()


def program(values: Values) -> Program:
    """The program of a case."""
    return _Writer(values).write()


def normal(bits: np.ndarray, component: ComponentType) -> np.ndarray:
    """``bits`` with an exponent bit more where a float is denormal, which a change of use may take for zero (facts.md C17)."""
    if not component.is_float:
        return bits
    tiny = denormals(bits.view(component.dtype).astype(np.float64), component)
    return np.where(tiny, bits | component.bits_dtype.type(1 << (component.precision - 1)), bits)


def _bits(values: Values, count: int, rng: np.random.Generator) -> np.ndarray:
    """The elements of the source, (count,)."""
    source, found, part = _source(values), step(values), int(values["part"])
    match values["pattern"]:
        case "index":
            return normal(index_coded(source, count), source)
        case "index_high":
            return normal(index_coded(source, count, half=1), source)
        case "bits":
            return random_bits(source, count, rng)
        case "normal":
            return normal(random_bits(source, count, rng), source)
    assert found is not None, "the pattern is for conversions of components"
    match values["pattern"]:
        case "bytes":
            return conversions.fill(conversions.every_byte([found]), count, part)
        case "edges":
            return conversions.fill(conversions.edges([found]), count, part)
        case "random":
            return conversions.random([found], count, rng)
        case _:
            return conversions.overflowing(found, count, rng)


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """The pattern in all matrices, one after the other; random bytes between the lines of a matrix."""
    rows, columns = shape_of(values)
    bits = _bits(values, program.instances * rows * columns, rng).reshape(program.instances, 1, rows, columns)
    tiles = plan(values)["source"]
    return Subcase(name, {"source": tiles.place(np.ascontiguousarray(bits), rng), **fills(program, rng)})
