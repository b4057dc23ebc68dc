"""Compares the numbers of two benchmarks, or of two checkouts in one.

    python -m benchmarks.ratios OLD.json NEW.json

Prints for each number the median of both files and their ratio.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

Numbers = dict[str, float]
"""Name of a number, with its unit -> its value."""


def save(path: Path, found: Mapping[str, Sequence[Numbers]]) -> None:
    """Write the numbers of each run: name of the checkout -> its runs."""
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def load(path: Path) -> dict[str, list[Numbers]]:
    """Return what ``save`` has written."""
    found: dict[str, list[Numbers]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def table(found: Mapping[str, Sequence[Numbers]]) -> str:
    """Return a table: a row for each number, with the median of each checkout and its ratio to the first."""
    names = list(dict.fromkeys(name for runs in found.values() for run in runs for name in run))
    lines = [f"{'median':36}" + "".join(f"{tree:>12}{'ratio':>8}" for tree in found)]
    for name in names:
        medians = [median(values) if (values := [run[name] for run in runs if name in run]) else None for runs in found.values()]
        first = medians[0]
        cells = (f"{'-' if one is None else f'{one:,.2f}':>12}{'' if not one or not first else f'{one / first:.2f}':>8}" for one in medians)
        lines.append(f"{name:36}" + "".join(cells))
    return "\n".join(lines)


def main() -> None:
    """Compare two files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    options = parser.parse_args()
    joined = {f"{path.stem} {tree}"[-11:]: runs for path in (options.old, options.new) for tree, runs in load(path).items()}
    print(table(joined))


if __name__ == "__main__":
    main()
