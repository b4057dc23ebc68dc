"""The parts of a sparse buffer that get memory."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from cts.devices.vulkan.large import resident_ranges
from generators.windows import windows_around

PAGE = 1 << 16
SPAN = 1 << 33


@given(st.lists(st.tuples(st.integers(0, SPAN - 4096), st.integers(1, 4096)), min_size=1, max_size=8))
def test_every_window_has_memory_in_whole_pages_that_do_not_meet(runs) -> None:
    windows = windows_around(SPAN, runs)
    ranges = resident_ranges(windows, PAGE, SPAN)
    assert all(first % PAGE == 0 and count % PAGE == 0 for first, count in ranges)
    assert all(first + count < following for (first, count), (following, _) in pairwise(ranges))
    assert all(any(first <= part.first and part.end <= first + count for first, count in ranges) for part in windows.parts)
