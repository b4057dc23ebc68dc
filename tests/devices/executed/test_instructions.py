"""Single instructions against vectors that were worked out by hand."""

from __future__ import annotations

import pytest

from cts.devices.executed.encoding.decoder import load_encoding
from tests.devices.executed.assembly import mnemonic_of
from tests.devices.executed.broken_instructions import LINES, Line, lines_of, notices, passes, survivors, used, without_effect

EVERYWHERE = [line for line in LINES if "*" not in line[2] and "lanes=" not in line[2]]
"""Vectors that are the same for waves of 32 and 64 lanes."""


@pytest.mark.parametrize("line", LINES, ids="|".join)
def test_an_instruction_changes_what_the_vector_says_and_nothing_else(line):
    assert passes(line)


def unequal(lines: list[Line], **other: object) -> list[Line]:
    return [line for line in lines if not passes(line, **other)]


def test_waves_of_64_lanes_compute_the_same_bits():
    assert unequal(EVERYWHERE, lanes=64) == []


@pytest.mark.parametrize(("own", "other"), [("gfx12", "gfx11"), ("gfx11", "gfx12"), ("gfx12", "gfx115")])
def test_generations_compute_the_same_bits(own, other):
    both = set(load_encoding(other).mnemonics.values())
    own_modifiers = (" th:", " glc:")
    lines = [
        line for line in EVERYWHERE if line[0] == own and mnemonic_of(line[1]) in both and not any(one in line[1] for one in own_modifiers)
    ]
    assert unequal(lines, generation=other) == []


def test_every_instruction_that_radv_uses_has_a_vector_that_shows_an_effect():
    assert [one for one in used() if not notices(lines_of(*reversed(one)), without_effect)] == []


def test_broken_instructions_are_noticed():
    # A sample: `python -m tests.devices.executed.broken_instructions` breaks all.
    assert list(survivors(used()[::7])) == []
