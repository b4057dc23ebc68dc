"""What devices do wrong with vector decode functions must change a stored element of several cases, or hardly anybody would see it."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from cts.defects.decode_vector import decode_vector_defects
from cts.defects.glossary import glossary
from generators.casebook import build
from tests.families.decode_choices import cases
from tests.families.evidence import is_seen

ENOUGH = 2
IDS = [id_ for id_ in glossary().entries if id_.startswith("decode_vector.")]


@cache
def seen() -> Counter[str]:
    """Count the cases of the smoke tier that show each defect, up to ENOUGH."""
    found: Counter[str] = Counter()
    for case in cases("smoke"):
        built = build(case)
        missing = {defect.id: defect for defect in decode_vector_defects(built.program) if found[defect.id] < ENOUGH}
        if missing:
            subcase = built.subcases(built.program)[0]
            found.update(id_ for id_, defect in missing.items() if is_seen(built.program, subcase, defect))
    return found


@pytest.mark.parametrize("id_", IDS)
def test_several_cases_show_it(id_: str) -> None:
    assert seen()[id_] >= ENOUGH
