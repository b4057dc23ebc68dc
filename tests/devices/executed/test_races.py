"""Races: what waves see of each other's stores without a wait, a scope, an invalidation or a barrier, and in which order they run."""

from __future__ import annotations

import numpy as np
import pytest

from cts.devices.executed.caches import LINE, Begun, Cache
from cts.devices.executed.dispatch import Hang, Order
from cts.devices.executed.wave import Workgroup
from tests.devices.executed.test_dispatch import BARRIER, END, SIGNAL, WAIT_LOADS, WAIT_STORES, Machine, mov, shifted, store

OWN = [shifted(1, 0), mov(2, 135), *store(2, 1)]
"""Stores 7 at the wave's own place: 4 bytes for each invocation."""

OTHER = [0x3A0202FF, 0x80]
"""Goes to the place of the other of two waves of 32 lanes."""

LOAD, SCOPED_LOAD = [0xEE050000, 3, 1], [0xEE050000, 3 | 2 << 18, 1]
"""global_load_b32, and with the scope of the device."""

COPY = [WAIT_LOADS, 0x4A0202FF, 0x1000, *store(3, 1)]
"""Stores what was loaded 0x1000 bytes after it."""

INVALIDATION = [0xEE0AC07C, 2 << 18, 0]
"""global_inv with the scope of the device."""

COPIES = slice(0x400, 0x440)
MEETING = [WAIT_STORES, SIGNAL, BARRIER]


def copied(code: list[int], number: int = 0, wgp: int = 1, chip: str = "gfx1201") -> list[int]:
    """Return what two waves copied, in the dispatch with a number."""
    machine = Machine(chip)
    machine.gpu.dispatches = number
    return machine.dispatch([*code, END], size=(64, 1, 1), wgp=wgp)[COPIES]


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("wgp", [0, 1])
def test_waves_that_wait_and_meet_see_each_other_in_every_order(number, wgp):
    assert copied([*OWN, *MEETING, *OTHER, *SCOPED_LOAD, *COPY], number, wgp) == [7] * 64


def test_a_load_without_scope_sees_old_bytes_on_another_unit():
    assert copied([*OWN, *MEETING, *OTHER, *LOAD, *COPY]) == [0] * 64


def test_a_load_without_scope_sees_all_stores_of_its_own_unit():
    assert copied([*OWN, *MEETING, *OTHER, *LOAD, *COPY], wgp=0) == [7] * 64
    assert copied([*OWN, *LOAD, *COPY]) == [7] * 64


def test_an_invalidation_lets_a_load_without_scope_see_new_bytes():
    assert copied([*OWN, *MEETING, *INVALIDATION, *OTHER, *LOAD, *COPY]) == [7] * 64
    assert copied([*OWN, *INVALIDATION, *MEETING, *OTHER, *LOAD, *COPY, *LOAD]) == [7] * 64


def test_an_invalidation_with_the_scope_of_one_unit_does_nothing():
    assert copied([*OWN, *MEETING, INVALIDATION[0], 0, 0, *OTHER, *LOAD, *COPY]) == [0] * 64


@pytest.mark.parametrize(("how", "expected"), [("", 0), ("glc", 7), ("invalidation", 7)])
def test_rdna3_has_a_bit_to_load_past_the_cache_and_an_invalidation(how, expected):
    own = [shifted(1, 0), mov(2, 135), 0xDC6A0000, 0x00000201, 0xBC7C0000, 0xBFBD0000]
    load = [0xDC524000 if how == "glc" else 0xDC520000, 3 << 24 | 1, 0xBF890000]
    invalidation = [0xE0AC0000, 0] if how == "invalidation" else []
    code = [*own, *invalidation, *OTHER, *load, 0x4A0202FF, 0x1000, 0xDC6A0000, 0x00000301]
    assert copied(code, chip="navi31") == [expected] * 64


def test_a_store_for_which_nobody_waits_is_in_memory_when_the_dispatch_has_ended():
    code = [*OWN, SIGNAL, BARRIER, *OTHER, *SCOPED_LOAD, *COPY, END]
    machine = Machine()
    words = machine.dispatch(code, size=(64, 1, 1))
    assert words[:64] == [7] * 64
    assert words[COPIES] == [0] * 64


def test_in_some_dispatches_a_store_is_early():
    code = [*OWN, SIGNAL, BARRIER, *OTHER, *SCOPED_LOAD, *COPY]
    assert {copied(code, number)[0] for number in range(2, 40)} == {0, 7}


@pytest.mark.parametrize("wgp", [0, 1])
def test_without_a_barrier_the_first_wave_sees_nothing_of_the_other(wgp):
    code = [*OWN, WAIT_STORES, *OTHER, *SCOPED_LOAD, *COPY]
    found = [copied(code, number, wgp) for number in (0, 1)]
    assert sorted(found) == [[0] * 32 + [7] * 32, [7] * 32 + [0] * 32]


@pytest.mark.parametrize("left_out", [SIGNAL, BARRIER])
def test_half_a_barrier_is_noticed(left_out):
    code = [word for word in [*OWN, *MEETING, *OTHER, *SCOPED_LOAD, *COPY] if word != left_out]
    try:
        assert 0 in copied(code)
    except Hang:
        assert left_out == SIGNAL


def test_a_barrier_does_not_wait_for_a_wave_that_has_ended():
    group = Workgroup(Machine().memory, np.zeros(0, np.uint8), waves=3)
    group.signal()
    group.signal()
    assert not group.opened
    group.end()
    assert group.opened == 1


def test_workgroups_run_at_the_same_time():
    # Each adds 1 to a count, reads it past the cache, and stores it at 0x1000 + 4 * its number: s2 is 4 * ttmp9.
    code = [
        mov(1, 128),
        mov(2, 129),
        0xEE0D4000,
        2 << 23,
        1,
        *SCOPED_LOAD,
        WAIT_LOADS,
        0x84028275,
        mov(1, 2),
        0x4A0202FF,
        0x1000,
        *store(3, 1),
    ]
    orders = set()
    for number in range(40):
        machine = Machine()
        machine.gpu.dispatches = number
        orders.add(tuple(machine.dispatch([*code, END], groups=(3, 1, 1), size=(1, 1, 1))[0x400:0x403]))
    assert len(orders) > 3
    assert any(len(set(order)) < 3 for order in orders)


def test_the_same_number_gives_the_same_order():
    code = [*OWN, *OTHER, *SCOPED_LOAD, *COPY]
    assert all(copied(code, number) == copied(code, number) for number in range(8))


@pytest.mark.parametrize("pair", range(3))
def test_every_second_dispatch_makes_the_opposite_choices(pair):
    first, second = Order(2 * pair), Order(2 * pair + 1)
    waves = list("abcd")
    for _ in range(20):
        assert waves.index(first.choose(waves)) + waves.index(second.choose(waves)) == 3


def test_dispatches_with_the_same_numbers_give_the_same_results():
    machine = Machine()
    found = []
    for _ in range(2):
        machine.gpu.dispatches = 0
        machine.out[:] = 0
        found.append([machine.dispatch([*OWN, WAIT_STORES, *OTHER, *SCOPED_LOAD, *COPY, END], size=(64, 1, 1)) for _ in range(4)])
    assert found[0] == found[1]


def caches(*kinds: bool) -> list[Cache]:
    """Return caches of one dispatch, each shared by waves or not."""
    begun = Begun()
    return [Cache(begun, lambda: False, shared) for shared in kinds]


PLACE, NEIGHBOUR, FAR = (np.array([place]) for place in (8, 12, LINE))


def seen(cache: Cache, data: np.ndarray, place: np.ndarray, past: bool = False) -> int:
    return int(cache.read(data, place, 1, past)[place][0])


def stored(cache: Cache, data: np.ndarray, place: np.ndarray, value: int) -> None:
    cache.write(data, place, 1)[place] = value


def test_a_cache_has_the_bytes_with_which_the_dispatch_began():
    (writer, reader), data = caches(False, False), np.zeros(2 * LINE, np.uint8)
    stored(writer, data, PLACE, 5)
    assert (seen(writer, data, PLACE), seen(reader, data, PLACE), data[8]) == (5, 0, 0)
    writer.publish(data, PLACE, 1)
    assert (seen(reader, data, PLACE), data[8]) == (0, 5)
    assert seen(reader, data, PLACE, past=True) == 5
    assert seen(reader, data, PLACE) == 5


def test_a_load_past_the_cache_gets_a_whole_line_and_no_other():
    (writer, reader), data = caches(False, False), np.zeros(2 * LINE, np.uint8)
    for place in (PLACE, NEIGHBOUR, FAR):
        stored(writer, data, place, 5)
    writer.write_back()
    assert seen(reader, data, PLACE, past=True) == seen(reader, data, NEIGHBOUR) == 5
    assert seen(reader, data, FAR) == 0


def test_stored_bytes_survive_an_invalidation_and_a_load_past_the_cache():
    (cache,), data = caches(False), np.zeros(LINE, np.uint8)
    stored(cache, data, PLACE, 5)
    cache.invalidate()
    assert seen(cache, data, PLACE) == seen(cache, data, PLACE, past=True) == 5
    cache.write_back()
    assert data[8] == 5


def test_only_stored_bytes_are_written_back():
    (first, second), data = caches(False, False), np.zeros(LINE, np.uint8)
    stored(first, data, PLACE, 5)
    stored(second, data, NEIGHBOUR, 6)
    first.write_back()
    second.write_back()
    assert (data[8], data[12]) == (5, 6)


def test_an_atomic_operation_makes_the_cache_get_the_line_again():
    (cache,), data = caches(False), np.zeros(LINE, np.uint8)
    stored(cache, data, NEIGHBOUR, 6)
    assert seen(cache, data, PLACE) == 0
    cache.publish(data, PLACE, 1, evict=True)
    data[8] = 9
    assert (seen(cache, data, PLACE), seen(cache, data, NEIGHBOUR)) == (9, 6)


def test_a_buffer_that_an_invalidated_cache_meets_first_is_read_from_memory():
    (writer, reader), data = caches(False, False), np.zeros(LINE, np.uint8)
    reader.invalidate()
    stored(writer, data, PLACE, 5)
    writer.write_back()
    assert seen(reader, data, PLACE) == 5
