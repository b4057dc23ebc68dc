"""Where no driver can confirm the tests, two cases show each known mistake, so that masking one of them hides nothing."""

from __future__ import annotations

from collections import Counter

import pytest

from cts.defects.glossary import glossary
from generators.casebook import Tier
from tests.families.kill_table import Choice, kill_table

SHOWN_BY = {
    "decode_vector": ("decode_vector", "decode_vector_choice"),
    "array_conversion": ("array_conversion", "bitcast_arrays", "sub_arrays", "array_chain"),
    "coordinate": ("get_coordinate",),
    "use": ("maintenance1", "maintenance1_conversion", "maintenance1_transpose"),
    "reduce": ("maintenance1_reduce",),
    "per_element": ("maintenance1_per_element", "maintenance1_bodies"),
}
"""Areas of the glossary, and families whose smoke tier shows their mistakes."""

PERMITTED = frozenset({"decode_vector.struct_of_scalar_function"})
"""Mistakes that the text can be read to permit (F-DV-1)."""


@pytest.mark.parametrize("area", SHOWN_BY)
def test_two_cases_show_each_mistake(area: str) -> None:
    shown: Counter[str] = Counter(dict.fromkeys((id_ for id_ in glossary().entries if id_.startswith(f"{area}.")), 0))
    assert shown
    for family in SHOWN_BY[area]:
        for _, kind, _, seen, _ in kill_table(family, Choice(Tier.SMOKE, word=f"{area}.", enough=2)):
            shown[kind.partition("[")[0]] += seen
    assert {id_: count for id_, count in shown.items() if count < 2 and id_ not in PERMITTED} == {}
