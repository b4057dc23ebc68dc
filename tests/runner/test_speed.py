"""The speed that the summary prints is the one that the user saw."""

from __future__ import annotations

import re
from types import SimpleNamespace

from cts.engine.since_start import seconds_since_start, start_of
from cts.engine.summary import speed
from cts.engine.tally import Digest, Tally
from cts.verdict.verdict import CaseResult, Verdict

STAT = "17 (a) b (c) S " + " ".join(str(number) for number in range(4, 53))


def numbers(tally: Tally, seconds: float, waited: float | None) -> list[str]:
    return re.findall(r"\d[\d,.]*", speed(SimpleNamespace(tally=tally, seconds=seconds), waited))


def tally_of(*subcases: int) -> Tally:
    tally = Tally()
    for number, count in enumerate(subcases):
        tally.add(Digest.of(CaseResult(Verdict.PASS, id=f"f[{number}]", family="f", subcases=count)))
    return tally


def test_a_process_begins_at_field_22_after_a_name_of_any_characters():
    assert start_of(STAT, 10) == 2.2


def test_a_process_is_younger_than_its_system():
    seconds = seconds_since_start()
    assert seconds is None or seconds >= 0


def test_rates_are_those_of_the_time_that_the_user_waited():
    assert numbers(tally_of(3, 0, 5, 0), 1.0, 2.0) == ["4", "2.0", "2", "4", "1.0", "4"]


def test_without_that_time_the_rates_are_those_of_judging():
    assert numbers(tally_of(3, 0, 5, 0), 1.0, None) == ["4", "1.0", "4", "8"]


def test_a_run_without_dispatches_has_no_rate_of_them():
    assert numbers(tally_of(0, 0), 1.0, 2.0) == ["2", "2.0", "1", "1.0", "2"]
