"""Each family's smoke tier must show every known defect that can occur in it, but for those that unseen_defects.py gives a reason for."""

import pytest

from cts.diagnose import known_defects
from generators.casebook import CaseKind
from tests.families.blind_spots import blind_spots, kind_of, names_of
from tests.families.evidence import casebook, parts
from tests.families.unseen_defects import UNSEEN, why_unseen

FAMILIES = [family.name for family in casebook() if family.kind is CaseKind.KERNEL]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_smoke_tier_shows_every_known_defect(family):
    assert not [(blind.words, blind.cases, blind.example) for blind in blind_spots(family, "smoke")]


def test_whom_a_reason_asks_is_a_family():
    assert {family for one in UNSEEN for family in one.asked} <= set(FAMILIES)


def test_a_family_that_is_asked_must_show_what_others_need_not():
    assert why_unseen("muladd", "denormals of A taken for zero")
    assert why_unseen("flexible", "the branch always takes its first arm")
    assert not why_unseen("control_flow", "the branch always takes its first arm")
    assert not why_unseen("tensor_layout", "the layout of instance _ in every scope instance")


def test_words_of_a_defect_are_the_same_in_every_program():
    program, _ = parts("muladd[8x8x8.u8.u8.u32.u32-subgroup-1-wrap-reuse-3-literal-same-rrrr-tight-storage_buffer]")
    found = {kind_of(defect.words, names_of(program)) for defect in known_defects(program)}
    assert {"the sum _ saturates with the other signedness", "_ loaded in the other layout"} & found
    assert not [words for words in found if "again" in words or "product" in words.split()]
