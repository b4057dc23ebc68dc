"""Groups failures by what they have in common, so that a broken rule is one entry and not a thousand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cts.verdict.codes import sentence
from cts.verdict.verdict import CaseResult, Verdict
from reports.verdicts import EXPLAINED, SEVERITY

TELLING = 3
"""Fewer cases than this share labels by chance."""


@dataclass(frozen=True)
class Cause:
    """Cases of one family that came to the same verdict in the same way.

    Attributes:
        verdict, family: of all of them.
        code: how they failed (cts.verdict.codes); empty in a journal of an older version of the suite.
        defects: ids of the defects that explain it, where there are any.
        words: how they failed, for people: the defects that explain it, the pattern of the wrong elements, or the reason, where it is the
            same for all; else the ids of the defects, or the meaning of the code.
        results: ordered by id.
        labels: axis labels that all of them have, and not every case of the family that ran.
        with_labels: how many cases of the family ran that have all of these labels.
    """

    verdict: Verdict
    family: str
    code: str
    defects: tuple[str, ...]
    words: str
    results: tuple[CaseResult, ...]
    labels: tuple[str, ...]
    with_labels: int

    @property
    def requirements(self) -> tuple[str, ...]:
        """Ids that all of the cases exercise."""
        common = set(self.results[0].requirements).intersection(*(result.requirements for result in self.results))
        return tuple(id_ for id_ in self.results[0].requirements if id_ in common)


def causes(results: Sequence[CaseResult]) -> list[Cause]:
    """The causes of everything that has neither passed nor lacked support; worst verdict first, then the most cases."""
    groups: dict[tuple[Verdict, str, _Key], list[CaseResult]] = defaultdict(list)
    ran: dict[str, list[list[str]]] = defaultdict(list)
    for result in results:
        if result.verdict in EXPLAINED:
            groups[result.verdict, result.family, _key(result)].append(result)
    families = {family for _, family, _ in groups}
    for result in results:
        if result.family in families and result.verdict is not Verdict.NOT_SUPPORTED:
            ran[result.family].append(labels(result.id))
    found = []
    for (verdict, family, key), group in groups.items():
        shared, with_labels = _shared([labels(result.id) for result in group], ran[family]) if len(group) >= TELLING else ((), 0)
        exact = {_words(result) for result in group}
        words = exact.pop() if len(exact) == 1 else _common(key)
        results_by_id = tuple(sorted(group, key=lambda result: result.id))
        found.append(Cause(verdict, family, key.code, key.defects, words, results_by_id, shared, with_labels))
    return sorted(found, key=lambda cause: (SEVERITY[cause.verdict], -len(cause.results), cause.family, cause.words))


def labels(id_: str) -> list[str]:
    """The axis labels of a case id, in the order of the family's axes."""
    return id_.partition("[")[2].removesuffix("]").split("-")


@dataclass(frozen=True)
class _Key:
    """What cases that failed in the same way share. ``words`` are those of a result without a code, which journals of older versions of
    the suite have."""

    code: str
    defects: tuple[str, ...] = ()
    words: str = ""


def _key(result: CaseResult) -> _Key:
    ids = tuple(match["id"] for match in _matches(result))
    if ids and all(ids):
        return _Key(result.code, ids)
    return _Key(result.code, words="" if result.code else _words(result))


def _common(key: _Key) -> str:
    return "; ".join(key.defects) or key.words or sentence(key.code)


def _matches(result: CaseResult) -> Sequence[Mapping[str, str]]:
    """Return what explains the first failing array that anything explains."""
    return next((found for failure in result.failures if (found := failure.get("matches"))), ())


def _words(result: CaseResult) -> str:
    """Return how a case failed."""
    if matches := _matches(result):
        return "; ".join(match["text"] for match in matches)
    if result.failures:
        first = result.failures[0]
        # The pattern of bytes lists them, which no two cases have in common.
        which = first.get("pattern") if first.get("shape") else first.get("what")
        return ": ".join(str(part) for part in (first.get("kind"), which) if part)
    return result.reason or "no reason given"


def _shared(group: Iterable[list[str]], ran: Sequence[list[str]]) -> tuple[tuple[str, ...], int]:
    """The labels that all of ``group`` have in the same place and not all of ``ran``, and how many of ``ran`` have them all."""
    first, *others = group
    common = {
        place: label
        for place, label in enumerate(first)
        if all(place < len(other) and other[place] == label for other in others)
        and any(place >= len(other) or other[place] != label for other in ran)
    }
    having = sum(all(place < len(other) and other[place] == label for place, label in common.items()) for other in ran)
    return tuple(common.values()), having if common else 0
