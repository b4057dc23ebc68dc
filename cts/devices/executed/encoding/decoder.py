"""Decodes instructions by the tables of this folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from cts.devices.executed.errors import NotModelled

_FOLDER = Path(__file__).parent
_SEGMENTS = ("FLAT", "SCRATCH", "GLOBAL", "")
_FIRST_OF_VOP3 = MappingProxyType({"VOPC": 0, "VOP2": 0x100, "VOP1": 0x180})
"""The first opcode of VOP3 that stands for an instruction of a short format."""

LITERAL, DPP16 = 255, 250
DPP8 = (233, 234)

LONGEST = 3
"""The most words of an instruction, with its literal."""

_WITH_LITERAL = ("v_fmamk_", "v_fmaak_", "v_dual_fmamk_", "v_dual_fmaak_", "s_fmamk_", "s_fmaak_", "s_setreg_imm32_")
"""What the mnemonics begin with that have a literal whatever their sources are."""

Bits = tuple[int, int]
"""Lowest bit and number of bits."""


@dataclass(frozen=True)
class Format:
    """A format of instructions; see formats.yaml."""

    name: str
    pattern: str
    words: int
    opcodes: Mapping[str, Bits]
    fields: Mapping[str, Bits]
    sources: tuple[str, ...]
    segment: Bits | None


@dataclass(frozen=True)
class Instruction:
    """A decoded instruction.

    Attributes:
        format: a key of formats.yaml; VOPDX and VOPDY for the halves of a VOPD.
        mnemonic: as in the instruction set's document, in small letters, without ``_dpp``.
        fields: the raw bits by name. A VOP3 form of a VOP1, VOP2 or VOPC has the fields of VOP3.
        literal: the literal, None if there is none.
        dpp: the word of DPP16 or DPP8 that follows, None if there is none.
        words: how many words it has in all.
        halves: both halves of a VOPD; otherwise empty.
    """

    format: str
    mnemonic: str
    fields: Mapping[str, int] = field(hash=False)
    literal: int | None
    dpp: int | None
    words: int
    halves: tuple[Instruction, ...] = ()

    def __getitem__(self, name: str) -> int:
        return self.fields[name]


@dataclass(frozen=True)
class Encoding:
    """The formats and opcodes of one generation."""

    generation: str
    formats: tuple[Format, ...]
    mnemonics: Mapping[tuple[str, int], str]

    def decode(self, words: Sequence[int]) -> Instruction:
        """Return the instruction that begins with the first word; words after it are ignored.

        Raises:
            NotModelled: no table has its format or opcode.
        """
        first = f"{words[0]:032b}"
        found = next((entry for entry in self.formats if first.startswith(entry.pattern)), None)
        if found is None:
            raise NotModelled(f"instruction {words[0]:#010x}", f"of {self.generation}")
        bits = sum(word << 32 * place for place, word in enumerate(words[: found.words]))
        fields = {name: _part(bits, place) for name, place in found.fields.items()}
        table = found.name if found.segment is None else _SEGMENTS[_part(bits, found.segment)]
        names = {part: self._name(part, _part(bits, place), words) for part, place in found.opcodes.items() if part != found.name}
        mnemonic = "" if names else self._name(table, _part(bits, found.opcodes[found.name]), words)
        selected = [fields[name] for name in found.sources]
        size, literal, dpp = found.words, None, None
        if LITERAL in selected or any(name.startswith(_WITH_LITERAL) for name in (mnemonic, *names.values())):
            literal, size = words[size], size + 1
        elif found.name.startswith("VOP") and selected[0] in (DPP16, *DPP8):
            dpp, size = words[size], size + 1
        halves = tuple(_half(part, name, fields, literal) for part, name in names.items())
        return Instruction(found.name, mnemonic, MappingProxyType(fields), literal, dpp, size, halves)

    def _name(self, table: str, opcode: int, words: Sequence[int]) -> str:
        name = self.mnemonics.get((table, opcode))
        if name is None:
            shown = " ".join(f"{word:08x}" for word in words[:3])
            raise NotModelled(f"opcode {opcode:#x} of {table}", f"of {self.generation} ({shown})")
        return name


def _half(part: str, name: str, fields: Mapping[str, int], literal: int | None) -> Instruction:
    x = part == "VOPDX"
    # Y's destination has no lowest bit: it is odd where X's is even.
    vdst = fields["vdstx"] if x else fields["vdsty"] << 1 | (fields["vdstx"] & 1 ^ 1)
    letter = "x" if x else "y"
    own = {"src0": fields[f"src{letter}0"], "vsrc1": fields[f"vsrc{letter}1"], "vdst": vdst}
    return Instruction(part, name.replace("v_dual_", "v_"), MappingProxyType(own), literal, None, 2)


def _part(bits: int, place: Bits) -> int:
    return bits >> place[0] & (1 << place[1]) - 1


def _bits(text: str) -> Bits:
    lowest, highest = map(int, text.split("-"))
    return lowest, highest - lowest + 1


def _format(name: str, entry: Mapping[str, Any]) -> Format:
    opcodes = {name: entry["op"]} if "op" in entry else entry["opcodes"]
    return Format(
        name,
        entry["pattern"],
        entry["words"],
        {part: _bits(place) for part, place in opcodes.items()},
        {part: _bits(place) for part, place in entry["fields"].items()},
        tuple(entry.get("sources", ())),
        _bits(entry["segment"]) if "segment" in entry else None,
    )


@cache
def load_encoding(generation: str) -> Encoding:
    """Return the encoding of a generation: ``gfx11``, ``gfx115`` or ``gfx12``."""
    entries = yaml.safe_load((_FOLDER / "formats.yaml").read_text("utf-8"))
    layouts = {**entries["all"], **entries["gfx12" if generation == "gfx12" else "gfx11"]}
    formats = sorted((_format(name, entry) for name, entry in layouts.items()), key=lambda one: -len(one.pattern))
    mnemonics: dict[tuple[str, int], str] = {}
    for line in (_FOLDER / "opcodes.tsv").read_text("utf-8").splitlines():
        table, *row = line.split("\t")
        if row and (row[0] == "all" or generation in row[0].split(",")):
            mnemonics |= {(table, opcode): name for opcode, name in enumerate(row[2].split(), int(row[1]))}
    shorts = {("VOP3", _FIRST_OF_VOP3[table] + opcode): name for (table, opcode), name in mnemonics.items() if table in _FIRST_OF_VOP3}
    return Encoding(generation, tuple(formats), shorts | mnemonics)
