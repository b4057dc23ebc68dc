"""Windows of large buffers: where the buffer's bytes are among the held bytes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from generators.errors import Rule
from generators.windows import ALIGNMENT, Window, Windows, windows_around
from tests.broken_rules import breaks

SPAN = 1 << 34
RUNS = st.lists(st.tuples(st.integers(0, SPAN - 4096), st.integers(1, 4096)), min_size=1, max_size=12)


@given(RUNS)
def test_every_byte_of_a_run_is_held(runs) -> None:
    windows = windows_around(SPAN, runs)
    places = np.concatenate([np.arange(first, first + count) for first, count in runs])
    assert (windows.held(places) >= 0).all()


@given(RUNS)
def test_what_is_held_are_the_bytes_of_the_windows_in_their_order(runs) -> None:
    windows = windows_around(SPAN, runs)
    assert (windows.held(windows.places()) == np.arange(windows.bytes)).all()


@given(RUNS)
def test_nothing_around_a_window_is_held(runs) -> None:
    windows = windows_around(SPAN, runs)
    around = np.array([place for part in windows.parts for place in (part.first - 1, part.end)])
    assert (windows.held(around) == -1).all()


@given(RUNS)
def test_bytes_before_and_after_a_run_are_held(runs) -> None:
    windows = windows_around(SPAN, runs)
    first, count = runs[0]
    around = np.array([max(first - ALIGNMENT, 0), min(first + count + ALIGNMENT, SPAN) - 1])
    assert (windows.held(around) >= 0).all()


def test_windows_that_overlap_are_refused() -> None:
    with breaks(Rule.WINDOWS):
        Windows(1024, (Window(0, 128), Window(64, 128)))


def test_a_window_outside_of_the_buffer_is_refused() -> None:
    with breaks(Rule.WINDOWS):
        Windows(1024, (Window(960, 128),))


def test_a_run_outside_of_the_buffer_is_refused() -> None:
    with breaks(Rule.OUT_OF_BOUNDS):
        windows_around(1024, [(1000, 64)])
