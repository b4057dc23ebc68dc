"""The skeleton of a new family."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import generators.families.khr_cooperative_matrix
from generators.casebook import build, expand, load_casebook, load_family
from generators.errors import CasebookError
from generators.skeleton import new_family
from tests.suite import pin

CHECKOUT = Path(__file__).parents[2]


def test_the_skeleton_loads_and_builds(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = new_family(root, "fresh_family", "SPV_KHR_cooperative_matrix")
    name = "khr_cooperative_matrix/fresh_family"
    assert paths[:2] == (root / f"cases/{name}.yaml", root / f"generators/families/{name}.py")
    assert all(path.is_file() for path in paths)
    package = generators.families.khr_cooperative_matrix
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(paths[1].parent)])
    family = pin(load_casebook(root).family("fresh_family"))
    assert len(expand(family, "smoke")) >= 3
    assert {parameter.name: parameter.default for parameter in family.parameters} == {
        "component": None,
        "layout": "row",
        "padding": "tight",
    }
    for case in expand(family, "full"):
        built = build(case)
        program, parameters = built.program, case.parameters
        assert program.array("source").pointee.component is parameters.component
        assert program.array("source").bytes == 16 * (16 * parameters.component.bytes + parameters.padding)
        assert [subcase.inputs["source"].nbytes for subcase in built.subcases()] == [program.array("source").bytes] * 2


def test_the_builder_is_in_the_style_of_the_others(root: Path) -> None:
    _, builder, *_ = new_family(root, "fresh", "SPV_KHR_cooperative_matrix")
    for command in (["check"], ["format", "--check"]):
        checked = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--no-cache", "--config", str(CHECKOUT / "pyproject.toml"), str(builder)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_folder_also_names_the_specification(root: Path) -> None:
    assert new_family(root, "fresh", "khr_cooperative_matrix")[0].parent.name == "khr_cooperative_matrix"


def test_the_first_family_of_a_specification_brings_its_package(root: Path) -> None:
    package = root / "generators/families/khr_cooperative_matrix/__init__.py"
    assert new_family(root, "first", "SPV_KHR_cooperative_matrix")[2:] == (package,)
    assert package.read_text() == '"""Families of SPV_KHR_cooperative_matrix."""\n'
    package.write_text("mine")
    assert new_family(root, "second", "SPV_KHR_cooperative_matrix")[2:] == ()
    assert package.read_text() == "mine"


def test_nothing_is_overwritten(root: Path) -> None:
    path, *_ = new_family(root, "fresh", "SPV_KHR_cooperative_matrix")
    path.write_text("mine")
    with pytest.raises(CasebookError, match="exists already"):
        new_family(root, "fresh", "SPV_KHR_cooperative_matrix")
    assert path.read_text() == "mine"


def test_a_builder_that_exists_is_not_overwritten_either(root: Path) -> None:
    builder = root / "generators/families/khr_cooperative_matrix/fresh.py"
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
        ("fresh", "SPV_KHR_matrix", r"first write its requirements: cases/requirements/khr_matrix\.yaml"),
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
    path, builder, *_ = new_family(root, "another_family", "SPV_KHR_cooperative_matrix")
    package = generators.families.khr_cooperative_matrix
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(builder.parent)])
    assert load_family(path).todo
