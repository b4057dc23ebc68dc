"""The tables of encodings and of meanings belong together."""

from __future__ import annotations

from pathlib import Path

import pytest

import cts.devices.executed.encoding
from cts.devices.executed.encoding.decoder import load_encoding
from cts.devices.executed.instructions.control import ENDINGS, IGNORED
from cts.devices.executed.instructions.table import load_meanings

GENERATIONS = ("gfx11", "gfx115", "gfx12")


def known(generation: str) -> set[str]:
    return {*load_meanings(generation), *ENDINGS, *IGNORED}


@pytest.mark.parametrize("generation", GENERATIONS)
def test_every_mnemonic_with_an_opcode_has_a_meaning(generation):
    named = {name.replace("v_dual_", "v_") for name in load_encoding(generation).mnemonics.values()}
    assert named <= known(generation)


def test_every_meaning_has_an_opcode_in_some_generation():
    named = {name for generation in GENERATIONS for name in load_encoding(generation).mnemonics.values()}
    assert set.union(*(known(generation) for generation in GENERATIONS)) <= named


def test_no_opcode_has_two_mnemonics_in_a_generation():
    path = Path(cts.devices.executed.encoding.__path__[0]) / "opcodes.tsv"
    rows = [line.split("\t") for line in path.read_text("utf-8").splitlines() if not line.startswith("#")]
    for generation in GENERATIONS:
        own = [row for row in rows if row[1] == "all" or generation in row[1].split(",")]
        opcodes = [(table, int(first) + number) for table, _, first, names in own for number in range(len(names.split()))]
        assert len(opcodes) == len(set(opcodes))
