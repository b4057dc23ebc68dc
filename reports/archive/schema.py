"""The files of an archive and their columns. docs/archive.md describes them; a change of their meaning has a new SCHEMA.

archive.json                                            {"schema": 1}
runs.parquet                                            a row for each run: a run counts as soon as it is here
outcomes/device=D/front_end=F/month=M/data.parquet      a row for each case and outcome, with the runs that ended so
failures/device=D/front_end=F/month=M/data.parquet      the same for the details of failures
"""

from __future__ import annotations

from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import quote

SCHEMA = 1
"""Version of the files."""

MARK = "archive.json"
RUNS = "runs.parquet"
OUTCOMES = "outcomes"
FAILURES = "failures"

FACTS = ("device", "driver", "front_end", "tier", "suite_version", "validation", "known_failures", "started")
"""The facts of a run (reports.facts.FACTS) that the archive keeps."""

RUN_COLUMNS = MappingProxyType(
    {
        "run": "BIGINT",
        "same": "VARCHAR",
        "month": "VARCHAR",
        **dict.fromkeys(FACTS, "VARCHAR"),
        "finished": "VARCHAR",
        "seconds": "DOUBLE",
        "command": "VARCHAR",
        "folder": "VARCHAR",
        "notes": "VARCHAR[]",
        "verdicts": "MAP(VARCHAR, INTEGER)",
    }
)
"""The columns of ``runs.parquet``."""

ROWS = 2048
"""The rows of a Parquet row group, as few as DuckDB writes: a query of one case reads one group of each file."""

KEYS = MappingProxyType(
    {
        OUTCOMES: dict.fromkeys(("case_id", "verdict", "code", "known", "explanation"), "VARCHAR"),
        FAILURES: {**dict.fromkeys(("case_id", "reason", "step"), "VARCHAR"), "defects": "VARCHAR[]"},
    }
)
"""The columns of a partitioned table that tell its rows apart, with their types."""

LISTS = MappingProxyType({OUTCOMES: {"runs": ("run", "BIGINT"), "seconds": ("seconds", "FLOAT")}, FAILURES: {"runs": ("run", "BIGINT")}})
"""The other columns, in one order: the runs that ended so, and their times. Each has the name and the type of an element."""


class Partition(NamedTuple):
    """The values that name the folder of a partition."""

    device: str
    front_end: str
    month: str


def partition_path(table: str, partition: Partition) -> str:
    """Return the path of a partition's file in the archive."""
    folders = (f"{key}={quote(value or 'unknown', safe='')}" for key, value in partition._asdict().items())
    return "/".join((table, *folders, "data.parquet"))


def views(table: str, files: str) -> str:
    """Return the SQL that makes the views of a partitioned table.

    Args:
        table: OUTCOMES or FAILURES.
        files: the SQL of the list of its files.
    """
    keys = ", ".join(KEYS[table])
    source = f"read_parquet({files}, hive_partitioning = true, hive_types_autocast = false)"
    if table == FAILURES:
        flat = f"SELECT {keys}, unnest(runs) AS run FROM {source}"
        return f"CREATE OR REPLACE VIEW failures AS SELECT run, {keys} FROM ({flat}) SEMI JOIN runs USING (run)"
    flat = f"SELECT device, front_end, month, {keys}, unnest(runs) AS run, unnest(seconds) AS seconds FROM outcomes"
    return (
        f"CREATE OR REPLACE VIEW outcomes AS SELECT * FROM {source};"
        f"CREATE OR REPLACE VIEW judgements AS SELECT run, split_part(case_id, '[', 1) AS family, * EXCLUDE (run) "
        f"FROM ({flat}) SEMI JOIN runs USING (run)"
    )
