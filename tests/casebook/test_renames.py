"""golden/renames.tsv maps the former ids of cases to their present ids."""

from __future__ import annotations

from generators.casebook import find_case
from tests.suite import REPOSITORY, casebook

LINES = (REPOSITORY / "golden" / "renames.tsv").read_text().splitlines()
RENAMES = [line.split("\t") for line in LINES if not line.startswith("#")]


def test_every_new_id_is_the_id_of_a_case():
    assert [new for _, new in RENAMES if find_case(casebook(), new).id != new] == []


def test_an_old_id_has_one_new_id():
    assert len({old for old, _ in RENAMES}) == len(RENAMES)
    assert all(old != new for old, new in RENAMES)
