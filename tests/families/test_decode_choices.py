"""Cases of vector decode functions pass for every choice of an embedded device, and reveal its choice."""

from __future__ import annotations

from collections import Counter

import pytest

from generators.casebook import Case
from tests.families.decode_choices import cases, wrong_seeds

SMOKE = list(cases("smoke"))
CHOICES = [case for case in SMOKE if case.definition.name == "decode_vector_choice"]


@pytest.mark.parametrize("case", SMOKE, ids=lambda case: case.id)
def test_any_choice_passes(case: Case) -> None:
    assert wrong_seeds(case, range(4), Counter()) == []


def test_both_functions_are_seen() -> None:
    told: Counter[str] = Counter()
    assert wrong_seeds(next(case for case in CHOICES if case.parameters.view.is_there is False), range(12), told) == []
    assert min(told["vector"], told["scalar"]) > 0
