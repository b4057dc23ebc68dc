"""The case files, if they are available: a report works without them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from cts.checkout import find_root
from generators.casebook import Casebook, load_casebook
from generators.document import read_document
from generators.errors import CtsError


def case_folder() -> Path:
    """Return the folder ``cases`` of the checkout that the command runs in or that contains this package; it need not exist."""
    try:
        return find_root(Path.cwd()) / "cases"
    except CtsError:
        return Path("cases")


def family_files(cases: Path) -> Mapping[str, Path]:
    """Return family -> its YAML file in the folder ``cases``."""
    return {path.stem: path for path in sorted(cases.glob("*/*.yaml")) if path.parent.name != "requirements"}


@cache
def readable_casebook(cases: Path) -> Casebook | None:
    """Return the casebook of the folder ``cases``; None if it cannot be read."""
    try:
        return load_casebook(cases)
    except CtsError:
        return None


def document(path: Path) -> Any:
    """Return the content of a YAML file; None if it cannot be read."""
    try:
        return read_document(path).data()
    except CtsError:
        return None
