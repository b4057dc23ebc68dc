"""Changes of use and transpositions: vectors worked out by hand, and results about which nothing is promised."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cts.reference.evaluate import evaluate
from generators.layouts.matrix_arrays import matrix_in, matrix_out
from generators.program.builder import ProgramBuilder
from generators.program.conversion import Conversion, MatrixConvert, Transpose, UseConvert
from generators.program.program import Subcase
from generators.program.values import MatrixType, Value
from generators.types import COMPONENT_TYPES, Scope, Use
from tests.broken_rules import breaks

F16, F32, S32, U8, U32 = (COMPONENT_TYPES[name] for name in ("f16", "f32", "s32", "u8", "u32"))
SMALL = MatrixType(U32, Scope.SUBGROUP, 2, 3, Use.ACCUMULATOR)


def changed(source, target, operation, elements, maintenance1=False):
    """Return the allowed stored values of ``operation(result, matrix)`` on ``elements``."""
    builder = ProgramBuilder(Scope.SUBGROUP, maintenance1=maintenance1)
    matrix = matrix_in(builder, "source", source)
    result = Value("result", target)
    builder.add(operation(result, matrix))
    matrix_out(builder, "target", result)
    program = builder.build()
    data = np.zeros(program.array("source").bytes // source.component.bytes, source.component.bits_dtype)
    rows, columns = source.shape
    data.reshape(rows, -1)[:, :columns] = elements
    return evaluate(program, Subcase("only", {"source": data.view(np.uint8)})).placed[0].expected


@pytest.mark.parametrize("use", [Use.A, Use.B])
def test_elements_keep_their_places(use):
    allowed = changed(SMALL, replace(SMALL, use=use), UseConvert, [[1, 2, 3], [4, 5, 6]])
    assert allowed.KIND == "exact"
    assert allowed.bits[0].tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize("use", [Use.A, Use.B])
def test_only_one_extension_makes_an_accumulator_of_another_use(use):
    source, elements = replace(SMALL, use=use), [[1, 2, 3], [4, 5, 6]]
    allowed = changed(source, SMALL, UseConvert, elements, maintenance1=True)
    assert allowed.bits[0].tolist() == elements
    with breaks("M1-USE-02"):
        changed(source, SMALL, UseConvert, elements)


@pytest.mark.parametrize(("before", "after"), [(Use.ACCUMULATOR, Use.A), (Use.ACCUMULATOR, Use.B), (Use.A, Use.ACCUMULATOR)])
def test_only_one_extension_changes_the_sign_of_the_type_too_and_keeps_the_bits(before, after):
    source, target = replace(SMALL, use=before), replace(SMALL, component=S32, use=after)
    elements = [[0, 1, 0x7FFFFFFF], [0x80000000, 0xFFFFFFFF, 5]]
    allowed = changed(source, target, UseConvert, elements, maintenance1=True)
    assert allowed.KIND == "exact"
    assert allowed.bits[0].tolist() == elements
    with breaks("CM2-CVT-03" if before is Use.ACCUMULATOR else "M1-USE-02"):
        changed(source, target, UseConvert, elements)


@pytest.mark.parametrize(
    ("target", "rule"),
    [
        (replace(SMALL, use=Use.A, component=F32), "M1-USE-04"),
        (replace(SMALL, use=Use.A, component=U8), "M1-USE-04"),
        (replace(SMALL, use=Use.A, rows=3, columns=2), "M1-USE-05"),
        (SMALL, "M1-USE-03"),
    ],
    ids=["a float", "another width", "another shape", "the same use"],
)
def test_no_other_type_is_made_under_this_extension_either(target, rule):
    with breaks(rule):
        changed(SMALL, target, UseConvert, np.arange(6).reshape(2, 3), maintenance1=True)


def test_a_transposition_gives_element_c_r():
    target = replace(SMALL, rows=3, columns=2, use=Use.B)
    assert changed(SMALL, target, Transpose, [[1, 2, 3], [4, 5, 6]]).bits[0].tolist() == [[1, 4], [2, 5], [3, 6]]


@pytest.mark.parametrize(
    ("target", "operation"),
    [
        (SMALL, UseConvert),
        (replace(SMALL, use=Use.A, component=F32), UseConvert),
        (replace(SMALL, use=Use.A, rows=3, columns=2), UseConvert),
        (replace(SMALL, use=Use.B), Transpose),
        (replace(SMALL, use=Use.A, rows=3, columns=2), Transpose),
        (replace(SMALL, use=Use.B, rows=3, columns=2, component=F32), Transpose),
    ],
    ids=["same use", "other type", "other shape", "not transposed", "to A", "transposed into another type"],
)
def test_types_that_do_not_go_together_are_refused(target, operation):
    with breaks("CM2-TR-01" if operation is Transpose else "CM2-CVT-03"):
        changed(SMALL, target, operation, np.arange(6).reshape(2, 3))


def small_and_normal(operation, elements):
    """Return the allowed stored values of two binary16 elements after a change of use."""
    source = MatrixType(F16, Scope.SUBGROUP, 1, 2, Use.ACCUMULATOR)
    target = replace(source, use=Use.B, rows=2, columns=1) if operation is Transpose else replace(source, use=Use.B)
    return changed(source, target, operation, [elements])


def allowed_of(allowed, candidates):
    """Return the candidates that each element may be."""
    tried = {bits: allowed.contains(np.full(allowed.bits.shape, bits, np.uint16)).flat for bits in candidates}
    return [[bits for bits in candidates if tried[bits][i]] for i in range(allowed.bits.size)]


@pytest.mark.parametrize("operation", [UseConvert, Transpose])
def test_a_denormal_may_become_a_zero_of_either_sign_and_nothing_else_may(operation):
    """0x8001 is the greatest negative denormal of binary16, 0x0400 the smallest normal number (C17, C7)."""
    allowed = small_and_normal(operation, [0x8001, 0x0400])
    assert allowed_of(allowed, [0, 0x8000, 1, 0x8001, 2, 0x0400, 0x8400]) == [[0, 0x8000, 0x8001], [0x0400]]


@pytest.mark.parametrize("operation", [UseConvert, Transpose])
def test_a_zero_may_lose_its_sign(operation):
    """Neither instruction preserves bits (C16, C17)."""
    assert allowed_of(small_and_normal(operation, [0x0000, 0xBC00]), [0, 0x8000, 0x3C00, 0xBC00]) == [[0, 0x8000], [0xBC00]]


def test_a_normal_number_has_one_value():
    allowed = small_and_normal(UseConvert, [0x0400, 0xBC00])
    assert allowed.KIND == "exact"
    assert not allowed.either_zero


def test_a_conversion_that_rounds_keeps_both_neighbours_when_it_changes_the_use():
    """1 + 2^-11 is between 1 (0x3C00) and 1 + 2^-10 (0x3C01) of binary16."""
    source = MatrixType(F32, Scope.SUBGROUP, 1, 1, Use.ACCUMULATOR)
    target = replace(source, component=F16, use=Use.A)
    number = np.array([[1 + 2**-11]], np.float32).view(np.uint32)
    allowed = changed(source, target, lambda result, matrix: MatrixConvert(result, matrix, Conversion.F_TO_F), number)
    assert {int(choice.item()) for choice in allowed.choices} == {0x3C00, 0x3C01}
