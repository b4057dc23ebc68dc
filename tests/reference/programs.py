"""Small programs for tests of the reference model and the comparator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cts.reference.evaluate import evaluate
from cts.verdict.expected import Expected
from cts.verdict.poison import initial_contents
from generators.kernel import Outcome
from generators.program.builder import ProgramBuilder
from generators.program.memory import Pointee
from generators.program.program import Program, Subcase
from generators.program.values import MatrixType, Value
from generators.types import COMPONENT_TYPES, ComponentType, Layout, MatrixOperands, Scope, StorageClass, Use

BUFFER = StorageClass.STORAGE_BUFFER


def matrix_type(component: ComponentType | str, rows: int, columns: int, use: Use = Use.ACCUMULATOR) -> MatrixType:
    component = COMPONENT_TYPES[component] if isinstance(component, str) else component
    return MatrixType(component, Scope.SUBGROUP, rows, columns, use)


def flags(names: Sequence[str]) -> MatrixOperands:
    result = MatrixOperands.NONE
    for name in names:
        result |= MatrixOperands[name]
    return result


def pointee(text: str) -> Pointee:
    name, _, lanes = text.partition("x")
    return Pointee(COMPONENT_TYPES[name], int(lanes or 1))


def as_bits(rows: Any, component: ComponentType) -> np.ndarray:
    """Return the bits of numbers; a string has the bits in hexadecimal."""
    array = np.array(rows, object)
    flat = [int(v, 16) if isinstance(v, str) else np.array([v]).astype(component.dtype).view(component.bits_dtype)[0] for v in array.flat]
    return np.array([int(v) for v in flat], component.bits_dtype).reshape(array.shape)


def as_bytes(bits: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(bits).view(np.uint8).ravel()


@dataclass(frozen=True)
class Muladd:
    """A program and its inputs A, B and C: row major and tight, with one tile per scope instance in each array.

    The bits of the matrices have the shape (instances, rows, columns).
    """

    program: Program
    subcase: Subcase


def muladd(
    types: tuple[str, str, str, str],
    a: np.ndarray,
    b: np.ndarray,
    c: np.ndarray,
    operands: MatrixOperands | None = None,
    trips: int | None = None,
) -> Muladd:
    """Return a program of D = A x B + C for every instance; ``a``, ``b``, ``c`` are bits. With ``trips``, a loop carries D."""
    ta, tb, tc, tr = (COMPONENT_TYPES[name] for name in types)
    instances, m, k = a.shape
    n = b.shape[2]
    builder = ProgramBuilder(Scope.SUBGROUP, subgroups=instances)
    arrays = {
        name: builder.array(f"{name}_in", Pointee(component), values.size, BUFFER, "input")
        for name, component, values in (("a", ta, a), ("b", tb, b), ("c", tc, c))
    }
    out = builder.array("d_out", Pointee(tr), instances * m * n, BUFFER, "output")
    index, zero = builder.instance_index(), builder.literal(0)

    def load(name: str, component: ComponentType, rows: int, columns: int, use: Use) -> Any:
        first = builder.offset(f"first_{name}", zero, index, rows * columns)
        type_ = matrix_type(component, rows, columns, use)
        return builder.load(name, type_, arrays[name], first, builder.literal(columns), Layout.ROW_MAJOR)

    left, right, addend = load("a", ta, m, k, Use.A), load("b", tb, k, n, Use.B), load("c", tc, m, n, Use.ACCUMULATOR)
    result_type = matrix_type(tr, m, n)
    if trips is None:
        result = builder.muladd("d", result_type, left, right, addend, operands)
    else:
        from generators.program.control_flow import Carried

        result = Value("d", result_type)
        carried: list[Carried] = []
        with builder.loop(Value("step", COMPONENT_TYPES["u32"]), builder.literal(trips), carried):
            following = builder.muladd("d_next", result_type, left, right, result, operands)
            carried.append(Carried(addend, result, following))
    builder.store(result, out, builder.offset("first_d", zero, index, m * n), builder.literal(n), Layout.ROW_MAJOR)
    inputs = {"a_in": as_bytes(a), "b_in": as_bytes(b), "c_in": as_bytes(c)}
    return Muladd(builder.build(), Subcase("one", inputs))


def load_program(place: Mapping[str, Any], memory: np.ndarray) -> tuple[Program, Subcase]:
    """Return a program that loads a matrix from ``place`` of ``memory`` (bytes) and stores it tightly, row major, to ``d_out``."""
    component = COMPONENT_TYPES[place["type"]]
    rows, columns = place["shape"]
    declared = pointee(place["pointee"])
    builder = ProgramBuilder(Scope.SUBGROUP)
    source = builder.array("m_in", declared, len(memory) // declared.bytes, BUFFER, "input", place.get("array_stride"))
    out = builder.array("d_out", Pointee(component), rows * columns, BUFFER, "output")
    first, stride = builder.literal(place["first"]), builder.literal(place["stride"])
    loaded = builder.load("m", matrix_type(component, rows, columns), source, first, stride, Layout[place["layout"]])
    builder.store(loaded, out, builder.literal(0), builder.literal(columns), Layout.ROW_MAJOR)
    return builder.build(), Subcase("one", {"m_in": memory})


def store_program(place: Mapping[str, Any], bits: np.ndarray, length: int) -> tuple[Program, Subcase]:
    """Return a program that stores a matrix of ``bits`` (rows, columns) to ``place`` of an output ``d_out`` of ``length`` bytes."""
    component = COMPONENT_TYPES[place["type"]]
    rows, columns = bits.shape
    declared = pointee(place["pointee"])
    builder = ProgramBuilder(Scope.SUBGROUP)
    source = builder.array("m_in", Pointee(component), bits.size, BUFFER, "input")
    out = builder.array("d_out", declared, length // declared.bytes, BUFFER, "output")
    loaded = builder.load(
        "m", matrix_type(component, rows, columns), source, builder.literal(0), builder.literal(columns), Layout.ROW_MAJOR
    )
    builder.store(loaded, out, builder.literal(place["first"]), builder.literal(place["stride"]), Layout[place["layout"]])
    return builder.build(), Subcase("one", {"m_in": as_bytes(bits)})


def perfect(program: Program, subcase: Subcase, expected: Expected | None = None) -> tuple[Expected, dict[str, np.ndarray], Outcome]:
    """Return the expected result, the buffers before the run, and the outcome of a correct device."""
    from cts.verdict.elements import scatter

    expected = expected or evaluate(program, subcase)
    before = initial_contents(program, subcase, expected)
    outputs = {array.name: before[array.name].copy() for array in program.arrays if array.role in ("output", "inout")}
    for placed in expected.placed:
        scatter(outputs[placed.array], placed.offsets, placed.expected.bits)
    return expected, before, Outcome(outputs)
