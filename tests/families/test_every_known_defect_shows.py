"""Each family's smoke tier must show every known defect that can occur in it, except where unseen_defects.py gives a reason."""

import pytest

from cts.defects.defect import Defect
from cts.defects.glossary import glossary
from generators.casebook import CaseKind
from tests.families.blind_spots import blind_spots
from tests.families.unseen_defects import UNSEEN, why_unseen
from tests.suite import casebook

FAMILIES = [family.name for family in casebook() if family.kind is CaseKind.KERNEL]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_smoke_tier_shows_every_known_defect(family):
    assert not [(blind.kind, blind.cases, blind.example) for blind in blind_spots(family, "smoke")]


def test_whom_a_reason_asks_is_a_family():
    assert {family for one in UNSEEN for family in one.asked} <= set(FAMILIES)


def test_a_reason_names_defects_of_the_glossary():
    assert {id_ for one in UNSEEN for id_ in one.defects} <= set(glossary().entries)


def test_a_family_that_is_asked_must_show_what_others_need_not():
    first_arm = Defect("branch.first_arm", {}, {"selection": "branch"})
    assert why_unseen("muladd", Defect("multiply_add.denormals_flushed", {}, {"operand": "A"}))
    assert why_unseen("flexible", first_arm)
    assert not why_unseen("control_flow", first_arm)
    assert not why_unseen("flexible", Defect("branch.first_arm", {}, {"selection": "switch"}))
    assert not why_unseen("tensor_layout", Defect("tensor_access.layout_of_first_instance", {}))
