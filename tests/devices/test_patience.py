from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cts.devices.patience import MOST_GRANTED, Late, Patience, waiting_for_cpu

LIMIT = 10.0


class Machine:
    """A clock that advances when code waits, and a process that gets a share of a CPU during that time."""

    def __init__(self, starved: Callable[[float], float]) -> None:
        self.now = 0.0
        self._starved = starved

    def clock(self) -> float:
        return self.now

    def measure(self) -> Callable[[], float]:
        begin = self.now
        return lambda: self._starved(self.now) - self._starved(begin)

    def seconds_until_late(self, patience: Patience, late_by: float = 0.0) -> float:
        begin = self.now
        try:
            while True:
                self.now += patience.remaining() + late_by
        except Late:
            return self.now - begin


def test_a_step_that_sleeps_or_has_the_cpu_gets_its_limit_and_no_more():
    machine = Machine(lambda now: 0.0)
    assert machine.seconds_until_late(Patience(LIMIT, machine.measure, machine.clock)) == pytest.approx(LIMIT)


@given(st.floats(0.05, 0.85))
def test_time_without_a_cpu_does_not_pass(share):
    machine = Machine(lambda now: now * share)
    patience = Patience(LIMIT, machine.measure, machine.clock)
    took = machine.seconds_until_late(patience)
    # It has had the CPU for as long as the limit, except for the unmeasured time and the last wait.
    assert 0.89 * LIMIT <= took * (1 - share) <= 1.03 * LIMIT
    assert patience.granted > 0


@pytest.mark.parametrize(("limit", "most"), [(2.0, 2.0 + MOST_GRANTED), (60.0, 120.0), (240.0, 480.0)])
def test_a_process_that_never_gets_a_cpu_is_given_up_all_the_same(limit, most):
    machine = Machine(lambda now: now)
    assert machine.seconds_until_late(Patience(limit, machine.measure, machine.clock)) <= most + 0.02 * limit


def test_starvation_that_ends_gives_no_more_time():
    machine = Machine(lambda now: min(now, 5.0))
    assert machine.seconds_until_late(Patience(LIMIT, machine.measure, machine.clock)) <= LIMIT + 5


def test_waiting_before_the_step_does_not_count():
    machine = Machine(lambda now: min(now, 1000.0))
    machine.now = 1000.0
    assert machine.seconds_until_late(Patience(LIMIT, machine.measure, machine.clock)) == pytest.approx(LIMIT)


def test_a_step_that_begins_has_the_whole_limit():
    machine = Machine(lambda now: 0.0)
    patience = Patience(LIMIT, machine.measure, machine.clock)
    machine.now += 0.9 * LIMIT
    patience.restart()
    assert machine.seconds_until_late(patience) == pytest.approx(LIMIT)


def test_a_parent_that_looks_too_late_blames_no_one():
    """A parent that got no CPU itself finds that the limit has passed when it looks for the first time."""
    machine = Machine(lambda now: 0.0)
    patience = Patience(LIMIT, machine.measure, machine.clock)
    machine.now = 3 * LIMIT
    assert patience.remaining() > 0


def test_steps_that_are_soon_over_are_not_measured():
    measured = []
    machine = Machine(lambda now: 0.0)
    patience = Patience(LIMIT, lambda: measured.append(machine.now) or machine.measure(), machine.clock)
    for _ in range(10):
        machine.now += 0.05 * LIMIT
        patience.remaining()
        patience.restart()
    assert measured == []


def test_a_process_that_has_only_just_begun_to_be_measured_has_waited_for_nothing():
    assert 0 <= waiting_for_cpu(os.getpid())() < 60


def test_a_process_that_is_gone_waits_for_nothing(tmp_path):
    assert waiting_for_cpu(2**22 + 1)() >= 0
