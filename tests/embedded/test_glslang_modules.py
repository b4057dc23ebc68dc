"""Modules that glslang 16.6 compiled from the shaders in glslang/NAME.comp, as spirv-dis prints them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from generators.kernel import BufferSlot, Dispatch, Kernel, Specialization
from generators.types import COMPONENT_TYPES
from tests.embedded.glslang_modules import NO_CONSTANT, kernel, module, run
from tests.undefined import undefined

RNG = np.random.default_rng(11)


@pytest.mark.parametrize("mapping", ["interleaved", "columns", "blocked", "scattered"])
def test_muladd_with_specialized_sizes_and_a_loop_over_components(mapping) -> None:
    m, n, k = 16, 8, 32
    a, b = RNG.integers(-9, 9, (m, k)).astype(np.float16), RNG.integers(-9, 9, (k, n)).astype(np.float16)
    c = RNG.integers(-9, 9, (m, n)).astype(np.float32)
    contents = [a, np.ascontiguousarray(b.T), c, np.zeros((m, n), np.float32)]
    u32 = COMPONENT_TYPES["u32"]
    sizes = tuple(Specialization(i, u32, value) for i, value in enumerate((m, n, k)))
    got = run(kernel("muladd", contents, {3}, specialization=sizes), contents, mapping=mapping)["buffer3"].view(np.float32).reshape(m, n)
    assert got.tolist() == (a.astype(np.float64) @ b.astype(np.float64) + c).tolist()


def test_muladd_of_mixed_signs_that_saturates() -> None:
    a, b = RNG.integers(-128, 128, (16, 32), np.int8), RNG.integers(0, 256, (32, 16), np.uint8)
    c = RNG.integers(-(2**31), 2**31, (16, 16)).astype(np.int32)
    c[0], c[1] = 2**31 - 1, -(2**31)
    contents = [a, b, c, np.zeros((16, 16), np.int32)]
    got = run(kernel("muladd_int_sat", contents, {3}), contents)["buffer3"].view(np.int32).reshape(16, 16)
    want = np.clip(a.astype(np.int64) @ b.astype(np.int64) + c, -(2**31), 2**31 - 1)
    assert got.tolist() == want.tolist()


def test_arithmetic_conversions_and_workgroup_memory_of_vectors() -> None:
    m = RNG.integers(-8, 8, (16, 16)).astype(np.float32)
    contents = [m, np.zeros((16, 16), np.float16), np.zeros((16, 16), np.int32)]
    got = run(kernel("arith_convert", contents, {0, 1, 2}), contents)
    want = ((-m.T + 2) * 2 - m.T / 2) * 3
    assert got["buffer1"].view(np.float16).reshape(16, 16).tolist() == want.astype(np.float16).tolist()
    assert got["buffer2"].view(np.int32).reshape(16, 16).tolist() == np.trunc(want).astype(np.int32).tolist()


def test_bfloat16_and_both_float8_types() -> None:
    a = RNG.integers(-4, 4, (16, 16)).astype(ml_dtypes.bfloat16)
    raw = RNG.integers(-4, 4, (16, 16)).astype(ml_dtypes.float8_e5m2)
    contents = [a, raw, np.zeros((16, 16), np.float32)]
    got = run(kernel("bf16", contents, {2}), contents)["buffer2"].view(np.float32).reshape(16, 16)
    e4, e5 = (raw.view(dtype).astype(np.float64) for dtype in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2))
    first = a.astype(np.float64) @ a.astype(np.float64)
    assert got.tolist() == (first + e4 @ e5).astype(np.float32).tolist()


def test_matrices_of_the_whole_workgroup() -> None:
    a, b = RNG.integers(-9, 9, (64, 32)).astype(np.float16), RNG.integers(-9, 9, (32, 64)).astype(np.float16)
    contents = [a, b, np.zeros((64, 64), np.float32)]
    built = kernel("workgroup_scope", contents, {2}, local_size_constant_id=0, subgroups=4)
    got = run(built, contents)["buffer2"].view(np.float32).reshape(64, 64)
    assert got.tolist() == (a.astype(np.float64) @ b.astype(np.float64)).tolist()


ENTRIES = [(0, 3, 10), (1, 5, 20), (2, 7, 40), (9, 1, 80), (4, 2, 160)]


def scalar_work(lane: int, lanes: int, factor: int) -> tuple[int, int]:
    """Return (value handed over, sum of the loop) of the shader scalar_work."""
    total = 0
    for key, _, y in ENTRIES:
        if key > lane:
            break
        if key % 2:
            continue
        total += y
    x = lane
    match x % 4:
        case 0:
            x = 100
        case 1:
            x = (x + 5) * 2
        case 2:
            x *= 2
        case _:
            x = 7
    scratch = [lane, total, x, 0]
    old = scratch[lane & 3]
    scratch[lane & 3] += factor
    local = 0
    for value in scratch:
        local = (local * 31 + value) % 2**32
    return local ^ (old << 3) % 2**32, total


def test_functions_switches_structures_and_dynamic_indices() -> None:
    entries = np.array([(key, 0, x, y) for key, x, y in ENTRIES], np.uint32)
    lanes = 8
    contents = [entries, np.zeros(1 + lanes, np.uint32)]
    built = kernel("scalar_work", contents, {1}, local_size_constant_id=0, subgroups=2, push_constant_bytes=8)
    got = run(built, contents, push=(3).to_bytes(4, "little") + (17).to_bytes(4, "little"), subgroup_size=4)["buffer1"].view(np.uint32)
    handed = [scalar_work(lanes - 1 - lane, lanes, 17)[0] for lane in range(lanes)]
    sums = [sum(h & 0xFF for h in handed[first : first + 4]) for first in (0, 4)]
    assert got[0] == lanes
    assert got[1:].tolist() == [(handed[lane] + (sums[lane // 4] << 16)) % 2**32 for lane in range(lanes)]


def shared_stage(steps: int, given: np.ndarray) -> np.ndarray:
    slots = (BufferSlot("given", given.size, False, None, 0), BufferSlot("result", 2048, True, 0))
    built = Kernel(module("shared_stage"), slots, subgroups=2, push_constant_bytes=16)
    push = bytes(8) + steps.to_bytes(4, "little") + bytes(4)
    return run(built, [given, np.zeros(512, np.int32)], push)["result"].view(np.int32).reshape(2, 16, 16)


def test_an_accumulator_in_a_loop_over_staged_tiles_read_by_address() -> None:
    given = RNG.integers(-128, 128, 3 * 256, np.int8)
    tiles = given.reshape(3, 16, 16).astype(np.int64)
    want = sum(tile @ tile.T for tile in tiles)
    got = shared_stage(3, given)
    assert got[0].tolist() == want.tolist()
    assert got[1].tolist() == (2 * want).tolist()


def test_a_loop_that_runs_no_time() -> None:
    assert not shared_stage(0, np.zeros(256, np.int8)).any()


def test_a_loop_that_reads_beyond_what_it_was_given() -> None:
    with undefined("KHR-MEM-02"):
        shared_stage(2, np.zeros(300, np.int8))


@pytest.mark.parametrize("mapping", ["interleaved", "scattered"])
@pytest.mark.parametrize(("name", "dtype"), [("reduce", np.float32), ("reduce_int", np.int32)])
def test_the_greatest_of_rows_columns_neighbours_and_all(name, dtype, mapping) -> None:
    m = RNG.permutation(np.arange(-512, 512)).astype(dtype).reshape(32, 32)
    contents = [m, np.zeros(1536, dtype)]
    got = run(kernel(name, contents, {1}), contents, mapping=mapping)["buffer1"].view(dtype)
    assert got[:512].reshape(32, 16).tolist() == np.repeat(m.max(axis=1)[:, None], 16, axis=1).tolist()
    assert got[512:1024].reshape(16, 32).tolist() == np.repeat(m.max(axis=0)[None], 16, axis=0).tolist()
    assert got[1024:1280].tolist() == [511] * 256
    assert got[1280:].reshape(16, 16).tolist() == m.reshape(16, 2, 16, 2).max(axis=(1, 3)).tolist()


def test_functions_of_each_element_with_a_matrix_and_a_structure() -> None:
    m, n = RNG.integers(-99, 99, (2, 16, 16)).astype(np.float32)
    contents = [np.stack([m, n]), np.zeros((16, 16), np.float32)]
    got = run(kernel("per_element", contents, {1}), contents)["buffer1"].view(np.float32).reshape(16, 16)
    rows, columns = np.indices((16, 16))
    assert got.tolist() == ((m + rows * 100 + columns) * 2 + n).tolist()


def stepped(x: int, count: int) -> int:
    for i in range(0, count, 2):
        x = (x * 3 + i) % 2**32
        if x % 7 == 3:
            break
    return x


@pytest.mark.parametrize("mapping", ["interleaved", "scattered"])
def test_a_function_of_each_element_branches_loops_and_reads_memory_of_every_kind(mapping) -> None:
    given = RNG.integers(0, 2**32, (16, 16), np.uint32)
    slots = (BufferSlot("given", 1024, False, None, 0), BufferSlot("result", 2048, True, 0))
    built = Kernel(module("per_element_memory"), slots, local_size_constant_id=NO_CONSTANT, push_constant_bytes=12)
    device = EmbeddedDevice(load_profile("universal"), mapping)
    push = bytes(8) + (1009).to_bytes(4, "little")
    dispatch = Dispatch(push, (given.view(np.uint8).ravel(), np.zeros(2048, np.uint8)), (2, 1, 1))
    got = device.run(built, [dispatch])[0].outputs["result"].view(np.uint32).reshape(2, 16, 16)
    for workgroup in range(2):
        for (r, c), e in np.ndenumerate(given.astype(object)):
            others = {0: (2, 3, 5, 7)[c & 3] * 1009, 1: int(given[c, r]) ^ 41}.get(e & 3, e * 1009 + workgroup)
            want = stepped(e, c) + 7 * r + 1 if r > c else others
            assert got[workgroup, r, c] == want % 2**32, (workgroup, r, c)


def test_uses_change_with_and_without_the_type_and_with_a_transposition() -> None:
    m = RNG.integers(-999, 999, (16, 32)).astype(np.float32)
    contents = [m, np.zeros(1536, np.float16)]
    got = run(kernel("transpose_convert", contents, {1}), contents)["buffer1"].view(np.float16).reshape(3, 512)
    assert got[0].tolist() == got[1].tolist() == m.ravel().tolist()
    assert got[2].reshape(32, 16).tolist() == m.T.tolist()


def test_blocks_of_a_buffer_are_decoded() -> None:
    blocks = np.zeros(256, np.dtype([("scale", np.float16), ("q", np.int8, 32)]))
    blocks["scale"] = RNG.integers(1, 9, 256)
    blocks["q"] = RNG.integers(-99, 99, (256, 32))
    contents = [blocks.view(np.uint8), np.zeros((16, 32), np.float16)]
    got = run(kernel("decode_func", contents, {1}), contents)["buffer1"].view(np.float16).reshape(16, 32)
    # Rows 16 to 31, and the second of the four blocks in each row.
    chosen = blocks.reshape(64, 4)[16:32, 1]
    assert got.tolist() == (chosen["q"] * chosen["scale"][:, None].astype(np.float64)).tolist()


def test_blocks_at_an_address_are_decoded_through_a_view_with_clips_and_clamps() -> None:
    blocks = np.zeros((10, 4), np.dtype([("scale", np.float16), ("q", np.uint8, 8)]))
    blocks["scale"] = RNG.integers(1, 9, (10, 4))
    blocks["q"] = RNG.integers(0, 256, (10, 4, 8))
    given = blocks.view(np.uint8).ravel()
    slots = (BufferSlot("given", given.size, False, None, 0), BufferSlot("result", 512, True, 0))
    built = Kernel(module("decode_address"), slots, local_size_constant_id=NO_CONSTANT, push_constant_bytes=8)
    got = run(built, [given, np.zeros(256, np.float16)], bytes(8))["result"].view(np.float16).reshape(16, 16)
    want = np.full((16, 16), 1.0)
    want[15] = -1.0
    for r in range(12):
        for c in range(14):
            # The view swaps row and column; the slice begins at (6, 18).
            y, x = c + 6, r + 18
            block = blocks[y // 2, x // 8]
            k = y % 2 * 8 + x % 8
            want[r, c] = (block["q"][k // 2] >> 4 * (k % 2) & 15) * block["scale"] + x // 8
    assert got.tolist() == want.tolist()


@pytest.mark.parametrize("choices", range(4))
def test_two_and_four_neighbours_may_be_decoded_at_once(choices) -> None:
    blocks = np.zeros(256, np.dtype([("scale", np.float16), ("q", np.int8, 32)]))
    blocks["scale"] = RNG.integers(1, 9, 256)
    blocks["q"] = RNG.integers(-99, 99, (256, 32))
    contents = [blocks.view(np.uint8), np.zeros((2, 16, 32), np.float16)]
    got = run(kernel("decode_vector", contents, {1}), contents, choices=choices)["buffer1"].view(np.float16).reshape(2, 16, 32)
    scaled = blocks["q"] * blocks["scale"][:, None].astype(np.float64)
    rows = scaled.reshape(64, 4, 32)[16:32, 1]
    assert got[0].tolist() == rows.tolist()
    # The view runs down the columns of the slice, one after another.
    assert got[1].tolist() == rows.T.reshape(16, 32).tolist()


@pytest.mark.parametrize("choices", range(4))
def test_eight_bits_may_be_decoded_at_once(choices) -> None:
    given = RNG.integers(0, 2**32, (64, 4), np.uint32)
    contents = [given, np.zeros((16, 32), np.float16)]
    got = run(kernel("decode_vector8", contents, {1}), contents, choices=choices)["buffer1"].view(np.float16).reshape(16, 32)
    assert got.tolist() == (given[16:32, 1, None] >> np.arange(32) & 1).tolist()
