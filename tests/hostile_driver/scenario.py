"""The table of scenarios: what the hostile driver does, and how it must be reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import yaml

from cts.engine.case_list import read_case_list

FOLDER = Path(__file__).parent
TABLE = FOLDER / "scenarios.yaml"
CASES = FOLDER / "cases.txt"

UNJUDGED = "unjudged"
"""Replaces a verdict: the case must not be in the journal."""

_Entry = TypeVar("_Entry")


@dataclass(frozen=True)
class Scenario:
    """One mistake of the driver in one place, and what the run must report about the case that it hits.

    Attributes:
        name: unique in the table.
        faults: as layer.c reads them, except that names in braces are not yet filled in (see Shaders.filled).
        of: the case, by its family. The faults strike only while the driver has that case's shader. None: they strike any call.
        verdict: the verdict of that case, or several if the rules leave a choice; empty if the scenario is about the run.
        step: the step in which the device failed; None if any step will do.
        tries: verdicts; the tries in the record must begin with these.
        says: what the driver says in the step that fails, all of it.
        stray: the place of a stray write that must be reported: ``before``, ``after`` or ``read-only``.
    """

    name: str
    faults: tuple[str, ...]
    of: str | None = None
    verdict: tuple[str, ...] = ()
    step: str | None = None
    tries: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    stray: str | None = None


@dataclass(frozen=True)
class Run:
    """One run of the suite with the faults of some scenarios.

    Attributes:
        name: unique in the table.
        scenarios: each about a different case, or one about the run.
        exit: the exit code.
        options: further options of the command line.
        device: the value of ``--device``; empty leaves the option out.
        environment: additional variables of the run.
        cases: the families whose cases are judged, None for all of CASES.
        others: the verdict of every case without a scenario; None for the verdict that it has without faults.
        findings: the step of each finding that meta.json must have, in any order; it must have no others.
        says: words that the last lines of the output must contain; ``opens_with``: words that the first lines must contain.
        resumed: whether ``--resume``, without faults, must complete the run.
        escapes: whether a process may outlive the run, because it left the process group.
        seconds: the longest time that the run may take.
    """

    name: str
    scenarios: tuple[Scenario, ...]
    exit: int = 1
    options: tuple[str, ...] = ()
    device: str = "llvmpipe"
    environment: Mapping[str, str] | None = None
    cases: tuple[str, ...] | None = None
    others: str | None = None
    findings: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    opens_with: tuple[str, ...] = ()
    resumed: bool = False
    escapes: bool = False
    seconds: float = 120.0


def _sequence(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _decoded(kind: type[_Entry], entry: Mapping[str, Any], path: Path) -> _Entry:
    known = {field.name: str(field.type) for field in fields(kind)}  # type: ignore[arg-type]
    if unknown := entry.keys() - known.keys():
        raise ValueError(f"{path}: {entry.get('name')}: no field {sorted(unknown)[0]}")
    lists = {name: _sequence(value) for name, value in entry.items() if known[name].startswith("tuple[str") and value is not None}
    return kind(**(dict(entry) | lists))


def read_table(path: Path = TABLE) -> tuple[Run, ...]:
    """Return the runs of a table. A run without ``scenarios`` is a scenario itself, and its ``faults`` strike any call."""
    runs = []
    for entry in yaml.safe_load(path.read_text(encoding="utf-8")):
        about_run = {"name": entry["name"], "faults": entry.pop("faults", ())}
        scenarios = tuple(_decoded(Scenario, one, path) for one in entry.pop("scenarios", (about_run,)))
        runs.append(_decoded(Run, {**entry, "scenarios": scenarios}, path))
    return tuple(runs)


def case_ids(families: Sequence[str] | None = None) -> dict[str, str]:
    """Return family -> the id of its only case, for ``families`` or for all."""
    ids = {id_.partition("[")[0]: id_ for id_ in read_case_list(CASES)}
    return ids if families is None else {family: ids[family] for family in families}
