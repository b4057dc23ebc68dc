"""Reads runs of an archive, in groups by device and front end, with the outcomes of cases in them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress, groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cts.engine.keyword_expression import KeywordExpression, parse_expression
from cts.verdict.verdict import Verdict
from generators.errors import CtsError
from reports.archive.engine import opened, quoted, show
from reports.archive.schema import FACTS, Partition
from reports.run_names import run_names
from reports.verdicts import WORDING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOST_WORDS = 10
"""The most words of an expression: all combinations of them are tried."""


class SelectionError(CtsError):
    """No run, or too much, is selected; the message says what to change."""


@dataclass(frozen=True)
class End:
    """The outcome of a case in one run, without text."""

    verdict: Verdict
    code: str = ""
    known: str = ""


@dataclass(frozen=True, eq=False)
class PastRun:
    """A run.

    Attributes:
        id: its id in the archive.
        name: as in reports.run_names.
        folder: the path of its report directory when it was added.
        month: the month of its start; empty if that is not known.
        facts: facts by the keys of reports.archive.schema.FACTS.
        notes: why cases may be missing.
        counted: JSON of its verdicts with their numbers of cases. Few runs of many are shown, and reading it takes long.
    """

    id: int
    name: str
    folder: str
    month: str
    facts: Mapping[str, str]
    notes: tuple[str, ...]
    counted: str

    @property
    def key(self) -> tuple[str, str]:
        """Device and front end."""
        return self.facts["device"], self.facts["front_end"]

    @cached_property
    def verdicts(self) -> Mapping[Verdict, int]:
        """The verdicts of all its cases, worst first."""
        counted = json.loads(self.counted)
        return {verdict: counted[verdict] for verdict in WORDING if verdict in counted}

    @property
    def partition(self) -> Partition:
        """The partition of the archive that holds its outcomes."""
        return Partition(*self.key, self.month)


class Ended(NamedTuple):
    """A run, and the outcome of one case in it."""

    run: PastRun
    end: End


@dataclass(frozen=True)
class Selection:
    """The runs and cases that a history shows.

    Attributes:
        device: a part of the name of the device; empty for all.
        since: the first day, or the beginning of a time, such as ``2027-03``; empty for all.
        newest: at most so many of the newest runs of each group; 0 for all.
        case, family: only this case, or the cases of this family; empty for all.
        expression: only cases whose ids match.
        notable: only cases that did not end well in all runs, or not alike; if false, also the others.
    """

    device: str = ""
    since: str = ""
    newest: int = 0
    case: str = ""
    family: str = ""
    expression: KeywordExpression = field(default_factory=lambda: parse_expression(""))
    notable: bool = False

    @property
    def only_notable(self) -> Selection:
        """The same without cases that ended well in all runs."""
        return replace(self, notable=True)

    @property
    def names_cases(self) -> bool:
        """Whether the cases are named, so that those are also shown that never changed."""
        return bool(self.case or self.family or self.expression.text)

    @property
    def condition(self) -> str:
        """The SQL that is true of the cases, by id.

        Raises:
            SelectionError: the expression has more than MOST_WORDS words.
        """
        parts = [f"case_id = {quoted(self.case)}"] if self.case else []
        if self.family:
            # A range, and not a pattern, reads only the parts of the files that have the family.
            parts.append(f"case_id >= {quoted(self.family + '[')} AND case_id < {quoted(self.family + chr(ord('[') + 1))}")
        if self.expression.text:
            parts.append(_matches(self.expression))
        return " AND ".join(parts) or "true"


def _matches(expression: KeywordExpression) -> str:
    """Return the SQL that is true of the ids that match: the combinations of words for which the expression holds."""
    words = list(dict.fromkeys(word.lower() for word in expression.words))
    if len(words) > MOST_WORDS:
        raise SelectionError(f"-k has {len(words)} different words, and at most {MOST_WORDS} can be searched for: use fewer")
    found = " + ".join(f"(CAST(contains(lower(case_id), {quoted(word)}) AS INTEGER) << {place})" for place, word in enumerate(words))
    holding = [
        bits
        for bits in range(1 << len(words))
        if expression.holds(lambda word, bits=bits: bool(bits >> words.index(word.lower()) & 1))  # type: ignore[misc]
    ]
    return f"({found}) IN ({', '.join(map(str, holding))})" if holding else "false"


@dataclass(frozen=True, eq=False)
class Group:
    """The runs of one device with one front end.

    Attributes:
        device, front_end: what all the runs share.
        runs: oldest first, by their recorded start, then by name.
        judged: number of different cases that the runs judged.
        cases: the ids of the selected cases, in order.
        ends: the outcomes that occur.
        strips: for each case and run the index of its outcome in ``ends``; -1 if the run did not judge the case. The shape is
            len(cases) x len(runs).
    """

    device: str
    front_end: str
    runs: tuple[PastRun, ...]
    judged: int
    cases: tuple[str, ...]
    ends: tuple[End, ...]
    strips: NDArray[np.int16]

    @cached_property
    def changed(self) -> NDArray[np.bool_]:
        """For each case, whether its outcome differs between the runs that judged it."""
        least = np.where(self.strips < 0, np.iinfo(np.int16).max, self.strips).min(axis=1, initial=np.iinfo(np.int16).max)
        return np.asarray(self.strips.max(axis=1, initial=-1) > least)

    def of(self, id_: str) -> list[Ended]:
        """Return the runs that judged a case, oldest first, with its outcomes; empty if the case is not selected."""
        return self.strip(self._places[id_]) if id_ in self._places else []

    @cached_property
    def _places(self) -> dict[str, int]:
        return {id_: place for place, id_ in enumerate(self.cases)}

    def strip(self, place: int) -> list[Ended]:
        """Return the same for the case at a place in ``cases``."""
        return [Ended(run, self.ends[end]) for run, end in zip(self.runs, self.strips[place], strict=True) if end >= 0]


def read_groups(archive: str, selection: Selection) -> Iterator[Group]:
    """Yield the groups of the selected runs of an archive, by device and front end.

    Raises:
        SelectionError: no run is selected.
        ArchiveError: the archive cannot be read, or DuckDB is not installed.
    """
    with opened(archive) as connection:
        runs = _runs(connection, selection)
        groups = [tuple(those) for _, those in groupby(runs, lambda run: run.key)]
        if selection.case:
            # Few rows of many files: DuckDB opens the files at the same time.
            yield from _groups(connection, archive, groups, selection)
        else:
            for group in groups:
                yield from _groups(connection, archive, [group], selection)


def _runs(connection: DuckDBPyConnection, selection: Selection) -> list[PastRun]:
    """Return the selected runs by device and front end, oldest first."""
    columns = ["run", "folder", "month", "notes", "to_json(verdicts)", *FACTS]
    rows = connection.execute(f"SELECT {', '.join(columns)} FROM runs ORDER BY folder, run").fetchall()
    named = run_names([row[1] for row in rows])
    found = []
    for name, (id_, folder, month, notes, counted, *facts) in zip(named, rows, strict=True):
        found.append(PastRun(id_, name, folder, month, dict(zip(FACTS, facts, strict=True)), tuple(notes), counted))
    found.sort(key=lambda run: (*run.key, run.facts["started"], run.name))
    wanted = [run for run in found if selection.device.lower() in run.facts["device"].lower() and run.facts["started"] >= selection.since]
    if not wanted:
        devices = ", ".join(sorted({run.facts["device"] for run in found})) or "none"
        raise SelectionError(f"no run is selected; the archive has {len(found):,} runs, of these devices: {devices}")
    if not selection.newest:
        return wanted
    return [run for _, those in groupby(wanted, lambda run: run.key) for run in list(those)[-selection.newest :]]


def _groups(connection: DuckDBPyConnection, archive: str, groups: Sequence[Sequence[PastRun]], selection: Selection) -> Iterator[Group]:
    """Read groups by one query."""
    every = [(run, number, place) for number, group in enumerate(groups) for place, run in enumerate(group)]
    show(connection, archive, {run.partition for run, _, _ in every})
    chosen = {
        "run": np.array([run.id for run, _, _ in every]),
        "group_number": np.array([number for _, number, _ in every], dtype=np.int32),
        "place": np.array([place for _, _, place in every], dtype=np.int32),
    }
    connection.register("chosen", chosen)
    outcomes = f"(SELECT * FROM outcomes WHERE {selection.condition})"
    if selection.case:
        connection.execute(f"CREATE TEMP TABLE found AS SELECT case_id, verdict, code, known, runs FROM {outcomes}")
        outcomes = "found"
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE wanted AS SELECT case_id, row_number() OVER (ORDER BY case_id) - 1 AS number "
        f"FROM {outcomes} GROUP BY case_id {_NOTABLE if selection.notable else ''}"
    )
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE kinds AS SELECT *, row_number() OVER (ORDER BY verdict, code, known) - 1 AS kind "
        f"FROM (SELECT DISTINCT verdict, code, known FROM {outcomes})"
    )
    cases = [row[0] for row in connection.execute("SELECT case_id FROM wanted ORDER BY number").fetchall()]
    kinds = connection.execute("SELECT verdict, code, known FROM kinds ORDER BY kind").fetchall()
    ends = tuple(End(Verdict(verdict), code, known) for verdict, code, known in kinds)
    rows = connection.execute(
        f"SELECT group_number, number, place, kind FROM (SELECT number, kind, unnest(runs) AS run FROM {outcomes} "
        "JOIN wanted USING (case_id) JOIN kinds USING (verdict, code, known)) JOIN chosen USING (run)"
    ).fetchnumpy()
    judged = len(cases)
    if selection.notable:
        ((judged,),) = connection.execute("SELECT count(DISTINCT case_id) FROM outcomes").fetchall()
    for number, runs in enumerate(groups):
        mine = rows["group_number"] == number
        strips = np.full((len(cases), len(runs)), -1, np.int16)
        strips[rows["number"][mine], rows["place"][mine]] = rows["kind"][mine]
        there = np.asarray((strips >= 0).any(axis=1))
        if there.any() or not selection.names_cases:
            yield Group(
                *runs[0].key,
                tuple(runs),
                judged,
                tuple(compress(cases, there.tolist())),
                ends,
                strips[there],
            )


_NOTABLE = "HAVING count(DISTINCT (verdict, code, known)) > 1 OR bool_or(verdict NOT IN ('pass', 'compiled', 'not_supported'))"
