"""A device on which nothing runs fails each case whose results are in memory."""

from __future__ import annotations

import random

import pytest

from generators.casebook import Tier, find_case
from tests.families import null_device
from tests.suite import casebook

_FEW = 3
"""How many cases of each family are judged; ``python -m tests.families.null_device`` judges all."""


@pytest.mark.parametrize("family", null_device.families())
def test_a_device_on_which_nothing_runs_fails(family) -> None:
    cases = null_device.cases(family, Tier.SMOKE)
    few = random.Random(family).sample(cases, min(_FEW, len(cases)))
    assert [one for one in map(null_device.found, few) if not one.is_noticed] == []


@pytest.mark.parametrize(
    "case_id",
    [
        "load_store[component:f16/action:load_only]",
        "load_store[component:u32/action:load_only]",
        "robustness[component:f16/use:a/shape:8x8/access:store/cut:huge/source:specialization]",
        "robustness[component:s8/use:acc/shape:16x32/access:store/stride:padded/cut:none]",
        "robustness[component:u8/use:acc/shape:16x16/access:store/cut:part]",
        "robustness[component:f16/use:a/shape:8x8/access:store/layout:column/cut:huge/pointee:vec4/subgroups:2]",
        "tensor_clamp[component:f16/rank:1/mode:constant/access:store/side:before/reach:immense]",
        "tensor_clamp[component:f16/rank:3/mode:mirrored/access:store/side:before/which:innermost/reach:whole/size:two]",
        "tensor_view[component:f32/shape:16x8/access:store/permutation:p120/clip:empty]",
        "tensor_view[component:f32/shape:8x8/access:store/rank:3/permutation:p120/form:span/clip:beyond]",
    ],
)
def test_a_shader_that_may_legally_write_nothing_else_writes_a_witness(case_id) -> None:
    found = null_device.found(find_case(casebook(), case_id))
    assert not found.missed
