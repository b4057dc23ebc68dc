"""use_chain: the result of a multiply-add becomes an A or B of the next one, as in attention: S = Q x K + C, O = P x V + Z.

Axis values are those of cases/nv_cooperative_matrix2/use_chain.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from generators.errors import CasebookError
from generators.inputs.use_chains import UseChain, operands
from generators.layouts.placement import Target, fills, stage_in, stage_out
from generators.layouts.tiles import Tiles, fit_workgroup_memory, tiled
from generators.parameters.vocabulary import LAYOUT_LETTERS, SCOPES, SOURCES, STORAGE, SUBGROUPS, TakenValues, Values, instances
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Carried
from generators.program.conversion import Conversion, MatrixConvert, agrees, conversions
from generators.program.memory import Pointee
from generators.program.program import Program, Subcase
from generators.program.use_conversion import Transpose, UseConvert
from generators.program.values import Matrix, MatrixType, Operand, Scalar
from generators.property_rows import PropertyRow
from generators.types import COMPONENT_TYPES, ComponentType, StorageClass, Use

_SCALE = 3

AXES: TakenValues = {
    "types": re.compile(r"\w+\.\w+\.\w+\.\w+"),
    "tile": re.compile(r"[1-9]\d*x[1-9]\d*x[1-9]\d*x[1-9]\d*"),
    "enters": ("a", "b", "transposed"),
    "between": ("nothing", "stored", "scaled", "negated_before", "negated_after"),
    "trips": range(100),
    "trip_source": ("none", *SOURCES),
    "layouts": re.compile("[rc]{3}"),
    "storage": STORAGE,
    "scope": SCOPES.keys(),
    "subgroups": SUBGROUPS,
}


def _types(values: Values) -> tuple[ComponentType, ComponentType, ComponentType, ComponentType]:
    """Components of Q and K, of C and S, of P and V, of Z and O.

    Raises:
        CasebookError: one has no such name.
    """
    names = values["types"].split(".")
    unknown = [name for name in names if name not in COMPONENT_TYPES]
    if unknown:
        raise CasebookError(f"use_chain: there is no component type '{unknown[0]}'; expected four of {', '.join(COMPONENT_TYPES)}")
    factor, first, converted, second = (COMPONENT_TYPES[name] for name in names)
    return factor, first, converted, second


def _conversion(values: Values) -> Conversion | None:
    """The conversion from S to P that agrees with their types; None where they have one type."""
    _, first, converted, _ = _types(values)
    return None if first is converted else next(c for c in conversions(first, converted) if agrees(c, first, converted))


def chain(values: Values) -> UseChain:
    """The matrices of a case.

    ``tile`` is MxNxKxD: S is M x N, K the depth of the first sum, and D the dimension that O does not share with P.
    """
    m, n, k, d = (int(size) for size in values["tile"].split("x"))
    factor, first, converted, second = _types(values)
    match values["enters"]:
        case "a":
            v, z, depth = (n, d), (m, d), n
        case "b":
            v, z, depth = (d, m), (d, n), m
        case _:
            v, z, depth = (d, n), (d, m), n
    growth = _SCALE if values["between"] == "scaled" else 1
    trips = int(values["trips"]) if values["trip_source"] != "none" else 1
    return UseChain(factor, first, converted, second, (m, k), (k, n), (m, n), v, z, depth, trips, growth)


def _rows(values: Values) -> tuple[PropertyRow, PropertyRow]:
    """The rows of both multiply-adds."""
    of = chain(values)
    return (
        PropertyRow(*of.c, of.q[1], of.factor, of.factor, of.first, of.first, False),
        PropertyRow(*of.z, of.depth, of.converted, of.converted, of.second, of.second, False),
    )


def _has_arithmetic(values: Values) -> bool:
    """Elements of S are scaled or negated, those of P negated."""
    _, first, converted, _ = _types(values)
    match values["between"]:
        case "scaled" | "negated_before":
            # A negative float has no unsigned integer, and the opposite of an unsigned integer is too large to be exact as a float.
            return first.has_arithmetic and (first.is_float == converted.is_float or (first.is_signed and not first.is_float))
        case "negated_after":
            return converted.has_arithmetic
        case _:
            return True


def plan(values: Values) -> dict[str, Tiles]:
    """Tiles by name of the array: the operands, ``o``, and ``s`` where S is stored."""
    of, count = chain(values), instances(values)
    left, right, sums = (LAYOUT_LETTERS[letter] for letter in values["layouts"])
    found = {
        "q": tiled(of.factor, of.q, left, True, (count, 1)),
        "k": tiled(of.factor, of.k, right, True, (count, max(1, of.trips))),
        "c": tiled(of.first, of.c, sums, True, (count, max(1, of.trips))),
        "v": tiled(of.converted, of.v, left, True, (count, max(1, of.trips))),
        "z": tiled(of.second, of.z, sums, True, (count, 1)),
        "o": tiled(of.second, of.z, sums, True, (count, 1)),
    }
    if values["between"] == "stored":
        found["s"] = tiled(of.first, of.c, right, True, (count, max(1, of.trips)))
    return found


def _fits(values: Values) -> bool:
    """Workgroup memory holds all arrays."""
    return fit_workgroup_memory(StorageClass(values["storage"]), plan(values).values())


PREDICATES: Mapping[str, Callable[[Values], bool]] = {
    "changes_use_alone": lambda values: _conversion(values) is None,
    "converts": lambda values: _conversion(values) is not None,
    "has_arithmetic": _has_arithmetic,
    "fits_workgroup_memory": _fits,
}

_OUTPUTS = ("o", "s")


class _Writer:
    """Writes the program of one case."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.chain = chain(values)
        self.rows = _rows(values)
        self.plan = plan(values)
        self.scope = SCOPES[values["scope"]]
        self.builder = ProgramBuilder(self.scope, subgroups=int(values["subgroups"]))
        storage = StorageClass(values["storage"])
        self.sources = {
            name: stage_in(self.builder, name, Pointee(t.component), t.length, storage)
            for name, t in self.plan.items()
            if name not in _OUTPUTS
        }
        self.targets: dict[str, Target] = {
            name: stage_out(self.builder, name, Pointee(t.component), t.length, storage)
            for name, t in self.plan.items()
            if name in _OUTPUTS
        }

    def _first(self, name: str, index: Scalar | None) -> Operand | Scalar:
        """The first element of the tile of this instance and, in a loop, of this iteration."""
        builder, tiles = self.builder, self.plan[name]
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
        """The matrix of array ``name``."""
        tiles = self.plan[name]
        type_ = MatrixType(tiles.component, self.scope, tiles.rows, tiles.columns, use)
        stride = self.builder.literal(tiles.stride)
        return self.builder.load(f"matrix_{name}", type_, self.sources[name], self._first(name, index), stride, tiles.layout)

    def store(self, matrix: Matrix, name: str, index: Scalar | None = None) -> None:
        """Stores ``matrix`` to array ``name``."""
        tiles = self.plan[name]
        stride = self.builder.literal(tiles.stride)
        self.builder.store(matrix, self.targets[name].array, self._first(name, index), stride, tiles.layout)

    def _entering(self, scores: Matrix) -> Matrix:
        """P: ``scores`` of the component type and use of a factor of the second product."""
        builder, conversion = self.builder, _conversion(self.values)
        if self.values["between"] == "scaled":
            kinds = (self.chain.first, self.chain.converted)
            scale = -_SCALE if all(kind.is_float or kind.is_signed for kind in kinds) else _SCALE
            bits = np.array([scale], self.chain.first.dtype).view(self.chain.first.bits_dtype)
            scores = builder.times_scalar("matrix_scaled", scores, builder.literal(int(bits[0]), self.chain.first))
        if self.values["between"] == "negated_before":
            scores = builder.negate("matrix_opposite", scores)
        if self.values["enters"] == "transposed":
            if conversion is not None:
                scores = builder.convert("matrix_converted", scores, self.chain.converted, conversion)
            type_ = scores.type
            result = Matrix("matrix_p", replace(type_, rows=type_.columns, columns=type_.rows, use=Use.B))
            builder.add(Transpose(result, scores))
        else:
            use = Use.A if self.values["enters"] == "a" else Use.B
            result = Matrix("matrix_p", replace(scores.type, component=self.chain.converted, use=use))
            builder.add(UseConvert(result, scores) if conversion is None else MatrixConvert(result, scores, conversion))
        return builder.negate("matrix_turned", result) if self.values["between"] == "negated_after" else result

    def step(self, q: Matrix, z: Matrix, index: Scalar | None) -> Matrix:
        """O of one iteration."""
        builder, of = self.builder, self.chain
        k, c = self.load("k", Use.B, index), self.load("c", Use.ACCUMULATOR, index)
        type_s = MatrixType(of.first, self.scope, *of.c, Use.ACCUMULATOR)
        scores = builder.muladd("matrix_s", type_s, q, k, c, self.rows[0].operands or None)
        entering = self._entering(scores)
        left = self.values["enters"] == "a"
        v = self.load("v", Use.B if left else Use.A, index)
        a, b = (entering, v) if left else (v, entering)
        type_o = MatrixType(of.second, self.scope, *of.z, Use.ACCUMULATOR)
        result = builder.muladd("matrix_o", type_o, a, b, z, self.rows[1].operands or None)
        if self.values["between"] == "stored":
            self.store(scores, "s", index)
        return result

    def write(self) -> Program:
        """The whole program."""
        builder, source = self.builder, self.values["trip_source"]
        q, z = self.load("q", Use.A), self.load("z", Use.ACCUMULATOR)
        if source == "none":
            self.store(self.step(q, z, None), "o")
        else:
            trips = builder.operand("trip_count", U32, source, self.chain.trips, self.chain.trips + 1)
            index, carried = Scalar("iteration", U32), list[Carried]()
            with builder.loop(index, trips, carried):
                current = Matrix("accumulator", z.type)
                carried.append(Carried(z, current, self.step(q, current, index)))
            self.store(carried[0].current, "o")
        for target in self.targets.values():
            target.finish(builder)
        return builder.build()


def program(values: Values) -> Program:
    """The program of a case."""
    return _Writer(values).write()


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """Operands for which both sums are exact; random bytes between the lines of a matrix."""
    of = chain(values)
    drawn = operands(of, program.instances, rng)
    worked = plan(values)
    arrays = {array: worked[array].place(np.ascontiguousarray(bits), rng) for array, bits in drawn.items()}
    given = {o.name: of.trips for o in program.operands if o.source in ("push_constant", "buffer")}
    return Subcase(name, arrays | fills(program, rng), given)
