"""A module that multiplies a matrix of integers by a scalar may be forbidden (F-KHR-31), so a device that refuses it does not fail."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from generators.casebook import Case, CaseKind, Tier, build, expand
from generators.program.control_flow import flattened
from generators.program.elementwise import MatrixTimesScalar
from generators.program.operation import Operation
from generators.program.program import Program
from tests.suite import casebook

POSITION = "F-KHR-31"
FAMILIES = [family.name for family in casebook() if family.kind is CaseKind.KERNEL]


def operations(program: Program) -> Iterator[Operation]:
    """Yield the operations of all entry points of a module."""
    for entry in (program, *(one.program for one in program.further)):
        yield from flattened(list(entry.operations), effects=True)


def scales_integers(case: Case) -> bool:
    return any(
        isinstance(operation, MatrixTimesScalar) and not operation.result.type.component.is_float
        for program in build(case).program.all
        for operation in operations(program)
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_disputes_just_its_cases_that_scale_integers(family: str) -> None:
    tier = Tier.NIGHTLY if POSITION in casebook().family(family).positions else Tier.SMOKE
    cases = list(expand(casebook().family(family), tier))
    assert {case.id: POSITION in case.disputed for case in cases} == {case.id: scales_integers(case) for case in cases}
