"""Placements: cases of every participating family get them, devices run them, and their data show wrong addresses."""

from __future__ import annotations

import numpy as np
import pytest

from cts.defects.glossary import glossary
from cts.defects.known import known_defects
from generators.casebook import Tier, build, expand
from generators.casebook.cases import BuiltCase
from generators.casebook.placement_kinds import load_kinds
from generators.placements.moved_arrays import Moved, rest_of
from generators.program.memory import Array, Pointee
from generators.program.scalars import ScalarArithmetic
from generators.program.values import Value, literal
from generators.types import COMPONENT_TYPES, StorageClass
from tests.families.evidence import is_seen
from tests.suite import casebook

_U32 = COMPONENT_TYPES["u32"]
_FAMILY = "elementwise"


def _array(length: int) -> Array:
    return Array("source", Pointee(COMPONENT_TYPES["f16"]), length, StorageClass.STORAGE_BUFFER, "input")


def _cases() -> list[BuiltCase]:
    return [build(case) for case in expand(casebook().family(_FAMILY), Tier.SMOKE)[:40]]


def test_contents_keep_each_element_at_its_moved_place() -> None:
    moved = Moved(_array(24), lead=16, stride=8, wide=40)
    before = np.arange(24, dtype=np.uint16)
    after = moved.contents(before.view(np.uint8), 16, np.random.default_rng(0)).view(np.uint16)
    assert len(after) == moved.length
    assert [after[16 + moved.at(index)] for index in range(24)] == list(before)


def test_a_subcase_without_a_lead_has_its_elements_at_the_start() -> None:
    moved = Moved(_array(24), lead=16)
    before = np.arange(24, dtype=np.uint16)
    assert list(moved.contents(before.view(np.uint8), 0, np.random.default_rng(0)).view(np.uint16)[:24]) == list(before)


def test_an_index_that_is_no_sum_of_whole_lines_is_not_moved() -> None:
    index = Value("index", _U32)
    sums = {"half": ScalarArithmetic(Value("half", _U32), "multiply", index, literal(_U32, 12))}
    assert rest_of(Value("half", _U32), 8, sums) is None
    assert rest_of(Value("half", _U32), 6, sums) == 0
    assert rest_of(literal(_U32, 13), 8, sums) == 5


def test_most_cases_are_placed_and_some_keep_literal_addresses() -> None:
    placed = [bool(case.placed.moved) for case in _cases()]
    assert sum(placed) > len(placed) / 2
    assert not all(placed)


def test_at_most_one_array_of_a_case_is_wide() -> None:
    assert {sum(moved.wide != moved.stride for moved in case.placed.moved.values()) for case in _cases()} == {0, 1}


def test_subcases_alternate_between_a_far_and_no_lead() -> None:
    case = next(case for case in _cases() if len(case.case.subcases) > 1 and any(moved.lead for moved in case.placed.moved.values()))
    name, moved = next((name, moved) for name, moved in case.placed.moved.items() if moved.lead)
    leads = [subcase.operands[f"{name}_lead"] for subcase in case.subcases()]
    assert leads[:2] == [moved.lead, 0]


@pytest.mark.parametrize("placement", sorted(load_kinds().shown))
def test_a_placement_shows_its_kinds(placement: str) -> None:
    wanted = set(load_kinds().shown[placement])
    missing = set(wanted)
    for name in (_FAMILY, "muladd", "tensor_layout"):
        few = [case for case in expand(casebook().family(name), Tier.SMOKE) if name != "muladd" or "8x8x8.u8" in case.id]
        for case in few[:60]:
            if not missing:
                return
            built = build(case)
            has = any(moved.lead if placement == "far" else moved.wide != moved.stride for moved in built.placed.moved.values())
            defects = [defect for defect in known_defects(built.program) if defect.id in missing] if has else []
            subcases = built.subcases() if defects else []
            missing -= {defect.id for defect in defects if any(is_seen(built.program, subcase, defect) for subcase in subcases)}
    assert not missing


def test_placements_show_defects_of_the_glossary() -> None:
    assert set(load_kinds().defects) <= set(glossary().entries)


def test_families_exist() -> None:
    assert load_kinds().families <= {family.name for family in casebook()}
