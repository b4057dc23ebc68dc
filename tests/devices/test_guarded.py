from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cts.devices.vulkan.guarded import ALIGNMENT, GUARD, Round, fill, judge, judged_rounds, lay_out
from generators.kernel import BufferSlot, Dispatch, StrayWrite

sizes = st.lists(st.tuples(st.integers(1, 3000), st.booleans()), min_size=1, max_size=5)


def _dispatch(slots, value: int) -> Dispatch:
    return Dispatch(b"", tuple(np.full(slot.bytes, value, np.uint8) for slot in slots))


def _slots(shapes) -> tuple[BufferSlot, ...]:
    return tuple(BufferSlot(f"b{i}", size, written, i) for i, (size, written) in enumerate(shapes))


@given(sizes)
def test_buffers_are_aligned_and_apart(shapes):
    layout = lay_out(_slots(shapes))
    end = 0
    for slot, offset in zip(layout.slots, layout.offsets, strict=True):
        assert offset % ALIGNMENT == 0
        assert offset - end >= GUARD
        end = offset + slot.bytes
    assert layout.pitch - end >= GUARD
    assert layout.pitch % ALIGNMENT == 0


@given(sizes, st.integers(1, 3))
def test_bytes_that_no_kernel_touched_come_back(shapes, count):
    slots = _slots(shapes)
    layout = lay_out(slots)
    before = fill(layout, [_dispatch(slots, index) for index in range(count)])
    for index, outcome in enumerate(judge(layout, before, before.copy())):
        assert outcome.stray == ()
        assert set(outcome.outputs) == {slot.name for slot in slots if slot.written}
        assert all((contents == index).all() for contents in outcome.outputs.values())


@given(sizes, st.data())
def test_every_changed_byte_outside_of_an_output_is_reported(shapes, data):
    slots = _slots(shapes)
    layout = lay_out(slots)
    before = fill(layout, [_dispatch(slots, 0), _dispatch(slots, 1)])
    after = before.copy()
    position = data.draw(st.integers(0, layout.pitch - 1))
    after[1, position] ^= 0x5A
    inside = [slot for slot, offset in zip(slots, layout.offsets, strict=True) if offset <= position < offset + slot.bytes]
    clean, touched = judge(layout, before, after)
    assert clean.stray == ()
    if inside and inside[0].written:
        assert touched.stray == ()
    elif inside:
        offset = position - layout.offsets[slots.index(inside[0])]
        assert touched.stray == (StrayWrite(inside[0].name, "read-only", offset, 1),)
    else:
        (stray,) = touched.stray
        slot = next(slot for slot in slots if slot.name == stray.buffer)
        assert layout.offsets[slots.index(slot)] + stray.offset == position
        assert stray.where == ("before" if stray.offset < 0 else "after")
        assert stray.offset < 0 or stray.offset >= slot.bytes


def test_a_run_of_stray_bytes_is_one_record():
    slots = (BufferSlot("in", 100, False, 0), BufferSlot("out", 100, True, 1))
    layout = lay_out(slots)
    before = fill(layout, [_dispatch(slots, 3)])
    after = before.copy()
    start = layout.offsets[1]
    after[0, start - 4 : start + 110] ^= 0xFF
    (outcome,) = judge(layout, before, after)
    assert outcome.stray == (StrayWrite("out", "before", -4, 4), StrayWrite("out", "after", 100, 10))
    assert (outcome.outputs["out"] == 0xFC).all()


def test_stray_zeros_and_ones_are_seen_in_every_guard_byte():
    slots = (BufferSlot("out", 700, True, 0),)
    layout = lay_out(slots)
    before = fill(layout, [_dispatch(slots, 0)])
    for value in (0x00, 0xFF):
        (outcome,) = judge(layout, before, np.full_like(before, value))
        assert sum(stray.count for stray in outcome.stray) == layout.pitch - 700


def test_a_later_round_with_another_result_is_reported_only_for_its_dispatch():
    slots = _slots([(8, True), (8, False)])
    layout = lay_out(slots)
    before = fill(layout, [_dispatch(slots, 0), _dispatch(slots, 1)])
    other = before.copy()
    other[1, layout.offsets[0]] ^= 1
    first, second = judged_rounds(layout, before, [Round(1, before.copy()), Round(3, other)])
    assert first.repeats == ()
    ((number, repeated),) = second.repeats
    assert number == 3
    assert (second.outputs["b0"][0], repeated.outputs["b0"][0]) == (1, 0)


def test_a_stray_byte_in_a_later_round_is_reported():
    slots = _slots([(8, True)])
    layout = lay_out(slots)
    before = fill(layout, [_dispatch(slots, 0)])
    other = before.copy()
    other[0, layout.offsets[0] + 8] ^= 1
    (outcome,) = judged_rounds(layout, before, [Round(1, before.copy()), Round(2, other)])
    assert (outcome.stray, [number for number, _ in outcome.repeats]) == ((), [2])
    assert outcome.repeats[0][1].stray == (StrayWrite("b0", "after", 8, 1),)
