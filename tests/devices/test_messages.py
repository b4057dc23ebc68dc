from __future__ import annotations

import re
import struct
import zlib
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cts.devices import messages
from cts.devices.device import DeviceLost, DriverRefused, MatrixRow, NoVulkan, OutOfMemory, Step, UndefinedBehaviour
from cts.devices.failures import rebuilt, reported
from cts.devices.layout_conversion import ConversionCall, ConversionInfo, Region
from cts.devices.messages import Decoder, NotAMessage, TooLong, Unsendable, frame
from cts.devices.requests import NEWS, REQUESTS
from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from generators.errors import GeneratorError, Rule
from generators.images import ImageSlot, format_named
from generators.kernel import BufferSlot, Dispatch, Kernel, OpaqueSlot, Outcome, Specialization, StrayWrite
from generators.layout_conversion import MatrixForm
from generators.passes import Passes
from generators.stages import Draw
from generators.types import COMPONENT_TYPES, VectorMatrixLayout
from generators.windows import Window, Windows

ROOT = Path(__file__).parents[2]

integers = st.integers(-(2**63), 2**64 - 1)
contents = st.recursive(st.none() | integers | st.text() | st.binary(), st.lists)
numbers = st.integers(0, 2**32 - 1)


def _plain(message):
    return message.number, (message.kind, Decoder().read(message, Any))


def _decoded(data: bytes) -> list[tuple[int, object]]:
    decoder = Decoder()
    decoder.feed(data)
    found = []
    while (one := decoder.next()) is not None:
        found.append(_plain(one))
    return found


@given(st.lists(st.tuples(numbers, st.tuples(st.text(max_size=9), st.binary(max_size=40))), max_size=3), st.integers(1, 9))
def test_messages_arrive_in_whatever_pieces_they_come(sent, size):
    data = b"".join(frame(number, message) for number, message in sent)
    decoder, found = Decoder(), []
    for start in range(0, len(data), size):
        decoder.feed(data[start : start + size])
        while (one := decoder.next()) is not None:
            found.append(_plain(one))
    assert found == sent


@given(numbers, contents, st.data())
def test_a_changed_byte_is_never_believed(number, message, data):
    good = bytearray(frame(number, ("answer", message)))
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
    assert frame(0, ("begin", None)).startswith(data[:4])


def _stated(length: int) -> bytes:
    fields = struct.pack("<4sIQIQQQ", frame(0, ("begin", None))[:4], 1, length, 0, 0, 0, 0)
    return fields + struct.pack("<I", zlib.crc32(fields))


def test_a_length_beyond_the_bound_is_refused_before_memory_is_taken():
    with pytest.raises(NotAMessage, match="9,223,372,036,854,775,808 bytes"):
        _decoded(_stated(1 << 63))


def test_a_stated_length_takes_no_memory_before_the_contents_come():
    decoder = Decoder()
    decoder.feed(_stated(messages.LONGEST))
    assert decoder.next() is None
    assert len(decoder._bytes) < 100


def _framed(payload: bytes) -> bytes:
    fields = struct.pack("<4sIQIQQQ", frame(0, ("begin", None))[:4], 1, len(payload), zlib.crc32(payload), 0, 0, 0)
    return fields + struct.pack("<I", zlib.crc32(fields)) + payload


@pytest.mark.parametrize(
    "payload", [b"\x80\x05a pickle", b"", b"\x92\xa6answer", b"\xdd\xff\xff\xff\xff", b"\x92\xa6answer" + b"\x91" * 100_000], ids=repr
)
def test_bytes_that_are_not_a_kind_and_contents_are_not_a_message(payload):
    with pytest.raises(NotAMessage, match="cannot be read"):
        _decoded(_framed(payload))


def _received(kind: str, value: object, type_):
    arriving = Decoder()
    arriving.feed(frame(1, (kind, value)))
    return arriving.read(arriving.next(), type_)


KERNEL = Kernel(
    b"\3\2#\7",
    (
        BufferSlot("a", 8, True, 0, addresses=((8, "b"),), image=ImageSlot(format_named("rgba16f"), (1, 1, 1))),
        BufferSlot("b", 64, False, windows=Windows(4096, (Window(64, 64),))),
        BufferSlot("c", 64, False, opaque=OpaqueSlot(COMPONENT_TYPES["e4m3"], 8, 8, VectorMatrixLayout.TRAINING_OPTIMAL, 1)),
    ),
    specialization=(Specialization(3, COMPONENT_TYPES["bf16"], 2**64 - 1),),
    draw=Draw("fragment", 4, 2),
    shader_object="in_turn",
    others=(Kernel(b"", (), spare_descriptors=2),),
    preceding="raygen",
    conversion_stage=True,
    passes=Passes(4, "buffers"),
)


def test_a_kernel_arrives_as_it_was_sent():
    KERNEL.buffers[1].windows.places()
    kernel, (dispatch,) = _received(
        "run", (KERNEL, (Dispatch(b"\1", (np.arange(8, dtype=np.uint8)[::2],), (1, 2, 3), 1, 5),)), REQUESTS["run"].arguments
    )
    assert kernel == KERNEL
    assert (dispatch.push_constants, dispatch.workgroups, dispatch.pipeline, dispatch.passes) == (b"\1", (1, 2, 3), 1, 5)
    np.testing.assert_array_equal(dispatch.contents[0], [0, 2, 4, 6])


def test_a_conversion_that_arrives_is_one_that_a_device_accepts():
    f16 = MatrixForm(COMPONENT_TYPES["f16"], VectorMatrixLayout.ROW_MAJOR, 64)
    source = Region(np.zeros(256, np.uint8), 0, 256)
    sent = ConversionCall("host", (ConversionInfo(4, 4, f16, f16, source),))
    (call,) = _received("convert", (sent,), REQUESTS["convert"].arguments)
    device = EmbeddedDevice(load_profile("universal"))
    assert device.convert(call)[0].size == device.convert(sent)[0].size


def test_outcomes_arrive_as_arrays_that_can_be_changed():
    repeat = Outcome({"a": np.full(3, 7, np.uint8)})
    sent = [Outcome({"a": np.zeros(3, np.uint8)}, (StrayWrite("a", "after", 3, 1),), ((2, repeat),))]
    told = {"main": {"Instructions": 7}}
    (outcome,), *others = _received("answer", (sent, {"dispatch": 0.5}, told), REQUESTS["run"].answer)
    assert others == [{"dispatch": 0.5}, told]
    assert outcome.stray == sent[0].stray
    ((round_, found),) = outcome.repeats
    assert (round_, found.outputs["a"].tolist()) == (2, [7, 7, 7])
    outcome.outputs["a"][0] = 1


def test_a_description_arrives_as_it_was_sent(describe):
    sent = replace(
        describe(MatrixRow(8, 4, 16, "f16", "f16", "f32", "f32", False, 3)),
        extra=MappingProxyType({"index": 1, "extensions": ["VK_A"]}),
        limits=MappingProxyType({"one": 2**64 - 1}),
    )
    assert _received("answer", sent, REQUESTS["open"].answer) == sent


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("count_vulkan", "1"),
        ("count_vulkan", None),
        ("run", []),
        ("run", [[{"outputs": {"a": [1, 2]}}], {}]),
        ("run", [[{"outputs": {"a": "text"}}], {}]),
        ("run", [[{"outputs": {}, "stray": [{"buffer": "a", "where": "nowhere", "offset": 0, "count": 1}]}], {}]),
        ("open", {"name": "a device"}),
        ("convert", {}),
        ("close", 0),
    ],
)
def test_an_answer_of_another_type_is_not_a_message(name, answer):
    with pytest.raises(NotAMessage, match="cannot be read"):
        _received("answer", answer, REQUESTS[name].answer)


@pytest.mark.parametrize("value", [np.zeros(2, np.float32), np.zeros((2, 2), np.uint8), object(), "a path \udc80", 2**64])
def test_what_is_not_data_is_not_sent(value):
    with pytest.raises(Unsendable):
        frame(1, ("answer", value))


def test_nothing_in_the_package_reads_pickles_from_another_process():
    """A process that a driver has taken over would run code in the reader."""
    sources = (path for folder in ("cts", "generators", "reports") for path in (ROOT / folder).rglob("*.py"))
    assert [path.name for path in sources if re.search(r"\b(pickle|marshal|shelve)\b", path.read_text("utf-8"))] == []


def test_the_words_of_a_failure_may_quote_a_path_that_is_not_unicode():
    assert str(_crossed(DriverRefused("no \udc80"))) == r"no \udc80"


def _crossed(error: Exception) -> Exception:
    return rebuilt(_received("failure", reported(error), NEWS["failure"]))


def test_a_message_that_would_be_refused_is_not_sent(monkeypatch):
    monkeypatch.setattr(messages, "LONGEST", 1000)
    with pytest.raises(TooLong):
        frame(1, ("run", np.zeros(1000, np.uint8)))


@pytest.mark.parametrize(
    "error", [DriverRefused("no", step=Step.DISPATCH, spent=True), DriverRefused("no"), DeviceLost("gone"), OutOfMemory("full")]
)
def test_a_failure_crosses_with_step_and_whether_the_device_is_spent(error):
    there = _crossed(error)
    assert type(there) is type(error)
    assert (str(there), there.step, there.spent) == (str(error), error.step, error.spent)


def test_a_failed_call_crosses_with_its_command_and_result():
    there = _crossed(DriverRefused("no", call="vkCall", result=-13))
    assert isinstance(there, DriverRefused)
    assert (there.call, there.result) == ("vkCall", -13)


def test_an_error_of_a_generator_crosses_with_its_rule():
    there = _crossed(GeneratorError(Rule.MODULE, "no local size"))
    assert isinstance(there, GeneratorError)
    assert (str(there), there.rule) == ("no local size", Rule.MODULE)


def test_undefined_behaviour_crosses_with_the_rule_that_was_broken():
    there = _crossed(UndefinedBehaviour("OpStore: a race", "KHR-MEM-01", step=Step.DISPATCH))
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
