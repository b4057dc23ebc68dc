"""The numbers of benchmarks: their comparison, and the pages that show them."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks import published, ratios
from benchmarks.ratios import Numbers, worse

OLD: Numbers = {
    "whole command, s": 100.0,
    "pipelines per s": 150.0,
    "step emit, summed s": 1.0,
    "cases": 10.0,
    "whole command / limit": 2.0,
}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"whole command, s": 109.0}, []),
        ({"whole command, s": 111.0}, ["whole command, s"]),
        ({"whole command, s": 50.0}, []),
        ({"pipelines per s": 130.0}, ["pipelines per s"]),
        ({"pipelines per s": 300.0}, []),
        ({"whole command / limit": 3.0}, ["whole command / limit"]),
        ({"step emit, summed s": 9.0, "cases": 99.0}, []),
    ],
)
def test_a_number_is_worse_by_its_unit(change: Numbers, expected: list[str]) -> None:
    assert worse(OLD, OLD | change, percent=10) == expected


@pytest.mark.parametrize(("new", "code"), [(OLD, 0), (OLD | {"whole command, s": 200.0}, 1), ({"other, s": 1.0}, 2)])
def test_the_exit_code_tells_whether_something_is_worse(new: Numbers, code: int, tmp_path: Path) -> None:
    for name, numbers in (("old", OLD), ("new", new)):
        (tmp_path / f"{name}.json").write_text(json.dumps({"now": [numbers]}), encoding="utf-8")
    assert ratios.main([str(tmp_path / "old.json"), str(tmp_path / "new.json")]) == code


def test_the_pages_show_the_published_results() -> None:
    assert published.main(["--check"]) == 0


def test_a_stale_page_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for path in published.made(published.ROOT, published.results(published.RESULTS)):
        copy = tmp_path / path.relative_to(published.ROOT)
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes(path.read_bytes())
    monkeypatch.setattr(published, "ROOT", tmp_path)
    assert published.main(["--check"]) == 0
    page = tmp_path / "docs" / "performance.md"
    page.write_text(page.read_text(encoding="utf-8").replace("| cases |", "| case |"), encoding="utf-8")
    assert published.main(["--check"]) == 1
    assert published.main([]) == 0
    assert published.main(["--check"]) == 0


def test_the_plot_has_a_bar_for_each_whole_run() -> None:
    found = published.results(published.RESULTS)
    texts = ["".join(one.itertext()) for one in ElementTree.fromstring(published.plot(found)).iter("{http://www.w3.org/2000/svg}text")]
    runs = [tree for trees in found.values() for tree, one in trees.items() if "whole command, s" in one]
    assert [text.partition(" (")[0] for text in texts if "(nvidia" in text] == runs
