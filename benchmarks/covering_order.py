"""Measures the coverage of each prefix of a tier, in the order of a run with a time limit, and the cost of that order.

    python -m benchmarks.covering_order [--tier T]

Prints the share of all pairs of labels that occur in the first 5, 10, 25 and 50 % of the cases: in the covering order, and in the order in
which a run without a limit judges them. Then prints the processor time of computing the covering order.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

from cts.engine.covering_order import Labels, covering_order
from generators.casebook import expand, load_casebook

ROOT = Path(__file__).resolve().parent.parent
PREFIXES = (0.05, 0.1, 0.25, 0.5)


def covered(families: Sequence[Labels], order: Sequence[tuple[int, int]]) -> list[float]:
    """Return the share of all pairs that occur in each prefix."""
    seen: set[object] = set()
    after = []
    for family, case in order:
        seen.update((family, pair) for pair in combinations(enumerate(families[family][case]), 2))
        after.append(len(seen))
    return [after[int(len(order) * prefix)] / len(seen) for prefix in PREFIXES]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tier", choices=("smoke", "nightly"), default="nightly", help="tier of the cases (default: nightly)")
    families = [[case.labels for case in expand(family, parser.parse_args().tier)] for family in load_casebook(ROOT)]
    start = time.process_time()
    order = covering_order(families)
    seconds = time.process_time() - start
    given = [(family, case) for family, cases in enumerate(families) for case in range(len(cases))]
    for name, one in (("covering order", order), ("order of the tier", given)):
        parts = (f"{part:5.1%} after {prefix:.0%}" for part, prefix in zip(covered(families, one), PREFIXES, strict=True))
        print(f"{name:18}", ", ".join(parts))
    print(f"{seconds:.2f} s of processor time for {len(order):,} cases")


if __name__ == "__main__":
    main()
