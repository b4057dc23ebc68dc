"""No case depends on where a compiler puts workgroup arrays (F-KHR-22)."""

from __future__ import annotations

import pytest

from generators.casebook import CaseKind
from generators.program.load_store import MatrixLoad, MatrixStore, guaranteed_alignment, layout_value
from generators.program.program import Program
from generators.program.walking import flattened
from generators.types import StorageClass
from tests.suite import casebook, programs

FAMILIES = [family.name for family in casebook().families.values() if family.kind is CaseKind.KERNEL]


def needed(program: Program) -> int:
    """Return the greatest alignment that a matrix in workgroup memory needs, in bytes; 1 if there is no such matrix."""
    accesses = [o for o in flattened(program.operations) if isinstance(o, MatrixLoad | MatrixStore)]
    types = [(o.result if isinstance(o, MatrixLoad) else o.matrix).type for o in accesses]
    shared = [(o, t) for o, t in zip(accesses, types, strict=True) if o.array.storage is StorageClass.WORKGROUP]
    return max((guaranteed_alignment(t, layout_value(o.layout), o.array) for o, t in shared), default=1)


@pytest.mark.parametrize("name", FAMILIES)
def test_arrays_after_a_workgroup_array_can_be_aligned(name: str) -> None:
    for case, program in programs(name, "smoke"):
        odd = [a for a in program.arrays if a.storage is StorageClass.WORKGROUP and a.bytes % needed(program)]
        assert not odd, f"{case.id}: {[array.name for array in odd]}"
