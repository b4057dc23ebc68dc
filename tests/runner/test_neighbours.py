"""Wrong values of a process count only if no other process lost the device meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cts.devices.device import Finding
from cts.engine.judging import Event, claims_first
from cts.engine.neighbours import Claim, Clock, Neighbours, Stretch
from cts.engine.set_aside import SetAside
from cts.journal.run_record import finding_record

CLAIM = Claim(lines=(b"{}",))


class Run:
    """Processes that report stretches; it records the claims that are decided, by whether they count."""

    def __init__(self, *processes: str) -> None:
        self.time = 0.0
        self.neighbours = Neighbours(lambda: self.time)
        for process in processes:
            self.neighbours.begins(process)

    def reports(
        self, process: str, begin: float, end: float, lost: tuple[float, float] | None = None, claims: bool = False, machine: str = "here"
    ) -> list[bool]:
        self.neighbours.reports(Stretch(process, machine, begin, end, (lost,) if lost else ()), CLAIM if claims else None)
        return self.decided()

    def ends(self, process: str, died: bool = False) -> list[bool]:
        self.neighbours.ends(process, died)
        return self.decided()

    def decided(self) -> list[bool]:
        return [counts for _, counts in self.neighbours.decided()]


def test_a_claim_waits_until_every_other_process_has_reported_on_the_same_time():
    run = Run("a", "b", "c")
    assert run.reports("a", 1, 2, claims=True) == []
    assert run.reports("b", 0, 3) == []
    assert run.reports("c", 0, 1.5) == []
    assert run.reports("c", 1.5, 2) == [True]


def test_a_claim_does_not_count_if_another_process_lost_the_device_meanwhile():
    run = Run("a", "b")
    run.reports("a", 1, 2, claims=True)
    assert run.reports("b", 0, 3, lost=(1.5, 2.5)) == [False]


@pytest.mark.parametrize("lost", [(0.1, 0.9), (2.1, 2.9)])
def test_a_loss_before_or_after_a_claim_does_not_matter(lost: tuple[float, float]):
    run = Run("a", "b")
    run.reports("a", 1, 2, claims=True)
    assert run.reports("b", 0, 3, lost=lost) == [True]


def test_its_own_losses_do_not_excuse_a_process():
    run = Run("a", "b")
    run.reports("a", 0, 1, lost=(0, 1), claims=True)
    assert run.reports("b", 0, 2) == [True]


def test_a_process_that_has_ended_is_not_waited_for():
    run = Run("a", "b")
    run.reports("a", 1, 2, claims=True)
    assert run.ends("b") == [True]


def test_a_process_that_died_lost_the_device_after_its_last_report():
    run = Run("a", "b")
    run.reports("b", 0, 1)
    run.reports("a", 1.5, 2, claims=True)
    run.time = 3.0
    assert run.ends("b", died=True) == [False]
    assert run.reports("a", 3.5, 4, claims=True) == [True]


def test_a_process_that_died_before_its_first_report_lost_the_device_since_it_began():
    run = Run("a", "b")
    run.reports("a", 0.5, 1, claims=True)
    run.time = 2.0
    assert run.ends("b", died=True) == [False]


def test_a_loss_on_another_machine_does_not_matter():
    run = Run("a", "b")
    run.reports("b", 0, 1, machine="there")
    assert run.reports("a", 1, 2, claims=True) == [True]
    run.reports("b", 1, 3, lost=(1, 3), machine="there")
    assert run.reports("a", 2, 3, claims=True) == [True]


def test_the_only_process_decides_at_once():
    assert Run("a").reports("a", 0, 1, claims=True) == [True]


def test_stretches_leave_no_time_out_and_have_each_loss_once():
    times = iter([1.0, 1.5, 2.0, 5.0])
    clock = Clock("a", lambda: next(times))
    clock.lost(1.2)
    first, second = clock.stretch(), clock.stretch()
    assert [(one.begin, one.end, one.losses) for one in (first, second)] == [(1.0, 2.0, ((1.2, 1.5),)), (2.0, 5.0, ())]


def test_the_report_on_the_time_in_which_a_control_failed_claims_that():
    finding, aside = Finding(None, "a control failed"), SetAside("a[b:c]", 1, first=None)
    doubtful: list[Finding] = []

    def events() -> Iterator[Event]:
        doubtful.append(finding)
        yield aside
        doubtful.append(finding)

    claim = Claim(findings=(finding_record(finding),))
    assert list(claims_first(events(), doubtful)) == [claim, aside, claim]
