"""Measures the processor time that each command of ``cts`` takes before it does anything.

    python -m benchmarks.start_up [--times N] [--json FILE]

Runs ``cts --help``, and the help of each command, N times (3), and prints the least time of each in milliseconds.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from pathlib import Path

from benchmarks.ratios import Numbers, save
from cts.commands import VERBS


def seconds_of(arguments: list[str]) -> float:
    """Return the seconds of processor time that ``cts`` takes with some arguments."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "cts", *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to keep the numbers")
    options = parser.parse_args()
    found: Numbers = {}
    for words in ([], *([name] for name in VERBS)):
        name = " ".join(["cts", *words, "--help"])
        found[f"{name}, ms"] = 1e3 * min(seconds_of([*words, "--help"]) for _ in range(options.times))
        print(f"{name:36}{found[f'{name}, ms']:8.0f} ms", flush=True)
    if options.json:
        save(options.json, {"now": [found]})


if __name__ == "__main__":
    main()
