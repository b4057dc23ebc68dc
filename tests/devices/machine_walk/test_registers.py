"""Which registers an instruction writes and reads, compared with the assembly of all instructions that RADV uses."""

from __future__ import annotations

import re

import pytest

from cts.devices.executed.encoding.decoder import LONGEST, load_encoding
from cts.devices.machine_walk.registers import use_of
from tests.devices.executed.assembly import rows

WITHOUT_USE = ("v_nop", "s_barrier_signal")
"""These have no step that a recorder sees."""

ROWS = [(generation, words, text) for generation, words, text in rows() if not text.startswith(("v_dual_", *WITHOUT_USE))]


def registers(text: str) -> list[str]:
    return re.findall(r"\b(?:v|s|ttmp)(?:\[\d+:\d+\]|\d+)(?![\w])", text)


@pytest.mark.parametrize("generation", ["gfx11", "gfx12"])
def test_the_registers_are_those_of_the_assembly(generation):
    wrong = {}
    for of, words, text in ROWS:
        if of == generation:
            instruction = load_encoding(of).decode((*words, *(0,) * (LONGEST - len(words))))
            # Shaders of both sizes of waves have these instructions, and masks are one register or two.
            texts = [use_of(instruction, lanes, of).text for lanes in (32, 64)]
            if set(registers(text)) not in [set(registers(one)) for one in texts]:
                wrong[text] = texts
    assert wrong == {}


@pytest.mark.parametrize(
    ("words", "written", "read"),
    [
        ((0xBF068304,), ["scc"], ["s4"]),
        ((0x8B040504,), ["s4", "scc"], ["s4", "s5"]),
        ((0x98048001,), ["s4"], ["s1", "scc"]),
        ((0x7E00CA00 | 2 << 17 | 259,), ["v2", "v3"], ["v3", "v2"]),
    ],
)
def test_what_the_assembly_leaves_out_is_there(words, written, read):
    use = use_of(load_encoding("gfx12").decode((*words, *(0,) * (LONGEST - len(words)))), 32, "gfx12")
    assert [one.text for one in use.writes] == written
    assert [one.text for one in use.reads if one.is_register] == read
