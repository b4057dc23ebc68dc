"""Single instructions against vectors that were worked out by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.devices.executed.assembly import mnemonic_of, rows
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
