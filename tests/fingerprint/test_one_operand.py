"""Orders of reductions and roundings of conversions are found from results alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from cts.devices.device import MatrixRow
from cts.fingerprint.dispatching import Unit
from cts.fingerprint.inference import Fit, infer
from cts.fingerprint.measuring import measure
from cts.fingerprint.one_operand import OneOperand, one_operand_rows, parse
from cts.fingerprint.orders import NAMED, NotAnOrder, canonical, from_masks, postfix
from generators.errors import CasebookError
from generators.types import Scope
from tests.fingerprint import units

ROW, COLUMN, SQUARE = "reduce_row.2x8.f32.f32", "reduce_column.8x4.f16.f16", "reduce_2x2.4x4.f32.f32"

UNITS: Mapping[str, tuple[Unit, str, dict[str, Any]]] = {
    "sequential": (units.reducing("sequential"), ROW, {"order": "sequential", "partial": "f32", "partial_rounding": "nearest_even"}),
    "reversed": (units.reducing("reversed"), COLUMN, {"order": "reversed", "partial": "f16"}),
    "neighbours": (units.reducing("neighbours"), SQUARE, {"order": "pairwise"}),
    "halves": (units.reducing("halves"), COLUMN, {"order": "halves", "partial": "f16"}),
    "halves_of_a_matrix": (units.reducing("halves"), "reduce_both.4x4.f32.f32", {"order": "halves"}),
    "in_single": (units.reducing("neighbours", wide=True), COLUMN, {"order": "pairwise", "partial": "f32"}),
    "two_lanes": (units.reducing("two_lanes"), ROW, {"order": "0 1 + 4 + 5 + 2 3 + 6 + 7 + +"}),
    "nearest": (units.converting_to_nearest, "convert.4x4.f32.e5m2", {"final_rounding": "nearest_even", "overflow": "infinity"}),
    "cut": (units.converting_by_cutting, "convert_to_a.4x4.f32.bf16", {"final_rounding": "toward_zero", "flush_result": False}),
    "saturated": (units.converting_saturated, "convert.4x4.f16.e4m3.sat", {"overflow": "finite", "nan": 0x7F, "nan_operands": "sign"}),
    "flushed": (units.converting_without_denormals, "convert_a.4x4.f32.f16", {"flush_result": True, "final_rounding": "nearest_even"}),
    "twice": (units.converting_twice, "convert.4x4.f32.e5m2", {"products": "f16", "nan_operands": "products_first"}),
}


def _found(unit: Unit, row: str) -> Fit:
    return infer(measure(unit, parse(row), seed=1, elements=1500))


@pytest.mark.parametrize("name", UNITS)
def test_the_arithmetic_of_a_unit_is_found(name: str) -> None:
    unit, row, facts = UNITS[name]
    fit = _found(unit, row)
    assert fit.model is not None
    assert {field: asdict(fit.model)[field] for field in facts} == facts
    assert (fit.random, fit.probes) == (1, 1)
    assert not set(facts) & set(fit.undecided)


@pytest.mark.parametrize("name", NAMED)
def test_masks_show_the_order_of_sums(name: str) -> None:
    steps, stack = postfix(name, 7), list[list[int]]()
    sizes = {}
    for step in steps:
        if step != "+":
            stack.append([int(step)])
            continue
        one, other = stack.pop(), stack.pop()
        sizes.update({(min(i, j), max(i, j)): len(one) + len(other) for i in one for j in other})
        stack.append(one + other)
    found = from_masks(sizes, range(7))
    assert found is not None
    assert canonical(found.split()) == canonical(steps)


def test_masks_of_no_order_show_none() -> None:
    assert from_masks({(0, 1): 2, (0, 2): 2, (1, 2): 2}, range(3)) is None


@pytest.mark.parametrize("order", ["", "0 1", "0 1 + 1 +", "0 + 1", "0 1 + +", "0 1 + 2 + 3 +", "+", "0 ² + 1 +"])
def test_what_adds_no_three_terms_once_is_no_order(order: str) -> None:
    with pytest.raises(NotAnOrder):
        postfix(order, 3)


def test_rows_give_the_reductions_and_conversions_of_their_matrices() -> None:
    exact = [MatrixRow(16, n, 16, "bf16", "bf16", "f32", "f32", False, Scope.SUBGROUP) for n in (8, 16)]
    flexible = MatrixRow(16, 16, 16, "bf16", "bf16", "f32", "f32", False, Scope.SUBGROUP, flexible=True)
    found = [str(one) for one in one_operand_rows([*exact, flexible])]
    lines = ["reduce_row.16x16.f32.f32", "reduce_column.16x16.f32.f32", "reduce_both.16x8.f32.f32", "reduce_2x2.32x32.f32.f32"]
    assert found == [*lines, "convert_to_a.16x16.f32.bf16"]
    assert [str(parse(text)) for text in found] == found


@pytest.mark.parametrize(
    "text", ["reduce_row.8x8.f32.f16", "reduce_2x2.3x4.f32.f32", "reduce_both.99x99.f32.f32", "convert.8x8.s8.f16", "convert.8x8.f32.x"]
)
def test_what_is_no_reduction_or_conversion_is_refused(text: str) -> None:
    with pytest.raises(CasebookError):
        parse(text)


@pytest.mark.parametrize("kind", ["reduce_row", "reduce_column", "reduce_2x2", "reduce_both", "convert"])
def test_each_result_has_its_elements(kind: str) -> None:
    row = parse(f"{kind}.4x6.f32.f32")
    assert isinstance(row, OneOperand)
    matrix = np.arange(24).reshape(4, 6)
    groups = {
        "reduce_row": matrix,
        "reduce_column": matrix.T,
        "reduce_2x2": np.array([matrix[i : i + 2, j : j + 2].reshape(-1) for i in (0, 2) for j in (0, 2, 4)]),
        "reduce_both": matrix.reshape(1, 24),
        "convert": matrix.reshape(24, 1),
    }
    np.testing.assert_array_equal(row.matrices(groups[kind][None])[0], matrix)
    assert (row.m, row.k) == groups[kind].shape
