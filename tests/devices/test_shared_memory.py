from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cts.devices import child, messages, shared_memory
from cts.devices.device import Garbled
from cts.devices.isolation import IsolatedDevice
from cts.devices.messages import SMALLEST_BESIDE, Decoder, Message, NotAMessage, TooLong, encoded, frame, pieces
from cts.devices.shared_memory import NONE, SIZE, Shared, accept, share
from cts.devices.spec import DeviceSpec
from generators.kernel import Dispatch, Kernel, Outcome

ROOM = 1 << 15
Arrays = list[np.ndarray]


@pytest.fixture
def memory() -> np.ndarray:
    return np.full(ROOM, 0xAA, np.uint8)


def _random(*sizes: int) -> Arrays:
    return [np.random.default_rng(size).integers(0, 256, size, np.uint8) for size in sizes]


def _decoded(data: bytes, memory: np.ndarray) -> Message:
    decoder = Decoder(memory)
    decoder.feed(data)
    found = decoder.next()
    assert found is not None
    return found


def _read(message: Message) -> Arrays:
    found: Arrays = Decoder().read(message, Arrays)
    return found


@given(st.lists(st.integers(0, 3 * SMALLEST_BESIDE), max_size=12))
def test_arrays_of_any_sizes_arrive_in_their_order(sizes):
    memory = np.full(ROOM, 0xAA, np.uint8)
    sent = _random(*sizes)
    found = _read(_decoded(frame(1, ("answer", sent), memory), memory))
    assert [one.tolist() for one in found] == [one.tolist() for one in sent]


def test_only_small_arrays_and_those_without_room_are_in_the_message(memory):
    small, large = SMALLEST_BESIDE - 1, ROOM // 2 - 100
    data = frame(1, ("answer", _random(small, large, large, large)), memory)
    assert small + large < len(data) < small + large + 200


def test_what_arrives_can_be_changed_without_changing_the_memory(memory):
    (found,) = _read(_decoded(frame(1, ("answer", _random(ROOM)), memory), memory))
    before = memory.copy()
    found[:] = 0
    np.testing.assert_array_equal(memory, before)


def test_a_write_after_a_message_was_received_changes_nothing(memory):
    sent = _random(10_001, 9_000)
    message = _decoded(frame(1, ("answer", sent), memory), memory)
    memory[:] = 0xFF
    for one, found in zip(sent, _read(message), strict=True):
        np.testing.assert_array_equal(one, found)


@given(st.integers(0, 18_999), st.integers(1, 255))
def test_a_byte_that_changes_before_a_message_is_received_is_never_believed(position, change):
    memory = np.zeros(ROOM, np.uint8)
    data = frame(1, ("answer", _random(10_000, 9_000)), memory)
    memory[position] ^= change
    with pytest.raises(NotAMessage):
        _decoded(data, memory)


def test_an_earlier_message_in_the_memory_is_not_taken_for_the_next(memory):
    frame(1, ("answer", _random(10_000)), memory)
    stale = memory.copy()
    data = frame(2, ("answer", _random(10_001)), memory)
    memory[:] = stale
    with pytest.raises(NotAMessage):
        _decoded(data, memory)


def _stating(contents: object, beside: int, checksum: int = 0, after: int = 0) -> bytes:
    """Return a correct message with any contents, and any statement of what is beside it and after its contents."""
    payload = encoded(("answer", contents))
    fields = struct.pack("<4sIQIQQQ", frame(0, ("", None))[:4], 1, len(payload), zlib.crc32(payload), beside, checksum, after)
    return fields + struct.pack("<I", zlib.crc32(fields)) + payload


@pytest.mark.parametrize("beside", [ROOM + 1, ROOM + 8, 1 << 29, 1 << 63])
def test_a_region_that_leaves_the_memory_is_refused(beside, memory):
    with pytest.raises(NotAMessage):
        _decoded(_stating([], beside), memory)


@pytest.mark.parametrize("beside", [8, 1 << 20])
def test_without_memory_nothing_is_beside_a_message(beside):
    with pytest.raises(NotAMessage):
        _decoded(_stating([], beside), NONE)


@pytest.mark.parametrize("after", [1, 8, 1 << 20, 1 << 63])
def test_arrays_after_the_contents_that_are_not_there_are_refused(after):
    with pytest.raises(NotAMessage):
        _decoded(_stating([], 0, after=after), NONE)


def test_an_array_without_room_is_copied_by_neither_process(memory):
    sent = _random(ROOM + 1)
    head, array = pieces(1, ("answer", sent), memory)
    assert np.shares_memory(np.frombuffer(array, np.uint8), sent[0])
    message = _decoded(b"".join((head, array)), memory)
    (found,) = _read(message)
    assert np.shares_memory(found, message.after)
    found[0] ^= 1
    assert found.tolist() != sent[0].tolist()


@pytest.mark.parametrize(
    "lengths",
    [
        [-8, 8200],
        [8193],
        [16384],
        [8192, 8],
        [1 << 62],
        [2**64 - 8],
        [0, 8192],
        [True],
        [8192.0],
        [[0, 8192]],
        ["8192"],
        [None],
        [8184],
        [],
    ],
    ids=repr,
)
def test_lengths_that_are_not_exactly_those_of_the_arrays_are_refused(lengths, memory):
    memory[:] = 0
    message = _decoded(_stating(lengths, 8192), memory)
    with pytest.raises(NotAMessage):
        _read(message)


def test_the_arrays_of_a_message_never_overlap(memory):
    first, second = _read(_decoded(frame(1, ("answer", _random(9001, 9002)), memory), memory))
    assert not np.shares_memory(first, second)


def test_the_limit_counts_what_is_beside_a_message(memory, monkeypatch):
    data = frame(1, ("answer", _random(9000)), memory)
    monkeypatch.setattr(messages, "LONGEST", 9000)
    with pytest.raises(TooLong):
        frame(1, ("answer", _random(9000)), memory)
    with pytest.raises(NotAMessage):
        _decoded(data, memory)


@pytest.fixture
def shared() -> Iterator[Shared]:
    found = share()
    yield found
    for descriptor in found.descriptors:
        os.close(descriptor)


def _accepted(shared: Shared) -> tuple[np.ndarray, np.ndarray]:
    return accept([os.dup(descriptor) for descriptor in shared.descriptors])


def test_each_side_reads_what_the_other_one_writes(shared):
    requests, answers = _accepted(shared)
    shared.requests[:] = 1
    answers[:] = 2
    assert (requests == 1).all()
    assert (shared.answers == 2).all()


@pytest.mark.parametrize("size", [0, SIZE - 1, SIZE + 1, 2 * SIZE])
def test_a_seal_keeps_the_size_of_the_memory(size, shared):
    for descriptor in shared.descriptors:
        with pytest.raises(PermissionError):
            os.ftruncate(descriptor, size)


def test_a_descriptor_cannot_be_used_to_write_the_memory(shared):
    _accepted(shared)
    for descriptor in shared.descriptors:
        with pytest.raises(PermissionError):
            os.pwrite(descriptor, b"a driver's debugging output", 0)


def test_only_the_side_that_writes_can_write(shared):
    requests, _ = _accepted(shared)
    assert not requests.flags.writeable
    assert not shared.answers.flags.writeable


@pytest.mark.parametrize("missing", ["memfd_create", "posix_fallocate"])
def test_without_memory_there_are_no_descriptors(missing, monkeypatch):
    def refuse(*arguments: object) -> int:
        raise OSError

    monkeypatch.setattr(shared_memory.os, missing, refuse)
    before = len(os.listdir("/proc/self/fd"))
    assert share().descriptors == ()
    assert len(os.listdir("/proc/self/fd")) == before


def _device() -> IsolatedDevice:
    return IsolatedDevice(DeviceSpec("factory", "fake_devices:obedient"), 20.0)


def _run(device: IsolatedDevice, contents: Arrays, order: str = "work") -> list[Outcome]:
    return device.run(Kernel(b"", (), entry_point=order), [Dispatch(b"", (one,)) for one in contents])


@pytest.fixture
def device() -> Iterator[IsolatedDevice]:
    device = _device()
    yield device
    device.close()


def _assert_returned(outcomes: list[Outcome], contents: Arrays) -> None:
    for outcome, one in zip(outcomes, contents, strict=True):
        np.testing.assert_array_equal(outcome.outputs["in"], one)


@pytest.mark.parametrize("sizes", [(SIZE,), (SIZE + 1,), (3_000_000,) * 4, (0, 1, SMALLEST_BESIDE, 100_001)], ids=repr)
def test_requests_of_any_size_are_answered(sizes, device):
    contents = _random(*sizes)
    _assert_returned(_run(device, contents), contents)


def test_a_system_without_shared_memory_uses_the_socket_alone(monkeypatch):
    monkeypatch.setattr(child, "share", lambda: Shared(NONE, NONE, ()))
    device, contents = _device(), _random(1_000_000, 10)
    _assert_returned(_run(device, contents), contents)
    assert device.close() == ()


def test_outcomes_stay_as_they_are_when_the_next_ones_come(device):
    contents = _random(100_000)
    outcomes = _run(device, contents)
    _run(device, _random(200_000))
    _assert_returned(outcomes, contents)


def test_a_driver_that_changes_the_size_of_every_file_harms_nobody(device):
    contents = _random(100_000)
    before = _run(device, contents)
    after = _run(device, contents, "truncate_every_descriptor")
    _assert_returned(after, contents)
    assert after[0].outputs["out"].view(np.int64)[0] == before[0].outputs["out"].view(np.int64)[0], "the same process"


def test_an_answer_that_is_overwritten_on_its_way_is_garbled(device):
    contents = _random(100_000)
    with pytest.raises(Garbled):
        _run(device, contents, "overwrite_answer")
    _assert_returned(_run(device, contents), contents)


def test_a_failure_that_is_kept_does_not_keep_the_memory(device):
    before = _mappings()
    with pytest.raises(Garbled) as kept:
        _run(device, _random(100_000), "overwrite_answer")
    assert kept.value.__traceback__ is not None
    assert _mappings() == before


def _mappings() -> int:
    return Path("/proc/self/maps").read_text().count("cts arrays")
