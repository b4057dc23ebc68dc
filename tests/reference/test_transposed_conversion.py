"""Transposing conversions: vectors worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from generators.program.conversion import Conversion, TransposedConvert
from generators.program.values import MatrixType
from generators.types import COMPONENT_TYPES, Scope, Use
from tests.broken_rules import breaks
from tests.reference.test_use_conversion import allowed_of, changed

F16, F32, S8, S32, U32 = (COMPONENT_TYPES[name] for name in ("f16", "f32", "s8", "s32", "u32"))
SOURCE = MatrixType(U32, Scope.SUBGROUP, 2, 3, Use.ACCUMULATOR)
TURNED = replace(SOURCE, rows=3, columns=2)


def transposed(target, elements, source=SOURCE, conversion=None):
    return changed(source, target, lambda result, matrix: TransposedConvert(result, matrix, conversion), elements, maintenance1=True)


@pytest.mark.parametrize("use", [Use.A, Use.B])
@pytest.mark.parametrize("component", [U32, S32])
def test_elements_move_to_c_r_and_keep_their_bits(component, use):
    allowed = transposed(replace(TURNED, component=component, use=use), [[1, 2, 3], [0x80000000, 5, 0xFFFFFFFF]])
    assert allowed.KIND == "exact"
    assert allowed.bits[0].tolist() == [[1, 0x80000000], [2, 5], [3, 0xFFFFFFFF]]


def test_converted_elements_move_to_c_r():
    target = replace(TURNED, component=S8, use=Use.A)
    allowed = transposed(target, [[0x101, 2, 3], [0xFFFFFFFF, 5, 6]], replace(SOURCE, component=S32), Conversion.S_TO_S)
    assert allowed.bits[0].tolist() == [[1, 0xFF], [2, 5], [3, 6]]


def test_each_element_keeps_both_of_its_neighbours():
    """1 + 2^-11 is between 1 (0x3C00) and 1 + 2^-10 (0x3C01) of binary16; 2 is 0x4000."""
    numbers = np.array([[1 + 2**-11, 2]], np.float32).view(np.uint32)
    source = MatrixType(F32, Scope.SUBGROUP, 1, 2, Use.ACCUMULATOR)
    target = replace(source, component=F16, use=Use.B, rows=2, columns=1)
    allowed = transposed(target, numbers, source, Conversion.F_TO_F)
    assert allowed_of(allowed, [0x3BFF, 0x3C00, 0x3C01, 0x4000]) == [[0x3C00, 0x3C01], [0x4000]]


def test_a_denormal_that_moves_may_become_a_zero_of_either_sign():
    source = MatrixType(F16, Scope.SUBGROUP, 1, 2, Use.ACCUMULATOR)
    allowed = transposed(replace(source, use=Use.B, rows=2, columns=1), [[0x0001, 0x0400]], source)
    assert allowed_of(allowed, [0, 0x8000, 1, 0x0400]) == [[0, 0x8000, 1], [0x0400]]


def test_a_program_without_the_extension_is_refused():
    with breaks("M1-TR-04"):
        changed(SOURCE, replace(TURNED, use=Use.B), TransposedConvert, np.arange(6).reshape(2, 3))
