"""Folders of ``cts repro``: each kind of case explains the steps with and without the suite, and removes the files of earlier
reproductions."""

from __future__ import annotations

from pathlib import Path

import pytest

from cts.kinds.property_rules import RULES
from cts.kinds.table import KINDS
from generators.casebook import Case, expand
from generators.errors import CannotWrite
from tests.suite import casebook

FAMILIES = {"kernel": "construction", "static": "static_types", "query": "property_queries", "conversion": "vector_layout_conversion"}


@pytest.fixture(scope="module")
def cases() -> dict[str, Case]:
    book = casebook()
    return {kind: expand(book.family(family), "smoke")[0] for kind, family in FAMILIES.items()}


def write(case: Case, folder: Path) -> set[str]:
    KINDS[case.definition.kind].reproduce(case, folder, "spirv")
    return {entry.name for entry in folder.iterdir()}


@pytest.mark.parametrize("kind", FAMILIES)
def test_the_readme_names_the_case_and_the_command_that_runs_it_alone(cases, kind, tmp_path):
    write(cases[kind], tmp_path)
    text = (tmp_path / "README.md").read_text()
    assert text.startswith(f"# {cases[kind].id}\n")
    assert f"cts repro '{cases[kind].id}' DIR " in text


@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize("earlier", FAMILIES)
def test_only_the_files_of_an_earlier_reproduction_are_removed(cases, kind, earlier, tmp_path):
    alone = write(cases[kind], tmp_path / "alone")
    folder = tmp_path / "used"
    write(cases[earlier], folder)
    (folder / "result.json").write_text("{}")
    (folder / "notes.txt").write_text("mine")
    assert write(cases[kind], folder) == alone | {"notes.txt"}


def test_a_folder_with_a_readme_of_its_own_loses_nothing(cases, tmp_path):
    (tmp_path / "README.md").write_text("# My results\n")
    (tmp_path / "module.spv").write_bytes(b"mine")
    with pytest.raises(CannotWrite):
        write(cases["query"], tmp_path)
    assert (tmp_path / "module.spv").read_bytes() == b"mine"


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_folder_that_cannot_be_written_is_named(cases, kind, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite):
        write(cases[kind], tmp_path / "file")


def test_a_query_says_how_the_command_is_called(cases, tmp_path):
    book = casebook()
    for case in expand(book.family("property_queries"), "smoke"):
        write(case, tmp_path)
        text = (tmp_path / "README.md").read_text()
        assert RULES[case.labels[1]].calls in text
        assert "VkCooperativeMatrixPropertiesKHR" in text
