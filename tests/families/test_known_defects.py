"""Each operation of the language has known defects, or there is a reason why it has none of its own."""

from __future__ import annotations

from itertools import chain, islice

import pytest

from cts.defects.known import findings, known_defects
from generators.casebook import CaseKind, build, find_case
from generators.program.operation import Operation
from generators.program.reading import language
from tests.suite import casebook, programs

WITHOUT = {
    "every result is right": {"MatrixUndefined", "CooperativeVectorUndefined"},
    "defects of its effect": {"Stated", "MatrixLength", "MatrixCoordinate"},
    "defects of the functions that an instruction calls": {"BlockLoad", "BlockAddress", "BlockCast", "Extended", "ScalarConvert"},
    "a wrong result is a wrong operand of another operation": {
        "BuiltInScalar",
        "InstanceIndex",
        "LayoutCreate",
        "ViewCreate",
        "CopyObject",
    },
    "plain memory without matrices": {"ArrayLoad", "ArrayStore", "AtomicAdd", "AtomicOr", "VectorComponentsStored"},
    "only the exact number is right": {"NothingStale", "OthersCounted", "RepeatsCounted", "SubgroupsStored"},
}
"""The operations that have no defects of their own, by the reason."""


def test_each_operation_has_defects_or_a_reason_for_none():
    named = tuple(kind for one in findings() for kind in one.kinds if kind is not Operation)
    found = {kind.__name__ for kind in language() if issubclass(kind, named)}
    without = set(chain(*WITHOUT.values()))
    assert {kind.__name__ for kind in language()} == found | without
    assert not found & without


def test_a_program_without_the_operations_of_a_finder_has_none_of_its_defects():
    families = [family.name for family in casebook() if family.kind is CaseKind.KERNEL]
    for _, program in (each for family in families for each in islice(programs(family, "smoke"), 3)):
        everything = [(defect.id, defect.text) for one in findings() for defect in one.finder(program)]
        assert everything == [(defect.id, defect.text) for defect in known_defects(program)]


@pytest.mark.parametrize(("row", "data", "depends"), [("s8.s8.s32.s32", "wrap", False), ("s8.s8.s32.s32.sat", "saturate", True)])
def test_only_saturating_sums_of_equal_bits_depend_on_the_sign_of_c(row: str, data: str, depends: bool) -> None:
    program = build(find_case(casebook(), f"muladd[row:16x16x16.{row}/data:{data}]")).program
    found = list(known_defects(program))
    assert any(one.id == "multiply_add.sign_ignored" and one.parameters["operand"] == "C" for one in found) is depends
    assert any(one.id == "multiply_add.saturates_by_other_sign" for one in found) is depends
    assert any(one.id == "multiply_add.sign_ignored" and one.parameters["operand"] == "A" for one in found)
