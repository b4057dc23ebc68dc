"""Robust access: a device that checks several elements at once never fails; a device that gives other values does."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from cts.embedded.device import EmbeddedDevice
from cts.embedded.faults import Faults
from cts.embedded.profile import load_profile
from cts.verdict.compare import compare, compare_quality
from cts.verdict.verdict import Verdict
from tests.broken_devices.smoke import prepared, smoke_cases
from tests.simulated_devices import bounds_checks as ways


@cache
def _cases(access: str) -> tuple[str, ...]:
    return tuple(case.id for case in smoke_cases("robustness") if case.named["access"] == access)


def verdict(case_id: str, faults: Faults) -> Verdict:
    """Return the verdict of a device with faults on a case."""
    built, program, plan = prepared(case_id)
    device = EmbeddedDevice(load_profile("universal"), strict=False, faults=faults)
    judged = list(zip(plan.expected, plan.before, device.run(built, plan.dispatches), strict=True))
    if any(compare(program, *one) for one in judged):
        return Verdict.FAIL
    return Verdict.QUALITY_WARNING if any(compare_quality(*one) for one in judged) else Verdict.PASS


def verdicts(access: str, faults: Faults) -> Counter[Verdict]:
    """Return how many smoke cases with this access get each verdict."""
    return Counter(verdict(case_id, faults) for case_id in _cases(access))


@pytest.mark.parametrize("access", ["load", "store"])
@pytest.mark.parametrize(
    "groups_of",
    [ways.in_chunks(4), ways.in_chunks(16), ways.in_chunks(64), ways.in_lines(0), ways.in_lines(1), ways.whole_matrix],
    ids=["4 bytes", "16 bytes", "64 bytes", "rows", "columns", "matrix"],
)
def test_a_device_that_checks_several_elements_at_once_never_fails(access, groups_of):
    assert not verdicts(access, ways.checking(groups_of))[Verdict.FAIL]


@pytest.mark.parametrize("access", ["load", "store"])
@pytest.mark.parametrize(
    "groups_of",
    [ways.in_chunks(16), ways.in_lines(0), ways.in_lines(1), ways.whole_matrix],
    ids=["16 bytes", "rows", "columns", "matrix"],
)
def test_a_device_that_checks_several_elements_at_once_gets_a_quality_warning(access, groups_of):
    assert verdicts(access, ways.checking(groups_of))[Verdict.QUALITY_WARNING]


@pytest.mark.parametrize("access", ["load", "store"])
def test_a_device_that_checks_each_element_passes(access):
    assert set(verdicts(access, Faults())) == {Verdict.PASS}


@pytest.mark.parametrize("change", [ways.last_in_bounds, ways.with_other_bits, ways.memory_beyond])
def test_a_load_that_gives_other_values_fails(change):
    assert verdicts("load", ways.loading(change))[Verdict.FAIL]


@pytest.mark.parametrize("faults", [ways.writing_beyond(), ways.spoiling_in_bounds()], ids=["beyond", "in bounds"])
def test_a_store_that_writes_something_else_fails(faults):
    assert verdicts("store", faults)[Verdict.FAIL]


def test_a_load_that_zeroes_matrices_of_other_subgroups_fails():
    faults = ways.loading(lambda found, _: found * 0)
    cases = [case.id for case in smoke_cases("robustness") if case.named["access"] == "load" and case.named.get("subgroups") in ("2", "4")]
    assert {verdict(case_id, faults) for case_id in cases} == {Verdict.FAIL}
