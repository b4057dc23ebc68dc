from __future__ import annotations

import pickle
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cts.devices import messages
from cts.devices.device import DeviceLost, DriverRefused, NoVulkan, OutOfMemory, Step, UndefinedBehaviour
from cts.devices.failures import rebuilt, reported
from cts.devices.messages import Decoder, NotAMessage, TooLong, frame
from generators.errors import GeneratorError, Rule

contents = st.recursive(st.none() | st.integers() | st.text() | st.binary(), lambda inner: st.lists(inner) | st.tuples(inner, inner))
numbers = st.integers(0, 2**32 - 1)


def _decoded(data: bytes) -> list[tuple[int, object]]:
    decoder = Decoder()
    decoder.feed(data)
    found = []
    while (one := decoder.next()) is not None:
        found.append(one)
    return found


@given(st.lists(st.tuples(numbers, st.binary(max_size=40)), max_size=3), st.integers(1, 9))
def test_messages_arrive_in_whatever_pieces_they_come(sent, size):
    data = b"".join(frame(number, message) for number, message in sent)
    decoder, found = Decoder(), []
    for start in range(0, len(data), size):
        decoder.feed(data[start : start + size])
        while (one := decoder.next()) is not None:
            found.append(one)
    assert found == sent


@given(numbers, contents, st.data())
def test_a_changed_byte_is_never_believed(number, message, data):
    good = bytearray(frame(number, message))
    position = data.draw(st.integers(0, len(good) - 1))
    good[position] ^= data.draw(st.integers(1, 255))
    with pytest.raises(NotAMessage):
        _decoded(bytes(good))


@given(st.binary(min_size=1))
def test_bytes_that_are_not_a_message_are_reported_at_once(data):
    try:
        assert _decoded(data) == []
    except NotAMessage:
        return
    assert frame(0, None).startswith(data[:4])


def _stated(length: int) -> bytes:
    fields = struct.pack("<4sIQI", frame(0, None)[:4], 1, length, 0)
    return fields + struct.pack("<I", zlib.crc32(fields))


def test_a_length_beyond_the_bound_is_refused_before_memory_is_taken():
    with pytest.raises(NotAMessage, match="9,223,372,036,854,775,808 bytes"):
        _decoded(_stated(1 << 63))


def test_a_stated_length_takes_no_memory_before_the_contents_come():
    decoder = Decoder()
    decoder.feed(_stated(messages.LONGEST))
    assert decoder.next() is None
    assert len(decoder._bytes) < 100


def test_bytes_that_cannot_be_unpickled_are_not_a_message():
    payload = b"\x80\x05this is not a pickle"
    fields = struct.pack("<4sIQI", frame(0, None)[:4], 1, len(payload), zlib.crc32(payload))
    with pytest.raises(NotAMessage, match="cannot be read"):
        _decoded(fields + struct.pack("<I", zlib.crc32(fields)) + payload)


def test_a_message_that_would_be_refused_is_not_sent(monkeypatch):
    monkeypatch.setattr(messages, "LONGEST", 1000)
    with pytest.raises(TooLong):
        frame(1, np.zeros(1000, np.uint8))


@pytest.mark.parametrize(
    "error", [DriverRefused("no", step=Step.DISPATCH, spent=True), DriverRefused("no"), DeviceLost("gone"), OutOfMemory("full")]
)
def test_a_failure_crosses_with_step_and_whether_the_device_is_spent(error):
    report = pickle.loads(pickle.dumps(reported(error)))
    there = rebuilt(report)
    assert type(there) is type(error)
    assert (str(there), there.step, there.spent) == (str(error), error.step, error.spent)


def test_a_failed_call_crosses_with_its_command_and_result():
    there = rebuilt(pickle.loads(pickle.dumps(reported(DriverRefused("no", call="vkCall", result=-13)))))
    assert isinstance(there, DriverRefused)
    assert (there.call, there.result) == ("vkCall", -13)


def test_an_error_of_a_generator_crosses_with_its_rule():
    there = rebuilt(pickle.loads(pickle.dumps(reported(GeneratorError(Rule.MODULE, "no local size")))))
    assert isinstance(there, GeneratorError)
    assert (str(there), there.rule) == ("no local size", Rule.MODULE)


def test_undefined_behaviour_crosses_with_the_rule_that_was_broken():
    there = rebuilt(pickle.loads(pickle.dumps(reported(UndefinedBehaviour("OpStore: a race", "KHR-MEM-01", step=Step.DISPATCH)))))
    assert isinstance(there, UndefinedBehaviour)
    assert (str(there), there.rule, there.step) == ("OpStore: a race", "KHR-MEM-01", Step.DISPATCH)


def test_a_failure_of_an_unknown_class_crosses_as_its_base():
    class Newer(NoVulkan):
        pass

    assert type(rebuilt(reported(Newer("none")))) is NoVulkan


def test_an_unforeseen_error_spends_the_device():
    failure = rebuilt(reported(ZeroDivisionError("oh")))
    assert failure.spent
    assert str(failure).startswith("ZeroDivisionError: oh")


@pytest.mark.parametrize(
    "report",
    [
        None,
        ("DeviceLost", "text"),
        ("DeviceLost", "text", "nonsense", True, {"call": "vkCall", "result": -4}),
        ("DeviceLost", "text", None, True, {}),
        ("DeviceLost", "text", None, True, {"call": "vkCall", "result": "-4"}),
        ("UndefinedBehaviour", "text", None, True, {"rule": 1}),
        ("DeviceTimeout", "text", None, True, {"call": "vkCall"}),
        (1, 2, 3, 4, 5),
        b"DeviceLost",
    ],
)
def test_text_without_a_failure_is_not_a_message(report):
    with pytest.raises(NotAMessage):
        rebuilt(report)
