"""The tables of docs/, and the commands that print the same tables."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cts.cli import main
from cts.commands import glsl_facts
from cts.commands.tables import TABLES, UnknownTable, remade
from generators.casebook import Casebook, CaseKind, Tier, expand, find_case
from generators.glsl_coverage import generalized, glsl_coverage, refusal
from tests import suite

from .conftest import REPOSITORY

ROOT = ("--root", str(REPOSITORY))
DOCS = REPOSITORY / "docs"
QUICK = [name for name in TABLES if name != "glsl"]


@pytest.fixture(scope="module")
def book() -> Casebook:
    return suite.casebook()


def shown(name: str) -> list[str]:
    """Return the tables of that name in docs/."""
    pages = (path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md")))
    return [table for page in pages for table in re.findall(rf"<!-- table: {name} -->\n(.*?)<!-- end of table -->", page, re.DOTALL)]


@pytest.mark.parametrize("name", QUICK)
def test_a_page_shows_the_table_that_the_casebook_makes(book, name):
    assert shown(name) == [TABLES[name](book)], "a table is stale: run 'cts pages'"


def test_a_table_is_rewritten_and_everything_else_stays(book):
    page = "before\n<!-- table: questions -->\nstale\n<!-- end of table -->\nafter\n"
    made = remade(page, book)
    assert made.startswith("before\n<!-- table: questions -->\n| id |")
    assert made.endswith("<!-- end of table -->\nafter\n")
    assert "stale" not in made
    assert remade(made, book) == made


def test_an_unknown_table_is_named(book):
    with pytest.raises(UnknownTable):
        remade("<!-- table: nonesuch -->\n<!-- end of table -->", book)


def test_the_glsl_page_has_every_family_and_examples_that_glsl_refuses_for_the_reason_shown(book):
    (tables,) = shown("glsl")
    families, reasons = tables.split("\n\n")
    assert set(re.findall(r"^\| `(\w+)` \|", families, re.MULTILINE)) == set(book.families)
    rows = re.findall(r"^\| (.+?) \| \d+ \| [\w, ]+ \| `(\S+)` \|$", reasons, re.MULTILINE)
    assert len(rows) == reasons.count("\n") - 2 > 10
    for reason, example in rows:
        assert generalized(refusal(find_case(book, example))) == generalized(re.sub(r"(\w+)(/\w+)+", r"\1", reason))


def test_every_case_is_expressed_or_refused(book):
    (entry,) = glsl_coverage([book.family("elements")], Tier.SMOKE)
    assert entry.cases == len(expand(entry.family, Tier.SMOKE)) == entry.said + sum(refusal.cases for refusal in entry.refusals)
    assert all(refusal(entry_.example) for entry_ in entry.refusals)


def test_a_reason_is_one_whatever_the_case_calls_things():
    assert generalized("the stride is a uint in GLSL, not u64") == generalized("the stride is a uint in GLSL, not s64")
    assert generalized("what is in 'a' is 0x1f of GLSL's own") == "what is in … is … of GLSL's own"
    assert generalized("GLSL has no words for 8-bit floats (Aligned)") == "GLSL has no words for 8-bit floats (Aligned)"


@pytest.mark.parametrize("verb", ["positions", "bugs", "glsl", "pages"])
def test_each_verb_has_help(verb, capsys):
    with pytest.raises(SystemExit) as stop:
        main([verb, "--help"])
    assert stop.value.code == 0
    assert f"cts {verb}" in capsys.readouterr().out


def test_positions_name_families(book, capsys):
    assert main([*ROOT, "positions", "--json"]) == 0
    found = {entry["id"]: entry["families"] for entry in json.loads(capsys.readouterr().out)}
    assert found == {id_: list(book.resting_on(id_)) for id_ in book.positions}
    assert main([*ROOT, "positions"]) == 0
    assert "families: static_load_store" in capsys.readouterr().out


def test_bugs_name_families_and_parameters(capsys):
    assert main([*ROOT, "bugs", "--json"]) == 0
    found = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert "load_pointee" in found["UNITS"]["families"]["load_store"]
    assert main([*ROOT, "bugs"]) == 0
    assert "not yet here: SPV_NV_cooperative_vector" in capsys.readouterr().out


def test_glsl_counts_a_family(book, capsys):
    assert main([*ROOT, "glsl", "--tier", "smoke", "--family", "functions", "--family", "static_types", "--json"]) == 0
    functions, static = json.loads(capsys.readouterr().out)
    assert functions["said"] + sum(reason["cases"] for reason in functions["refusals"]) == functions["cases"] > functions["said"] > 0
    assert (static["kind"], static["refusals"]) == (CaseKind.STATIC, [])
    assert main([*ROOT, "glsl", "--tier", "smoke", "--family", "functions"]) == 0
    assert "GLSL has no syntax for a function control" in capsys.readouterr().out


@pytest.mark.parametrize(("arguments", "words"), [(["--family", "qqqqqq"], "lists all"), (["--tier", "hourly"], "smoke, nightly, full")])
def test_bad_input_is_one_line_and_2(arguments, words, capsys):
    assert main([*ROOT, "glsl", *arguments]) == 2
    assert words in capsys.readouterr().err


@pytest.fixture
def few(tmp_path: Path) -> Path:
    """Return a checkout with the page of GLSL, two families and few of their cases."""
    for folder in ("cts", "docs"):
        (tmp_path / folder).mkdir()
    home = tmp_path / "cases" / "khr_cooperative_matrix"
    home.mkdir(parents=True)
    for name in ("requirements", "positions.yaml", "units.yaml"):
        (tmp_path / "cases" / name).symlink_to(REPOSITORY / "cases" / name)
    (tmp_path / "golden" / "tiers").mkdir(parents=True)
    for name in ("function_pointers", "memory_order"):
        (home / f"{name}.yaml").symlink_to(REPOSITORY / "cases" / "khr_cooperative_matrix" / f"{name}.yaml")
        lines = (REPOSITORY / "golden" / "tiers" / f"{name}.tsv").read_text().splitlines(keepends=True)[:10]
        (tmp_path / "golden" / "tiers" / f"{name}.tsv").write_text("".join(lines))
    (tmp_path / "docs" / "glsl.md").write_text("<!-- table: glsl -->\n<!-- end of table -->\n")
    return tmp_path


def test_facts_of_glsl_are_found_anew_only_where_something_changed(few, monkeypatch):
    printed = []

    def found(families, tier):
        printed.extend(family.name for family in families)
        return glsl_coverage(families, tier)

    monkeypatch.setattr(glsl_facts, "glsl_coverage", found)
    root = ("--root", str(few))
    assert main([*root, "pages"]) == 0
    assert set(printed) == {"function_pointers", "memory_order"}
    page = (few / "docs" / "glsl.md").read_text()
    printed.clear()
    assert main([*root, "pages", "--check"]) == 0
    assert printed == []
    pins = few / "golden" / "tiers" / "memory_order.tsv"
    pins.write_text(pins.read_text().replace("smoke\t", "nightly\t", 1))
    assert main([*root, "pages", "--check"]) == 1
    assert set(printed) == {"memory_order"}
    assert main([*root, "pages"]) == 0
    assert (few / "docs" / "glsl.md").read_text() == page


def test_facts_of_glsl_that_are_wrong_are_found_if_all_are_found_anew(few):
    root = ("--root", str(few))
    assert main([*root, "pages"]) == 0
    pinned = few / glsl_facts.FILE
    pinned.write_text(re.sub(r"(function_pointers\t\w+\t)\d+", r"\g<1>7", pinned.read_text()))
    assert main([*root, "pages"]) == 0
    assert main([*root, "pages", "--check"]) == 0
    assert main([*root, "pages", "--check", "--anew"]) == 1


def test_a_stale_page_is_found_and_written(tmp_path, capsys):
    (tmp_path / "docs").mkdir()
    (tmp_path / "cases").symlink_to(REPOSITORY / "cases")
    page = tmp_path / "docs" / "page.md"
    page.write_text("<!-- table: questions -->\n<!-- end of table -->\n")
    for name in ("pyproject.toml", "cts", "generators", "conftest.py", "tests"):
        (tmp_path / name).symlink_to(REPOSITORY / name)
    root = ("--root", str(tmp_path))
    assert main([*root, "pages", "--check"]) == 1
    assert capsys.readouterr().out == "page.md: stale; run cts pages\n"
    assert main([*root, "pages"]) == 0
    assert "| F-KHR-1 |" in page.read_text()
    assert main([*root, "pages", "--check"]) == 0
