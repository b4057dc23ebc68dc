"""The workflow files are ones that GitHub and GitLab accept, according to their schemas and to linters."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.suite import REPOSITORY

GITHUB = sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))
GITLAB = REPOSITORY / "docs" / "ci" / "gitlab-ci.yml"
HERE = Path(sys.executable).parent
SCHEMAS = {
    **dict.fromkeys(GITHUB, ("--builtin-schema", "vendor.github-workflows")),
    GITLAB: ("--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci"),
}


def name(value: object) -> str:
    return value.name if isinstance(value, Path) else ""


def program(linter: str, source: str) -> str:
    """Return a linter of this environment, or skip the test."""
    found = shutil.which(linter, path=HERE) or shutil.which(linter)
    return found or pytest.skip(f"there is no {linter}: {source}")


def zizmor(path: Path) -> bool:
    linter = program("zizmor", "pip install -e '.[dev]'")
    return accepted([linter, "--offline", "--quiet", "--config", REPOSITORY / ".github" / "zizmor.yml", path])


def accepted(command: Sequence[str | Path]) -> bool:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or done.stdout, done.stderr
    return done.returncode == 0


def checked(path: Path, schema: Sequence[str]) -> bool:
    if find_spec("check_jsonschema") is None:
        pytest.skip("there are no schemas: pip install -e '.[dev]'")
    return accepted([sys.executable, "-m", "check_jsonschema", *schema, path])


def changed(path: Path, before: str, after: str, folder: Path) -> Path:
    """Return a copy of a workflow with a mistake."""
    text = path.read_text(encoding="utf-8")
    assert before in text
    copy = folder / path.name
    copy.write_text(text.replace(before, after), encoding="utf-8")
    return copy


@pytest.mark.parametrize(("path", "schema"), SCHEMAS.items(), ids=name)
def test_a_workflow_has_the_form_that_its_system_reads(path, schema):
    assert checked(path, schema)


@pytest.mark.parametrize(("path", "word"), [(GITHUB[0], "runs-on"), (GITLAB, "script:")], ids=name)
def test_a_misspelt_key_is_noticed(path, word, tmp_path):
    assert not checked(changed(path, word, f"x{word}", tmp_path), SCHEMAS[path])


@pytest.mark.parametrize("path", GITHUB, ids=name)
def test_a_workflow_has_no_hole(path):
    assert zizmor(path)


def test_words_of_others_in_a_command_are_noticed(tmp_path):
    copy = changed(GITHUB[0], "run: python", "run: echo ${{ github.event.pull_request.title }}; python", tmp_path)
    assert not zizmor(copy)


@pytest.mark.parametrize("path", GITHUB, ids=name)
def test_actionlint_finds_nothing(path):
    assert accepted([program("actionlint", "its releases are at https://github.com/rhysd/actionlint"), path])
