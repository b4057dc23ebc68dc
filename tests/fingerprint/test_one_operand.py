"""Orders of reductions and roundings of conversions are found from results alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import pytest

from cts.fingerprint.dispatching import Unit
from cts.fingerprint.inference import Fit, infer
from cts.fingerprint.measuring import measure
from cts.fingerprint.one_operand import parse
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
    return infer(measure(unit, parse(row), seed=1, elements=4000))


@pytest.mark.parametrize("name", UNITS)
def test_the_arithmetic_of_a_unit_is_found(name: str) -> None:
    unit, row, facts = UNITS[name]
    fit = _found(unit, row)
    assert fit.model is not None
    assert {field: asdict(fit.model)[field] for field in facts} == facts
    assert (fit.random, fit.probes) == (1, 1)
    assert not set(facts) & set(fit.undecided)
