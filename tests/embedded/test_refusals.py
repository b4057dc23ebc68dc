"""The strict embedded device refuses what spirv-val rejects: ``tests.embedded.refusals`` compares them on thousands of modules."""

from __future__ import annotations

import shutil

import pytest

from cts.validators.spirv_val import NAME, SpirvVal
from tests.embedded.refusals import broken_modules, disagreements, excused, mutated_modules

FAMILIES = ("tensor_view", "control_flow", "functions", "specialization", "reduce", "per_element", "memory")
has_validator = pytest.mark.skipif(shutil.which(NAME) is None, reason="spirv-val is not installed")


@has_validator
def test_the_broken_module_of_each_static_rule_is_refused() -> None:
    assert list(disagreements(broken_modules(), SpirvVal())) == []


@has_validator
def test_a_mutant_that_spirv_val_rejects_is_refused_unless_there_is_a_reason() -> None:
    found = disagreements(mutated_modules(250, seed=11, families=FAMILIES), SpirvVal())
    assert [one for one in found if not excused(one.message)] == []
