"""muladd: A x B + C, alone, repeated, carried through loops, and with several accumulators alive."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from generators.inputs import integers, products
from generators.inputs.products import Chain, Operands
from generators.layouts.matrix_arrays import matrix_sources, matrix_targets
from generators.layouts.placement import fills
from generators.layouts.product_tiles import LOOPS, Declared, Form, ProductTiles, product_tiles
from generators.operands.run_time import run_time_operands
from generators.parameters.declaration import parameter
from generators.parameters.matrices import OneRow
from generators.parameters.vocabulary import SOURCE_NAMES, STORAGE_CLASSES, layouts_of
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Carried
from generators.program.program import Built, Program, Subcase
from generators.program.values import Matrix, Scalar, Value
from generators.types import Layout, StorageClass

ENVELOPE = (
    "the specification gives no error bound for a float multiply-add (facts.md C1): "
    "|D - x| <= (K+1) * 2^(1-p) * S + ulp is the policy of this suite"
)

Pattern = Callable[[Chain, np.random.Generator], Operands]

_PATTERNS: Mapping[str, Pattern] = {
    "kept_width": products.exact,
    "full_width": partial(products.exact, full=True),
    "scaled": partial(products.exact, exponents=(-3, -1), full=True),
    "cancel": partial(products.cancelling_exact, full=True),
    "identity_a": partial(products.identity, which="a", full=True),
    "identity_b": partial(products.identity, which="b", full=True),
    "permutation": partial(products.identity, which="permutation", full=True),
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


def _loops(parameters: Parameters) -> bool:
    return parameters.form in LOOPS


@dataclass(frozen=True, kw_only=True)
class Parameters(OneRow):
    """The parameters of a case."""

    data: Literal["exact", "envelope", "wrap", "saturate"] = parameter(
        "whether sums are exact, are rounded and judged by the envelope, wrap, or saturate"
    )
    form: Form = parameter("how multiply-adds follow each other", default="single")
    trips: int = parameter("iterations of the loop", default=3, applies=_loops)
    trip_source: SOURCE_NAMES = parameter("where the trip count comes from", default="literal", applies=_loops)
    declared: Declared = parameter(
        "which integers the shader declares with the other signedness, since only the operand flags count", default="same"
    )
    layouts: tuple[Layout, ...] = parameter("the layouts of A, B, C and Result", default="rrrr", decode=layouts_of(4))
    padding: Literal["tight", "padded"] = parameter("whether lines are followed by padding", default="tight")
    storage: StorageClass = parameter("where the arrays are", default="storage_buffer", labels=STORAGE_CLASSES)


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Pattern = parameter("how the data are drawn", labels=_PATTERNS)


def _tiles(parameters: Parameters) -> ProductTiles:
    row, scope, padded = parameters.row, parameters.scope, parameters.padding == "padded"
    form, trips, declared = parameters.form, parameters.trips, parameters.declared
    return product_tiles(row, scope, parameters.layouts, padded, parameters.instances, form, trips, declared)


def _fits(parameters: Parameters) -> bool:
    """Tell whether workgroup memory holds all arrays."""
    return _tiles(parameters).fit(parameters.storage)


def _data_fits_row(parameters: Parameters) -> bool:
    row = parameters.row
    if row.result.is_float:
        return parameters.data in ("exact", "envelope")
    return parameters.data == ("saturate" if row.saturating else "wrap")


def _carries(parameters: Parameters) -> bool:
    """Tell whether a result can be C of the next multiply-add, if the case uses it so: C and Result have one type and one declared
    signedness."""
    row = parameters.row
    return parameters.form not in (*LOOPS, "reuse") or (row.c is row.result and parameters.declared not in ("c", "result"))


def _has_integers(parameters: Parameters) -> bool:
    row, declared = parameters.row, parameters.declared
    component = {"a": row.a, "b": row.b, "c": row.c, "result": row.result}.get(declared, row.result)
    return declared == "same" or not component.is_float


def _signed_sums(parameters: SubcaseParameters) -> bool:
    if parameters.pattern not in (_PATTERNS["low"], _PATTERNS["crossing"]):
        return True
    row = parameters.row
    return row.result.is_signed and (row.a.is_signed or row.b.is_signed)


def _wide_enough(parameters: Parameters) -> bool:
    """Tell whether the result is wide enough: an fp8 or bf16 result has too few bits for a long chain of exact sums, or for the envelope to
    exclude anything."""
    row = parameters.row
    return not row.result.is_float or row.result.precision >= 8 or parameters.form == "single"


def _mixes_types(parameters: Parameters) -> bool:
    """Tell whether A differs from B, or C from Result (KHR-MAD-13)."""
    row = parameters.row
    return row.a is not row.b or row.c is not row.result


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "carries": _carries,
    "data_fits_row": _data_fits_row,
    "fits_workgroup_memory": _fits,
    "has_integers": _has_integers,
    "mixes_types": _mixes_types,
    "names_no_operands": lambda parameters: parameters.row.operands == 0,
    "signed_sums": _signed_sums,
    "wide_enough": _wide_enough,
}


class _MuladdWriter:
    """Writes the program of one case."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.tiles = _tiles(parameters)
        self.builder = ProgramBuilder(parameters.scope, subgroups=parameters.subgroups)
        self.sources = matrix_sources(self.builder, self.tiles.a | self.tiles.b | self.tiles.c, parameters.storage, "instance")
        self.targets = matrix_targets(self.builder, self.tiles.d, parameters.storage, "instance")
        self.result = next(iter(self.tiles.d.values())).type

    def load(self, name: str, index: Scalar | None = None) -> Matrix:
        """Load the matrix of array ``name`` and, in a loop, of this iteration."""
        source = self.sources[name]
        return source.load(at=source.product(index))

    def muladd(self, name: str, a: Matrix, b: Matrix, c: Matrix) -> Matrix:
        """Compute ``a`` x ``b`` + ``c``, of the type of the result."""
        return self.builder.muladd(name, self.result, a, b, c, self.tiles.row.operands or None)

    def store(self, matrix: Matrix, name: str) -> None:
        """Store ``matrix`` to array ``name``."""
        target = self.targets[name]
        target.store(matrix, target.product())

    def finish(self) -> Program:
        """Return the program, with its outputs copied out of workgroup memory."""
        for target in self.targets.values():
            target.finish(self.builder)
        return self.builder.build(ENVELOPE if self.parameters.data == "envelope" else "")

    def single(self) -> None:
        """Write one multiply-add; for ``reuse``, a second one takes the same operands again, and a third one takes C."""
        a, b, c = (self.load(name) for name in "abc")
        result = self.muladd("product", a, b, c)
        if self.parameters.form == "single":
            self.store(result, "d")
            return
        self.store(self.muladd("again", a, b, result), "d0")
        self.store(self.muladd("fresh", a, b, c), "d1")

    def loop(self) -> None:
        """Write a loop that carries accumulators."""
        builder, form = self.builder, self.parameters.form
        trip_count = builder.operand("trip_count", U32, self.parameters.trip_source, self.tiles.trips, self.tiles.trips + 1)
        index = Value("iteration", U32)
        accumulators = {name.removeprefix("c"): self.load(name) for name in self.tiles.c}
        fixed = None
        if form == "loop_fixed":
            fixed = (self.load("a"), self.load("b"))
        if builder.instances > 1:
            builder.instance_index()
        currents = {pair: Value(f"accumulator{pair}", self.result) for pair in accumulators}
        carried: list[Carried] = []
        with builder.loop(index, trip_count, carried):
            if fixed is None:
                left, right = ({name: self.load(name, index) for name in group} for group in (self.tiles.a, self.tiles.b))
            else:
                left, right = {"a": fixed[0]}, {"b": fixed[1]}
            for pair, initial in accumulators.items():
                following = self.muladd(f"next{pair}", left[f"a{pair[:1]}"], right[f"b{pair[1:]}"], currents[pair])
                carried.append(Carried(initial, currents[pair], following))
        for pair, current in currents.items():
            self.store(current, f"d{pair}")


def build(parameters: Parameters) -> Built:
    """Build a case: its program, and operands of the data and pattern of each subcase, drawn for every accumulator."""
    writer = _MuladdWriter(parameters)
    if parameters.form in LOOPS:
        writer.loop()
    else:
        writer.single()
    worked, built = writer.tiles, writer.finish()

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        # A loop without iterations also has data, which it must not read.
        chain = Chain(worked.row, program.instances, max(1, worked.steps), max(1, worked.repeats))
        drawn = parameters.pattern(chain, rng)
        arrays: dict[str, np.ndarray] = {}
        for group, data in ((worked.a, drawn.a), (worked.b, drawn.b), (worked.c, drawn.c[:, None])):
            for position, (array, tiles) in enumerate(group.items()):
                # Further accumulators get the same magnitudes in other places, so the proof for the sums still holds.
                moved = np.roll(data, position * 3, axis=-1) if group is worked.b else np.roll(data, position * 3, axis=-2)
                arrays[array] = tiles.contents(moved, rng)
        operands = run_time_operands(program, {"trip_count": worked.trips})
        return Subcase(name, arrays | fills(program, rng), operands, {"terms": chain.terms})

    return Built(built, draw)
