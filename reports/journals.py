"""Reads journals for reports: one or several ``results.jsonl``, each with an optional ``meta.json`` beside it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cts import journal
from cts.verdict import CaseResult, Verdict

_BULK = ("elements", "wrong", "expected", "got", "instances")
"""The keys of a failing array that grow with the matrix: a broken driver makes gigabytes of them."""


@dataclass(frozen=True)
class Run:
    """What was judged.

    Attributes:
        journals: the files.
        results: the last result of each case, ordered by id. Their failures lack what grows with the matrix: see whole_results.
        metas: the ``meta.json`` of each journal that has one, in the order of the journals.
    """

    journals: tuple[Path, ...]
    results: tuple[CaseResult, ...]
    metas: tuple[Mapping[str, Any], ...] = ()


def read(journals: Path | Sequence[Path]) -> Run:
    """The merged content of the journals. Of several results for one case the last wins, in the order of journals and lines.

    Args:
        journals: each a ``results.jsonl`` or the directory that holds it.

    Raises:
        JournalError: a journal cannot be read.
    """
    given = [journals] if isinstance(journals, Path) else journals
    paths = tuple(path / journal.RESULTS if path.is_dir() else path for path in given)
    latest = {result.id: _light(result) for path in paths for result in _results(path)}
    metas = tuple(meta for path in paths if (meta := journal.read_meta(path.parent)))
    return Run(paths, tuple(latest[id_] for id_ in sorted(latest)), metas)


def whole_results(run: Run, ids: Collection[str]) -> Iterator[CaseResult]:
    """The results of these cases with all of their failures, in the order of the journals: of several for one case, the last counts."""
    for path in run.journals:
        yield from (result for result in _results(path) if result.id in ids)


def _results(path: Path) -> Iterator[CaseResult]:
    """Those of a journal; a line of which none can be read is damaged, and counts as not judged."""
    for record in journal.read(path):
        with suppress(ValueError, TypeError, AttributeError):
            yield result_of(record)


def _light(result: CaseResult) -> CaseResult:
    if not result.failures:
        return result
    return replace(result, failures=tuple({key: failure[key] for key in failure.keys() - _BULK} for failure in result.failures))


def result_of(record: Mapping[str, Any]) -> CaseResult:
    """The result that a line of a journal holds. Journals of other versions may lack any key but ``id``."""
    id_, reason = str(record["id"]), str(record.get("reason") or "")
    try:
        verdict = Verdict(str(record.get("verdict")))
    except ValueError:
        verdict, reason = Verdict.ERROR, f"the journal has the unknown verdict {record.get('verdict')!r}"
    return CaseResult(
        id=id_,
        family=str(record.get("family") or id_.partition("[")[0]),
        verdict=verdict,
        reason=reason,
        device=str(record.get("device") or ""),
        driver=str(record.get("driver") or ""),
        front_end=str(record.get("front_end") or ""),
        tier=str(record.get("tier") or ""),
        requirements=tuple(str(requirement) for requirement in record.get("requirements") or ()),
        subcases=int(record.get("subcases") or 0),
        seconds=float(record.get("seconds") or 0),
        message=str(record.get("message") or ""),
        policy=str(record.get("policy") or ""),
        steps={str(step): float(seconds) for step, seconds in (record.get("steps") or {}).items()},
        failures=tuple(failure for failure in record.get("failures") or () if isinstance(failure, dict)),
        positions=tuple(str(position) for position in record.get("positions") or ()),
    )
