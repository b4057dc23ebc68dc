"""Known mistakes with coordinates, and with changes of use to an accumulator: two cases show each."""

from __future__ import annotations

import pytest

from cts.defects.conversions import use_defects
from cts.defects.elements import coordinate_defects
from tests.families.evidence import seen, unseen


def placed(component="u32", shape="16x32", what="number", use="acc"):
    return f"get_coordinate[component:{component}/shape:{shape}/use:{use}/what:{what}]"


COORDINATES = {
    "coordinate.row_and_column_exchanged": [placed(shape="16x16"), placed("f16", what="mask")],
    "coordinate.counted_along_columns": [placed("f32", shape="32x16", use="b"), placed("s8", shape="16x8", what="mask")],
    "coordinate.in_fragment": [placed("f16", shape="16x8"), placed("u8", shape="32x16", use="a")],
}


@pytest.mark.parametrize(("id_", "case_id"), [(id_, case_id) for id_, cases in COORDINATES.items() for case_id in cases])
def test_a_wrong_coordinate_is_seen(id_, case_id):
    found = seen(case_id, id_, defects=coordinate_defects)
    assert found
    assert not unseen(found)


@pytest.mark.parametrize("called", ["pointer", "value"])
def test_a_wrong_coordinate_in_a_function_is_seen(called):
    found = seen(f"get_coordinate[called:{called}/component:f32/shape:16x32]", defects=coordinate_defects)
    assert {one.defect.id for one in found} == set(COORDINATES)
    assert not unseen(found)


@pytest.mark.parametrize(
    "case_id",
    [
        "maintenance1[action:back/component:f16/shape:16x32/use:b]",
        "maintenance1[action:there_and_back/component:u32/shape:32x16]",
        "maintenance1[action:back_converted/component:f16/to:f32]",
        "maintenance1[action:use_converted/component:s32/to:s8/use:b]",
    ],
)
def test_elements_at_other_places_of_an_accumulator_are_seen(case_id):
    found = seen(case_id, defects=use_defects)
    assert len(found) >= 6
    assert not unseen([one for one in found if one.defect.id != "use.lower_half_kept"])


@pytest.mark.parametrize("action", ["use", "back", "there_and_back"])
@pytest.mark.parametrize("component", ["s8", "u32"])
def test_numbers_that_saturate_when_only_the_signedness_changes_are_seen(component, action):
    found = seen(f"maintenance1[action:{action}/component:{component}/sign:other]", "use.saturated", defects=use_defects)
    assert found
    assert not unseen(found)
