"""Numbers as text."""

from __future__ import annotations

import pytest

from reports import formats


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.000_02, "20 µs"), (0.0042, "4.2 ms"), (0.25, "250 ms"), (12.34, "12.3 s"), (75, "1 min 15 s"), (3725, "1 h 02 min")],
)
def test_durations_have_the_unit_that_suits_them(seconds, text):
    assert formats.duration(seconds) == text


@pytest.mark.parametrize(("seconds", "text"), [(0.9996, "1.0 s"), (59.97, "1 min 00 s"), (3599.7, "1 h 00 min")])
def test_durations_that_round_up_to_the_next_unit_have_it(seconds, text):
    assert formats.duration(seconds) == text


@pytest.mark.parametrize(("share", "text"), [(0, "0.0 %"), (1e-6, "< 0.1 %"), (0.5, "50.0 %"), (0.99999, "> 99.9 %"), (1, "100.0 %")])
def test_a_share_that_is_not_all_or_nothing_never_reads_so(share, text):
    assert formats.percent(share) == text


def test_counts_agree_with_their_noun():
    assert [formats.count(number, "case") for number in (0, 1, 2, 12345)] == ["0 cases", "1 case", "2 cases", "12,345 cases"]
