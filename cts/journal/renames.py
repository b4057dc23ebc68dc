"""The ids that cases had in older versions of the suite, from ``golden/renames.tsv``."""

from __future__ import annotations

from pathlib import Path

from cts.checkout import find_root
from generators.errors import CtsError

RENAMES = Path("golden", "renames.tsv")


def renames(root: Path | None = None) -> dict[str, str]:
    """Return former id -> id; empty if there is no checkout.

    Args:
        root: the root of the checkout; None for the nearest one.
    """
    try:
        path = (root or find_root(Path.cwd().resolve())) / RENAMES
        lines = path.read_text(encoding="utf-8").splitlines()
    except (CtsError, OSError):
        return {}
    return dict(line.split("\t") for line in lines if line.count("\t") == 1 and not line.startswith("#"))
