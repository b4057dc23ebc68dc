"""construction_operands: constructed matrices as operands of a multiply-add."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from generators.inputs.patterns import counted_bytes
from generators.inputs.whole_numbers import budget, few, full_budget, odd_near, up_to, wide_factors
from generators.layouts.matrix_arrays import MatrixArray, Tiles, matrix_source, matrix_target, tiled
from generators.layouts.row_types import row_type
from generators.numerics.formats import bits_of
from generators.operands.origins import ORIGINS, Filling, Origin, construct, feed, filling, scalar_for
from generators.operands.run_time import run_time_operands
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import LAYOUT_LETTERS, SOURCE_NAMES
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Carried
from generators.program.program import Built, Program, Subcase
from generators.program.values import Matrix, MatrixType, ScalarValue, Value
from generators.property_rows import PropertyRow, parse_row
from generators.types import COMPONENT_TYPES, ComponentType, Layout, Scope

_TWINS = {"f16": "bf16", "bf16": "f16", "s8": "u8", "u8": "s8", "e4m3": "e5m2", "e5m2": "e4m3", "s16": "u16", "u16": "s16"}
"""Pairs of types of the same width, which a compiler may confuse."""

_VALUES = {"first": 0, "second": 1, "third": 2}
"""Label -> index of the value in ``_values_of``."""

_FLOATS = (-0.75, -1.0, 0.625)

_CONSTRUCTED = {names: tuple(names) for names in ("a", "b", "c", "ab", "ac", "bc", "abc")}


def _loops(parameters: Parameters) -> bool:
    return parameters.form == "loop"


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of a case."""

    row: PropertyRow = parameter("the property row", decode=parse_row)
    origin: Origin = parameter("where the constructed operands come from", labels=ORIGINS)
    constructed: tuple[str, ...] = parameter("the operands that are constructed, of a, b and c", default="a", labels=_CONSTRUCTED)
    scalar: Literal["own", "shared"] = parameter("whether constructed operands share one scalar", default="own")
    form: Literal["single", "loop", "twins"] = parameter(
        "one multiply-add, a loop that begins with the constructed operands, or a second multiply-add in types of the same width",
        default="single",
    )
    value: int = parameter("number of the value of the first constructed operand", default="first", labels=_VALUES)
    subgroups: int = parameter("subgroups of the workgroup", default=1)
    layout: Layout = parameter("layout of loads and stores", default="r", labels=LAYOUT_LETTERS)
    trips: int = parameter("iterations of the loop", default=3, applies=_loops)
    trip_source: SOURCE_NAMES = parameter("where the trip count comes from", default="literal", applies=_loops)


def _values_of(component: ComponentType) -> tuple[int, ...]:
    """Return the bits of constructed matrices: integers with the sign set, floats of both signs with few digits, to keep sums exact."""
    if component.is_float:
        return tuple(bits_of(component, value) for value in _FLOATS)
    return (
        counted_bytes(component),
        (1 << component.bits) - 1,
        (1 << component.bits - 1) + 0x35,
    )


def _number(component: ComponentType, bits: int) -> float:
    return float(np.array(bits, component.bits_dtype).view(component.dtype))


def twin(row: PropertyRow) -> PropertyRow | None:
    """Return the row whose factors have the other type of the same width; None if there is none."""
    if row.a is not row.b or row.a.name not in _TWINS:
        return None
    other = COMPONENT_TYPES[_TWINS[row.a.name]]
    if other.is_float:
        return replace(row, a=other, b=other) if row.result.name == "f32" else None
    result = COMPONENT_TYPES[_TWINS.get(row.result.name, {"s32": "u32", "u32": "s32"}.get(row.result.name, row.result.name))]
    return replace(row, a=other, b=other, c=result, result=result)


def _rows(parameters: Parameters) -> dict[str, PropertyRow]:
    """Return the multiply-adds of a case, by the suffix of their matrices' names."""
    row = parameters.row
    if parameters.form != "twins":
        return {"": row}
    other = twin(row)
    assert other is not None, "the constraint 'has_twin' must exclude this case"
    return {"": row, "_twin": other}


def _own_fillings(parameters: Parameters, row: PropertyRow) -> dict[str, Filling]:
    """Return the values of the constructed operands, which differ unless they share a scalar."""
    shared, origin, count = parameters.scalar == "shared", parameters.origin, parameters.subgroups
    components = {"a": row.a, "b": row.b, "c": row.c}
    found = {}
    for number, (name, component) in enumerate(components.items()):
        if name in parameters.constructed:
            found[name] = filling(component, _values_of(component), count, origin, parameters.value + (0 if shared else number))
    return found


def _fillings(parameters: Parameters) -> dict[str, Filling]:
    """Return the values by the name of the matrix. A twin has the same bits as the original's factors, in its own types."""
    rows = _rows(parameters)
    found = _own_fillings(parameters, rows[""])
    for suffix, row in rows.items():
        if suffix:
            types = {"a": row.a, "b": row.b, "c": row.c}
            found |= {name + suffix: replace(found[name], component=types[name]) for name in list(found) if len(name) == 1}
    return found


@dataclass(frozen=True)
class Limits:
    """Loaded operands of a float multiply-add: integers of at most ``a``, ``b``, ``c``, times two to the exponents.

    Attributes:
        products: the largest sum of the magnitudes of a multiply-add's products.
        alone: the largest magnitude of a factor whose line has no other factors.
    """

    a: int
    b: int
    c: int
    exponent_a: int
    exponent_b: int
    products: int
    alone: int


def _odd(value: float) -> tuple[int, int]:
    """Return ``value`` as an odd number times two to an exponent."""
    fraction, exponent = math.frexp(abs(value))
    digits = int(math.ldexp(fraction, 53))
    low = (digits & -digits).bit_length() - 1
    return digits >> low, exponent - 53 + low


def limits(row: PropertyRow, fillings: Mapping[str, Filling], null: bool, iterations: int) -> Limits | None:
    """Return integers so small that every sum is exact in every order, if possible in the bits that a multiply-add must keep; None if there
    are no such integers.

    The unit is the same for all terms: products and C are integers times two to the sum of the factors' exponents.

    Args:
        row: the row of the multiply-add.
        fillings: values of the constructed operands.
        null: whether the constructed operands are null instead.
        iterations: how many multiply-adds follow each other.
    """
    kept = _limits_within(budget(row), row, fillings, null, iterations)
    return kept or _limits_within(full_budget(row), row, fillings, null, iterations)


def _limits_within(most: int, row: PropertyRow, fillings: Mapping[str, Filling], null: bool, iterations: int) -> Limits | None:
    """Return the same limits as ``limits``, with a sum of at most ``most`` over the magnitudes of all terms."""
    terms = row.k * iterations
    magnitude, exponent = {"a": 0, "b": 0, "c": 0}, {"a": 0, "b": 0}
    for name in ("a", "b"):
        if name in fillings and not null:
            parts = [_odd(_number(fillings[name].component, bits)) for bits in fillings[name].bits]
            exponent[name] = min(e for _, e in parts)
            magnitude[name] = max(m << e - exponent[name] for m, e in parts)
    quantum = exponent["a"] + exponent["b"]
    scale = 1
    if "c" in fillings and not null:
        parts = [_odd(_number(row.c, bits)) for bits in fillings["c"].bits]
        lowest = min(quantum, *(e for _, e in parts))
        scale, magnitude["c"] = 1 << quantum - lowest, max(m << e - lowest for m, e in parts)
        limit_c = 0
    else:
        fixed = terms * magnitude["a"] * magnitude["b"]
        limit_c = min((1 << row.c.precision) - 1, max(0, most - fixed) if {"a", "b"} <= set(fillings) else most // 4)
        if limit_c < 3:
            return None
        magnitude["c"] = limit_c
    per_term = (most - magnitude["c"]) // (terms * scale)
    most_a, most_b = (1 << row.a.precision) - 1, (1 << row.b.precision) - 1
    has_a, has_b = "a" in fillings, "b" in fillings
    if has_a and has_b:
        # After the first iteration of a loop, the factors are loaded.
        limit_a = limit_b = 1
    elif has_a:
        limit_a, limit_b = max(1, magnitude["a"]), min(most_b, per_term // max(1, magnitude["a"]))
    elif has_b:
        limit_a, limit_b = min(most_a, per_term // max(1, magnitude["b"])), max(1, magnitude["b"])
    else:
        limit_a = limit_b = min(most_a, most_b, math.isqrt(max(0, per_term)))
    limit_a, limit_b = min(limit_a, most_a), min(limit_b, most_b)
    largest = max(magnitude["a"], limit_a) * max(magnitude["b"], limit_b)
    if min(limit_a, limit_b) < 1 or terms * scale * largest + magnitude["c"] > most:
        return None
    products = (most - magnitude["c"]) // (iterations * scale)
    met = max(magnitude["a"], limit_a) if has_a else max(magnitude["b"], limit_b)
    return Limits(limit_a, limit_b, limit_c, exponent["a"], exponent["b"], products, products // met)


def _limits(parameters: Parameters) -> dict[str, Limits | None]:
    """Return the limits of each multiply-add of a case of floats, by the suffix of its matrices' names."""
    found, null = _fillings(parameters), parameters.origin.is_null
    iterations = max(1, parameters.trips) if parameters.form == "loop" else 1
    return {
        suffix: limits(row, {name: found[name + suffix] for name in "abc" if name + suffix in found}, null, iterations)
        for suffix, row in _rows(parameters).items()
    }


def _exact(parameters: Parameters) -> bool:
    row = parameters.row
    if not row.result.is_float:
        return not row.saturating
    if parameters.form == "twins" and twin(row) is None:
        return True
    return None not in _limits(parameters).values()


def _types(parameters: Parameters) -> set[ComponentType]:
    """Return the component types of the constructed operands."""
    row = parameters.row
    return {{"a": row.a, "b": row.b, "c": row.c}[name] for name in parameters.constructed}


def _shares(parameters: Parameters) -> bool:
    """Tell whether the operands can share a scalar: one scalar makes several matrices of one component type, and null has no scalar."""
    if parameters.scalar == "own":
        return True
    several = len(parameters.constructed) > 1 and len(_types(parameters)) == 1
    return several and not parameters.origin.is_null and parameters.form == "single"


def _computable(parameters: Parameters) -> bool:
    return parameters.origin.source != "computed" or not any(component.is_float for component in _types(parameters))


def _carries(parameters: Parameters) -> bool:
    """Tell whether a loop can carry its sum: its type is the type of C and of Result."""
    return parameters.form != "loop" or parameters.row.c is parameters.row.result


PREDICATES: Mapping[str, Callable[[Parameters], bool]] = {
    "carries": _carries,
    "computable": _computable,
    "exact": _exact,
    "has_twin": lambda parameters: parameters.form != "twins" or twin(parameters.row) is not None,
    "shares": _shares,
}


class _ProductWriter:
    """Writes the program of one case."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.builder = ProgramBuilder(Scope.SUBGROUP, subgroups=parameters.subgroups)
        self.layout, self.origin = parameters.layout, parameters.origin
        self.rows, self.fillings = _rows(parameters), _fillings(parameters)
        self.sources: dict[str, MatrixArray] = {}
        self.shared: ScalarValue | None = None
        if self.builder.instances > 1:
            self.builder.instance_index()
        if parameters.scalar == "shared":
            name = parameters.constructed[0]
            self.shared = scalar_for(self.builder, name, self.fillings[name], self.origin)

    def _tiles(self, type_: MatrixType) -> Tiles:
        return tiled(type_, self.layout, True, (self.builder.instances, 1), apart=1)

    def load(self, name: str, suffix: str, row: PropertyRow) -> Matrix:
        """Load an operand from an array of its own."""
        label = f"{name}{suffix}"
        source = matrix_source(self.builder, f"{label}_in", self._tiles(row_type(row, name, Scope.SUBGROUP)))
        self.sources[label] = source
        return source.load(f"matrix_{label}", source.first(prefix=label))

    def operand(self, name: str, suffix: str, row: PropertyRow) -> Matrix:
        """Return an operand, which is constructed or loaded."""
        label = f"{name}{suffix}"
        if label not in self.fillings:
            return self.load(name, suffix, row)
        return construct(self.builder, label, row_type(row, name, Scope.SUBGROUP), self.fillings[label], self.origin, self.shared)

    def store(self, matrix: Matrix, name: str) -> None:
        """Store a result."""
        matrix_target(self.builder, name, self._tiles(matrix.type)).store(matrix)

    def straight(self) -> None:
        """Write one multiply-add, or two in types of equal width."""
        for suffix, row in self.rows.items():
            a, b, c = (self.operand(name, suffix, row) for name in "abc")
            type_ = row_type(row, "d", Scope.SUBGROUP)
            self.store(self.builder.muladd(f"product{suffix}", type_, a, b, c, row.operands or None), f"d{suffix}")

    def loop(self) -> None:
        """Write a loop whose first iteration takes the constructed operands. The loop adds to C, and loads A and B for the following
        iterations."""
        builder, row, trips = self.builder, self.parameters.row, self.parameters.trips
        trip_count = builder.operand("trip_count", U32, self.parameters.trip_source, trips, trips + 1)
        initial = {name: self.operand(name, "", row) for name in "abc"}
        later = {name: self.load(name, "", row) for name in "ab" if name in self.fillings}
        current = {name: Value(f"current_{name}", initial[name].type) for name in (*later, "c")}
        carried: list[Carried] = []
        with builder.loop(Value("iteration", U32), trip_count, carried):
            a, b = (current.get(name, initial[name]) for name in "ab")
            following = builder.muladd("following", current["c"].type, a, b, current["c"], row.operands or None)
            carried += [Carried(initial[name], current[name], later.get(name, following)) for name in current]
        self.store(current["c"], "d")


def _bits(component: ComponentType, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw integers with random bits, of the component's dtype."""
    bits = (
        rng.integers(0, 1 << component.bits, size, np.uint64, endpoint=False)
        if component.bits < 64
        else rng.integers(0, (1 << 64) - 1, size, np.uint64, endpoint=True)
    )
    return bits.astype(component.bits_dtype).view(component.dtype)


def _draw(types: Mapping[str, MatrixType], within: Limits | None, instances: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw the loaded operands of a multiply-add, (instances, rows, columns): random bits for integers, small numbers of both signs for
    floats.

    Floats in every second line of a factor are 0, except one that needs all bits of its type or of the sum.
    """
    sizes = {name: (instances, *type_.shape) for name, type_ in types.items()}
    if within is None:
        return {name: _bits(type_.component, sizes[name], rng) for name, type_ in types.items()}
    numbers: dict[str, np.ndarray] = {}
    limits = {name: (1 << type_.component.precision) - 1 for name, type_ in types.items()}
    if {"a", "b"} <= set(types) and within.products >= types["a"].shape[1]:
        numbers["a"], numbers["b"] = wide_factors((sizes["a"], sizes["b"]), within.products, (limits["a"], limits["b"]), rng)
    else:
        both = {"a", "b"} <= set(types)
        for name, limit in (("a", within.a), ("b", within.b)):
            if name in types:
                alone = min(within.alone, limits[name])
                numbers[name] = up_to(limit, sizes[name], rng) if both else _lines(name, limit, alone, sizes, rng)
    if "c" in types:
        numbers["c"] = up_to(within.c, sizes["c"], rng)
    exponents = {"a": within.exponent_a, "b": within.exponent_b, "c": within.exponent_a + within.exponent_b}
    return {
        name: np.asarray(np.ldexp(values.astype(np.float64), exponents[name]).astype(types[name].component.dtype))
        for name, values in numbers.items()
    }


def _lines(name: str, limit: int, alone: int, sizes: Mapping[str, tuple[int, ...]], rng: np.random.Generator) -> np.ndarray:
    """Draw the only factor that is loaded: its lines (rows of A or columns of B) alternate between numbers up to ``limit`` and a single
    number near ``alone``."""
    size = sizes[name] if name == "a" else (sizes[name][0], sizes[name][2], sizes[name][1])
    lines = up_to(limit, size, rng)
    lines[:, 1::2] = np.where(few(1, size, rng), odd_near(alone, size, rng), 0)[:, 1::2]
    return lines if name == "a" else lines.swapaxes(-1, -2)


def build(parameters: Parameters) -> Built:
    """Build a case. A subcase supplies the loaded operands and the scalars that come from outside the shader."""
    writer = _ProductWriter(parameters)
    if parameters.form == "loop":
        writer.loop()
    else:
        writer.straight()
    found = _limits(parameters) if parameters.row.result.is_float else dict.fromkeys(writer.rows)

    def draw(name: str, parameters: Parameters, program: Program, rng: np.random.Generator) -> Subcase:
        arrays, operands = feed(writer.fillings, program)
        for suffix in writer.rows:
            sources = {each: writer.sources[each + suffix] for each in "abc" if each + suffix in writer.sources}
            types = {each: source.tiles.type for each, source in sources.items()}
            for each, drawn in _draw(types, found[suffix], program.instances, rng).items():
                arrays[sources[each].name] = sources[each].tiles.contents(drawn, rng)
        return Subcase(name, arrays, operands | run_time_operands(program, {"trip_count": parameters.trips}))

    return Built(writer.builder.build(), draw)
