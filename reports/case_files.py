"""The case files, if they are available: a report works without them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from cts.checkout import find_root
from generators.casebook import Casebook, load_families, open_casebook
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
def opened_casebook(cases: Path) -> Casebook | None:
    """Return the casebook of the folder ``cases``, whose families are not loaded; None if it cannot be read."""
    try:
        return open_casebook(cases)
    except CtsError:
        return None


@cache
def readable_casebook(cases: Path) -> Casebook | None:
    """Return the casebook of the folder ``cases``; None if it cannot be read."""
    casebook = opened_casebook(cases)
    try:
        if casebook is not None:
            load_families(casebook)
    except CtsError:
        return None
    return casebook
