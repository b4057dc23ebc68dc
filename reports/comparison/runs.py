"""The compared runs: the judging device and software, and one outline for each case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from cts.journal import journal
from cts.journal.journal import Fault
from cts.journal.outline import Outline, read_outlines
from cts.journal.run_record import RunRecord
from cts.verdict.verdict import Verdict
from generators.casebook.ids import stated_labels
from reports.facts import FACTS, facts
from reports.journals import FaultCount
from reports.run_names import run_names
from reports.verdicts import SEVERITY, WORDING

COMPARED = tuple(key for key in FACTS if key != "command")
"""Facts that may differ between runs."""


@dataclass(frozen=True)
class ComparedRun:
    """The parts of a run that a comparison uses.

    Attributes:
        name: its name among the runs of the comparison (reports.run_names).
        path: the path of its journal.
        facts: facts by the keys of COMPARED; unknown facts are empty.
        cases: outlines by id. If there are several attempts at a case, the worst verdict and the shortest time count.
        notes: why cases may be missing.
        faults: the first lines without a result.
    """

    name: str
    path: Path
    facts: Mapping[str, str]
    cases: Mapping[str, Outline]
    notes: tuple[str, ...]
    faults: tuple[Fault, ...]

    @property
    def verdicts(self) -> dict[Verdict, int]:
        """Cases by verdict, worst first, without those that did not occur."""
        counted = Counter(outline.verdict for outline in self.cases.values())
        return {verdict: counted[verdict] for verdict in WORDING if counted[verdict]}


def read_runs(journals: Sequence[Path], renames: Mapping[str, str]) -> tuple[ComparedRun, ...]:
    """Read runs.

    Args:
        journals: each a ``results.jsonl``, which may be compressed, or the directory that holds it.
        renames: id that a case had in an older version of the suite -> its id.

    Raises:
        JournalError: a journal cannot be read.
    """
    paths = [journal.journal_of(path) if path.is_dir() else path for path in journals]
    names = run_names([str(path.absolute().parent) for path in paths])
    return tuple(read_run(name, path, renames) for name, path in zip(names, paths, strict=True))


def read_run(name: str, path: Path, renames: Mapping[str, str]) -> ComparedRun:
    """Read one run.

    Args:
        name: its name.
        path: the path of its journal.
        renames: id that a case had in an older version of the suite -> its id.

    Raises:
        JournalError: the journal cannot be read.
    """
    faults = FaultCount()
    cases: dict[str, Outline] = {}
    attempts: dict[tuple[str, int], Outline] = {}
    for outline in read_outlines(path, faults.line):
        attempts[outline.id, outline.attempt] = outline
    for outline in attempts.values():
        today = _todays_id(outline, renames)
        one = outline if today == outline.id else msgspec.structs.replace(outline, id=today)
        cases[today] = _worse(cases[today], one) if today in cases else one
    meta = journal.read_meta(path.parent, faults.other)
    return ComparedRun(name, path, facts(COMPARED, cases.values(), [meta]), cases, tuple(_notes(meta, faults.lines)), tuple(faults.first))


def _todays_id(outline: Outline, renames: Mapping[str, str]) -> str:
    """Return the current id of a case. If the id belonged to another case before a default changed, the parameters of its result reveal
    this."""
    renamed = renames.get(outline.id)
    if renamed is None:
        return outline.id
    stated = _labels(outline.id)
    added = {name: label for name, label in _labels(renamed).items() if name not in stated}
    is_another = any(outline.parameters.get(name, label) != label for name, label in added.items())
    return outline.id if is_another else renamed


def _labels(id_: str) -> dict[str, str]:
    """Return the labels that an id states, by parameter."""
    return dict(stated_labels(id_.partition("[")[2].removesuffix("]")))


def _worse(one: Outline, other: Outline) -> Outline:
    worse, better = sorted((one, other), key=lambda outline: SEVERITY[outline.verdict])
    if better.seconds >= worse.seconds:
        return worse
    return msgspec.structs.replace(worse, seconds=better.seconds, steps=better.steps)


def _notes(meta: RunRecord, dropped: int) -> Iterable[str]:
    """Say why cases may be missing, in sentences without a subject: the run's name comes before them."""
    if not meta:
        yield "has no meta.json, so it is unknown whether it finished"
    elif "finished" not in meta:
        yield "did not finish"
    if stopped := meta.get("stopped"):
        yield f"stopped early: {stopped.rstrip('.')}"
    if dropped:
        yield f"has {dropped:,} lines without a result that can be read" if dropped > 1 else "has a line without a result that can be read"
