"""Assembly of single instructions: tests write operands as the documents do, and get decoded instructions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from cts.devices.executed.encoding.decoder import Instruction, load_encoding

NAMED = {"vcc": 106, "vcc_lo": 106, "vcc_hi": 107, "null": 124, "m0": 125, "exec": 126, "exec_lo": 126, "exec_hi": 127, "src_scc": 253}
FLOATS = {"0.5": 240, "-0.5": 241, "1.0": 242, "-1.0": 243, "2.0": 244, "-2.0": 245, "4.0": 246, "-4.0": 247, "0.15915494": 248}
OPERANDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "SOP1": ("sdst", "ssrc0"),
        "SOP2": ("sdst", "ssrc0", "ssrc1"),
        "SOPC": ("ssrc0", "ssrc1"),
        "SOPK": ("sdst", "simm16"),
        "SOPP": ("simm16",),
        "VOP1": ("vdst", "src0"),
        "VOP2": ("vdst", "src0", "vsrc1"),
        "VOPC": ("src0", "vsrc1"),
        "VOP3": ("vdst", "src0", "src1", "src2"),
        "VOP3P": ("vdst", "src0", "src1", "src2"),
    }
)
"""The operands of each format in the order of assembly."""

VECTOR = 256
ROWS = Path(__file__).with_name("decoded.tsv")


def rows() -> list[tuple[str, tuple[int, ...], str]]:
    """Return generation, words and assembly of the instructions in decoded.tsv."""
    found = []
    for line in ROWS.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            generation, words, text = line.split("\t")
            found.append((generation, tuple(int(word, 16) for word in words.split()), text))
    return found


def mnemonic_of(text: str) -> str:
    """Return the mnemonic without what only tells the encoding."""
    return re.sub(r"_(e32|e64|dpp)$", "", text.split(maxsplit=1)[0])


def operand(token: str) -> tuple[int, int | None]:
    """Return code and literal of an operand; a vector register has 256 added to its number."""
    token = token.strip("-|") if not re.fullmatch(r"-?[0-9.]+", token) else token
    token = re.sub(r"^(neg|abs)\((.*)\)$", r"\2", token)
    if token in NAMED or token in FLOATS:
        return NAMED.get(token, FLOATS.get(token, 0)), None
    if match := re.fullmatch(r"(v|s|ttmp)\[?(\d+)(:\d+)?\]?(\.[lh])?", token):
        return {"v": VECTOR, "s": 0, "ttmp": 108}[match[1]] + int(match[2]), None
    if re.fullmatch(r"-?\d+", token):
        number = int(token)
        return (128 + number if number >= 0 else 192 - number), None
    return 255, int(token, 16)


def instruction(text: str, generation: str = "gfx12") -> Instruction:
    """Return the instruction with some assembly: mnemonic, operands, then modifiers as ``name:value``."""
    mnemonic, *tokens = text.replace(",", " ").split()
    tables = {name: table for (table, _), name in load_encoding(generation).mnemonics.items()}
    short = mnemonic.removesuffix("_e64")
    format_ = "VOP3" if mnemonic.endswith("_e64") else tables[short]
    layout = "FLAT" if format_ == "GLOBAL" else format_
    fields = {name: 0 for one in load_encoding(generation).formats if one.name == layout for name in one.fields}
    literal = None
    names = iter(OPERANDS.get(format_, ()))
    for token in tokens:
        if ":" in token and "[" not in token:
            name, value = token.split(":")
            fields[name] = int(value, 0)
            continue
        name = next(names)
        if name == "simm16":
            fields[name] = int(token, 0) & 0xFFFF
            continue
        code, found = operand(token)
        literal = literal if found is None else found
        fields[name] = code - VECTOR if name in ("vdst", "vsrc1") and code >= VECTOR else code
        if name in ("vsrc1", "src0", "src1", "vdst") and token.endswith(".h"):
            # Short formats have the half in the register's number.
            fields[name] |= 0x80
    return replace(_EMPTY, format=format_, mnemonic=short, fields=MappingProxyType(fields), literal=literal)


_EMPTY = Instruction("", "", MappingProxyType({}), None, None, 1)
