"""Reads runs of an archive, in groups by device and front end, with the outcomes of cases in them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress, groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cts.engine.keyword_expression import KeywordExpression, parse_expression
from cts.verdict.verdict import Verdict
from generators.errors import CtsError
from reports.archive.engine import Archive, quoted
from reports.archive.schema import FACTS, Partition
from reports.formats import count
from reports.run_names import run_names
from reports.verdicts import WORDING

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
        runs: oldest first, by their recorded start, then by folder.
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
        strip = self.strips[self._places[id_]] if id_ in self._places else ()
        return [Ended(run, self.ends[end]) for run, end in zip(self.runs, strip, strict=False) if end >= 0]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {id_: place for place, id_ in enumerate(self.cases)}


def read_groups(archive: Archive, selection: Selection) -> Iterator[Group]:
    """Yield the groups of the selected runs of an archive, by device and front end.

    Raises:
        SelectionError: no run is selected.
        ArchiveError: the archive cannot be read.
    """
    groups = [tuple(those) for _, those in groupby(_runs(archive, selection), lambda run: run.key)]
    # One case has few rows in many files, and DuckDB reads several files at the same time.
    for together in [groups] if selection.case else [[group] for group in groups]:
        yield from _groups(archive, together, selection)


def _runs(archive: Archive, selection: Selection) -> list[PastRun]:
    """Return the selected runs by device and front end, oldest first."""
    columns = ", ".join(("run", "folder", "month", "notes", "to_json(verdicts)", *FACTS))
    rows = archive.connection.execute(f"SELECT {columns} FROM runs ORDER BY device, front_end, started, folder, run").fetchall()
    found = []
    for name, (id_, folder, month, notes, counted, *values) in zip(run_names([row[1] for row in rows]), rows, strict=True):
        facts = dict(zip(FACTS, values, strict=True))
        if selection.device.lower() in facts["device"].lower() and facts["started"] >= selection.since:
            found.append(PastRun(id_, name, folder, month, facts, tuple(notes), counted))
    if not found:
        raise SelectionError(f"no run is selected{_overview([dict(zip(FACTS, row[-len(FACTS) :], strict=True)) for row in rows])}")
    if not selection.newest:
        return found
    return [run for _, those in groupby(found, lambda run: run.key) for run in list(those)[-selection.newest :]]


def _overview(facts: Sequence[Mapping[str, str]]) -> str:
    """Return which runs an archive has, for the end of a message."""
    if not facts:
        return ": the archive has none"
    devices = ", ".join(sorted({one["device"] for one in facts}))
    started = sorted(one["started"] for one in facts)
    return f"; the archive has {count(len(facts), 'run')} from {started[0]} to {started[-1]}, of these devices: {devices}"


def _groups(archive: Archive, groups: Sequence[Sequence[PastRun]], selection: Selection) -> Iterator[Group]:
    """Read groups by one query."""
    connection = archive.connection
    archive.show({run.partition for group in groups for run in group})
    chosen = np.array([(run.id, number, place) for number, group in enumerate(groups) for place, run in enumerate(group)])
    connection.register("chosen", dict(zip(("run", "group_number", "place"), chosen.T.copy(), strict=True)))
    judged, condition = 0, selection.condition
    if selection.notable:
        connection.execute(f"CREATE OR REPLACE TEMP TABLE judged AS SELECT case_id, {_NOTABLE} AS notable FROM outcomes GROUP BY case_id")
        ((judged,),) = connection.execute("SELECT count(*) FROM judged").fetchall()
        condition += " AND case_id IN (SELECT case_id FROM judged WHERE notable)"
    connection.execute(f"CREATE OR REPLACE TEMP TABLE found AS SELECT case_id, verdict, code, known, runs FROM outcomes WHERE {condition}")
    for table, keys in (("cases", "case_id"), ("ends", "verdict, code, known")):
        numbered = f"SELECT {keys}, row_number() OVER (ORDER BY {keys}) - 1 AS number FROM found GROUP BY {keys} ORDER BY {keys}"
        connection.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS {numbered}")
    cases = [row[0] for row in connection.execute("SELECT case_id FROM cases").fetchall()]
    ends = connection.execute("SELECT verdict, code, known FROM ends").fetchall()
    numbers = "cases.number::INTEGER AS number, ends.number::SMALLINT AS ending"
    listed = f"SELECT {numbers}, unnest(runs) AS run FROM found JOIN cases USING (case_id) JOIN ends USING (verdict, code, known)"
    rows = connection.execute(
        f"SELECT group_number::SMALLINT AS group_number, number, place::INTEGER AS place, ending FROM ({listed}) JOIN chosen USING (run)"
    ).fetchnumpy()
    for number, runs in enumerate(groups):
        mine = rows["group_number"] == number
        strips = np.full((len(cases), len(runs)), -1, np.int16)
        strips[rows["number"][mine], rows["place"][mine]] = rows["ending"][mine]
        there = np.asarray((strips >= 0).any(axis=1))
        if there.any() or not selection.names_cases:
            yield Group(
                *runs[0].key,
                tuple(runs),
                judged or len(cases),
                tuple(compress(cases, there.tolist())),
                tuple(End(Verdict(verdict), code, known) for verdict, code, known in ends),
                strips[there],
            )


_NOTABLE = """(min(hash(verdict, code, known)) <> max(hash(verdict, code, known))
    OR bool_or(verdict NOT IN ('pass', 'compiled', 'not_supported')))"""
