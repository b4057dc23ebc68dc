"""use_chain: the result of a multiply-add becomes an A or B of the next one, as in attention: S = Q x K + C, O = P x V + Z."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from generators.inputs.use_chains import UseChain, operands
from generators.layouts.placement import Target, fills, stage_in, stage_out
from generators.layouts.tiles import Tiles, fit_workgroup_memory, tiled
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import STORAGE_CLASSES, Scoped, layouts_of
from generators.program.builder import U32, ProgramBuilder
from generators.program.built import Built
from generators.program.control_flow import Carried
from generators.program.conversion import Conversion, MatrixConvert, agrees, conversions
from generators.program.memory import Pointee
from generators.program.program import Program, Subcase
from generators.program.use_conversion import Transpose, UseConvert
from generators.program.values import Matrix, MatrixType, Operand, Scalar, Value
from generators.property_rows import PropertyRow
from generators.types import COMPONENT_TYPES, ComponentType, Layout, StorageClass, Use

_SCALE = 3


@dataclass(frozen=True)
class ChainTypes:
    """The component types of a chain.

    Attributes:
        factor: of Q and K.
        first: of C and S.
        converted: of P and V.
        second: of Z and O.
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
        d: the dimension of O that P does not have.
    """

    m: int
    n: int
    k: int
    d: int


def parse_types(text: str) -> ChainTypes:
    """Return the types that a label such as ``f16.f32.f16.f32`` names.

    Raises:
        ValueError: it is not such a label.
    """
    names = text.split(".")
    unknown = [name for name in names if name not in COMPONENT_TYPES]
    if unknown:
        raise ValueError(f"there is no component type '{unknown[0]}'; expected four of {', '.join(COMPONENT_TYPES)}")
    if len(names) != 4:
        raise ValueError("expected four component types, such as f16.f32.f16.f32")
    return ChainTypes(*(COMPONENT_TYPES[name] for name in names))


_SIZES = re.compile(r"[1-9]\d*(x[1-9]\d*){3}")


def parse_sizes(text: str) -> ChainSizes:
    """Return the sizes that a label such as ``16x8x16x8``, MxNxKxD, names.

    Raises:
        ValueError: it is not such a label.
    """
    if not _SIZES.fullmatch(text):
        raise ValueError("expected M, N, K and D, such as 16x8x16x8")
    return ChainSizes(*(int(size) for size in text.split("x")))


@dataclass(frozen=True, kw_only=True)
class Parameters(Scoped):
    """The parameters of a case."""

    types: ChainTypes = parameter("the component types", decode=parse_types)
    enters: Literal["a", "b", "transposed"] = parameter("what S becomes: A, B, or transposed B")
    tile: ChainSizes = parameter("the sizes", default="16x16x16x16", decode=parse_sizes)
    between: Literal["nothing", "stored", "scaled", "negated_before", "negated_after"] = parameter(
        "what else is done with S, or P", default="nothing"
    )
    trip_source: Literal["none", "literal", "specialization", "push_constant", "buffer"] = parameter(
        "where the trip count comes from, if there is a loop", default="none"
    )
    trips: int = parameter("iterations of the loop", default=1, applies=lambda parameters: parameters.trip_source != "none")
    layouts: tuple[Layout, ...] = parameter("of Q and V, of K and the stored S, and of C, Z and O", default="rcr", decode=layouts_of(3))
    storage: StorageClass = parameter("where the arrays are", default="storage_buffer", labels=STORAGE_CLASSES)


def _chain(parameters: Parameters) -> UseChain:
    """Return the matrices of a case."""
    types, size = parameters.types, parameters.tile
    match parameters.enters:
        case "a":
            v, z, depth = (size.n, size.d), (size.m, size.d), size.n
        case "b":
            v, z, depth = (size.d, size.m), (size.d, size.n), size.m
        case "transposed":
            v, z, depth = (size.d, size.n), (size.d, size.m), size.n
    growth = _SCALE if parameters.between == "scaled" else 1
    q, k, c = (size.m, size.k), (size.k, size.n), (size.m, size.n)
    return UseChain(types.factor, types.first, types.converted, types.second, q, k, c, v, z, depth, parameters.trips, growth)


def _rows(chain: UseChain) -> tuple[PropertyRow, PropertyRow]:
    """Return the rows of both multiply-adds."""
    return (
        PropertyRow(*chain.c, chain.q[1], chain.factor, chain.factor, chain.first, chain.first, False),
        PropertyRow(*chain.z, chain.depth, chain.converted, chain.converted, chain.second, chain.second, False),
    )


def _has_arithmetic(parameters: Parameters) -> bool:
    """Elements of S are scaled or negated, elements of P negated."""
    first, converted = parameters.types.first, parameters.types.converted
    match parameters.between:
        case "scaled" | "negated_before":
            # A negative float has no unsigned integer, and the opposite of an unsigned integer is too large to be exact as a float.
            return first.has_arithmetic and (first.is_float == converted.is_float or (first.is_signed and not first.is_float))
        case "negated_after":
            return converted.has_arithmetic
        case _:
            return True


def _tiles(parameters: Parameters, chain: UseChain) -> dict[str, Tiles]:
    """Lay out tiles by name of the array: the operands, ``o``, and ``s`` where S is stored."""
    once, each = (parameters.instances, 1), (parameters.instances, max(1, chain.trips))
    left, right, sums = parameters.layouts
    found = {
        "q": tiled(chain.factor, chain.q, left, True, once),
        "k": tiled(chain.factor, chain.k, right, True, each),
        "c": tiled(chain.first, chain.c, sums, True, each),
        "v": tiled(chain.converted, chain.v, left, True, each),
        "z": tiled(chain.second, chain.z, sums, True, once),
        "o": tiled(chain.second, chain.z, sums, True, once),
    }
    if parameters.between == "stored":
        found["s"] = tiled(chain.first, chain.c, right, True, each)
    return found


def _fits(parameters: Parameters) -> bool:
    """Workgroup memory holds all arrays."""
    return fit_workgroup_memory(parameters.storage, _tiles(parameters, _chain(parameters)).values())


PREDICATES: Mapping[str, Callable[[Parameters], bool]] = {
    "changes_use_alone": lambda parameters: parameters.types.conversion is None,
    "converts": lambda parameters: parameters.types.conversion is not None,
    "has_arithmetic": _has_arithmetic,
    "fits_workgroup_memory": _fits,
}

_OUTPUTS = ("o", "s")


class _ChainProgram:
    """Writes the program of a case, and draws its data."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.chain = _chain(parameters)
        self.rows = _rows(self.chain)
        self.tiles = _tiles(parameters, self.chain)
        self.scope = parameters.scope
        self.builder = ProgramBuilder(self.scope, subgroups=parameters.subgroups)
        storage = parameters.storage
        self.sources = {
            name: stage_in(self.builder, name, Pointee(t.component), t.length, storage)
            for name, t in self.tiles.items()
            if name not in _OUTPUTS
        }
        self.targets: dict[str, Target] = {
            name: stage_out(self.builder, name, Pointee(t.component), t.length, storage)
            for name, t in self.tiles.items()
            if name in _OUTPUTS
        }

    def _first(self, name: str, index: Scalar | None) -> Operand | Scalar:
        """Return the first element of the tile of this instance and, in a loop, of this iteration."""
        builder, tiles = self.builder, self.tiles[name]
        zero = builder.literal(0)
        first: Operand | Scalar = zero
        if builder.instances > 1:
            pitch = builder.literal(tiles.pitch * tiles.steps)
            first = builder.arithmetic(f"{name}_instance", "multiply", builder.instance_index(), pitch)
        if index is not None:
            step = builder.arithmetic(f"{name}_step", "multiply", index, builder.literal(tiles.pitch))
            first = step if first is zero else builder.arithmetic(f"{name}_first", "add", first, step)
        return first

    def load(self, name: str, use: Use, index: Scalar | None = None) -> Matrix:
        """Load the matrix of array ``name``."""
        tiles = self.tiles[name]
        type_ = MatrixType(tiles.component, self.scope, tiles.rows, tiles.columns, use)
        stride = self.builder.literal(tiles.stride)
        return self.builder.load(f"matrix_{name}", type_, self.sources[name], self._first(name, index), stride, tiles.layout)

    def store(self, matrix: Matrix, name: str, index: Scalar | None = None) -> None:
        """Store ``matrix`` to array ``name``."""
        tiles = self.tiles[name]
        stride = self.builder.literal(tiles.stride)
        self.builder.store(matrix, self.targets[name].array, self._first(name, index), stride, tiles.layout)

    def _entering(self, scores: Matrix) -> Matrix:
        """Return P: ``scores`` with the component type and use of a factor of the second product."""
        builder, conversion = self.builder, self.parameters.types.conversion
        if self.parameters.between == "scaled":
            components = (self.chain.first, self.chain.converted)
            scale = -_SCALE if all(component.is_float or component.is_signed for component in components) else _SCALE
            bits = np.array([scale], self.chain.first.dtype).view(self.chain.first.bits_dtype)
            scores = builder.times_scalar("matrix_scaled", scores, builder.literal(int(bits[0]), self.chain.first))
        if self.parameters.between == "negated_before":
            scores = builder.negate("matrix_opposite", scores)
        if self.parameters.enters == "transposed":
            if conversion is not None:
                scores = builder.convert("matrix_converted", scores, self.chain.converted, conversion)
            type_ = scores.type
            result = Value("matrix_p", replace(type_, rows=type_.columns, columns=type_.rows, use=Use.B))
            builder.add(Transpose(result, scores))
        else:
            use = Use.A if self.parameters.enters == "a" else Use.B
            result = Value("matrix_p", replace(scores.type, component=self.chain.converted, use=use))
            builder.add(UseConvert(result, scores) if conversion is None else MatrixConvert(result, scores, conversion))
        return builder.negate("matrix_turned", result) if self.parameters.between == "negated_after" else result

    def step(self, q: Matrix, z: Matrix, index: Scalar | None) -> Matrix:
        """Return O of one iteration."""
        builder, chain = self.builder, self.chain
        k, c = self.load("k", Use.B, index), self.load("c", Use.ACCUMULATOR, index)
        type_s = MatrixType(chain.first, self.scope, *chain.c, Use.ACCUMULATOR)
        scores = builder.muladd("matrix_s", type_s, q, k, c, self.rows[0].operands or None)
        entering = self._entering(scores)
        left = self.parameters.enters == "a"
        v = self.load("v", Use.B if left else Use.A, index)
        a, b = (entering, v) if left else (v, entering)
        type_o = MatrixType(chain.second, self.scope, *chain.z, Use.ACCUMULATOR)
        result = builder.muladd("matrix_o", type_o, a, b, z, self.rows[1].operands or None)
        if self.parameters.between == "stored":
            self.store(scores, "s", index)
        return result

    def write(self) -> Program:
        """Write the whole program."""
        builder, source = self.builder, self.parameters.trip_source
        q, z = self.load("q", Use.A), self.load("z", Use.ACCUMULATOR)
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
        arrays = {array: self.tiles[array].place(np.ascontiguousarray(bits), rng) for array, bits in drawn.items()}
        given = {o.name: self.chain.trips for o in program.operands if o.source in ("push_constant", "buffer")}
        return Subcase(name, arrays | fills(program, rng), given)


def build(parameters: Parameters) -> Built:
    """Build a case."""
    writer = _ChainProgram(parameters)
    return Built(writer.write(), writer.draw)
