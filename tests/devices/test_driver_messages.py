"""Messages of a driver are bounded and safe to print."""

from __future__ import annotations

from cts.devices.driver_messages import LONGEST, MOST, DriverMessages


def test_the_first_messages_of_a_step_are_kept_and_repetitions_count_once() -> None:
    heard = DriverMessages()
    added = [heard.add(f"message {number // 2}") for number in range(10 * MOST)]
    assert heard.texts == tuple(f"message {number}" for number in range(MOST))
    assert added[:3] == ["message 0", "", "message 1"]


def test_a_message_is_cut_and_keeps_its_lines() -> None:
    heard = DriverMessages()
    heard.add("SPIR-V parsing FAILED:\n    Invalid type\x1b[0m\n" + "x" * LONGEST)
    (text,) = heard.texts
    assert text.startswith("SPIR-V parsing FAILED:\n    Invalid type\\x1b[0m\nxx")
    assert len(text) <= LONGEST + 3


def test_the_messages_of_an_earlier_step_are_forgotten() -> None:
    heard = DriverMessages()
    heard.add("earlier")
    heard.clear()
    assert heard.add("earlier") == "earlier"
    assert heard.texts == ("earlier",)


def test_a_message_without_text_is_none() -> None:
    heard = DriverMessages()
    assert heard.add(" \n") == ""
    assert heard.texts == ()
