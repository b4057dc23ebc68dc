"""A module with an instruction that the text may forbid is disputed, and only families whose subject is that instruction have one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from generators.casebook import CaseKind, Tier
from generators.program.callbacks import Reduce
from generators.program.composites import CompositeExtract, CompositeInsert
from generators.program.elementwise import MatrixTimesScalar
from generators.program.load_store import MatrixLoad, MatrixStore
from generators.program.operation import Operation
from generators.program.program import Program
from generators.program.values import is_matrix
from generators.program.walking import flattened
from tests.suite import casebook, programs

MAY_DISPUTE = {
    "elements": {"F-KHR-20"},
    "elementwise": {"F-KHR-31"},
    "elementwise_muladd": {"F-KHR-31"},
    "load_store": {"F-KHR-30"},
    "reduce": {"F-CM2-17"},
}
"""Family -> the positions without which the text may forbid some of its modules."""

LISTED_INSTRUCTIONS = {"bf16", "e4m3", "e5m2"}
"""The component types whose extensions list the instructions that may use them."""

NEEDS: Mapping[str, Callable[[Program, Operation], bool]] = {
    "F-CM2-17": lambda program, part: (
        isinstance(part, Reduce) and part.matrix.type.component.name in LISTED_INSTRUCTIONS and not program.maintenance1
    ),
    "F-KHR-20": lambda _, part: isinstance(part, CompositeExtract | CompositeInsert) and is_matrix(part.composite),
    "F-KHR-30": lambda _, part: isinstance(part, MatrixLoad | MatrixStore) and part.stride.type.bytes > 4,
    "F-KHR-31": lambda _, part: isinstance(part, MatrixTimesScalar) and not part.result.type.component.is_float,
}
"""Position -> whether an operation of a program is valid only by it. SPV_EXT_cooperative_matrix_maintenance1 allows any reduction."""

FAMILIES = [family.name for family in casebook() if family.kind is CaseKind.KERNEL]


def needed(whole: Program) -> set[str]:
    """Return the positions without which the text may forbid a case's module. Functions that instructions call have no matrices."""
    found = [(program, part) for program in whole.all for part in flattened(program.operations)]
    return {id_ for id_, needs in NEEDS.items() if any(needs(program, part) for program, part in found)}


def test_only_these_families_dispute_modules() -> None:
    found = {family.name: {cover.id for cover in family.disputed} for family in casebook() if family.disputed}
    assert found == MAY_DISPUTE


def test_each_disputed_instruction_has_its_sign() -> None:
    assert set(NEEDS) == set.union(*MAY_DISPUTE.values())


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_disputes_just_its_modules_with_disputed_instructions(family: str) -> None:
    tier = Tier.NIGHTLY if family in MAY_DISPUTE else Tier.SMOKE
    assert not [case.id for case, program in programs(family, tier) if set(case.disputed) != needed(program)]
