"""Links between pages."""

from __future__ import annotations

import pytest

from reports.comparison.runs import names
from reports.links import page_beside


@pytest.mark.parametrize(
    ("folder", "address"),
    [
        ("night", "./night/index.html"),
        ("run#2", "./run%232/index.html"),
        ("a%20b", "./a%2520b/index.html"),
        ("javascript:alert(1)", "./javascript%3Aalert%281%29/index.html"),
    ],
)
def test_an_address_leads_to_a_folder_of_any_name(tmp_path, folder, address):
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "index.html").touch()
    assert page_beside(tmp_path / folder / "index.html", tmp_path) == address


def test_the_name_of_a_run_has_no_control_characters(tmp_path):
    assert names([tmp_path / "red\x1b[31m" / "results.jsonl"]) == ["red\\x1b[31m"]
