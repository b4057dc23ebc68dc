"""Judges a tier once whole and once in shards, merges the shards, and compares the two verdict for verdict.

``python -m tests.interruption.shards --count 8`` takes as long as judging the tier twice. It prints how many cases each shard has and how
long it took, and ends with exit code 1 if a verdict or a code differs.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from cts.journal.journal import RESULTS, read
from cts.journal.merge import merge

Verdicts = dict[tuple[str, int], tuple[str, str]]
"""Id and attempt -> verdict and code."""


def judge(directory: Path, arguments: list[str]) -> Verdicts:
    """Judge cases in a separate process, print the time that it took, and return their outcomes."""
    command = [sys.executable, "-m", "cts", "run", "-q", "--report-dir", str(directory), *arguments]
    start = time.monotonic()
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    found = verdicts(directory)
    seconds = sum(result.seconds for result in read(directory / RESULTS))
    print(
        f"{directory.name}: {len(found):,} cases, {seconds:.1f} s on cases, {time.monotonic() - start:.1f} s, exit code {done.returncode}"
    )
    sys.stdout.flush()
    return found


def verdicts(directory: Path) -> Verdicts:
    """Return the outcomes in a journal."""
    return {(one.id, one.attempt): (one.verdict.value, one.code) for one in read(directory / RESULTS)}


def main() -> int:
    """Judge, merge and compare; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=8, help="number of shards (default: 8)")
    parser.add_argument("others", nargs="*", metavar="ARGUMENT", help="after --: options of 'cts run'")
    options = parser.parse_args()
    arguments = options.others or ["--device", "embedded"]
    with TemporaryDirectory() as folder:
        root = Path(folder)
        whole = judge(root / "whole", arguments)
        shards = [root / f"shard{number}" for number in range(1, options.count + 1)]
        for number, directory in enumerate(shards, 1):
            judge(directory, [*arguments, "--shard", f"{number}/{options.count}"])
        merge(shards, root / "merged")
        merged = verdicts(root / "merged")
    different = sorted(key for key in whole.keys() | merged.keys() if whole.get(key) != merged.get(key))
    for key in different:
        print(key, whole.get(key), merged.get(key))
    print(f"{len(whole):,} judgements of the whole run, {len(merged):,} of the merged shards, {len(different)} differ")
    return 1 if different or not whole else 0


if __name__ == "__main__":
    raise SystemExit(main())
