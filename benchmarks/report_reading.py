"""Measures a report's cost of reading the arrays of failures, compared with reading the journal.

    python -m benchmarks.report_reading [JOURNAL]

Takes a run's folder or journal, by default the published nightly run of an H200. Prints the seconds of processor time of both, and their
ratio.
"""

from __future__ import annotations

import argparse
import time
from collections import deque
from pathlib import Path

from reports import html, read
from reports.journals import whole_results

ROOT = Path(__file__).resolve().parent.parent
PUBLISHED = ROOT / "reports" / "published" / "nvidia-h200-580.159.04-nightly"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("journal", type=Path, nargs="?", default=PUBLISHED)
    start = time.process_time()
    run = read(parser.parse_args().journal)
    first = time.process_time() - start
    pages = html.pages(run.results)
    start = time.process_time()
    deque(whole_results(run, pages.keys()), maxlen=0)
    second = time.process_time() - start
    print(f"{len(run.results):,} results: {first:.2f} s; failures of {len(pages):,} pages: {second:.2f} s, {second / first:.0%} of that")


if __name__ == "__main__":
    main()
