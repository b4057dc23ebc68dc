"""Instructions that access memory, and the memory of the GPU."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np
import pytest

from cts.devices.executed.caches import Begun, Cache
from cts.devices.executed.encoding.decoder import Instruction
from cts.devices.executed.instructions.table import prepare
from cts.devices.executed.memory import BadAddress, Memory
from cts.devices.executed.wave import NULL, Counter, Wave
from tests.devices.executed.states import wave_of

BASE = 0xFFFF800100300000
DESCRIPTOR = 8
SIZE = 4096


def with_buffer(lanes: int = 32, records: int = 256) -> tuple[Wave, np.ndarray]:
    """Return a wave with the descriptor of a buffer in s[8:11], and the buffer's bytes, which are their own numbers."""
    wave = wave_of(lanes, lds=1024)
    data = np.arange(SIZE, dtype=np.uint8)
    wave.group.memory.map(BASE, SIZE, data.ctypes.data)
    wave.scalars[DESCRIPTOR : DESCRIPTOR + 3] = [BASE & 0xFFFFFFFF, BASE >> 32 & 0xFFFF, records]
    wave.set_pair(2, BASE)
    wave.vectors[1] = np.arange(lanes) * 16
    return wave, data


def run(wave: Wave, mnemonic: str, generation: str = "gfx12", **fields: int) -> None:
    """Execute a memory instruction with v1 as address or offset and v4 as data or destination."""
    gfx12 = generation == "gfx12"
    usual = {
        "buffer": {
            "rsrc": DESCRIPTOR if gfx12 else DESCRIPTOR // 4,
            "soffset": NULL if gfx12 else 128,
            "vdata": 4,
            "offen": 1,
            "th": 0,
            "glc": 0,
        },
        "global": {"saddr": 2, "vdst": 4, "data": 4, "th": 0, "glc": 0},
        "ds": {"addr": 1, "data0": 4, "data1": 6, "vdst": 4, "offset0": 0, "offset1": 0},
        "s": {"sbase": 4, "sdata": 20, "soffset": NULL},
    }[mnemonic.split("_", maxsplit=1)[0]]
    values = {"vaddr": 1, "offset": 0, "tfe": 0, "idxen": 0, **usual, **fields}
    step = prepare(Instruction("", mnemonic, MappingProxyType(values), None, None, 1), generation)
    assert step is not None
    step(wave)
    wave.wait_for_all()


def bytes_at(place: int, count: int = 4) -> int:
    """Return bytes of the buffer as a number."""
    return int.from_bytes(bytes((place + number) % 256 for number in range(count)), "little")


@pytest.mark.parametrize("generation", ["gfx11", "gfx12"])
@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("b32", [bytes_at(19)]),
        ("b64", [bytes_at(19), bytes_at(23)]),
        ("b96", [bytes_at(19), bytes_at(23), bytes_at(27)]),
        ("b128", [bytes_at(19), bytes_at(23), bytes_at(27), bytes_at(31)]),
        ("u8", [19]),
        ("u16", [bytes_at(19, 2)]),
        ("d16_u8", [0xAAAA0013]),
        ("d16_hi_u8", [0x0013AAAA]),
        ("d16_b16", [0xAAAA0000 | bytes_at(19, 2)]),
        ("d16_hi_b16", [bytes_at(19, 2) << 16 | 0xAAAA]),
    ],
)
@pytest.mark.parametrize("segment", ["buffer", "global"])
def test_a_load_of_each_shape(generation, segment, shape, expected):
    wave, _ = with_buffer()
    wave.vectors[4] = 0xAAAAAAAA
    run(wave, f"{segment}_load_{shape}", generation, offset=3)
    assert wave.vectors[4 : 4 + len(expected), 1].tolist() == expected


def test_a_signed_load_extends_the_sign():
    wave, data = with_buffer()
    data[16] = 0x80
    run(wave, "buffer_load_i8")
    assert wave.vectors[4, 1] == 0xFFFFFF80
    run(wave, "global_load_d16_i8")
    assert wave.vectors[4, 1] == 0xFFFFFF80


@pytest.mark.parametrize(
    ("shape", "written"),
    [
        ("b8", [0xDD]),
        ("b16", [0xDD, 0xCC]),
        ("b32", [0xDD, 0xCC, 0xBB, 0xAA]),
        ("b64", [0xDD, 0xCC, 0xBB, 0xAA, 1, 0, 0, 0]),
        ("b128", [0xDD, 0xCC, 0xBB, 0xAA, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]),
        ("d16_hi_b8", [0xBB]),
        ("d16_hi_b16", [0xBB, 0xAA]),
    ],
)
@pytest.mark.parametrize("segment", ["buffer", "global"])
def test_a_store_of_each_shape(segment, shape, written):
    wave, data = with_buffer()
    wave.vectors[4:8] = np.array([[0xAABBCCDD], [1], [2], [3]])
    wave.exec = 0b10
    run(wave, f"{segment}_store_{shape}", offset=3)
    expected = np.arange(SIZE, dtype=np.uint8)
    expected[19 : 19 + len(written)] = written
    assert data.tolist() == expected.tolist()


def test_a_descriptor_bounds_each_word():
    wave, data = with_buffer(records=40)
    run(wave, "buffer_load_b128")
    assert wave.vectors[4:8, 2].tolist() == [bytes_at(32), bytes_at(36), 0, 0]
    assert not wave.vectors[4:8, 3:].any()
    wave.vectors[4:8] = 0
    run(wave, "buffer_store_b128")
    assert not data[:40].any()
    assert data[40] == 40


def test_a_word_that_begins_inside_and_ends_outside_is_outside():
    wave, _ = with_buffer(records=18)
    run(wave, "buffer_load_b32")
    assert wave.vectors[4, :2].tolist() == [bytes_at(0), 0]


def test_an_offset_of_a_buffer_wraps_at_32_bits():
    wave, _ = with_buffer()
    wave.vectors[1] = 0xFFFFFFF0
    run(wave, "buffer_load_b32", offset=20)
    assert wave.vectors[4, 0] == bytes_at(4)


def test_inactive_lanes_load_and_store_nothing():
    wave, data = with_buffer()
    wave.exec = 1
    wave.vectors[4] = 7
    run(wave, "global_load_b32")
    assert wave.vectors[4, :2].tolist() == [bytes_at(0), 7]
    run(wave, "global_store_b32")
    assert data[16] == 16


def test_lanes_may_access_several_buffers():
    wave, _ = with_buffer()
    other = np.full(SIZE, 9, np.uint8)
    wave.group.memory.map(BASE + SIZE, SIZE, other.ctypes.data)
    wave.vectors[1, :2] = [SIZE - 4, SIZE]
    run(wave, "global_load_b32")
    assert wave.vectors[4, :2].tolist() == [bytes_at(252), 0x09090909]


def test_an_address_without_a_buffer_is_an_error():
    wave, _ = with_buffer()
    wave.vectors[1] = SIZE
    with pytest.raises(BadAddress):
        run(wave, "global_load_b32")


def test_an_address_in_each_lane():
    wave, _ = with_buffer()
    wave.vectors[1], wave.vectors[2] = (BASE & 0xFFFFFFFF) + 8, BASE >> 32
    run(wave, "global_load_b32", saddr=NULL, offset=0xFFFFFC)
    assert wave.vectors[4, 0] == bytes_at(4)


@pytest.mark.parametrize(
    ("mnemonic", "fields", "expected"),
    [
        ("s_load_b64", {"sbase": 1, "offset": 8}, [bytes_at(8), bytes_at(12)]),
        ("s_load_b32", {"sbase": 1, "offset": 0xFFFFFC, "soffset": 30}, [bytes_at(12)]),
        ("s_buffer_load_b128", {"offset": 5}, [bytes_at(4), bytes_at(8), bytes_at(12), bytes_at(16)]),
        ("s_buffer_load_b32", {"offset": 252}, [bytes_at(252)]),
        ("s_buffer_load_b64", {"offset": 252}, [bytes_at(252), 0]),
        ("s_buffer_load_u8", {"offset": 5}, [5]),
        ("s_buffer_load_u16", {"offset": 6}, [bytes_at(6, 2)]),
        ("s_buffer_load_b96", {"offset": 0}, [bytes_at(0), bytes_at(4), bytes_at(8)]),
        ("s_buffer_load_b256", {"offset": 0}, [bytes_at(4 * number) for number in range(8)]),
        ("s_load_b512", {"sbase": 1}, [bytes_at(4 * number) for number in range(16)]),
        ("s_load_b128", {"sbase": 1}, [bytes_at(4 * number) for number in range(4)]),
        ("s_load_b256", {"sbase": 1}, [bytes_at(4 * number) for number in range(8)]),
    ],
)
def test_a_scalar_load(mnemonic, fields, expected):
    wave, _ = with_buffer()
    wave.scalars[30] = 16
    run(wave, mnemonic, **fields)
    assert wave.scalars[20 : 21 + len(expected)] == [*expected, 0]


def test_an_atomic_adds_for_one_lane_after_another():
    wave, data = with_buffer()
    data[:4] = 0
    wave.vectors[1], wave.vectors[4] = 0, np.arange(1, 33)
    wave.exec = 0b111
    run(wave, "buffer_atomic_add_u32", th=1)
    assert int(data[0]) == 6
    assert wave.vectors[4, :4].tolist() == [0, 1, 3, 4]


def test_an_atomic_that_returns_nothing_keeps_its_data():
    wave, data = with_buffer()
    wave.exec = 1
    wave.vectors[4] = 5
    run(wave, "buffer_atomic_add_u32")
    assert (int(data[0]), int(wave.vectors[4, 0])) == (5, 5)


@pytest.mark.parametrize(
    ("shape", "words", "expected"),
    [
        ("b32", [0x11223344], [0x11223344]),
        ("b64", [1, 2], [1, 2]),
        ("b128", [1, 2, 3, 4], [1, 2, 3, 4]),
    ],
)
def test_the_data_share_returns_what_was_stored(shape, words, expected):
    wave, _ = with_buffer()
    wave.vectors[4 : 4 + len(words)] = np.array(words)[:, np.newaxis]
    run(wave, f"ds_store_{shape}", offset0=4, offset1=1)
    assert wave.group.lds[260:264].view(np.uint32)[0] == words[0]
    run(wave, f"ds_load_{shape}", offset0=4, offset1=1, vdst=10)
    assert wave.vectors[10 : 10 + len(words), 3].tolist() == expected


@pytest.mark.parametrize(
    ("store", "load", "expected"),
    [
        ("b8", "u8_d16", 0xFFFF00DD),
        ("b8_d16_hi", "u8_d16_hi", 0x00BBFFFF),
        ("b16", "u16_d16", 0xFFFFCCDD),
        ("b16_d16_hi", "u16_d16_hi", 0xAABBFFFF),
    ],
)
def test_halves_of_registers_in_the_data_share(store, load, expected):
    wave, _ = with_buffer()
    wave.vectors[4], wave.vectors[10] = 0xAABBCCDD, 0xFFFFFFFF
    run(wave, f"ds_store_{store}")
    run(wave, f"ds_load_{load}", vdst=10)
    assert wave.vectors[10, 1] == expected


@pytest.mark.parametrize(("stride", "unit"), [("", 1), ("_stride64", 64)])
def test_two_addresses_have_units_of_the_element_or_of_64(stride, unit):
    wave, _ = with_buffer()
    wave.vectors[4:8] = np.array([[1], [2], [3], [4]])
    wave.exec = 1
    run(wave, f"ds_store_2addr{stride}_b64", offset0=0, offset1=1)
    assert wave.group.lds.view(np.uint32)[[0, 1, 2 * unit, 2 * unit + 1]].tolist() == [1, 2, 3, 4]
    run(wave, f"ds_store_2addr{stride}_b32", offset0=2, offset1=3)
    assert wave.group.lds.view(np.uint32)[[2 * unit, 3 * unit]].tolist() == [1, 3]
    run(wave, f"ds_load_2addr{stride}_b32", offset0=3, offset1=2, vdst=10)
    assert wave.vectors[10:12, 0].tolist() == [3, 1]


def test_an_address_of_the_data_share_wraps_and_has_bounds():
    wave, _ = with_buffer()
    wave.group.lds[:] = 1
    wave.vectors[1, :3] = [0xFFFFFFFC, 1020, 1024]
    run(wave, "ds_load_b32", offset0=4)
    assert wave.vectors[4, :3].tolist() == [0x01010101, 0, 0]


def test_a_transposed_load_of_16_bits_exchanges_rows_and_columns_of_8():
    # Lane 8 g + r loads row r of tile g, eight elements; it gets column r.
    wave, data = with_buffer(records=SIZE)
    data[:512].view(np.uint16)[:] = np.arange(256)
    wave.vectors[1] = np.arange(32) * 16
    run(wave, "global_load_tr_b128")
    loaded = np.ascontiguousarray(wave.vectors[4:8].T).view(np.uint16)
    assert loaded[9].tolist() == [64 + 8 * row + 1 for row in range(8)]


def test_64_lanes_share_what_32_transpose():
    wave, data = with_buffer(lanes=64)
    data[:512].view(np.uint16)[:] = np.arange(256)
    run(wave, "global_load_tr_b128")
    loaded = np.ascontiguousarray(wave.vectors[4:6].T).view(np.uint16)
    assert loaded[9].tolist() == [64 + 8 * row + 1 for row in range(4)]
    assert loaded[41].tolist() == [64 + 8 * row + 1 for row in range(4, 8)]


def test_a_transposed_load_of_8_bits_exchanges_8_rows_and_16_columns():
    # Lanes 0-3 and 8-11 load the left halves of rows 0-7 of the first tile, lanes 4-7 and 12-15 the right halves.
    wave, _ = with_buffer()
    lane = np.arange(32)
    row = lane % 4 + lane // 8 % 2 * 4 + lane // 16 * 8
    wave.vectors[1] = 16 * row + 8 * (lane // 4 % 2)
    run(wave, "global_load_tr_b64")
    loaded = np.ascontiguousarray(wave.vectors[4:6].T).view(np.uint8)
    assert loaded[11].tolist() == [16 * k + 11 for k in range(8)]
    assert loaded[16].tolist() == [128 + 16 * k for k in range(8)]


def test_a_buffer_replaces_the_one_at_its_address_and_goes_with_it():
    memory, first, second = Memory(), np.full(16, 1, np.uint8), np.full(16, 2, np.uint8)
    memory.map(0x1000, 16, first.ctypes.data)
    memory.map(0x1000, 16, second.ctypes.data)
    assert memory.words(0x1004, 1).tolist() == [0x02020202]
    memory.unmap(0x1000)
    with pytest.raises(BadAddress):
        memory.at(0x1000)


WAITS = [
    ("gfx12", "global_load_b32", "s_wait_loadcnt", 0),
    ("gfx12", "ds_load_b32", "s_wait_dscnt", 0),
    ("gfx12", "global_load_b32", "s_wait_loadcnt_dscnt", 0x003F),
    ("gfx12", "ds_load_b32", "s_wait_loadcnt_dscnt", 0x3F00),
    ("gfx11", "global_load_b32", "s_waitcnt", 0x03F7),
    ("gfx11", "ds_load_b32", "s_waitcnt", 0xFC07),
]


def begin(wave: Wave, mnemonic: str, generation: str, register: int) -> None:
    """Execute a load of v1's place without waiting for it."""
    values = {"addr": 1, "vaddr": 1, "saddr": 2, "offset": 0, "offset0": 0, "offset1": 0, "vdst": register, "data0": 0, "data1": 0}
    step = prepare(Instruction("", mnemonic, MappingProxyType(values), None, None, 1), generation)
    assert step is not None
    step(wave)


@pytest.mark.parametrize(("generation", "mnemonic", "wait", "immediate"), WAITS)
def test_a_load_is_there_when_the_wave_has_waited_for_it(generation, mnemonic, wait, immediate):
    wave, _ = with_buffer()
    wave.group.lds[:] = 1
    begin(wave, mnemonic, generation, 10)
    assert not wave.vectors[10].any()
    step = prepare(Instruction("", wait, MappingProxyType({"simm16": immediate}), None, None, 1), generation)
    assert step is not None
    step(wave)
    assert wave.vectors[10, 1]


def test_a_wait_may_leave_the_last_accesses():
    wave, _ = with_buffer()
    for register in (10, 11):
        begin(wave, "global_load_b32", "gfx12", register)
    wave.wait(Counter.LOAD, 1)
    assert wave.vectors[10].any()
    assert not wave.vectors[11].any()


def test_only_a_wait_for_all_is_one_for_a_scalar_load():
    wave, _ = with_buffer()
    wave.later(Counter.SHARE, lambda: wave.scalars.__setitem__(20, 1), scalar=True)
    wave.later(Counter.SHARE, lambda: wave.scalars.__setitem__(21, 1))
    wave.wait(Counter.SHARE, 1)
    assert wave.scalars[20:22] == [0, 1]


def test_a_wave_sees_its_own_stores_without_waiting():
    wave, data = with_buffer()
    wave.cache = Cache(Begun(), lambda: False)
    wave.vectors[4] = 5
    values = {"vaddr": 1, "saddr": 2, "offset": 0, "data": 4, "vdst": 0}
    step = prepare(Instruction("", "global_store_b32", MappingProxyType(values), None, None, 1), "gfx12")
    assert step is not None
    step(wave)
    assert data[16] == 16
    begin(wave, "global_load_b32", "gfx12", 10)
    wave.wait(Counter.LOAD)
    assert wave.vectors[10, 1] == 5
    assert data[16] == 16
    wave.wait(Counter.STORE)
    assert data[16] == 5


def test_a_load_writes_the_lanes_that_were_active_when_it_was_executed():
    wave, _ = with_buffer()
    wave.exec = 0b10
    begin(wave, "global_load_b32", "gfx12", 10)
    wave.exec = 0b01
    wave.wait(Counter.LOAD)
    assert wave.vectors[10, :2].tolist() == [0, bytes_at(16)]
