"""Measures the time to open the index of a report in Chromium, in milliseconds.

    python -m benchmarks.opening [--cases N] [--times N]

Writes the index of N invented cases (100,000), half of them not supported, and opens it from its file. Each line has the time until the
first paint, the time until the list of all cases can be searched, and the time of a search for two words.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.comparison import write
from reports import html, read, summarise
from reports.causes import causes
from reports.context import context, headline
from tests.reports.chromium import Chromium

_READY = "document.getElementById('cases').dataset.ready"
_PAINT = "Math.round(performance.getEntriesByName('first-contentful-paint')[0].startTime)"
_SEARCH = """new Promise((done) => {
  const begin = performance.now();
  addEventListener("hashchange", () => done(Math.round(performance.now() - begin)), { once: true });
  location.hash = "#cases?words=s8+loop";
})"""


def main() -> None:
    """Write the index, open it, and print the times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = read(write(folder / "run", options.cases, 1, 0.005))
        summary, about = summarise(run.results), context(run)
        index = folder / "index.html"
        text = html.index(run, summary, causes(run.results), about, headline(summary, about), {}, html.pages(run.results), {})
        index.write_text(text, encoding="utf-8")
        print(f"{options.cases:,} cases, {index.stat().st_size / 1e6:.1f} MB")
        with Chromium(folder / "profile") as browser:
            for _ in range(options.times):
                browser.open(index)
                browser.until(_READY)
                paint, ready, search = browser.run(_PAINT), browser.run(_READY), browser.run(_SEARCH)
                print(f"first paint {paint} ms, list {ready} ms, search {search} ms")


if __name__ == "__main__":
    main()
