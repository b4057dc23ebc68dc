"""The arithmetic of simulated units is found from their results alone."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from cts.fingerprint.dispatching import Unit
from cts.fingerprint.inference import infer
from cts.fingerprint.measuring import measure
from generators.property_rows import parse_row
from tests.fingerprint import units

SINGLE, HALF = "4x4x4.f16.f16.f32.f32", "4x4x4.f16.f16.f16.f16"

UNITS: dict[str, tuple[Unit, str, dict[str, Any]]] = {
    "chain_of_singles": (
        units.chain_of_singles,
        SINGLE,
        {"block": 1, "order": "sequential", "c": "first", "final_rounding": "nearest_even", "flush_c": False},
    ),
    "tree_of_singles": (units.tree_of_singles, SINGLE, {"order": "pairwise", "c": "last", "flush_c": True}),
    "chain_of_halves": (units.chain_of_halves, HALF, {"block": 1, "products": "f16", "c": "last", "partial": "f16", "flush_factors": True}),
    "blocks_of_two": (
        units.blocks_cut_toward_zero(2, 23),
        SINGLE,
        {
            "block": 2,
            "alignment": 23,
            "alignment_rounding": "toward_zero",
            "product_exponent": "sum",
            "accumulator": "in_sum",
            "partial_rounding": "toward_zero",
            "final_rounding": "toward_zero",
            "zeros": False,
            "nan": 0x7FFFFFFF,
        },
    ),
    "one_block": (
        units.blocks_cut_toward_zero(4, 25),
        SINGLE,
        {"block": 4, "alignment": 25, "alignment_rounding": "toward_zero", "final_rounding": "toward_zero", "c": "first"},
    ),
    "cut_down": (
        units.cut_down,
        SINGLE,
        {"block": 4, "alignment": 24, "alignment_rounding": "down", "final_rounding": "nearest_even"},
    ),
}


@pytest.mark.parametrize("name", UNITS)
def test_the_arithmetic_of_a_unit_is_found(name: str) -> None:
    unit, row, facts = UNITS[name]
    fit = infer(measure(unit, parse_row(row), seed=1, elements=4000))
    assert fit.model is not None
    assert {field: asdict(fit.model)[field] for field in facts} == facts
    assert fit.random >= 0.999
    assert not set(facts) & set(fit.undecided)
