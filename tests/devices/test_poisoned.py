from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cts.devices.vulkan import poisoned
from cts.devices.vulkan.guarded import fill, judge, lay_out
from cts.devices.vulkan.poisoned import MARGIN, TILE, Around, PoisonedMemory, Spoiled
from generators.kernel import BufferSlot, Dispatch, StrayWrite

SIZE = 2 * MARGIN + 8 * TILE
pitches = st.integers(1, 4 * TILE // 256).map(lambda count: count * 256)


@pytest.fixture(scope="module")
def bare() -> np.ndarray:
    return np.empty(SIZE, np.uint8)


@pytest.fixture
def memory(bare) -> PoisonedMemory:
    return PoisonedMemory(bare)


@given(st.lists(pitches, min_size=1, max_size=4))
def test_ranges_of_any_sizes_leave_poison_around_the_next(sizes):
    bare = np.empty(SIZE, np.uint8)
    memory = PoisonedMemory(bare)
    for size in sizes:
        ranges = memory.place(np.zeros((1, size), np.uint8))
        ranges[:] = 0xFF
        assert memory.around() == Around()


@given(pitches, st.data())
def test_a_byte_written_anywhere_around_is_reported_once(pitch, data):
    bare = np.empty(SIZE, np.uint8)
    memory = PoisonedMemory(bare)
    memory.place(np.zeros((1, pitch), np.uint8))
    position = data.draw(st.integers(0, MARGIN - 1) | st.integers(MARGIN + pitch, SIZE - 1))
    bare[position] ^= 0xFF
    spoiled = Spoiled(position, 1)
    assert memory.around() == (Around(before=spoiled) if position < MARGIN else Around(after=spoiled))
    assert memory.around() == Around()


def test_many_bytes_are_counted(bare, memory):
    memory.place(np.zeros((1, 512), np.uint8))
    bare[100 : 100 + 3 * TILE] = 0
    bare[-5:] = 0
    assert memory.around() == Around(Spoiled(100, 3 * TILE), Spoiled(SIZE - 5, 5))


def test_poison_has_no_byte_that_a_kernel_writes_often():
    assert not np.isin(poisoned.tile(), (0x00, 0xFF)).any()


SLOTS = (BufferSlot("in", 100, False, 0), BufferSlot("out", 100, True, 1))


def _judged(bare: np.ndarray, memory: PoisonedMemory, dispatches: int, *positions: int):
    layout = lay_out(SLOTS)
    before = fill(layout, [Dispatch(b"", (np.zeros(100, np.uint8),) * 2)] * dispatches)
    ranges = memory.place(before)
    for position in positions:
        bare[position] ^= 0xFF
    return layout, judge(layout, before, ranges.copy(), memory.around())


def test_a_write_far_before_all_buffers_is_reported_for_the_first_dispatch(bare, memory):
    layout, (first, second) = _judged(bare, memory, 2, 10)
    assert first.stray == (StrayWrite("in", "before", 10 - MARGIN - layout.offsets[0], 1),)
    assert second.stray == ()


def test_a_write_far_after_all_buffers_is_reported_for_the_last_dispatch(bare, memory):
    layout, (first, second) = _judged(bare, memory, 2, SIZE - 1)
    assert first.stray == ()
    assert second.stray == (StrayWrite("out", "after", SIZE - 1 - MARGIN - layout.pitch - layout.offsets[1], 1),)


def test_writes_near_and_far_are_one_record(bare, memory):
    layout, (outcome,) = _judged(bare, memory, 1, MARGIN, 10)
    assert outcome.stray == (StrayWrite("in", "before", 10 - MARGIN - layout.offsets[0], 2),)


def test_writes_of_a_kernel_without_buffers_are_reported(bare, memory):
    layout = lay_out(())
    before = fill(layout, [Dispatch(b"", ())])
    ranges = memory.place(before)
    bare[[10, MARGIN + 3]] ^= 0xFF
    (outcome,) = judge(layout, before, ranges.copy(), memory.around())
    assert {(stray.where, stray.offset) for stray in outcome.stray} == {("before", 10 - MARGIN), ("after", 3)}


@pytest.mark.parametrize("place", [0, MARGIN, MARGIN + 255, MARGIN + 256, SIZE - 1])
def test_memory_that_is_written_after_its_results_were_kept_is_not_left_alone(bare, memory, place):
    memory.place(np.zeros((1, 256), np.uint8))
    memory.keep()
    assert memory.is_left_alone()
    bare[place] ^= 1
    assert not memory.is_left_alone()
    assert memory.late() == (MARGIN <= place < MARGIN + 256)


def test_the_next_ranges_are_no_late_writes(memory):
    memory.place(np.zeros((1, 256), np.uint8))
    memory.keep()
    memory.place(np.ones((1, 512), np.uint8))
    assert memory.is_left_alone()
