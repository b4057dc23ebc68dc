"""Links between pages."""

from __future__ import annotations

import pytest

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
