"""The suite that makes or checks a package: its version, and digests of the folders that decide results."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cts.checkout import INSTALLED, PACKAGE_ROOT, suite_version
from generators.casebook import Casebook, load_casebook

DIRTY = "-dirty"

_DATA, _CODE = ("cases", "golden"), ("cts", "generators")


@dataclass(frozen=True)
class Suite:
    """The suite, as far as results depend on it.

    Attributes:
        root: the checkout, or the files of an installed wheel.
        casebook: its cases.
        version: as in ``meta.json``.
        digests: folder -> SHA-256 of its files.
    """

    root: Path
    casebook: Casebook
    version: str
    digests: Mapping[str, str]


def this_suite(root: Path) -> Suite:
    """Return the suite that is running, with the cases of a checkout.

    Raises:
        CasebookError: the cases cannot be read.
    """
    folders = {name: root / name for name in _DATA} | {name: PACKAGE_ROOT / name for name in _CODE}
    digests = {name: _digest(folder) for name, folder in sorted(folders.items())}
    return Suite(root, load_casebook(root), suite_version(), digests)


def _digest(folder: Path) -> str:
    """Digest the files of a folder: their names and contents, without what Python or an editor leaves there."""
    state = hashlib.sha256()
    is_installed = INSTALLED in (folder, *folder.parents)
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        # A wheel has the cases inside of the package.
        left_out = any(part == "__pycache__" or part.startswith(".") for part in name.parts) or (
            INSTALLED in path.parents and not is_installed
        )
        if path.is_file() and not left_out:
            state.update(f"{name.as_posix()}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return state.hexdigest()


def is_same_version(one: str, other: str) -> bool:
    """Tell whether two versions of the suite are the same. Clones may abbreviate a commit to different lengths, of at least 7 digits."""
    (release, _, commit), (other_release, _, other_commit) = one.partition("+"), other.partition("+")
    shorter = min(len(commit), len(other_commit))
    are_commits = all(re.fullmatch("[0-9a-f]{7,}", one) for one in (commit, other_commit))
    return one == other or (are_commits and release == other_release and commit[:shorter] == other_commit[:shorter])
