"""Runs a few cases once for each Vulkan call that they use and each fault of it, and checks what the suite reports:

    python -m tests.hostile_driver.sweep [--jobs N] [--sample K [--seed S]] [--only CALL] [--keep FILE] [--all]

It needs what the hostile driver needs: see CONTRIBUTING.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.hostile_driver.building import build, obstacle
from tests.hostile_driver.sweep.invariants import Clean, judge, requests_of
from tests.hostile_driver.sweep.plan import REGISTRY, Fault, faults, sampled
from tests.hostile_driver.sweep.running import Outcome, prepare, run_all, run_one, selected

_CONTROL = "plain_shaders[stage:compute]"

Row = Mapping[str, Any]
"""What became of a fault: its fields, the verdicts, the exit code, and what the invariants say."""


def main() -> int:
    """Print the table, then everything that is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile_driver.sweep", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="runs at once (default: 2)")
    parser.add_argument("--sample", type=int, metavar="K", help="only K faults, chosen at random")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="the seed of that choice (default: 0)")
    parser.add_argument(
        "--only", default="", metavar="PART", help="only faults whose names contain PART, for example 'vkQueueSubmit: hang'"
    )
    parser.add_argument("--keep", type=Path, metavar="FILE", help="append each result to FILE, and take from it the results that it has")
    parser.add_argument("--all", action="store_true", help="print every result, not only a summary")
    options = parser.parse_args()
    if why := obstacle() or ("" if REGISTRY.exists() else f"no registry of Vulkan ({REGISTRY}): libvulkan-dev has it"):
        print(f"this machine lacks what the hostile driver needs: {why}")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        layer = Path(folder)
        build(layer)
        clean = clean_run(layer)
        chosen = [fault for fault in faults(clean.run.calls) if options.only in fault.name]
        if options.sample is not None:
            chosen = list(sampled(chosen, options.sample, options.seed))
        known = {} if options.keep is None else _read(options.keep)
        rows = [known[fault.name] for fault in chosen if fault.name in known]
        left = [fault for fault in chosen if fault.name not in known]
        for row in rows_of(layer, left, clean, options.jobs):
            rows.append(row)
            if options.keep is not None:
                with options.keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
            wrong = sum(bool(one["wrong"]) for one in rows)
            seconds = time.monotonic() - began
            print(f"{len(rows)} of {len(chosen)}, {wrong} wrong, {seconds:.0f} s: {row['name']}: {_told(row)}", file=sys.stderr, flush=True)
    _print(rows, options.all)
    print(f"\n{len(rows)} runs, {sum(bool(row['wrong']) for row in rows)} wrong, {time.monotonic() - began:.0f} s")
    return 1 if any(row["wrong"] for row in rows) else 0


def clean_run(layer: Path) -> Clean:
    """Return what runs without faults do.

    Raises:
        RuntimeError: not every case passes.
    """
    # Its run also compiles every shader.
    prepare(layer)
    clean = Clean(run_one(layer), run_one(layer, cases=[_CONTROL]), requests_of(selected()))
    if clean.run.seen.exit or clean.verdicts != dict.fromkeys(selected(), "pass"):
        raise RuntimeError(clean.run.seen.output.decode(errors="replace"))
    return clean


def rows_of(layer: Path, chosen: list[Fault], clean: Clean, jobs: int) -> Iterator[Row]:
    """Run each fault and yield what became of it."""
    for fault, outcome in run_all(layer, chosen, jobs):
        yield _row(fault, outcome, clean)


def _row(fault: Fault, outcome: Outcome, clean: Clean) -> Row:
    judgement = judge(fault, outcome, clean)
    verdicts = Counter(line["verdict"] for line in outcome.seen.lines if line is not None)
    unjudged = len(clean.verdicts) - verdicts.total()
    return {
        "name": fault.name,
        "call": fault.call,
        "what": fault.what,
        "when": fault.when,
        "verdicts": dict(sorted(verdicts.items())) | ({"unjudged": unjudged} if unjudged else {}),
        "exit": outcome.seen.exit,
        "seconds": round(outcome.seen.seconds, 2),
        "wrong": judgement.wrong,
        "no_effect": judgement.no_effect,
        "output": outcome.seen.output.decode(errors="replace")[-3000:] if judgement.wrong else "",
    }


def _read(path: Path) -> dict[str, Row]:
    """Return name -> row of the results in a file. The last line may be incomplete."""
    rows = {}
    with suppress(FileNotFoundError):
        for line in path.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError):
                row = json.loads(line)
                rows[row["name"]] = row
    return rows


def _told(row: Row) -> str:
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in row["verdicts"].items())
    wrong = "; ".join(text.partition(":")[0] for text in row["wrong"])
    return f"{verdicts}, exit code {row['exit']}" + (
        f", WRONG: {wrong}" if wrong else f", no effect: {row['no_effect']}" if row["no_effect"] else ""
    )


def _print(rows: Iterable[Row], every: bool) -> None:
    """Print what became of each fault. Faults of a call with the same outcome share a line."""
    joined: dict[tuple[str, str], list[Row]] = {}
    for row in sorted(rows, key=lambda one: one["name"]):
        joined.setdefault((row["call"], _told(row)), []).append(row)
    print("| call | fault, and when | outcome |\n|---|---|---|")
    for (call, outcome), same in joined.items():
        if every or any(row["wrong"] for row in same):
            whens: dict[str, list[str]] = {}
            for row in same:
                whens.setdefault(row["what"], []).append(row["when"])
            struck = "; ".join(f"{what} {', '.join(when)}" for what, when in whens.items())
            print(f"| {call} | {struck} | {outcome} |")
    kinds = Counter(text.partition(":")[0] for row in rows for text in row["wrong"])
    print("\n| what is wrong | runs |\n|---|---|")
    for kind, count in kinds.most_common():
        print(f"| {kind} | {count} |")
    for row in rows:
        if row["wrong"]:
            print(f"\n{row['name']} ({_told(row)}):", *row["wrong"], sep="\n  ")
    unseen = Counter((row["call"], row["no_effect"]) for row in rows if row["no_effect"])
    print("\n| no effect, as it must be | runs | why |\n|---|---|---|")
    for (call, why), count in sorted(unseen.items()):
        print(f"| {call} | {count} | {why} |")


if __name__ == "__main__":
    sys.exit(main())
