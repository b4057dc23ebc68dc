"""A few mutants; ``python -m tests.reports.mutants`` draws thousands."""

from __future__ import annotations

from tests.mutants import run
from tests.reports.mutants import TOKENS, seeds


def test_changed_journals_are_read_or_refused_in_one_line():
    outcomes, defects = run(seeds(), TOKENS, 30, seed=3)
    assert not defects
    assert outcomes["accepted"]
