"""The effort of a run for explaining failures."""

from __future__ import annotations

from dataclasses import replace

from cts.verdict.effort import Budget, Effort
from cts.verdict.known_failures import KnownFailure, KnownFailures, Selector

ENTRY = KnownFailure("known", (), (), (Selector("load_store"),), ("fail.value",), (), None, "what", "", (), "", "", "")


def test_a_failure_that_is_known_whatever_explains_it_is_not_diagnosed(case):
    effort = KnownFailures(entries=(ENTRY,)).effort(case, "spirv", Budget())
    assert effort.spared("fail.value")
    assert not effort.spared("fail.padding")


def test_a_failure_that_is_known_by_its_defect_is_diagnosed_for_that_defect(case):
    effort = KnownFailures(entries=(replace(ENTRY, defects=("operand.ignored",)),)).effort(case, "spirv", Budget(0.0))
    assert effort.foreseen == ("operand.ignored",)
    assert not effort.spared("fail.value")


def test_a_process_whose_time_is_spent_diagnoses_nothing_that_decides_nothing():
    assert Effort(budget=Budget(0.0)).spared("fail.value")
    assert not Effort(budget=Budget(1.0)).spared("fail.value")


def test_the_shortest_limit_of_the_known_failures_holds(case):
    entries = (ENTRY, replace(ENTRY, limit=20.0), replace(ENTRY, limit=10.0))
    assert KnownFailures(entries=entries).effort(case, "spirv", Budget()).limit == 10.0
    assert KnownFailures(entries=(ENTRY,)).effort(case, "spirv", Budget()).limit is None
