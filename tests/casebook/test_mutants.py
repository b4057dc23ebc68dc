"""A few mutants; ``python -m tests.casebook.mutants`` draws thousands."""

from __future__ import annotations

from tests.casebook.mutants import TOKENS, seeds
from tests.mutants import run


def test_changed_yaml_is_accepted_or_refused_in_one_line():
    outcomes, defects = run(seeds(), TOKENS, 60, seed=3)
    assert not defects
    assert outcomes["refused"]
