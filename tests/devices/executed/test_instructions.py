"""Single instructions against vectors that were worked out by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from cts.devices.executed.instructions.scalar import Scalar
from cts.devices.executed.instructions.table import load_meanings
from cts.devices.executed.instructions.vector import Vector
from tests.devices.executed.assembly import instruction, mnemonic_of, rows
from tests.devices.executed.states import apply, begun, executed, seen

LINES = [
    line.split("\t")
    for line in Path(__file__).with_name("vectors.tsv").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]


@pytest.mark.parametrize(("generation", "text", "before", "after"), LINES, ids=lambda value: value)
def test_an_instruction_changes_what_the_vector_says_and_nothing_else(generation, text, before, after):
    expected = begun(before)
    apply(expected, after)
    assert seen(executed(begun(before), text, generation)) == seen(expected)


ELSEWHERE = re.compile(
    r"buffer_|ds_|global_|s_load|s_buffer_load|v_wmma|v_permlane|s_branch|s_cbranch|s_endpgm|s_barrier|s_wait|s_clause|s_delay|s_nop|"
    r"s_sendmsg|s_set_inst|v_nop"
)
"""Instructions that other modules test, and those without an effect."""


def test_every_instruction_that_radv_uses_has_a_vector_that_shows_an_effect():
    used = {mnemonic_of(part.strip()).replace("v_dual_", "v_") for _, _, text in rows() for part in text.split("::")}
    shown = set()
    for _, text, before, after in LINES:
        expected = begun(before)
        apply(expected, after)
        if seen(expected) != seen(begun(before)):
            shown.add(mnemonic_of(text))
    assert {name for name in used if not ELSEWHERE.match(name)} <= shown


SUBSTITUTES = {"first operand": lambda operands: operands[0], "last operand": lambda operands: operands[-1]}
NUMBERS = re.compile(r"[vs]_(add|sub|mul|mad|fma|min|max|and|or|xor|lsh|ash|cmp_g|cmp_l|cmpx_gt|bf|perm|align|pack|cndmask|rcp|absdiff)")
"""Instructions whose result is neither of their operands, whatever they are."""


@pytest.mark.parametrize("substitute", SUBSTITUTES)
def test_an_instruction_that_returns_an_operand_is_noticed(substitute):
    unnoticed = []
    for generation, name in sorted({(line[0], mnemonic_of(line[1])) for line in LINES}):
        meaning = load_meanings(generation)[name]
        if not (isinstance(meaning, Vector | Scalar) and NUMBERS.match(name) and "_co_" not in name):
            continue
        first = int(isinstance(meaning, Vector) and meaning.modal)
        broken = replace(meaning, function=lambda *operands, first=first: SUBSTITUTES[substitute](operands[first:]))
        if all(passes(broken, line) for line in LINES if line[0] == generation and mnemonic_of(line[1]) == name):
            unnoticed.append(name)
    assert unnoticed == []


def passes(meaning: Vector | Scalar, line: list[str]) -> bool:
    """Return whether a vector's instruction has the right effect with another meaning."""
    generation, text, before, after = line
    expected, wave = begun(before), begun(before)
    apply(expected, after)
    try:
        meaning(instruction(text, generation))(wave)
    except (TypeError, ValueError):
        return False
    return seen(wave) == seen(expected)
