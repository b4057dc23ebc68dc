"""The plugin uses only the documented parts of pytest and its plugins, and the engine does not know pytest."""

from __future__ import annotations

import re

import pytest

from tests.suite import REPOSITORY

PRIVATE = re.compile(r"\b_pytest\b|\b(config|session|item|report|reporter|node|parser|terminalreporter|manager)\._\w+|__dict__")


@pytest.mark.parametrize("path", sorted((REPOSITORY / "cts" / "run").glob("*.py")), ids=lambda path: path.stem)
def test_no_private_name_of_pytest_is_used(path):
    assert PRIVATE.findall(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", sorted((REPOSITORY / "cts").glob("[er][nu]*/*.py")), ids=lambda path: f"{path.parent.name}.{path.stem}")
def test_processes_of_a_run_share_no_temporary_file(path):
    assert re.findall(r"\btempfile\b|\bmkstemp\b", path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", sorted((REPOSITORY / "cts" / "engine").glob("*.py")), ids=lambda path: path.stem)
def test_the_engine_imports_nothing_of_pytest(path):
    assert re.findall(r"^\s*(?:from|import) (?:pytest|_pytest|xdist|execnet)\b", path.read_text(encoding="utf-8"), re.M) == []
