"""Finds the cases, in a checkout or installed, and the version of the suite."""

from __future__ import annotations

import subprocess
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

from generators.errors import CtsError

DISTRIBUTION = "vulkan-cooperative-cts"
PACKAGE = Path(__file__).resolve().parent
PACKAGE_ROOT = PACKAGE.parent
INSTALLED = PACKAGE / "suite"
"""The place in a wheel for the top-level folders of a checkout: cases, pinned tiers, known failures, documents. It is read-only."""

PYTEST_INI = "pytest.ini"
"""The file in ``INSTALLED`` with pytest's settings for a run outside of a checkout."""

_SHORT = 8
"""Characters of a commit that is read without git."""


def find_root(start: Path) -> Path:
    """Return the folder that holds ``cases/``: ``start``, the nearest folder above it, the folder that contains this package, or the files
    of an installed wheel.

    Raises:
        CtsError: there is no such folder, or the nearest one is a checkout with its own code.
    """
    for folder in (start, *start.parents, PACKAGE_ROOT, INSTALLED):
        if is_root(folder):
            check_own(folder)
            return folder
    raise CtsError(f"no folder cases/ in {start} or above it: run this inside a checkout of the suite")


def suite_root(rootdir: Path) -> Path:
    """Return the folder that holds the cases of a run of pytest: its rootdir, or the files of an installed wheel."""
    return INSTALLED if not is_root(rootdir) and is_root(INSTALLED) else rootdir


def check_own(folder: Path) -> None:
    """Refuse a checkout whose code is not the code that runs: results of one version's cases with another version's code are meaningless.

    Raises:
        CtsError: ``folder`` is such a checkout.
    """
    theirs = folder / "cts" / Path(__file__).name
    if theirs.is_file() and not theirs.samefile(__file__):
        raise CtsError(
            f"{folder} is a checkout of the suite, and the code that runs is in {PACKAGE_ROOT}: run 'python -m cts' or 'python -m pytest' "
            f"at the top of the checkout, or leave its folder"
        )


def checked_root(folder: Path) -> Path:
    """Return ``folder``, if it is a checkout, or the files of an installed wheel.

    Raises:
        CtsError: it is neither. No other folder is tried, because the user named this one.
    """
    if not is_root(folder):
        raise CtsError(f"{folder} is not a checkout of the suite: it lacks the folders cases/ and cts/")
    return folder


def is_root(folder: Path) -> bool:
    """Tell whether ``folder`` is the top of a checkout, or the files of an installed wheel."""
    return (folder / "cases").is_dir() and (folder == INSTALLED or (folder / "cts").is_dir())


@cache
def suite_version() -> str:
    """Return the version of the suite, with the commit if it runs from a git checkout: ``"0.1.0+1a2b3c4"``, with ``-dirty`` if changed."""
    version = _release(PACKAGE_ROOT)
    commit = _commit(PACKAGE_ROOT)
    return f"{version}+{commit}" if commit else version


def _release(root: Path) -> str:
    # The running code knows its version; a distribution that is also installed may be another version.
    project = root / "pyproject.toml"
    if project.is_file():
        return str(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"])
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return "unknown"


def _commit(root: Path) -> str:
    if not (root / ".git").exists():
        return ""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--dirty", "--exclude=*"],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return _head(root / ".git")
    return done.stdout.strip() if done.returncode == 0 else _head(root / ".git")


def _head(folder: Path) -> str:
    """Return the commit that is checked out, read without git; empty if that is not possible. It is unknown whether files have changed."""
    try:
        head = (folder / "HEAD").read_text(encoding="utf-8").strip()
        name = head.removeprefix("ref: ")
        if name == head:
            return head[:_SHORT]
        if (folder / name).is_file():
            return (folder / name).read_text(encoding="utf-8")[:_SHORT]
        packed = (folder / "packed-refs").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line[:_SHORT] for line in packed if line.endswith(f" {name}")), "")
