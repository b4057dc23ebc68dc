"""use_chain: the result of a multiply-add becomes an A or B of the next one, as in attention: S = Q x K + C, O = P x V + Z."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from generators.inputs.use_chains import UseChain, operands
from generators.layouts.matrix_arrays import MatrixArray, Tiles, fit_workgroup_memory, matrix_sources, matrix_targets, tiled
from generators.layouts.placement import fills
from generators.layouts.row_types import row_type
from generators.numerics.formats import bits_of
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import SCOPE, STORAGE_CLASSES, OfEitherExtension, Scoped, layouts_of, numbers_in, types_in
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Carried
from generators.program.conversion import Conversion, MatrixConvert, Transpose, UseConvert, agrees, conversions
from generators.program.program import Built, Program, Subcase
from generators.program.values import Matrix, Scalar, Value
from generators.property_rows import PropertyRow
from generators.routines.scaling import scaled
from generators.types import ComponentType, Layout, StorageClass, Use

_SCALE = 3


@dataclass(frozen=True)
class ChainTypes:
    """The component types of a chain.

    Attributes:
        factor: the type of Q and K.
        first: the type of C and S.
        converted: the type of P and V.
        second: the type of Z and O.
    """

    factor: ComponentType
    first: ComponentType
    converted: ComponentType
    second: ComponentType

    @property
    def conversion(self) -> Conversion | None:
        """The conversion from S to P that agrees with their types; None if they have one type."""
        if self.first is self.converted:
            return None
        return next(c for c in conversions(self.first, self.converted) if agrees(c, self.first, self.converted))


@dataclass(frozen=True)
class ChainSizes:
    """The sizes of a chain: S is ``m`` x ``n``.

    Attributes:
        m, n: rows and columns of S.
        k: products that enter an element of S.
        d: the dimension of O that P lacks.
    """

    m: int
    n: int
    k: int
    d: int


def parse_types(text: str) -> ChainTypes:
    """Return the types that a label such as ``f16.f32.f16.f32`` names; raises ValueError."""
    return ChainTypes(*types_in(text))


def parse_sizes(text: str) -> ChainSizes:
    """Return the sizes that a label such as ``16x8x16x8``, MxNxKxD, names; raises ValueError."""
    return ChainSizes(*numbers_in(text, "M, N, K and D, such as 16x8x16x8"))


@dataclass(frozen=True, kw_only=True)
class Parameters(Scoped, OfEitherExtension):
    """The parameters of a case."""

    types: ChainTypes = parameter("the component types", decode=parse_types)
    tile: ChainSizes = parameter("the sizes", default="16x16x16x16", decode=parse_sizes)
    enters: Literal["a", "b", "transposed"] = parameter("what S becomes: A, B, or transposed B")
    between: Literal["nothing", "stored", "scaled", "negated_before", "negated_after"] = parameter(
        "what else is done with S, or P", default="nothing"
    )
    trips: int = parameter("iterations of the loop", default=1, applies=lambda parameters: parameters.trip_source != "none")
    trip_source: Literal["none", "literal", "specialization", "push_constant", "buffer"] = parameter(
        "where the trip count comes from, if there is a loop", default="none"
    )
    layouts: tuple[Layout, ...] = parameter(
        "the layouts of Q and V, of K and the stored S, and of C, Z and O", default="rcr", decode=layouts_of(3)
    )
    storage: StorageClass = parameter("where the arrays are", default="storage_buffer", labels=STORAGE_CLASSES, then=SCOPE)


def _chain(parameters: Parameters) -> UseChain:
    """Return the multiply-adds of a case."""
    types, size = parameters.types, parameters.tile
    match parameters.enters:
        case "a":
            sizes = size.m, size.d, size.n
        case "b":
            sizes = size.d, size.n, size.m
        case "transposed":
            sizes = size.d, size.m, size.n
    growth = _SCALE if parameters.between == "scaled" else 1
    first = PropertyRow(size.m, size.n, size.k, types.factor, types.factor, types.first, types.first, False)
    second = PropertyRow(*sizes, types.converted, types.converted, types.second, types.second, False)
    return UseChain(first, second, "a" if parameters.enters == "a" else "b", parameters.trips, growth)


def _has_arithmetic(parameters: Parameters) -> bool:
    """Tell whether the types have the arithmetic: elements of S are scaled or negated, elements of P negated."""
    first, converted = parameters.types.first, parameters.types.converted
    match parameters.between:
        case "scaled" | "negated_before":
            # A negative float does not convert to an unsigned integer, and a negated unsigned integer is too large to be exact as a float.
            return first.has_arithmetic and (first.is_float == converted.is_float or (first.is_signed and not first.is_float))
        case "negated_after":
            return converted.has_arithmetic
        case _:
            return True


def _tiles(parameters: Parameters, chain: UseChain) -> dict[str, Tiles]:
    """Lay out tiles by name of the array: the operands, ``o``, and ``s`` if S is stored."""
    left, right, sums = parameters.layouts

    layouts = {"q": left, "k": right, "c": sums, "v": left, "z": sums, "o": sums}
    if parameters.between == "stored":
        layouts["s"] = right

    def of(name: str) -> Tiles:
        row, operand = chain.operand(name)
        steps = 1 if name in ("q", "z", "o") else chain.trips
        return tiled(row_type(row, operand, parameters.scope), layouts[name], True, (parameters.instances, steps))

    return {name: of(name) for name in layouts}


def _fits(parameters: Parameters) -> bool:
    """Tell whether workgroup memory holds all arrays."""
    return fit_workgroup_memory(parameters.storage, _tiles(parameters, _chain(parameters)).values())


PREDICATES: Mapping[str, Callable[[Parameters], bool]] = {
    "changes_use_alone": lambda parameters: parameters.types.conversion is None,
    "converts": lambda parameters: parameters.types.conversion is not None,
    "has_arithmetic": _has_arithmetic,
    "fits_workgroup_memory": _fits,
}


class _ChainProgram:
    """Writes the program of a case, and draws its data."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.chain = _chain(parameters)
        self.builder = ProgramBuilder(parameters.scope, subgroups=parameters.subgroups, maintenance1=parameters.maintenance1)
        tiles = _tiles(parameters, self.chain)
        outputs = {name: tiles.pop(name) for name in tuple(tiles) if name in ("o", "s")}
        self.sources: dict[str, MatrixArray] = matrix_sources(self.builder, tiles, parameters.storage, "instance")
        self.targets: dict[str, MatrixArray] = matrix_targets(self.builder, outputs, parameters.storage, "instance")

    def load(self, name: str, index: Scalar | None = None) -> Matrix:
        """Load the matrix of array ``name`` and, in a loop, of this iteration."""
        return self.sources[name].load(at=self.sources[name].product(index))

    def store(self, matrix: Matrix, name: str, index: Scalar | None = None) -> None:
        """Store ``matrix`` to array ``name``."""
        self.targets[name].store(matrix, self.targets[name].product(index))

    def _entering(self, scores: Matrix) -> Matrix:
        """Return P: ``scores`` with the component type and use of a factor of the second product."""
        builder, types, conversion = self.builder, self.parameters.types, self.parameters.types.conversion
        if self.parameters.between == "scaled":
            components = (types.first, types.converted)
            scale = -_SCALE if all(component.is_float or component.is_signed for component in components) else _SCALE
            factor = builder.literal(bits_of(types.first, scale), types.first)
            scores = scaled(builder, "matrix_scaled", scores, factor)
        if self.parameters.between == "negated_before":
            scores = builder.negate("matrix_opposite", scores)
        if self.parameters.enters == "transposed":
            if conversion is not None:
                scores = builder.convert("matrix_converted", scores, types.converted, conversion)
            type_ = scores.type
            result = Value("matrix_p", replace(type_, rows=type_.columns, columns=type_.rows, use=Use.B))
            builder.add(Transpose(result, scores))
        else:
            use = Use.A if self.parameters.enters == "a" else Use.B
            result = Value("matrix_p", replace(scores.type, component=types.converted, use=use))
            builder.add(UseConvert(result, scores) if conversion is None else MatrixConvert(result, scores, conversion))
        return builder.negate("matrix_turned", result) if self.parameters.between == "negated_after" else result

    def step(self, q: Matrix, z: Matrix, index: Scalar | None) -> Matrix:
        """Return O of one iteration."""
        builder = self.builder
        k, c = self.load("k", index), self.load("c", index)
        scores = builder.muladd("matrix_s", c.type, q, k, c, self.chain.first.operands or None)
        entering = self._entering(scores)
        v = self.load("v", index)
        a, b = (entering, v) if self.parameters.enters == "a" else (v, entering)
        result = builder.muladd("matrix_o", z.type, a, b, z, self.chain.second.operands or None)
        if self.parameters.between == "stored":
            self.store(scores, "s", index)
        return result

    def write(self) -> Program:
        """Write the whole program."""
        builder, source = self.builder, self.parameters.trip_source
        q, z = self.load("q"), self.load("z")
        if source == "none":
            self.store(self.step(q, z, None), "o")
        else:
            trips = builder.operand("trip_count", U32, source, self.chain.trips, self.chain.trips + 1)
            index, carried, current = Value("iteration", U32), list[Carried](), Value("accumulator", z.type)
            with builder.loop(index, trips, carried):
                carried.append(Carried(z, current, self.step(q, current, index)))
            self.store(current, "o")
        for target in self.targets.values():
            target.finish(builder)
        return builder.build()

    def draw(self, name: str, _parameters: Parameters, program: Program, rng: np.random.Generator) -> Subcase:
        """Draw operands for which both sums are exact; random bytes follow the lines of a matrix."""
        drawn = operands(self.chain, program.instances, rng)
        arrays = {array: self.sources[array].tiles.contents(bits, rng) for array, bits in drawn.items()}
        return Subcase(name, arrays | fills(program, rng))


def build(parameters: Parameters) -> Built:
    """Build a case."""
    writer = _ChainProgram(parameters)
    return Built(writer.write(), writer.draw)
