"""The cost of an archive of a year of nights: ``python -m benchmarks.archive DIR`` makes one in DIR, and prints sizes, times and memory.

20 devices run each night. Each run is one of four published runs with seeded changes: regressions, some of which are mended later; flaky
cases; cases that become slower; a new driver every 60 days.
"""

from __future__ import annotations

import argparse
import datetime
import gzip
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reports.archive import adding
from reports.archive.engine import connected, opened, quoted
from reports.archive.schema import FAILURES, OUTCOMES, Partition, partition_path
from reports.comparison.runs import read_run

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

PUBLISHED = ("nvidia-h200-580.159.04-nightly", "nvidia-h100-580.159.04-nightly", "lavapipe-26.1.6-nightly", "embedded-nightly")
FIRST = datetime.date(2027, 1, 1)
DAYS_OF_A_DRIVER = 60

EVENTS = """
CREATE OR REPLACE TEMP TABLE events AS SELECT *,
    CASE WHEN chance < 100 THEN 'regression' WHEN chance < 120 THEN 'flaky' WHEN chance < 130 THEN 'growing' ELSE '' END AS kind,
    (hash(case_id, $seed, 'begin') % 365)::INTEGER AS begin, (hash(case_id, $seed, 'length') % 400)::INTEGER AS length
FROM (SELECT *, CASE verdict WHEN 'pass' THEN hash(case_id, $seed) % 10000 ELSE 10000 END AS chance FROM base)
"""
"""Of 10,000 passing cases, 100 break one night, 20 are flaky and 10 become slower."""

NOISE = "(0.8 + 0.4 * (hash(case_id, one.run) % 1000) / 1000)"

OUTCOME_ROWS = f"""
SELECT case_id, verdict, code, known, explanation,
    [one.run FOR one IN nights] AS runs,
    [round(seconds * {NOISE} * CASE kind WHEN 'growing' THEN 1 + one.day / 100 ELSE 1 END, digits)::FLOAT FOR one IN nights] AS seconds
FROM events, (SELECT list({{run: run, day: day}} ORDER BY day) AS nights FROM month) WHERE kind IN ('', 'growing')
UNION ALL
SELECT case_id, CASE WHEN bad THEN 'fail' ELSE verdict END AS verdict, CASE WHEN bad THEN 'fail.value' ELSE code END AS code, known,
    CASE WHEN bad THEN 'multiply_add.c_overwritten' ELSE explanation END AS explanation,
    list(run ORDER BY day) AS runs, list(round(seconds, digits)::FLOAT ORDER BY day) AS seconds
FROM (SELECT *, CASE kind WHEN 'flaky' THEN hash(case_id, run) % 10 = 0 ELSE day BETWEEN begin AND begin + length END AS bad
    FROM events, month WHERE kind IN ('regression', 'flaky'))
GROUP BY ALL
ORDER BY ALL
"""

FAILURE_ROWS = """
SELECT case_id, 'wrong values' AS reason, '' AS step, [explanation] AS defects, runs
FROM outcomes WHERE verdict NOT IN ('pass', 'not_supported')
"""


def make(archive: Path, devices: int, days: int) -> None:
    """Make the archive, as if each run had been added."""
    archive.mkdir(parents=True)
    rows = []
    with connected() as connection:
        adding.begin(connection, archive)
        for number in range(devices):
            run = read_run("published", Path("reports/published", PUBLISHED[number % 4], "results.jsonl.gz"), {})
            _load(connection, run.cases.values())
            connection.execute(EVENTS, {"seed": number})
            device = f"{run.facts['device']} of machine {number}"
            nights: dict[str, list[dict[str, Any]]] = {}
            for day in range(days):
                started = f"{FIRST + datetime.timedelta(day)}T02:00:00Z"
                row: dict[str, Any] = {**run.facts, "run": 1000 * number + day, "same": f"{number}-{day}", "day": day}
                row |= {"device": device, "driver": f"{run.facts['driver']}.{day // DAYS_OF_A_DRIVER}", "month": started[:7]}
                row |= {"started": started, "finished": started, "seconds": 600.0, "command": "cts run", "notes": []}
                row |= {"folder": f"farm/{number}/{started[:10]}"}
                row |= {"verdicts": {str(verdict): count for verdict, count in run.verdicts.items()}}
                nights.setdefault(started[:7], []).append(row)
            for month, those in nights.items():
                _month(connection, archive, Partition(device, run.facts["front_end"], month), those)
                rows += those
            print(f"made {device}", flush=True)
        adding.write_runs(connection, archive, rows)


def _load(connection: DuckDBPyConnection, outlines: Any) -> None:
    """Make the table ``base`` of the cases of a published run."""
    texts: Mapping[str, Any] = {
        "case_id": lambda one: one.id,
        "verdict": lambda one: str(one.verdict),
        "code": lambda one: one.code,
        "known": lambda one: one.known,
        "explanation": lambda one: one.defects[0] if one.defects else "",
    }
    columns = {name: np.array([text(one) for one in outlines], dtype=object) for name, text in texts.items()}
    connection.register("cases", {**columns, "seconds": np.array([max(one.seconds, 1e-5) for one in outlines])})
    connection.execute("CREATE OR REPLACE TEMP TABLE base AS SELECT *, (2 - floor(log10(seconds)))::INTEGER AS digits FROM cases")


def _month(connection: DuckDBPyConnection, archive: Path, partition: Partition, rows: list[dict[str, Any]]) -> None:
    """Write the files of a partition."""
    nights = {name: np.array([row[name] for row in rows], dtype=np.int64) for name in ("run", "day")}
    connection.register("month", nights)
    adding.replace(connection, archive / partition_path(OUTCOMES, partition), OUTCOME_ROWS)
    outcomes = f"read_parquet({quoted(str(archive / partition_path(OUTCOMES, partition)))}, hive_partitioning = false)"
    adding.replace(connection, archive / partition_path(FAILURES, partition), FAILURE_ROWS.replace("FROM outcomes", f"FROM {outcomes}"))


def measure(*arguments: str) -> None:
    """Run ``cts`` in a process of its own, and print its time, its processor time, and the most memory of any such process until now."""
    before, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-m", "cts", *arguments], capture_output=True, text=True, check=False)
    seconds, now = time.perf_counter() - before, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    cost = f"{seconds:7.2f} s {processor:7.2f} s of CPU {now.ru_maxrss / 2**20:6.2f} GiB {done.stdout.count(chr(10)):9,} lines"
    print(cost, " cts", *arguments, done.stderr)


def next_night(archive: Path, directory: Path) -> None:
    """Write a report directory of the first device in the last month of the archive."""
    with opened(str(archive)) as farm:
        device, started = farm.connection.execute(
            "SELECT device, max(started) FROM runs WHERE contains(device, 'H200') GROUP BY ALL ORDER BY ALL LIMIT 1"
        ).fetchall()[0]
    published = Path("reports/published", PUBLISHED[0])
    meta = json.loads((published / "meta.json").read_text(encoding="utf-8"))
    meta |= {"started": f"{started[:10]}T{time.strftime('%H:%M:%S')}Z", "device": {**meta["device"], "name": device}}
    (directory / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
    with gzip.open(published / "results.jsonl.gz", "rt", encoding="utf-8") as file:
        (directory / "results.jsonl").write_text(file.read().replace('"NVIDIA H200"', json.dumps(device)), encoding="utf-8")


def main() -> None:
    """Make and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path, metavar="DIR", help="a new folder, or one that this command has made")
    parser.add_argument("--devices", type=int, default=20)
    parser.add_argument("--days", type=int, default=365)
    options = parser.parse_args()
    archive: Path = options.directory
    if not archive.exists():
        make(archive, options.devices, options.days)
    size = sum(path.stat().st_size for path in archive.rglob("*.parquet"))
    print(f"{size / 2**20:,.0f} MiB in {sum(1 for _ in archive.rglob('*.parquet')):,} files")
    place = str(archive)
    measure("history", place, "muladd[row:16x16x16.f16.f16.f32.f32/data:exact]")
    measure("history", place, "--device", "H200 of machine 0")
    measure("history", place, "--device", "H200 of machine 0", "--html", str(archive.with_suffix(".html")))
    measure("history", place, "--json")
    with tempfile.TemporaryDirectory() as night:
        next_night(archive, Path(night))
        measure("archive", "add", night, "--to", place)


if __name__ == "__main__":
    main()
