"""construction_operands: matrices that are not loaded, as operands of a multiply-add.

Axis values are those of cases/khr_cooperative_matrix/construction_operands.yaml.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from generators.layouts.tiles import Tiles
from generators.numerics.exactness import accumulation_precision
from generators.operands.origins import INTEGERS, ORIGINS, Filling, construct, feed, filling, scalar_for
from generators.parameters.vocabulary import LAYOUT_LETTERS, OPERAND_USES, SOURCES, SUBGROUPS, TakenValues, Values
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Carried
from generators.program.memory import Pointee
from generators.program.program import Program, Subcase
from generators.program.values import Matrix, MatrixType, Scalar, ScalarValue
from generators.property_rows import PropertyRow, parse_row
from generators.types import COMPONENT_TYPES, ComponentType, Layout, Scope, StorageClass

_TWINS = {"f16": "bf16", "bf16": "f16", "s8": "u8", "u8": "s8", "e4m3": "e5m2", "e5m2": "e4m3", "s16": "u16", "u16": "s16"}
"""Types of the same width, which a compiler may take for each other."""

VALUES = ("first", "second", "third")
_FLOATS = (-0.75, -1.0, 0.625)

AXES: TakenValues = {
    "row": None,
    "origin": ORIGINS,
    "constructed": ("a", "b", "c", "ab", "ac", "bc", "abc"),
    "scalar": ("own", "shared"),
    "form": ("single", "loop", "twins"),
    "value": VALUES,
    "subgroups": SUBGROUPS,
    "layout": LAYOUT_LETTERS.keys(),
    "trips": range(100),
    "trip_source": SOURCES,
}


def _values_of(component: ComponentType) -> tuple[int, ...]:
    """Bits of the constructed matrices: integers with the sign set, floats of both signs with few digits, so that sums are exact."""
    if component.is_float:
        return tuple(int(np.array(value).astype(component.dtype).view(component.bits_dtype)) for value in _FLOATS)
    return (
        int.from_bytes(bytes(range(0x93, 0x93 + component.bytes)), "big"),
        (1 << component.bits) - 1,
        (1 << component.bits - 1) + 0x35,
    )


def _number(component: ComponentType, bits: int) -> float:
    return float(np.array(bits, component.bits_dtype).view(component.dtype))


def twin(row: PropertyRow) -> PropertyRow | None:
    """The row whose factors have the other type of the same width, or None."""
    if row.a is not row.b or row.a.name not in _TWINS:
        return None
    other = COMPONENT_TYPES[_TWINS[row.a.name]]
    if other.is_float:
        return replace(row, a=other, b=other) if row.result.name == "f32" else None
    result = COMPONENT_TYPES[_TWINS.get(row.result.name, {"s32": "u32", "u32": "s32"}.get(row.result.name, row.result.name))]
    return replace(row, a=other, b=other, c=result, result=result)


def _row(values: Values) -> PropertyRow:
    return parse_row(values["row"])


def _rows(values: Values) -> dict[str, PropertyRow]:
    """The multiply-adds of a case, by the suffix of their matrices' names."""
    row = _row(values)
    if values["form"] != "twins":
        return {"": row}
    other = twin(row)
    assert other is not None, "the constraint 'has_twin' must exclude this case"
    return {"": row, "_twin": other}


def _fillings(values: Values, row: PropertyRow) -> dict[str, Filling]:
    """The values of the constructed operands: of each another, unless they share a scalar."""
    start, shared, origin = VALUES.index(values["value"]), values["scalar"] == "shared", values["origin"]
    count = int(values["subgroups"])
    found = {}
    for turn, name in enumerate("abc"):
        if name in values["constructed"]:
            component = {"a": row.a, "b": row.b, "c": row.c}[name]
            found[name] = filling(component, _values_of(component), count, origin, start + (0 if shared else turn))
    return found


def _all_fillings(values: Values) -> dict[str, Filling]:
    """By the name of the matrix. A twin has the bits of the other's factors, in its own types."""
    rows = _rows(values)
    found = _fillings(values, rows[""])
    for suffix, row in rows.items():
        if suffix:
            types = {"a": row.a, "b": row.b, "c": row.c}
            found |= {name + suffix: replace(found[name], component=types[name]) for name in list(found) if len(name) == 1}
    return found


@dataclass(frozen=True)
class Limits:
    """Loaded operands of a float multiply-add: integers of at most ``a``, ``b``, ``c``, times two to the exponents."""

    a: int
    b: int
    c: int
    exponent_a: int
    exponent_b: int


def _odd(value: float) -> tuple[int, int]:
    """``value`` as an odd number times two to an exponent."""
    fraction, exponent = math.frexp(abs(value))
    digits = int(math.ldexp(fraction, 53))
    low = (digits & -digits).bit_length() - 1
    return digits >> low, exponent - 53 + low


def limits(values: Values, row: PropertyRow, fillings: Mapping[str, Filling]) -> Limits | None:
    """Integers so small that every sum is exact in every order; None if there are none.

    All is counted in one quantum: products are integers times two to the sum of the factors' exponents, and so is C.
    """
    budget = (1 << accumulation_precision(row.a, row.b, row.c, row.result)) - 1
    terms = row.k * (max(1, int(values["trips"])) if values["form"] == "loop" else 1)
    magnitude, exponent = {"a": 0, "b": 0, "c": 0}, {"a": 0, "b": 0}
    for name in ("a", "b"):
        if name in fillings and values["origin"] != "null":
            parts = [_odd(_number(fillings[name].component, bits)) for bits in fillings[name].bits]
            exponent[name] = min(e for _, e in parts)
            magnitude[name] = max(m << e - exponent[name] for m, e in parts)
    quantum = exponent["a"] + exponent["b"]
    scale = 1
    if "c" in fillings and values["origin"] != "null":
        parts = [_odd(_number(row.c, bits)) for bits in fillings["c"].bits]
        lowest = min(quantum, *(e for _, e in parts))
        scale, magnitude["c"] = 1 << quantum - lowest, max(m << e - lowest for m, e in parts)
        limit_c = 0
    else:
        fixed = terms * magnitude["a"] * magnitude["b"]
        limit_c = min((1 << row.c.precision) - 1, max(0, budget - fixed) if {"a", "b"} <= set(fillings) else budget // 4)
        if limit_c < 3:
            return None
        magnitude["c"] = limit_c
    per_term = (budget - magnitude["c"]) // (terms * scale)
    most_a, most_b = (1 << row.a.precision) - 1, (1 << row.b.precision) - 1
    has_a, has_b = "a" in fillings, "b" in fillings
    if has_a and has_b:
        # After the first iteration of a loop they are loaded.
        limit_a = limit_b = 1
    elif has_a:
        limit_a, limit_b = max(1, magnitude["a"]), min(most_b, per_term // max(1, magnitude["a"]))
    elif has_b:
        limit_a, limit_b = min(most_a, per_term // max(1, magnitude["b"])), max(1, magnitude["b"])
    else:
        limit_a = limit_b = min(most_a, most_b, math.isqrt(max(0, per_term)))
    limit_a, limit_b = min(limit_a, most_a), min(limit_b, most_b)
    largest = max(magnitude["a"], limit_a) * max(magnitude["b"], limit_b)
    if min(limit_a, limit_b) < 1 or terms * scale * largest + magnitude["c"] > budget:
        return None
    return Limits(limit_a, limit_b, limit_c, exponent["a"], exponent["b"])


def _exact(values: Values) -> bool:
    row = _row(values)
    if not row.result.is_float:
        return not row.saturating
    if values["form"] == "twins" and twin(row) is None:
        return True
    found = _all_fillings(values)
    for suffix, each in _rows(values).items():
        own = {name: found[name + suffix] for name in "abc" if name + suffix in found}
        if limits(values, each, own) is None:
            return False
    return True


def _shares(values: Values) -> bool:
    """One scalar makes several matrices of one component; null has no scalar."""
    if values["scalar"] == "own":
        return True
    row = _row(values)
    types = {{"a": row.a, "b": row.b, "c": row.c}[name] for name in values["constructed"]}
    return len(values["constructed"]) > 1 and len(types) == 1 and values["origin"] != "null" and values["form"] == "single"


def _computable(values: Values) -> bool:
    row = _row(values)
    types = [{"a": row.a, "b": row.b, "c": row.c}[name].name for name in values["constructed"]]
    return not values["origin"].endswith("_computed") or all(name in INTEGERS for name in types)


def _carries(values: Values) -> bool:
    """What a loop adds to has the types of C and of Result."""
    row = _row(values)
    return values["form"] != "loop" or row.c is row.result


PREDICATES: Mapping[str, Callable[[Values], bool]] = {
    "carries": _carries,
    "computable": _computable,
    "exact": _exact,
    "has_twin": lambda values: values["form"] != "twins" or twin(_row(values)) is not None,
    "shares": _shares,
}


def _tiles(component: ComponentType, shape: tuple[int, int], layout: Layout, instances: int) -> Tiles:
    rows, columns = shape
    runs, run = (rows, columns) if layout is Layout.ROW_MAJOR else (columns, rows)
    stride = run + max(1, min(16, run * component.bytes) // component.bytes)
    pitch = stride * (runs + 1)
    return Tiles(component, rows, columns, layout, stride, pitch, 1, pitch * instances)


class _Writer:
    """Writes the program of one case."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.builder = ProgramBuilder(Scope.SUBGROUP, subgroups=int(values["subgroups"]))
        self.layout = LAYOUT_LETTERS[values["layout"]]
        self.fillings = _all_fillings(values)
        self.shared: ScalarValue | None = None
        if self.builder.instances > 1:
            self.builder.instance_index()
        if values["scalar"] == "shared":
            name = values["constructed"][0]
            self.shared = scalar_for(self.builder, name, self.fillings[name], values["origin"])

    def _place(self, name: str, tiles: Tiles) -> ScalarValue:
        builder = self.builder
        first: ScalarValue = builder.literal(0)
        return first if builder.instances == 1 else builder.offset(f"{name}_first", first, builder.instance_index(), tiles.pitch)

    def _type(self, name: str, row: PropertyRow) -> MatrixType:
        component, shape = operand_types(row)[name]
        return MatrixType(component, Scope.SUBGROUP, *shape, OPERAND_USES[name])

    def load(self, name: str, suffix: str, row: PropertyRow) -> Matrix:
        """An operand from an array of its own."""
        type_ = self._type(name, row)
        tiles = _tiles(type_.component, type_.shape, self.layout, self.builder.instances)
        label = f"{name}{suffix}"
        array = self.builder.array(f"{label}_in", Pointee(type_.component), tiles.length, StorageClass.STORAGE_BUFFER, "input")
        first, stride = self._place(label, tiles), self.builder.literal(tiles.stride)
        return self.builder.load(f"matrix_{label}", type_, array, first, stride, self.layout)

    def operand(self, name: str, suffix: str, row: PropertyRow) -> Matrix:
        """An operand, constructed or loaded."""
        label = f"{name}{suffix}"
        if label not in self.fillings:
            return self.load(name, suffix, row)
        return construct(self.builder, label, self._type(name, row), self.fillings[label], self.values["origin"], self.shared)

    def store(self, matrix: Matrix, name: str) -> None:
        """Stores a result."""
        tiles = _tiles(matrix.type.component, matrix.type.shape, self.layout, self.builder.instances)
        array = self.builder.array(name, Pointee(matrix.type.component), tiles.length, StorageClass.STORAGE_BUFFER, "output")
        self.builder.store(matrix, array, self._place(name, tiles), self.builder.literal(tiles.stride), self.layout)

    def straight(self) -> None:
        """One multiply-add, or two in types of equal width."""
        for suffix, row in _rows(self.values).items():
            a, b, c = (self.operand(name, suffix, row) for name in "abc")
            type_ = replace(self._type("c", row), component=row.result)
            self.store(self.builder.muladd(f"product{suffix}", type_, a, b, c, row.operands or None), f"d{suffix}")

    def loop(self) -> None:
        """Constructed operands are what the first iteration takes: C is added to, A and B are loaded for the following ones."""
        builder, row, trips = self.builder, _row(self.values), int(self.values["trips"])
        trip_count = builder.operand("trip_count", U32, self.values["trip_source"], trips, trips + 1)
        initial = {name: self.operand(name, "", row) for name in "abc"}
        later = {name: self.load(name, "", row) for name in "ab" if name in self.fillings}
        current = {name: Matrix(f"current_{name}", initial[name].type) for name in (*later, "c")}
        carried: list[Carried] = []
        with builder.loop(Scalar("iteration", U32), trip_count, carried):
            a, b = (current.get(name, initial[name]) for name in "ab")
            following = builder.muladd("following", current["c"].type, a, b, current["c"], row.operands or None)
            carried += [Carried(initial[name], current[name], later.get(name, following)) for name in current]
        self.store(current["c"], "d")


def operand_types(row: PropertyRow) -> dict[str, tuple[ComponentType, tuple[int, int]]]:
    """Component and shape of A, B and C."""
    return {"a": (row.a, (row.m, row.k)), "b": (row.b, (row.k, row.n)), "c": (row.c, (row.m, row.n))}


def program(values: Values) -> Program:
    """The program of a case."""
    writer = _Writer(values)
    if values["form"] == "loop":
        writer.loop()
    else:
        writer.straight()
    return writer.builder.build()


def _draw(row: PropertyRow, name: str, within: Limits | None, instances: int, rng: np.random.Generator) -> np.ndarray:
    """Values of a loaded operand, (instances, 1, rows, columns): all bits of integers, small numbers of both signs of floats."""
    component, shape = operand_types(row)[name]
    size = (instances, 1, *shape)
    if within is None:
        bits = (
            rng.integers(0, 1 << component.bits, size, np.uint64, endpoint=False)
            if component.bits < 64
            else rng.integers(0, (1 << 64) - 1, size, np.uint64, endpoint=True)
        )
        return bits.astype(component.bits_dtype).view(component.dtype)
    limit = {"a": within.a, "b": within.b, "c": within.c}[name]
    exponent = {"a": within.exponent_a, "b": within.exponent_b, "c": within.exponent_a + within.exponent_b}[name]
    drawn = rng.integers(1, limit, size, endpoint=True) * rng.choice(np.array([-1, 1]), size)
    return np.asarray(np.ldexp(drawn.astype(np.float64), exponent).astype(component.dtype))


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """Loaded operands, and the scalars that come from outside of the shader."""
    found = _all_fillings(values)
    arrays, operands = feed(found, program)
    layout = LAYOUT_LETTERS[values["layout"]]
    inputs = {array.name for array in program.arrays}
    for suffix, row in _rows(values).items():
        own = {each: found[each + suffix] for each in "abc" if each + suffix in found}
        within = limits(values, row, own) if row.result.is_float else None
        for each, (component, shape) in operand_types(row).items():
            if f"{each}{suffix}_in" in inputs:
                tiles = _tiles(component, shape, layout, program.instances)
                arrays[f"{each}{suffix}_in"] = tiles.place(_draw(row, each, within, program.instances, rng), rng)
    if any(operand.name == "trip_count" and operand.source in ("push_constant", "buffer") for operand in program.operands):
        operands["trip_count"] = int(values["trips"])
    return Subcase(name, arrays, operands)
