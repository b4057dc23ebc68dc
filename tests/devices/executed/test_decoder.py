"""The decoder reads machine code as AMD's documents define it."""

from __future__ import annotations

import re

import pytest

from cts.devices.executed.encoding.decoder import LONGEST, Instruction, load_encoding
from cts.devices.executed.errors import NotModelled
from tests.devices.executed.assembly import OPERANDS, VECTOR, mnemonic_of, operand, rows


def decoded(generation: str, words: tuple[int, ...]) -> Instruction:
    return load_encoding(generation).decode((*words, *(0,) * (LONGEST - len(words))))


@pytest.mark.parametrize(("generation", "words", "text"), rows(), ids=lambda value: value if isinstance(value, str) else "")
def test_an_instruction_has_its_mnemonic_size_and_operands(generation, words, text):
    found = decoded(generation, words)
    assert found.words == len(words)
    if found.halves:
        parts = [part.strip() for part in text.split("::")]
        assert [half.mnemonic for half in found.halves] == [mnemonic_of(part).replace("v_dual_", "v_") for part in parts]
        for half, part in zip(found.halves, parts, strict=True):
            names = ("vdst", "src0") if "_mov_" in part else ("vdst", "src0", "vsrc1")
            check(half, part, names)
        return
    assert found.mnemonic == mnemonic_of(text)
    if found.format in OPERANDS and found.mnemonic not in ("v_nop", "s_barrier_signal"):
        check(found, text, OPERANDS[found.format])


def check(found: Instruction, text: str, names: tuple[str, ...]) -> None:
    """Compare operands that are registers or constants."""
    operands = re.split(r" (?=[a-z_]+:|glc|clamp|gds|off )", text.partition(" ")[2])[0]
    tokens = [token.strip() for token in operands.split(",")]
    if found.format in ("VOPC", "VOP2") and "vcc" in " ".join(tokens):
        tokens = [token for token in tokens if not token.startswith("vcc")]
        names = tuple(name for name in names if found[name] != NO_VCC)
    if found.format == "VOP3" and re.search(r"_co_|_div_scale_", found.mnemonic):
        assert found["sdst"] == operand(tokens.pop(1))[0]
    if found.format in ("SOPP", "SOPK") or found.dpp is not None:
        return
    for name, token in zip(names, tokens, strict=False):
        code, literal = operand(token)
        if name in ("vsrc1", "vdst") and code >= VECTOR:
            code -= VECTOR
        if code >= VECTOR or name in ("vsrc1", "vdst"):
            assert found[name] & ~(0x80 if re.search(r"\.[lh]$", token) else 0) == code
            assert not token.endswith(".h") or found[name] & 0x80 or found["op_sel"]
        else:
            assert found[name] == code
            assert literal is None or literal == found.literal


NO_VCC = 106


@pytest.mark.parametrize(
    ("generation", "words", "fields"),
    [
        # buffer_load_b32 v5, v7, s[8:11], s3 offen offset:20
        (
            "gfx12",
            (0xC4050003, 0x40001005, 0x00001407),
            {"vdata": 5, "vaddr": 7, "rsrc": 8, "soffset": 3, "offen": 1, "idxen": 0, "offset": 20},
        ),
        # global_store_b32 v[2:3], v9, off offset:-8
        ("gfx12", (0xEE06807C, 0x04800000, 0xFFFFF802), {"saddr": 124, "data": 9, "vaddr": 2, "offset": 0xFFFFF8}),
        # s_load_b128 s[4:7], s[2:3], 0x30
        ("gfx12", (0xF4004101, 0xF8000030), {"sdata": 4, "sbase": 1, "offset": 0x30, "soffset": 124}),
        # buffer_load_b32 v5, v7, s[8:11], s3 offen offset:20
        ("gfx11", (0xE0500014, 0x03420507), {"vdata": 5, "vaddr": 7, "rsrc": 2, "soffset": 3, "offen": 1, "idxen": 0, "offset": 20}),
        # ds_store_2addr_b32 v1, v2, v3 offset0:4 offset1:9
        ("gfx11", (0xD8380904, 0x00030201), {"addr": 1, "data0": 2, "data1": 3, "offset0": 4, "offset1": 9}),
    ],
)
def test_the_parts_of_memory_instructions(generation, words, fields):
    found = decoded(generation, words)
    assert {name: found[name] for name in fields} == fields


def test_an_unknown_opcode_is_named():
    with pytest.raises(NotModelled) as raised:
        decoded("gfx12", (0xBEFF7F00,))
    assert raised.value.part == "opcode 0x7f of SOP1"


def test_a_literal_follows_the_instruction():
    found = decoded("gfx12", (0x4A0202FF, 0x12345678))
    assert (found.mnemonic, found.literal, found.words) == ("v_add_nc_u32", 0x12345678, 2)


def test_dpp_follows_the_instruction():
    found = decoded("gfx12", (0x4A0202FA, 0xFF00B104))
    assert (found.mnemonic, found.dpp, found.literal, found.words) == ("v_add_nc_u32", 0xFF00B104, None, 2)
