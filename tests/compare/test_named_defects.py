"""A device with one known mistake fails a case of the smoke tier, and the diagnosis names the mistake among those that fit."""

from __future__ import annotations

import numpy as np
import pytest

from cts.defects.evaluation import evaluate_defect
from cts.defects.known import known_defects
from cts.diagnosis.diagnose import diagnose
from cts.diagnosis.shown import BEYOND, outcome_of
from cts.reference.evaluate import evaluate
from cts.verdict.compare import compare, compare_quality
from cts.verdict.expected import as_expected
from cts.verdict.failure import Fit
from cts.verdict.poison import initial_contents
from tests.families.evidence import chosen, parts

WHOLE = (Fit.ALL, Fit.BEYOND_ARRAY)
"""The explanation fits all returned bytes, or all that do not depend on memory beyond an array."""

NAMED = [
    ("load_store.stride_too_large", "load_store[component:f16/shape:16x16]", {"access": "loaded"}),
    ("load_store.stride_too_small", "load_store[component:f16/shape:16x16]", {"access": "stored"}),
    ("load_store.stride_zero_as_tight", "load_store[component:f16/load_stride:zero]", {}),
    ("load_store.stride_in_components", "untyped_pointers[component:f16/shape:16x16/base:uvec4/padding:1]", {"access": "loaded"}),
    ("multiply_add.relative_error", "muladd[row:16x16x16.f16.f16.f32.f32/data:exact]", {"bits": 8}),
    ("multiply_add.relative_error", "muladd[row:16x16x16.f16.f16.f32.f32/data:exact]", {"bits": 20}),
    ("multiply_add.c_twice", "muladd[row:16x16x16.f16.f16.f32.f32/data:exact]", {}),
    ("multiply_add.sum_in_bits", "muladd[row:16x16x16.f16.f16.f32.f32/data:exact]", {"bits": 20}),
    ("multiply_add.c_in_bits", "muladd[row:16x16x16.f16.f16.f32.f32/data:exact]", {"bits": 14}),
    ("multiply_add.stale_a", "control_flow[row:8x8x8.f16.f16.f32.f32/form:muladd/source:literal/n:top/hint:against]", {}),
    ("multiply_add.stale_b", "control_flow[row:8x8x8.f16.f16.f32.f32/form:muladd/source:literal/n:top/hint:against]", {}),
    ("multiply_add.integer_sum_narrowed", "muladd[row:16x16x32.s8.s8.s32.s32/data:wrap]", {"bits": 24, "extension": "sign"}),
    ("multiply_add.integer_sum_narrowed", "muladd[row:16x16x32.s8.s8.s32.s32/data:wrap]", {"bits": 24, "extension": "zero"}),
    ("elementwise.integer_narrowed", "elementwise[component:u32/operation:multiply]", {"bits": 24}),
    ("elementwise.scalar_twice", "elementwise[component:s8/use:a/shape:16x32/operation:times_scalar]", {}),
    ("specialization.dimension_default_kept", "specialization[component:f16/use_from:literal]", {"name": "rows"}),
    ("reduce.not_combined", "reduce[component:f16/shape:16x16/mode:row/function:minimum]", {}),
    ("reduce.last_argument_kept", "reduce[component:f16/shape:16x16/mode:row/function:minimum]", {}),
    ("component.last_left", "elements[row:8x8x8.f16.f16.f32.f32/lengths:three]", {}),
    ("component.first_only", "elements[row:8x8x8.f16.f16.f32.f32/lengths:three]", {}),
    ("variable.index_ignored", "aggregates[row:8x8x8.f16.f16.f32.f32/count:2]", {"access": "loaded from"}),
    ("conversion.rounded", "conversion[from:f32/to:s32]", {}),
]


@pytest.mark.parametrize(("id_", "case_id", "parameters"), NAMED, ids=["-".join([one[0], *map(str, one[2].values())]) for one in NAMED])
def test_the_diagnosis_names_the_mistake(id_: str, case_id: str, parameters: dict[str, str | int]) -> None:
    program, subcases = parts(case_id)
    defects = chosen(known_defects(program), id_, **parameters)
    assert defects
    named = []
    for subcase in subcases:
        expected = evaluate(program, subcase)
        before = initial_contents(program, subcase, expected)
        with np.errstate(all="ignore"):
            outcome = outcome_of(program, evaluate_defect(program, subcase, defects[0].substitutes, beyond=BEYOND), before)
        if compare(program, expected, before, outcome) or compare_quality(expected, before, outcome):
            strict = as_expected(expected)
            named.append(any(match.id == id_ and match.fit in WHOLE for match in diagnose(program, subcase, strict, before, outcome)))
    assert named
    assert all(named)
