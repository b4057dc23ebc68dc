"""muladd: A x B + C, alone, repeated, carried through loops, and with several accumulators alive.

Axis values are those of cases/khr_cooperative_matrix/muladd.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from generators.inputs import integers, products
from generators.inputs.products import Chain, Operands
from generators.layouts.placement import Target, fills, stage_in, stage_out
from generators.layouts.tiles import Tiles, fit_workgroup_memory, tiled
from generators.parameters.vocabulary import LAYOUT_LETTERS, SCOPES, SOURCES, STORAGE, SUBGROUPS, TakenValues, Values, instances
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Carried
from generators.program.memory import Array, Pointee
from generators.program.program import Program, Subcase
from generators.program.values import Matrix, MatrixType, Operand, Scalar
from generators.property_rows import PropertyRow, parse_row
from generators.types import COMPONENT_TYPES, ComponentType, StorageClass, Use

ENVELOPE = (
    "the specification bounds no error of a float multiply-add (facts.md C1): "
    "|D - x| <= (K+1) * 2^(1-p) * S + ulp is the policy of this suite"
)

_OPPOSITE = {"s": "u", "u": "s"}


def _declared(component: ComponentType, flipped: bool) -> ComponentType:
    """The type that the shader declares: integers of the other signedness where asked, since only the operand flags count."""
    if component.is_float or not flipped:
        return component
    return COMPONENT_TYPES[_OPPOSITE[component.name[0]] + component.name[1:]]


@dataclass(frozen=True)
class Plan:
    """A case, worked out: how many operands of each kind, and where their tiles lie.

    Attributes:
        row: the property row.
        steps: tiles of A and B per accumulator; ``trips``: iterations of the loop (0 too); ``repeats``: how often each product is added.
        a, b, c, d: tiles by name of the array.
    """

    row: PropertyRow
    steps: int
    trips: int
    repeats: int
    a: dict[str, Tiles]
    b: dict[str, Tiles]
    c: dict[str, Tiles]
    d: dict[str, Tiles]


_GRID = {"accumulators": (("0", "1"), ("0", "1"))}
_LOOPS = ("loop", "loop_fixed", "accumulators")


def plan(values: Values) -> Plan:
    """Works out the tiles of a case."""
    row = parse_row(values["row"])
    form = values["form"]
    trips = int(values["trips"]) if form in _LOOPS else 1
    steps = trips if form in ("loop", "accumulators") else 1
    repeats = {"loop_fixed": trips, "reuse": 2}.get(form, 1)
    count = instances(values)
    declared = values["declared"]
    types = {
        name: _declared(component, declared in ("opposite", name))
        for name, component in (("a", row.a), ("b", row.b), ("c", row.c), ("result", row.result))
    }
    layout = {name: LAYOUT_LETTERS[letter] for name, letter in zip("abcd", values["layouts"], strict=True)}
    padded = values["padding"] == "padded"
    names_a, names_b = _GRID.get(form, (("",), ("",)))
    pairs = [a + b for a in names_a for b in names_b]
    outputs = ["0", "1"] if form == "reuse" else pairs
    a = tiled(types["a"], (row.m, row.k), layout["a"], padded, (count, steps))
    b = tiled(types["b"], (row.k, row.n), layout["b"], padded, (count, steps))
    c = tiled(types["c"], (row.m, row.n), layout["c"], padded, (count, 1))
    d = tiled(types["result"], (row.m, row.n), layout["d"], padded, (count, 1))
    return Plan(
        row,
        steps,
        trips,
        repeats,
        {f"a{name}": a for name in names_a},
        {f"b{name}": b for name in names_b},
        {f"c{name}": c for name in pairs},
        {f"d{name}": d for name in outputs},
    )


def _row(values: Values) -> PropertyRow:
    return parse_row(values["row"])


def _fits(values: Values) -> bool:
    """Workgroup memory holds all arrays."""
    tiles = plan(values)
    return fit_workgroup_memory(values, [*tiles.a.values(), *tiles.b.values(), *tiles.c.values(), *tiles.d.values()])


def _data_fits_row(values: Values) -> bool:
    row = _row(values)
    if row.result.is_float:
        return values["data"] in ("exact", "envelope")
    return bool(values["data"] == ("saturate" if row.saturating else "wrap"))


def _carries(values: Values) -> bool:
    """A result that is C of the next multiply-add needs the types of C and Result to be one; so does sign, for chains of both."""
    row = _row(values)
    return values["form"] not in (*_LOOPS, "reuse") or (row.c is row.result and values["declared"] not in ("c", "result"))


def _has_integers(values: Values) -> bool:
    row = _row(values)
    component = {"a": row.a, "b": row.b, "c": row.c, "result": row.result}.get(values["declared"], row.result)
    return values["declared"] == "same" or not component.is_float


def _signed_sums(values: Values) -> bool:
    row = _row(values)
    return row.result.is_signed and (row.a.is_signed or row.b.is_signed)


def _wide_enough(values: Values) -> bool:
    """An fp8 or bf16 result has too few bits for a long chain of exact sums, or for the envelope to exclude anything."""
    row = _row(values)
    return not row.result.is_float or row.result.precision >= 8 or values["form"] == "single"


_PATTERNS: Mapping[str, Callable[[Chain, np.random.Generator], Operands]] = {
    "full_width": products.exact,
    "scaled": partial(products.exact, exponents=(-3, -1)),
    "cancel": products.cancelling_exact,
    "identity_a": partial(products.identity, which="a"),
    "identity_b": partial(products.identity, which="b"),
    "permutation": partial(products.identity, which="permutation"),
    "general": products.general,
    "cancelling": products.cancelling_general,
    "random": integers.wrapping,
    "edges": integers.edges,
    "selecting": integers.selecting,
    "high": partial(integers.saturating, end="high"),
    "low": partial(integers.saturating, end="low"),
    "inside": partial(integers.saturating, end="inside"),
    "crossing": partial(integers.saturating, end="crossing"),
}

AXES: TakenValues = {
    "row": None,
    "scope": SCOPES.keys(),
    "subgroups": SUBGROUPS,
    "data": ("exact", "envelope", "wrap", "saturate"),
    "form": ("single", "reuse", *_LOOPS),
    "trips": range(100),
    "trip_source": SOURCES,
    "declared": ("same", "opposite", "a", "b", "c", "result"),
    "layouts": re.compile("[rc]{4}"),
    "padding": ("tight", "padded"),
    "storage": STORAGE,
    "pattern": _PATTERNS.keys(),
}


def _mixes_types(values: Values) -> bool:
    """A differs from B, or C from Result (KHR-MAD-13)."""
    row = parse_row(values["row"])
    return row.a is not row.b or row.c is not row.result


PREDICATES: Mapping[str, Callable[[Values], bool]] = {
    "carries": _carries,
    "data_fits_row": _data_fits_row,
    "fits_workgroup_memory": _fits,
    "has_integers": _has_integers,
    "mixes_types": _mixes_types,
    "names_no_operands": lambda values: parse_row(values["row"]).operands == 0,
    "signed_sums": lambda values: values["pattern"] not in ("low", "crossing") or _signed_sums(values),
    "wide_enough": _wide_enough,
}


@dataclass(frozen=True)
class _Arrays:
    """The arrays of a program under construction, by name."""

    sources: dict[str, Array]
    targets: dict[str, Target]


class _Writer:
    """Writes the program of one case."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.plan = plan(values)
        self.scope = SCOPES[values["scope"]]
        self.builder = ProgramBuilder(self.scope, subgroups=int(values["subgroups"]))
        storage = StorageClass(values["storage"])
        tiles = self.plan.a | self.plan.b | self.plan.c
        self.arrays = _Arrays(
            {name: stage_in(self.builder, name, Pointee(t.component), t.length, storage) for name, t in tiles.items()},
            {name: stage_out(self.builder, name, Pointee(t.component), t.length, storage) for name, t in self.plan.d.items()},
        )
        self.operands = None if self.plan.row.operands == 0 else self.plan.row.operands

    def _type(self, tiles: Tiles, use: Use) -> MatrixType:
        return MatrixType(tiles.component, self.scope, tiles.rows, tiles.columns, use)

    def _first(self, name: str, tiles: Tiles, index: Scalar | None) -> Operand | Scalar:
        """The first element of the tile of this instance and, in a loop, of this iteration."""
        builder = self.builder
        zero = builder.literal(0)
        first: Operand | Scalar = zero
        if builder.instances > 1:
            first = builder.arithmetic(
                f"{name}_instance", "multiply", builder.instance_index(), builder.literal(tiles.pitch * max(1, tiles.steps))
            )
        if index is not None:
            step = builder.arithmetic(f"{name}_step", "multiply", index, builder.literal(tiles.pitch))
            first = step if first is zero else builder.arithmetic(f"{name}_first", "add", first, step)
        return first

    def load(self, name: str, tiles: Tiles, use: Use, index: Scalar | None = None) -> Matrix:
        """The matrix of array ``name``."""
        first = self._first(name, tiles, index)
        stride = self.builder.literal(tiles.stride)
        return self.builder.load(f"matrix_{name}", self._type(tiles, use), self.arrays.sources[name], first, stride, tiles.layout)

    def muladd(self, name: str, a: Matrix, b: Matrix, c: Matrix) -> Matrix:
        """``a`` x ``b`` + ``c``, of the type of the result."""
        result = self._type(next(iter(self.plan.d.values())), Use.ACCUMULATOR)
        return self.builder.muladd(name, result, a, b, c, self.operands)

    def store(self, matrix: Matrix, name: str) -> None:
        """Stores ``matrix`` to array ``name``."""
        tiles = self.plan.d[name]
        first = self._first(name, tiles, None)
        self.builder.store(matrix, self.arrays.targets[name].array, first, self.builder.literal(tiles.stride), tiles.layout)

    def finish(self) -> Program:
        """The program, with its outputs copied out of workgroup memory."""
        for target in self.arrays.targets.values():
            target.finish(self.builder)
        return self.builder.build(ENVELOPE if self.values["data"] == "envelope" else "")

    def single(self) -> None:
        """One multiply-add; for ``reuse`` the same operands again in a second one, and C in a third."""
        a, b = self.load("a", self.plan.a["a"], Use.A), self.load("b", self.plan.b["b"], Use.B)
        c = self.load("c", self.plan.c["c"], Use.ACCUMULATOR)
        result = self.muladd("product", a, b, c)
        if self.values["form"] == "single":
            self.store(result, "d")
            return
        self.store(self.muladd("again", a, b, result), "d0")
        self.store(self.muladd("fresh", a, b, c), "d1")

    def loop(self) -> None:
        """Accumulators carried through a loop."""
        builder, form = self.builder, self.values["form"]
        trip_count = builder.operand("trip_count", U32, self.values["trip_source"], self.plan.trips, self.plan.trips + 1)
        index = Scalar("iteration", U32)
        accumulators = {name.removeprefix("c"): self.load(name, tiles, Use.ACCUMULATOR) for name, tiles in self.plan.c.items()}
        fixed = None
        if form == "loop_fixed":
            fixed = (self.load("a", self.plan.a["a"], Use.A), self.load("b", self.plan.b["b"], Use.B))
        if builder.instances > 1:
            builder.instance_index()
        carried: list[Carried] = []
        with builder.loop(index, trip_count, carried):
            if fixed is None:
                left = {name: self.load(name, tiles, Use.A, index) for name, tiles in self.plan.a.items()}
                right = {name: self.load(name, tiles, Use.B, index) for name, tiles in self.plan.b.items()}
            else:
                left, right = {"a": fixed[0]}, {"b": fixed[1]}
            for pair, initial in accumulators.items():
                current = Matrix(f"accumulator{pair}", self._type(self.plan.d[f"d{pair}"], Use.ACCUMULATOR))
                following = self.muladd(f"next{pair}", left[f"a{pair[:1]}"], right[f"b{pair[1:]}"], current)
                carried.append(Carried(initial, current, following))
        for pair, item in zip(accumulators, carried, strict=True):
            self.store(item.current, f"d{pair}")


def program(values: Values) -> Program:
    """The program of a case."""
    writer = _Writer(values)
    if values["form"] in _LOOPS:
        writer.loop()
    else:
        writer.single()
    return writer.finish()


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """Operands of the case's data and pattern, drawn for every accumulator."""
    worked = plan(values)
    # A loop of no iterations has data, too: it must not read them.
    chain = Chain(worked.row, program.instances, max(1, worked.steps), max(1, worked.repeats))
    drawn = _PATTERNS[values["pattern"]](chain, rng)
    arrays: dict[str, np.ndarray] = {}
    for group, data in ((worked.a, drawn.a), (worked.b, drawn.b), (worked.c, drawn.c[:, None])):
        for position, (array, tiles) in enumerate(group.items()):
            # Further accumulators get the same magnitudes elsewhere, so that what was proved of the sums still holds.
            turned = np.roll(data, position * 3, axis=-1) if group is worked.b else np.roll(data, position * 3, axis=-2)
            arrays[array] = tiles.place(np.ascontiguousarray(turned), rng)
    operands = {o.name: worked.trips for o in program.operands if o.source in ("push_constant", "buffer")}
    return Subcase(name, arrays | fills(program, rng), operands, {"terms": chain.terms})
