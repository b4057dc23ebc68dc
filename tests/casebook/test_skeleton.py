"""The skeleton of a new family."""

from __future__ import annotations

from pathlib import Path

import pytest

import generators.families
from generators.casebook import build_program, build_subcases, expand, load_casebook, load_family
from generators.errors import CasebookError
from generators.skeleton import new_family
from tests.suite import pin


def test_the_skeleton_loads_and_builds(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = new_family(root, "fresh_family", "SPV_KHR_cooperative_matrix")
    assert paths == (root / "cases/khr_cooperative_matrix/fresh_family.yaml", root / "generators/families/fresh_family.py")
    assert all(path.is_file() for path in paths)
    monkeypatch.setattr(generators.families, "__path__", [*generators.families.__path__, str(root / "generators/families")])
    family = pin(load_casebook(root).family("fresh_family"))
    assert len(expand(family, "smoke")) >= 3
    for case in expand(family, "full"):
        program = build_program(case)
        assert [subcase.inputs["source"].nbytes for subcase in build_subcases(case, program)] == [program.array("source").bytes] * 2


def test_the_folder_names_the_specification_too(root: Path) -> None:
    assert new_family(root, "fresh", "khr_cooperative_matrix")[0].parent.name == "khr_cooperative_matrix"


def test_nothing_is_overwritten(root: Path) -> None:
    path, _ = new_family(root, "fresh", "SPV_KHR_cooperative_matrix")
    path.write_text("mine")
    with pytest.raises(CasebookError, match="exists already"):
        new_family(root, "fresh", "SPV_KHR_cooperative_matrix")
    assert path.read_text() == "mine"


def test_a_builder_that_exists_is_not_overwritten_either(root: Path) -> None:
    builder = root / "generators/families/fresh.py"
    builder.parent.mkdir(parents=True)
    builder.write_text("mine")
    with pytest.raises(CasebookError, match=r"fresh\.py exists already"):
        new_family(root, "fresh", "SPV_KHR_cooperative_matrix")
    assert builder.read_text() == "mine"
    assert not (root / "cases/khr_cooperative_matrix/fresh.yaml").exists()


@pytest.mark.parametrize(
    ("name", "specification", "message"),
    [
        ("Fresh", "SPV_KHR_cooperative_matrix", "'Fresh' cannot name a family; expected snake_case"),
        ("../fresh", "SPV_KHR_cooperative_matrix", "cannot name a family"),
        ("fresh", "SPV_KHR_matrix", "unknown specification 'SPV_KHR_matrix'; expected one of SPV_KHR_cooperative_matrix"),
    ],
)
def test_a_name_that_cannot_be_used_is_refused(root: Path, name: str, specification: str, message: str) -> None:
    with pytest.raises(CasebookError, match=message):
        new_family(root, name, specification)


def test_a_folder_that_cannot_be_written_is_named(root: Path) -> None:
    (root / "generators").write_text("a file where a folder should be")
    with pytest.raises(CasebookError, match="cannot be written"):
        new_family(root, "fresh", "SPV_KHR_cooperative_matrix")


def test_the_skeleton_asks_for_coverage(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, _ = new_family(root, "another_family", "SPV_KHR_cooperative_matrix")
    monkeypatch.setattr(generators.families, "__path__", [*generators.families.__path__, str(root / "generators/families")])
    assert load_family(path).todo
