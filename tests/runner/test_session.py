from __future__ import annotations

from threading import Event

import pytest

from cts.devices.device import DeviceError, DeviceUnavailable
from cts.devices.holder import LONGEST_PAUSE, DeviceHolder, Retries
from cts.devices.identity import DeviceChanged, Difference

from .conftest import Scripted


def holder(*refusals: str, retries: Retries) -> tuple[DeviceHolder, list[float]]:
    left, waited = list(refusals), []

    def open_device() -> Scripted:
        if left:
            raise DeviceError(left.pop(0))
        return Scripted(lambda dispatches: [])

    return DeviceHolder(open_device, retries, waited.append), waited


def test_a_device_that_opens_at_a_later_attempt_is_taken_after_growing_pauses():
    held, waited = holder("busy", "busy", retries=Retries(attempts=4, pause=0.5))
    assert held.device.description.name == "Scripted"
    assert waited == [0.5, 1.0]


def test_a_device_that_has_changed_is_not_opened_again():
    def opens_another() -> Scripted:
        raise DeviceChanged((Difference("driver", "1", "2"),))

    held = DeviceHolder(opens_another, Retries(attempts=3), sleep=lambda seconds: pytest.fail("it must not wait"))
    with pytest.raises(DeviceChanged):
        _ = held.device


def test_a_device_that_never_opens_is_unavailable_and_says_how_often_that_was_tried():
    held, _ = holder("busy", "busy", "gone", retries=Retries(attempts=3))
    with pytest.raises(DeviceUnavailable) as raised:
        _ = held.device
    assert raised.value.attempts == 3
    assert str(raised.value).startswith("gone")


def test_the_number_of_attempts_to_open_comes_before_the_last_words_of_the_process():
    held, _ = holder("busy", "died\nwords\nmore words", retries=Retries(attempts=2))
    with pytest.raises(DeviceUnavailable) as raised:
        _ = held.device
    assert raised.value.attempts == 2
    first, *last_words = str(raised.value).splitlines()
    assert first.startswith("died")
    assert last_words == ["words", "more words"]
    assert "2" in first


def test_the_first_attempt_waits_for_nothing():
    assert Retries(attempts=3, pause=1.0).pauses() == [0.0, 1.0, 2.0]


def test_pauses_grow_up_to_a_bound():
    pauses = Retries(attempts=100, pause=1.0).pauses()
    assert max(pauses) == LONGEST_PAUSE
    assert Retries(attempts=3, pause=1e6).pauses() == [0.0, 1e6, 1e6]


class Slow:
    """Opens a device only when the test lets it."""

    def __init__(self, refusal: str = "") -> None:
        self.let, self.opened, self.refusal = Event(), 0, refusal

    def __call__(self) -> Scripted:
        assert self.let.wait(60)
        self.opened += 1
        if self.refusal:
            raise DeviceError(self.refusal)
        return Scripted(lambda dispatches: [])


def test_a_device_that_was_begun_opens_while_its_process_does_something_else():
    slow = Slow()
    held = DeviceHolder(slow)
    held.begin()
    assert slow.opened == 0
    slow.let.set()
    assert held.device is held.device
    assert slow.opened == 1


def test_who_asks_for_a_device_that_was_begun_gets_the_errors_of_its_opening():
    slow = Slow("gone")
    slow.let.set()
    held = DeviceHolder(slow, Retries(attempts=1))
    held.begin()
    with pytest.raises(DeviceUnavailable) as raised:
        _ = held.device
    assert (str(raised.value), raised.value.attempts) == ("gone", 1)
    slow.refusal = ""
    assert held.device.description.name == "Scripted"


@pytest.mark.parametrize("refusal", ["", "gone"])
def test_a_device_that_was_begun_and_that_nobody_asked_for_is_closed(refusal: str):
    slow = Slow(refusal)
    held = DeviceHolder(slow, Retries(attempts=1))
    held.begin()
    slow.let.set()
    held.close()
    assert slow.opened == 1
    assert held.findings == []


def test_a_device_that_was_begun_beside_another_is_the_next_one():
    slow = Slow()
    slow.let.set()
    held = DeviceHolder(slow)
    first = held.device
    held.begin()
    assert held.device is first
    held.discard()
    assert held.device is not first
    assert slow.opened == 2
