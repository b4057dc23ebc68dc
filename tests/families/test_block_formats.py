"""The decode functions of the formats, compared with the formats' definitions for each element."""

import numpy as np
import pytest

from cts.reference.callbacks import BlockPointers, applied
from cts.reference.evaluate import empty_state
from generators.layouts.block_decoders import Decoder, decode_function
from generators.layouts.block_formats import FORMATS, set_scales
from generators.program.memory import Array, Pointee
from generators.program.pointers import BlockLoad, promised_alignment
from generators.program.values import BlockMember, BlockType, Value
from generators.types import COMPONENT_TYPES, StorageClass

F16, U8, F32 = (COMPONENT_TYPES[name] for name in ("f16", "u8", "f32"))


class Bytes:
    """Replaces the model's memory."""

    def __init__(self, data):
        self.data = data

    def load(self, offsets, component):
        return self.data[offsets[..., None] + np.arange(component.bytes)].view(component.bits_dtype)[..., 0]


def half(block, at):
    return float(block[at : at + 2].view(np.float16)[0])


def nibble(data, e):
    return int(data[e % 16]) >> 4 if e >= 16 else int(data[e]) & 15


def q4_0(b, e):
    return half(b, 0) * (nibble(b[2:], e) - 8)


def q4_1(b, e):
    return half(b, 0) * nibble(b[4:], e) + half(b, 2)


def q5_0(b, e):
    mask = int(b[2:6].view(np.uint32)[0]) if b[2:6].flags.aligned else int.from_bytes(b[2:6].tobytes(), "little")
    return half(b, 0) * ((nibble(b[6:], e) | (mask >> e & 1) << 4) - 16)


def q5_1(b, e):
    mask = int.from_bytes(b[4:8].tobytes(), "little")
    return half(b, 0) * (nibble(b[8:], e) | (mask >> e & 1) << 4) + half(b, 2)


def q8_0(b, e):
    return half(b, 0) * int(b[2 + e].view(np.int8))


def q2_k(b, e):
    """Decode the format with the loops that encoders use: halves of 128, four pairs of bits, two groups of 16 each."""
    numbers = {}
    group = at = 0
    for start in (0, 32):
        for shift in (0, 2, 4, 6):
            for first in (0, 16):
                both = int(b[group])
                group += 1
                for i in range(16):
                    code = int(b[16 + start + first + i]) >> shift & 3
                    numbers[at] = half(b, 80) * (both & 15) * code - half(b, 82) * (both >> 4)
                    at += 1
    return numbers[e]


def q4_k(b, e):
    group = e // 32
    packed = b[4:16].astype(int)
    if group < 4:
        step, least = packed[group] & 63, packed[group + 4] & 63
    else:
        step = (packed[group + 4] & 15) | (packed[group - 4] >> 6) << 4
        least = (packed[group + 4] >> 4) | (packed[group] >> 6) << 4
    byte = int(b[16 + e // 64 * 32 + e % 32])
    return half(b, 0) * int(step) * (byte >> 4 if e % 64 >= 32 else byte & 15) - half(b, 2) * int(least)


BY_HAND = {"q4_0": q4_0, "q4_1": q4_1, "q5_0": q5_0, "q5_1": q5_1, "q8_0": q8_0, "q2_k": q2_k, "q4_k": q4_k}


@pytest.mark.parametrize("calls", ["plain", "deep"])
@pytest.mark.parametrize("component", [F16, F32], ids=str)
@pytest.mark.parametrize("name", BY_HAND)
def test_every_element_of_a_block_is_what_the_format_says(name, component, calls):
    format_ = FORMATS[name]
    rng = np.random.default_rng(7)
    data = rng.integers(0, 256, 3 * format_.type.bytes, np.uint8)
    set_scales(data, format_, [0], 3, component, rng)
    function = decode_function(Decoder(format_, component, (1, format_.elements), calls=calls), "decode")
    block, e = np.divmod(np.arange(3 * format_.elements), format_.elements)
    zero = np.zeros_like(e)
    pointers = BlockPointers(Bytes(data), block * format_.type.bytes)
    coordinates = [[c.astype(np.uint32) for c in pair] for pair in ((zero, block), (zero, e))]
    got = applied(empty_state(), function, [pointers, *coordinates])
    blocks = data.reshape(3, -1)
    assert got.tolist() == [BY_HAND[name](blocks[b], i) for b, i in zip(block, e, strict=True)]


def test_blocks_of_several_dimensions_have_their_last_one_fastest():
    data = np.zeros(18, np.uint8)
    data[:2] = np.array([1.0], np.float16).view(np.uint8)
    data[2:] = np.arange(16)
    function = decode_function(Decoder(FORMATS["q4_0"], F16, (4, 8)), "decode")
    row, column = np.divmod(np.arange(16), 8)
    zero = np.zeros_like(row, dtype=np.uint32)
    within = [row.astype(np.uint32), column.astype(np.uint32)]
    got = applied(empty_state(), function, [BlockPointers(Bytes(data), np.zeros(16, np.int64)), [zero, zero], within])
    assert got.tolist() == [i - 8 for i in range(16)]


def test_sizes_are_multiples_of_alignments_and_members_are_aligned():
    """Otherwise the bytes after the last member would be unclear (F-CM2-6), and a read would promise too much (F-CM2-7)."""
    for format_ in FORMATS.values():
        assert format_.type.bytes % format_.type.alignment == 0
        for member in format_.type.members:
            assert member.offset % member.component.bytes == 0
            assert format_.type.alignment >= member.component.bytes


@pytest.mark.parametrize(("offset", "index", "promised"), [(0, False, 16), (16, False, 16), (4, False, 4), (0, True, 2), (6, True, 2)])
def test_a_read_promises_what_the_block_gives(offset, index, promised):
    block = BlockType("Block", (BlockMember(F16, offset, 13 if index else None), BlockMember(U8, 48, 16)), 16)
    place = Value("place", COMPONENT_TYPES["u32"]) if index else None
    assert promised_alignment(BlockLoad(Value("x", F16), Value("p", block), 0, place)) == promised


def test_wide_scales_use_all_bits_of_their_type():
    data = np.zeros(18 * 64, np.uint8)
    set_scales(data, FORMATS["q4_0"], [0], 64, F32, np.random.default_rng(1))
    scales = np.abs(data.reshape(64, 18)[:, :2].copy().view(np.float16)[:, 0].astype(np.float64))
    odd = scales * 2.0**8 % 2 == 1
    assert odd.any()
    assert (scales * 2.0**8 >= 1023).all()


def test_a_table_is_another_array():
    table = Array("table", Pointee(COMPONENT_TYPES["s8"]), 16, StorageClass.STORAGE_BUFFER, "input")
    function = decode_function(Decoder(FORMATS["iq4_nl"], F16, (1, 32), table=table), "decode")
    assert function.parameters[0].type.bytes == 18
