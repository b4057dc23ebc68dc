"""Compares the numbers of benchmarks: of two files, or of the checkouts of one file.

    python -m benchmarks.ratios FILE.json [FILE.json ...] [--worse PERCENT]

Prints for each number the median of each checkout, and its ratio to the first one. Exit code 1: a number got worse from
the first checkout to the last by more than --worse (10 percent); sums of steps do not count, because they only explain other numbers. Exit
code 2: the first and the last checkout have no number in common.
"""

from __future__ import annotations

import argparse
import json
import sys
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


def medians(runs: Sequence[Numbers]) -> Numbers:
    """Return the median of each number that all or some runs have, in the order of the runs."""
    return {name: median(run[name] for run in runs if name in run) for name in dict.fromkeys(name for run in runs for name in run)}


def table(found: Mapping[str, Sequence[Numbers]]) -> str:
    """Return a table: a row for each number, with the median of each checkout and its ratio to the first."""
    middles = [medians(runs) for runs in found.values()]
    lines = [f"{'median':36}" + "".join(f"{tree:>12}{'ratio':>8}" for tree in found)]
    for name in dict.fromkeys(name for one in middles for name in one):
        first = middles[0].get(name)
        values = [one.get(name) for one in middles]
        cells = (f"{'-' if one is None else f'{one:,.2f}':>12}{'' if not one or not first else f'{one / first:.2f}':>8}" for one in values)
        lines.append(f"{name:36}" + "".join(cells))
    return "\n".join(lines)


def worse(old: Numbers, new: Numbers, percent: float) -> list[str]:
    """Return the names of the numbers that are worse than before by more than ``percent``.

    More per second is better. Less time, less memory and a smaller ratio to a limit are better. Other numbers only describe a run.
    """
    found = []
    for name in old.keys() & new.keys():
        if name.endswith(" per s"):
            before, after = new[name], old[name]
        elif name.endswith((" s", " ms", " MiB", " / limit")) and not name.startswith("step "):
            before, after = old[name], new[name]
        else:
            continue
        if after > before * (1 + percent / 100):
            found.append(name)
    return sorted(found)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, nargs="+", help="what benchmarks wrote with --json")
    parser.add_argument("--worse", type=float, default=10, metavar="PERCENT", help="how much worse a number may be (default: 10)")
    options = parser.parse_args(arguments)
    several = len(options.file) > 1
    found = {f"{path.stem} {tree}"[-11:] if several else tree: runs for path in options.file for tree, runs in load(path).items()}
    print(table(found))
    first, last = medians(next(iter(found.values()))), medians(list(found.values())[-1])
    if not first.keys() & last.keys():
        print("the first and the last checkout have no number in common: compare files of the same benchmark", file=sys.stderr)
        return 2
    found_worse = worse(first, last, options.worse)
    print(*(f"worse: {name}" for name in found_worse), sep="\n", end="\n" if found_worse else "")
    return 1 if found_worse else 0


if __name__ == "__main__":
    sys.exit(main())
