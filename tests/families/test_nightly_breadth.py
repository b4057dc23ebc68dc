"""The nightly tier meets each property in each size: the widths of decode functions, and the sizes of subgroups."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest

from generators.casebook import Case, expand
from tests.suite import casebook

WIDTHS = ("2", "4", "8")
SEEN_BY = 5
SUBGROUP_SIZES = ("16", "32", "64", "128")


def nightly(family: str) -> list[Case]:
    return expand(casebook().family(family), "nightly")


def test_each_number_of_components_meets_each_property_of_a_decoding_load() -> None:
    cases = nightly("decode_vector")
    # A block's last dimension must consist of whole groups, so not each block exists with each number of components.
    properties = {(name, label) for case in cases for name, label in case.named.items() if name not in ("lanes", "block")}
    seen = Counter((name, label, case.named["lanes"]) for case in cases for name, label in case.named.items())
    rare = {(name, label, width): seen[name, label, width] for (name, label), width in product(properties, WIDTHS)}
    assert not {pair: count for pair, count in rare.items() if count < SEEN_BY}


def test_four_dimensions_have_blocks_of_several_lines_with_four_and_eight_components() -> None:
    blocks = {(case.named["lanes"], case.named["block"]) for case in nightly("decode_vector") if case.named["rank"] == "4"}
    assert {(width, block) for width in ("4", "8") for block in ("4x8", "2x1x2x8")} <= blocks


@pytest.mark.parametrize("way", ["construct", "extract"])
@pytest.mark.parametrize("size", SUBGROUP_SIZES)
def test_each_size_of_subgroups_has_each_use_type_and_packing_of_arrays(size: str, way: str) -> None:
    named = [case.named for case in nightly("array_conversion") if case.named["subgroup_size"] == size and case.named["way"] == way]
    factors = set(product(("a", "b"), ("f16", "f32", "s8", "u8"), ("component", "packed")))
    sums = set(product(("acc",), ("f16", "f32", "s32"), ("component", "packed"))) | {("acc", "u32", "component")}
    if way == "extract":
        # No text gives the length of words that are taken from 32-bit integers (QC-CX-05).
        sums.remove(("acc", "s32", "packed"))
    assert factors | sums <= {(one["use"], one["component"], one["elements"]) for one in named}


@pytest.mark.parametrize("size", SUBGROUP_SIZES)
def test_each_size_of_subgroups_has_products_of_each_type_and_packing(size: str) -> None:
    chains = [case.named for case in nightly("array_chain") if case.named["subgroup_size"] == size]
    floats = set(product(("f16.f16.f16.f16", "f32.f32.f32.f32", "f16.f16.f32.f32"), ("component", "packed")))
    integers = {(types, "component") for types in ("s8.s8.s32.s32", "u8.u8.s32.s32")}
    assert floats | integers <= {(one["types"], one["elements"]) for one in chains if one["form"] == "product"}


@pytest.mark.parametrize("size", ["64", "128"])
def test_large_subgroups_have_both_uses_of_parts_of_rows(size: str) -> None:
    chains = [case.named for case in nightly("array_chain") if case.named["subgroup_size"] == size and case.named["form"] == "loop"]
    assert {(one["next_use"], one["elements"]) for one in chains} == set(product("ab", ("component", "packed")))
