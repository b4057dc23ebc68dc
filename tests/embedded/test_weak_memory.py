"""A device with weak memory lets a read that races with a write get an older value, and no other one."""

from __future__ import annotations

import numpy as np
import pytest

from cts.devices.device import DeviceError
from cts.devices.spec import DeviceSpec
from cts.embedded.memory.history import DEPTH
from cts.embedded.memory.memory import Memory
from cts.embedded.memory.ordering import Clock, Manner, Reach
from cts.opening import open_device

PLAIN = Manner()
PLACE = slice(0, 1)


def values_seen(writes: int, manner: Manner = PLAIN, ordered: int = 0, defined: bool = True, reader: int = 1) -> set[int]:
    """Return what a read by invocation ``reader`` gets under 50 seeds, after invocation 0 has written 1, 2 … ``writes`` in place of 0.

    A barrier follows the first ``ordered`` writes.
    """
    found = set()
    for seed in range(50):
        clock = Clock(1, 2, 2)
        memory = Memory("m", np.zeros(4, np.uint8), "workgroup", defined=defined, choices=np.random.default_rng(seed))
        for value in range(1, writes + 1):
            memory.record_write(PLACE, clock.lanes(manner)[0], clock, manner)
            memory.data[PLACE] = value
            if value == ordered:
                clock.barrier(("workgroup",), True, True)
        seen = memory.record_read(PLACE, clock.lanes(manner)[reader], clock, manner)
        found.add(int(seen.data[0]))
        assert memory.data[0] == writes
    return found


def test_an_unordered_read_gets_any_of_the_last_values():
    assert values_seen(writes=2) == {0, 1, 2}


def test_the_initial_value_is_one_of_them_only_if_it_is_defined():
    assert values_seen(writes=2, defined=False) == {1, 2}


def test_a_visible_write_hides_all_before_it():
    assert values_seen(writes=4, ordered=2) == {2, 3, 4}


def test_after_a_barrier_there_is_no_choice():
    assert values_seen(writes=3, ordered=3) == {3}


def test_a_barrier_does_not_order_private_accesses():
    assert values_seen(writes=3, ordered=3, manner=Manner(private=True)) == {0, 1, 2, 3}


def test_an_invocation_sees_its_own_writes():
    assert values_seen(writes=3, reader=0) == {3}


def test_only_the_last_values_are_kept():
    assert values_seen(writes=DEPTH + 2) == set(range(2, DEPTH + 3))


def test_invocations_that_read_one_byte_together_get_what_each_may_get():
    clock = Clock(1, 2, 2)
    for seed in range(20):
        memory = Memory("m", np.zeros(4, np.uint8), "workgroup", choices=np.random.default_rng(seed))
        memory.record_write(PLACE, clock.lanes(PLAIN)[0], clock, PLAIN)
        memory.data[PLACE] = 1
        both = memory.record_read(np.zeros((2, 1), np.int64), clock.lanes(PLAIN)[:, None], clock, PLAIN)
        assert both.data[0] == 1


def test_a_barrier_that_makes_nothing_visible_needs_a_read_that_does():
    clock = Clock(1, 2, 2)
    found = {"read": set(), "nothing": set()}
    for seed in range(20):
        for who, manner in (("read", Manner(visible=Reach.WORKGROUP)), ("nothing", PLAIN)):
            memory = Memory("m", np.zeros(4, np.uint8), "workgroup", choices=np.random.default_rng(seed))
            memory.record_write(PLACE, clock.lanes(Manner(available=Reach.WORKGROUP))[0], clock, PLAIN)
            memory.data[PLACE] = 1
            clock.barrier(("workgroup",), False, False)
            found[who].add(int(memory.record_read(PLACE, clock.lanes(manner)[1], clock, manner).data[0]))
    assert found == {"read": {1}, "nothing": {0, 1}}


def test_the_mapping_option_asks_for_it():
    assert open_device(DeviceSpec("embedded", "universal", mapping="interleaved:3:weak"))
    with pytest.raises(DeviceError):
        open_device(DeviceSpec("embedded", "universal", mapping="interleaved:3:strong"))
