"""Known mistakes with changes of use and transpositions: the data of use_conversion and use_chain must show them."""

from __future__ import annotations

import numpy as np
import pytest

from cts.defects.conversions import use_defects
from cts.reference.evaluate import evaluate
from generators.casebook import build, expand, find_case
from generators.families.nv_cooperative_matrix2 import use_chain, use_conversion
from tests.families.evidence import seen, unseen
from tests.suite import casebook


def moved(from_="f16", to="same", use="a", shape="16x16", way="use", form="kept", subgroups=1):
    return f"use_conversion[from:{from_}/to:{to}/use:{use}/shape:{shape}/way:{way}/form:{form}/subgroups:{subgroups}]"


def chained(types="f16.f32.f16.f32", tile="16x16x16x16", enters="a", between="nothing", trips=1, source="none", subgroups=1):
    return (
        f"use_chain[types:{types}/tile:{tile}/enters:{enters}/between:{between}/trips:{trips}/trip_source:{source}/subgroups:{subgroups}]"
    )


CASES = [
    moved(),
    moved(use="b", subgroups=2),
    moved("f32", shape="16x32"),
    moved("s8", shape="32x16"),
    moved("f32", "f16", use="b"),
    moved("s32", "u8", shape="32x16"),
    moved("f16", form="negated_after"),
    moved("f16", "bf16", way="convert_first"),
    moved("f16", use="b", way="transpose", shape="16x32"),
    moved("e4m3", use="b", way="transpose", shape="16x16"),
    moved("f32", "f16", use="b", way="transpose_last"),
    chained(),
    chained(enters="b"),
    chained(enters="transposed", between="scaled"),
    chained("f16.f16.f16.f16", enters="transposed", tile="8x8x8x8"),
    chained("s8.s32.s8.s32", tile="16x32x32x16"),
    chained("f16.f32.s8.s32", tile="16x32x32x16", trips=3, source="buffer"),
    chained("bf16.f32.bf16.f32", enters="b", subgroups=2),
]


@pytest.mark.parametrize("case_id", CASES, ids=lambda text: text.replace("[", "(").replace("]", ")"))
def test_elements_at_the_places_of_another_use_are_seen(case_id):
    found = seen(case_id, defects=use_defects)
    judged = [one for one in found if one.defect.id != "use.lower_half_kept" or case_id.startswith("use_conversion")]
    assert len(judged) >= 6
    assert not unseen(judged)


@pytest.mark.parametrize("shape", ["16x16", "8x8", "16x32"])
def test_a_transposition_that_is_left_out_is_seen(shape):
    found = seen(moved(use="b", way="transpose", shape=shape), "use.transposition_left_out")
    assert found
    assert not unseen(found)


@pytest.mark.parametrize("component", ["f16", "bf16", "f32"])
def test_position_alone_decides_elements_that_no_implementation_may_treat_as_zero(component):
    case = find_case(casebook(), moved(component, shape="48x32"))
    built = build(case)
    program = built.program
    index = next(subcase for subcase in built.subcases() if "pattern:index" in subcase.name.split("/"))
    allowed = evaluate(program, index).placed[0].expected
    assert allowed.KIND == "exact"
    assert len(np.unique(allowed.bits)) == allowed.bits.size


def components(parameters: use_chain.Parameters | use_conversion.Parameters) -> set[str]:
    """Return the names of the component types of a case."""
    if isinstance(parameters, use_conversion.Parameters):
        return {parameters.from_.name, parameters.target.name}
    types = parameters.types
    return {types.factor.name, types.first.name, types.converted.name, types.second.name}


@pytest.mark.parametrize("family", ["use_conversion", "use_chain"])
def test_current_devices_run_half_of_the_smoke_tier(family):
    """They support these component types: 16- and 8-bit factors, and accumulators of f16 or 32 bits."""
    cases = expand(casebook().family(family), "smoke")
    today = {"f16", "bf16", "f32", "s32", "u32", "s8", "u8"}
    assert sum(components(case.parameters) <= today for case in cases) * 2 > len(cases)


def test_both_sums_of_a_chain_are_exact_and_need_their_bits():
    case = find_case(casebook(), chained("f16.f16.f16.f16", between="stored", trips=3, source="literal"))
    built = build(case)
    program = built.program
    placed = evaluate(program, built.subcases()[0]).placed
    assert all(p.expected.KIND == "exact" for p in placed)
    final = next(p for p in placed if p.array == "o").expected.bits.view(np.float16)
    assert np.abs(final).max() > 1000


def test_a_scalar_whose_sign_is_dropped_shows_between_two_products():
    scaled = [case for case in expand(casebook().family("use_chain"), "smoke") if case.parameters.between == "scaled"]
    found = [seen(case.id, "elementwise.scalar_sign_dropped") for case in scaled]
    assert any(one.is_visible for each in found for one in each)
