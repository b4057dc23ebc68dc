"""Conversions of arrays: vectors derived by hand, in the reference model and on the embedded device, and programs that both refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cts.embedded.undefined.recovery import UNDEFINED_RULE
from cts.reference.evaluate import evaluate
from generators.layouts.invocation_arrays import construct
from generators.program.builder import U32, ProgramBuilder
from generators.program.program import Subcase
from generators.program.shape import WorkgroupShape
from generators.program.values import ArrayType, MatrixType, Value
from generators.types import COMPONENT_TYPES, Scope, Use
from tests.broken_rules import breaks
from tests.reference.array_programs import (
    arrays_of,
    cast,
    changed,
    constructed,
    declared,
    extracted,
    part,
    ran_on_device_alone,
    run,
)
from tests.reference.test_golden_vectors import vectors
from tests.undefined import undefined

F16, F32, S8 = (COMPONENT_TYPES[name] for name in ("f16", "f32", "s8"))
A = MatrixType(F32, Scope.SUBGROUP, 4, 8, Use.A)


def sides(vector: dict[str, Any]) -> tuple[MatrixType, np.ndarray, np.ndarray]:
    """Return the type, the rows of the matrix, and the arrays of all invocations; those beyond the rows are ones."""
    component, element = COMPONENT_TYPES[vector["component"]], COMPONENT_TYPES[vector["elements"]]
    type_ = MatrixType(component, Scope.SUBGROUP, *vector["shape"], Use[vector["use"]])
    rows = changed(np.full(type_.shape, vector["fill"], component.bits_dtype), vector["rows"])
    array = arrays_of(type_, vector["elements"])
    word = int.from_bytes(np.full(element.bytes // component.bytes, vector["fill"], component.bits_dtype).tobytes(), "little")
    lines = vector["shape"][1 if vector["use"] == "B" else 0]
    arrays = np.full((vector["subgroup_size"], array.length), element.bits_dtype.type(~np.uint64(0) & np.uint64((1 << element.bits) - 1)))
    arrays[:lines] = word
    return type_, rows, changed(arrays, vector["arrays"])


@pytest.mark.parametrize("vector", vectors("array_conversions.yaml", "matrices"))
def test_a_matrix_is_made_of_arrays(vector: dict[str, Any]) -> None:
    type_, rows, arrays = sides(vector)
    program = constructed(type_, vector["elements"], vector["subgroup_size"])
    got = run(program, {"given": arrays}, "target").view(rows.dtype)
    assert got.reshape(rows.shape).tolist() == rows.tolist()


@pytest.mark.parametrize("vector", vectors("array_conversions.yaml", "matrices"))
def test_a_matrix_is_taken_apart(vector: dict[str, Any]) -> None:
    type_, rows, arrays = sides(vector)
    program = extracted(type_, vector["elements"], vector["subgroup_size"])
    got = run(program, {"source": rows}, "taken").view(arrays.dtype).reshape(arrays.shape)
    lines = vector["shape"][1 if vector["use"] == "B" else 0]
    assert got[:lines].tolist() == arrays[:lines].tolist()


@pytest.mark.parametrize("vector", vectors("array_conversions.yaml", "casts"))
def test_a_cast_keeps_bytes(vector: dict[str, Any]) -> None:
    types = [COMPONENT_TYPES[vector[side]] for side in ("from", "to")]
    source, result = (np.array(vector[side], type_.bits_dtype) for side, type_ in zip(("source", "result"), types, strict=True))
    program = cast(ArrayType(types[0], len(source)), ArrayType(types[1], len(result)))
    got = run(program, {"given": np.tile(source, (4, 1))}, "target").view(result.dtype).reshape(4, -1)
    assert got.tolist() == [result.tolist()] * 4


@pytest.mark.parametrize("vector", vectors("array_conversions.yaml", "parts"))
def test_a_part_begins_at_the_start(vector: dict[str, Any]) -> None:
    type_ = COMPONENT_TYPES[vector["type"]]
    source, result = (np.array(vector[side], type_.bits_dtype) for side in ("source", "result"))
    program = part(ArrayType(type_, len(source)), len(result), vector["start"])
    got = run(program, {"given": np.tile(source, (4, 1))}, "target").view(result.dtype).reshape(4, -1)
    assert got.tolist() == [result.tolist()] * 4


def refused(program: Any, inputs: dict[str, np.ndarray], reference: str, device: str) -> None:
    """Check that the reference model refuses a program for ``reference``, and that the embedded device stops at a rule of ``device``."""
    data = {name: one.view(np.uint8).reshape(-1) for name, one in inputs.items()}
    with breaks(*reference.split("|")):
        evaluate(program, Subcase("one", data))
    with undefined(*device.split("|")):
        ran_on_device_alone(program, inputs)


def test_an_array_beyond_the_rows_is_undefined() -> None:
    ones = {"source": np.ones((4, 8), np.float32)}
    refused(extracted(A, "f32", 8, stored=5), ones, "QC-CX-03", UNDEFINED_RULE)


@pytest.mark.parametrize(
    ("start", "reference", "device"),
    [
        (32, "QC-SA-05", "QC-SA-05"),
        (-8, "QC-SA-05", "QC-SA-05"),
        (4, "VUID-RuntimeSpirv-OpExtractSubArrayQCOM-12354", "VUID-RuntimeSpirv-OpExtractSubArrayQCOM-12354"),
    ],
)
def test_a_part_is_in_the_array_and_begins_at_a_multiple(start: int, reference: str, device: str) -> None:
    refused(part(ArrayType(U32, 32), 8, start), {"given": np.ones((4, 32), np.uint32)}, reference, device)


@pytest.mark.parametrize(
    ("type_", "elements", "size", "rule"),
    [
        (MatrixType(F32, Scope.SUBGROUP, 16, 8, Use.A), "f32", 8, "QC-CC-08"),
        (MatrixType(F32, Scope.SUBGROUP, 4, 16, Use.A), "f32", 8, "QC-CC-07"),
        (MatrixType(F32, Scope.SUBGROUP, 16, 4, Use.B), "f32", 8, "QC-CC-10"),
        (MatrixType(F32, Scope.SUBGROUP, 8, 64, Use.ACCUMULATOR), "f32", 8, "QC-CC-12"),
        (MatrixType(F32, Scope.SUBGROUP, 8, 6, Use.ACCUMULATOR), "f32", 8, "QC-CC-12"),
        (MatrixType(S8, Scope.SUBGROUP, 8, 8, Use.ACCUMULATOR), "s8", 8, "QC-CC-12"),
        (A, "s32", 8, "QC-CC-03|QC-CC-09"),
    ],
)
def test_types_that_no_matrix_is_made_of(type_: MatrixType, elements: str, size: int, rule: str) -> None:
    array = arrays_of(type_, elements)
    ones = np.full((size, array.length), 0x3C, array.element.bits_dtype)  # type: ignore[union-attr]
    refused(constructed(type_, elements, size), {"given": ones}, rule, rule)


def test_arrays_of_another_length_are_not_rows() -> None:
    builder = ProgramBuilder(Scope.SUBGROUP, shape=WorkgroupShape(subgroup_size=8))
    given = declared(builder, "given", ArrayType(F32, 4), 8, "input")
    me = Value("me", U32)
    with builder.per_invocation(me, 8):
        array = given.load("array", me)
    construct(builder, "matrix", A, array)
    refused(builder.build(), {"given": np.ones((8, 4), np.float32)}, "QC-CC-09", "QC-CC-09")


@pytest.mark.parametrize("bits", [0, 0x80000000, 1, 0x7F800000, 0x7FC00000], ids=["zero", "minus zero", "denormal", "infinity", "NaN"])
def test_floats_that_may_change_are_not_used_as_data(bits: int) -> None:
    given = np.full((4, 8), 0x3F800000, np.uint32)
    given[2, 3] = bits
    with breaks("F-QC-7"):
        evaluate(constructed(A, "f32", 4), Subcase("one", {"given": given.view(np.uint8).reshape(-1)}))


def test_undefined_arrays_are_zero_where_nothing_is_checked() -> None:
    got = ran_on_device_alone(extracted(A, "f32", 8, stored=8), {"source": np.ones((4, 8), np.float32)}, strict=False)
    assert got.view(np.float32).reshape(8, 8)[4:].tolist() == np.zeros((4, 8)).tolist()


def test_a_subgroup_converts_together() -> None:
    builder = ProgramBuilder(Scope.SUBGROUP, shape=WorkgroupShape(subgroup_size=8))
    given = declared(builder, "given", arrays_of(A, "f32"), 8, "input")
    me = Value("me", U32)
    with builder.per_invocation(me, 8):
        construct(builder, "matrix", A, given.load("array", me))
    with breaks("QC-UNI-01"):
        builder.build()
