"""Helpers that most verbs begin with: the checkout, its casebook, and printing."""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cts.checkout import INSTALLED, checked_root, find_root
from generators.errors import CtsError

if TYPE_CHECKING:
    from generators.casebook import Casebook


def root(options: argparse.Namespace) -> Path:
    """Return the checkout that ``--root`` names, or the nearest one.

    Raises:
        CtsError: ``--root`` does not name a checkout, or there is none.
    """
    given: Path | None = options.root
    return find_root(Path.cwd().resolve()) if given is None else checked_root(given.resolve())


def checkout(options: argparse.Namespace) -> Path:
    """Return a checkout that may be changed: the one that ``--root`` names, or the nearest one.

    Raises:
        CtsError: there is no checkout; the files of an installed wheel must not be changed.
    """
    folder = root(options)
    if folder == INSTALLED:
        raise CtsError("this writes to the sources of the suite: run it inside a checkout, or name one with --root DIR")
    return folder


def casebook(options: argparse.Namespace, only: Collection[str] | None = None) -> Casebook:
    """Return the checkout's casebook, with the families named in ``only`` or with all."""
    from generators.casebook import load_casebook

    return load_casebook(root(options), only)


def print_json(value: Any) -> None:
    """Print a document, for programs."""
    print(json.dumps(value, indent=2, ensure_ascii=False, default=str))
