"""Single instructions against vectors that were worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.devices.executed.states import apply, begun, executed, seen

LINES = [
    line.split("\t") for line in Path(__file__).with_name("vectors.tsv").read_text("utf-8").splitlines() if line and not line.startswith("#")
]


@pytest.mark.parametrize(("generation", "text", "before", "after"), LINES, ids=lambda value: value)
def test_an_instruction_changes_what_the_vector_says_and_nothing_else(generation, text, before, after):
    expected = begun(before)
    apply(expected, after)
    assert seen(executed(begun(before), text, generation)) == seen(expected)
