"""Writes what docs/performance.md and the README say about whole runs on real machines: tables, a plot, and the ratio to VK-GL-CTS.

python -m benchmarks.published            writes them from benchmarks/results
python -m benchmarks.published --check    exit status 1 if they are not up to date

A file of ``benchmarks/results`` is what ``benchmarks.whole_run --json`` wrote on one host, with the commit as the name of each checkout.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.ratios import Numbers, load, medians
from cts.generated_files import bring_up_to_date, replaced

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
_PEER = "VK-GL-CTS"
_WHOLE, _LIMIT = "whole command, s", "limit of the compiler, s"
_FIRST, _AFTER = "first verdict of the device, s", "after the last verdict, s"
_RATE = "compared dispatches per s"
_WIDTH, _LEFT, _BAR, _GAP = 720, 190, 22, 14
_PARTS = (("until the first verdict", "#7a8ca0"), ("verdicts", "#2f6fb0"), ("after the last verdict", "#d08a2e"))

Results = Mapping[str, Mapping[str, Numbers]]
"""Name of a file -> name of a checkout -> its medians."""


def results(folder: Path) -> Results:
    """Return what was measured, by the names of the files."""
    return {path.stem: {tree: medians(runs) for tree, runs in load(path).items()} for path in sorted(folder.glob("*.json"))}


def tables(found: Results) -> str:
    """Return a table for each file: a row for each number, except for sums of steps, and a column for each checkout."""
    blocks = []
    for file, trees in found.items():
        names = dict.fromkeys(name for one in trees.values() for name in one if not name.startswith("step "))
        lines = [f"| {file} | " + " | ".join(trees) + " |", "|---|" + "---:|" * len(trees)]
        lines += [f"| {name} | " + " | ".join(_told(one.get(name)) for one in trees.values()) + " |" for name in names]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _told(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def ratios(found: Results) -> str:
    """Return a sentence: how many times more the newest checkout of the first file does per second than VK-GL-CTS on the same card."""
    own = list(next(trees for trees in found.values() if _PEER not in trees).values())[-1]
    peer = next(trees[_PEER] for trees in found.values() if _PEER in trees)
    return (
        f"On an NVIDIA H200 with 16 processes, a nightly run makes {own['pipelines per s']:.0f} pipelines and compares {own[_RATE]:.0f} "
        f"dispatches per second.\n{_PEER} makes {peer['pipelines per s']:.0f} of each on such a card: a ratio of "
        f"{own['pipelines per s'] / peer['pipelines per s']:.1f} and {own[_RATE] / peer[_RATE]:.1f}."
    )


def plot(found: Results) -> str:
    """Return an SVG: a bar for each checkout, its whole command in three parts, with a mark at the limit of the compiler."""
    runs = [(file, tree, one) for file, trees in found.items() for tree, one in trees.items() if _WHOLE in one]
    bars = [(f"{tree} ({file})", one) for file, tree, one in runs]
    scale = (_WIDTH - _LEFT - 170) / max(one[_WHOLE] for _, one in bars)
    height = 64 + len(bars) * (_BAR + _GAP)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}" role="img"',
        ' font-family="sans-serif" font-size="13" fill="#1b1f24">',
        "<title>Seconds of whole nightly runs, by commit</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    x = 12
    for label, colour in _PARTS:
        lines.append(f'<rect x="{x}" y="14" width="14" height="14" fill="{colour}"/><text x="{x + 20}" y="26">{label}</text>')
        x += 180
    lines.append(f'<path d="M{x + 6} 12v18" stroke="#b3261e" stroke-width="3"/><text x="{x + 16}" y="26">limit of the compiler</text>')
    for number, (label, one) in enumerate(bars):
        y = 48 + number * (_BAR + _GAP)
        lines.append(f'<text x="12" y="{y + 16}">{label}</text>')
        at = float(_LEFT)
        for (_, colour), seconds in zip(_PARTS, (one[_FIRST], one[_WHOLE] - one[_FIRST] - one[_AFTER], one[_AFTER]), strict=True):
            lines.append(f'<rect x="{at:.1f}" y="{y}" width="{seconds * scale:.1f}" height="{_BAR}" fill="{colour}"/>')
            at += seconds * scale
        lines.append(f'<path d="M{_LEFT + one[_LIMIT] * scale:.1f} {y - 3}v{_BAR + 6}" stroke="#b3261e" stroke-width="3"/>')
        lines.append(f'<text x="{at + 8:.1f}" y="{y + 16}">{one[_WHOLE]:.0f} s, {one[_RATE]:.0f} dispatches/s</text>')
    return "\n".join([*lines, "</svg>", ""])


def made(root: Path, found: Results) -> dict[Path, str]:
    """Return the files as they should be."""
    page, readme = root / "docs" / "performance.md", root / "README.md"
    return {
        page: replaced(page.read_text(encoding="utf-8"), "whole runs", tables(found)),
        page.with_suffix(".svg"): plot(found),
        readme: replaced(readme.read_text(encoding="utf-8"), "speed", ratios(found)),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the files."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.published", description="Writes what pages show of whole runs.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 if something is not up to date")
    options = parser.parse_args(arguments)
    return bring_up_to_date(made(ROOT, results(RESULTS)).items(), "python -m benchmarks.published", options.check)


if __name__ == "__main__":
    sys.exit(main())
