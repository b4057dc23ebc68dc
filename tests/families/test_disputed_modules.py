"""A module with an instruction that the text may forbid is disputed, and only families whose subject is that instruction have one."""

from __future__ import annotations

import pytest

from generators.casebook import Case, CaseKind, Tier, build, expand
from generators.program.elementwise import MatrixTimesScalar
from tests.families.test_claims import parts
from tests.suite import casebook

SCALED_INTEGERS = "F-KHR-31"
MAY_DISPUTE = {
    "elements": {"F-KHR-20"},
    "elementwise": {SCALED_INTEGERS},
    "elementwise_muladd": {SCALED_INTEGERS},
    "load_store": {"F-KHR-30"},
    "reduce": {"F-CM2-17"},
}
"""Family -> the positions without which the text may forbid some of its modules."""

FAMILIES = [family.name for family in casebook() if family.kind is CaseKind.KERNEL]


def scales_integers(case: Case) -> bool:
    return any(
        isinstance(operation, MatrixTimesScalar) and not operation.result.type.component.is_float
        for program in build(case).program.all
        for operation in parts(program)
    )


def test_only_these_families_dispute_modules() -> None:
    found = {family.name: {cover.id for cover in family.disputed} for family in casebook() if family.disputed}
    assert found == MAY_DISPUTE


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_disputes_just_its_cases_that_scale_integers(family: str) -> None:
    tier = Tier.NIGHTLY if SCALED_INTEGERS in casebook().family(family).positions else Tier.SMOKE
    cases = list(expand(casebook().family(family), tier))
    assert {case.id: SCALED_INTEGERS in case.disputed for case in cases} == {case.id: scales_integers(case) for case in cases}
