"""Readers count the loads and multiply-adds in a driver's listing, and say where they do not know."""

from __future__ import annotations

import pytest

from cts.twins.machine_code import Code, Line, summarised
from cts.twins.readers import anv, nvk, radv, read
from tests.twins.listing import listing


@pytest.mark.parametrize(
    ("name", "subgroup_size", "text", "code"),
    [
        # 12 and 16 loads of 4 bytes by 64 lanes, and the descriptors of both buffers.
        ("Assembly", 64, "radv_gfx1201_private", Code(lane_bytes=12 * 4 * 64, uniform_bytes=32)),
        ("Assembly", 64, "radv_gfx1201_function", Code(lane_bytes=16 * 4 * 64, uniform_bytes=32)),
        ("Assembly", 64, "radv_gfx1201_loop", Code(1536, uniform_bytes=56, multiply_adds=1, loops=1, loads_in_loops=4)),
        # 16 loads of 8 bytes by 32 lanes.
        ("NAK assembly", 32, "nvk_ampere", Code(lane_bytes=16 * 8 * 32)),
        # 12 loads of 4 bytes, 8 of them in the loop.
        ("NAK assembly", 32, "nvk_ampere_loop", Code(lane_bytes=12 * 4 * 32, multiply_adds=2, loops=1, loads_in_loops=8)),
        # 8 loads of 2 bytes and 2 of 12.
        ("GEN Assembly", 32, "anv_bmg_loop", Code(lane_bytes=(8 * 2 + 2 * 12) * 32, multiply_adds=1, loops=1, loads_in_loops=6)),
    ],
)
def test_a_listing_is_counted(name: str, subgroup_size: int, text: str, code: Code):
    found = read({"compute": {"ACO IR": "", name: listing(text)}}, subgroup_size)

    assert found is not None
    assert found.code == code


def test_a_load_in_a_loop_leaves_the_bytes_unknown():
    assert Code(lane_bytes=64, loops=1, loads_in_loops=1).most_bytes is None


def test_a_load_outside_of_all_loops_is_made_once():
    body = [Line("L0"), Line(jumps=("L0",)), Line(lane_bytes=64), Line("L1")]

    assert summarised(body).most_bytes == 64


def test_a_jump_back_covers_all_that_it_leads_over():
    inner_exit = [Line("L0"), Line(jumps=("L1",)), Line(lane_bytes=64), Line(jumps=("L0",)), Line("L1")]

    assert summarised(inner_exit).loads_in_loops == 1


def test_a_jump_to_no_label_leaves_the_bytes_unknown():
    assert summarised([Line(jumps=("L7",)), Line(lane_bytes=64)]).most_bytes is None


@pytest.mark.parametrize(
    "instruction",
    [
        "buffer_atomic_add_u32 v1, v0, s[0:3], 0 offen",
        "buffer_load_format_xyzw v[1:4], v0, s[0:3], 0 offen",
        "global_load_lds_b32 v[0:1], off",
        "image_load v[0:3], v[0:1], s[0:7]",
        "s_buffer_atomic_add s0, s[0:3], 0x0",
        "s_swappc_b64 s[0:1], s[2:3]",
        "s_setpc_b64 s[2:3]",
    ],
)
def test_radv_instructions_that_may_load_or_jump_anywhere_are_unknown(instruction: str):
    code = summarised(radv.read(f"BB0:\n\t{instruction} ; 00000000\n\ts_endpgm\n", 64))

    assert code.unknown
    assert code.most_bytes is None


@pytest.mark.parametrize(
    ("instruction", "byte_count"),
    [
        ("buffer_load_b128 v[8:11], v2, s[4:7], null offen", 16 * 64),
        ("buffer_load_d16_hi_b16 v8, v7, s[8:11], 0 offen offset:48", 2 * 64),
        ("buffer_load_u8 v8.l, v7, s[8:11], 0 offen", 1 * 64),
        # It names 16 bytes, and fills two registers of each of 64 lanes.
        ("global_load_tr_b128 v[6:7], v2, s[4:5]", 8 * 64),
        ("buffer_store_b32 v1, v0, s[4:7], 0 offen", 0),
        ("ds_load_b32 v1, v0", 0),
        ("s_buffer_load_b96 s[8:10], s[8:11], 0x0", 12),
    ],
)
def test_radv_instructions_have_their_bytes(instruction: str, byte_count: int):
    assert summarised(radv.read(f"BB0:\n\t{instruction} ; 00000000\n", 64)).most_bytes == byte_count


def test_an_instruction_that_radv_repeats_counts_each_time():
    text = "BB0:\n\tbuffer_load_b32 v1, v0, s[0:3], 0 offen ; 0\n\t(then repeated 2 times)\n"

    assert summarised(radv.read(text, 64)).most_bytes == 3 * 4 * 64


@pytest.mark.parametrize(
    "instruction", [" r0 = atom.add.global.b32 [r1] r2", " r0 = ld.generic.b32 [r1]", "       call L9", " r0..4 = tex r1"]
)
def test_nvk_instructions_that_may_load_or_jump_anywhere_are_unknown(instruction: str):
    assert summarised(nvk.read(f"block.u 0 L0 [] -> {{\n{instruction} // delay=1\n}} -> []\n", 32)).unknown


@pytest.mark.parametrize(
    ("message", "byte_count"),
    [("load.ugm.d32x3.a32.bti[1]", 12 * 16), ("load.ugm.d32x16t.a32.bti[1]", 64), ("store.ugm.d32.a32.bti[1]", 0)],
)
def test_anv_messages_have_their_bytes(message: str, byte_count: int):
    text = f"        send.ugm (16|M16)         r65     r63    null:0  0x00000000  0x64200500   {{$6}}  // wr:2+0, rd:2; {message}\n"

    assert summarised(anv.read(text, 32)).most_bytes == byte_count


@pytest.mark.parametrize(
    "line", ["send.ugm (32) r1 r2 null:0 0x0 0x0 {$6} // wr:2+0, rd:2; load_block2d.ugm.d16", "call (32) r1 r2", "what"]
)
def test_anv_instructions_that_may_load_or_jump_anywhere_are_unknown(line: str):
    assert summarised(anv.read(f"        nop\n        mov (8) r1 r2\n        {line}\n", 32)).unknown


@pytest.mark.parametrize(
    "instruction",
    ["       membar.sc..cta", "@!p0   st.global.a64.b32 [r0+ur0..2] r1", " r0 = ld.shared.b32 [r1]", " ur0 = ldc.b32 c[0x1][+0x0]"],
)
def test_nvk_instructions_that_load_no_input_count_nothing(instruction: str):
    assert summarised(nvk.read(f"block.u 0 L0 [] -> {{\n{instruction} // delay=1\n}} -> []\n", 32)) == Code()


def test_an_nvk_load_under_a_predicate_counts():
    text = "block.u 0 L0 [] -> {\n@p0 r0..4 = ld.global.a64.b128 [r1+ur0..2], pT // delay=1\n} -> []\n"

    assert summarised(nvk.read(text, 32)).most_bytes == 16 * 32


@pytest.mark.parametrize("reader", [anv.read, nvk.read, radv.read])
def test_a_text_that_is_no_listing_is_unknown(reader):
    assert summarised(reader("no code\n", 32)).most_bytes is None
    assert summarised(reader("", 32)).most_bytes is None


def test_several_executables_have_no_listing():
    text = {"Assembly": listing("radv_gfx1201_function")}

    assert read({"SIMD16": text, "SIMD32": text}, 64) is None
    assert read({"compute": {"LLVM IR": "ret"}}, 64) is None
