"""Groups failures by what they have in common, so a broken rule is one entry and not a thousand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cts.verdict.codes import sentence
from cts.verdict.failure import Match
from cts.verdict.verdict import CaseResult, Verdict
from reports.verdicts import EXPLAINED, SEVERITY

TELLING = 3
"""Fewer cases than this share parameters by chance."""


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
        parameters: name -> label of the parameters in which all of them agree, and not every case of the family that ran. Empty in a
            journal of an older version of the suite.
        with_parameters: how many cases of the family ran that have all of these parameters.
    """

    verdict: Verdict
    family: str
    code: str
    defects: tuple[str, ...]
    words: str
    results: tuple[CaseResult, ...]
    parameters: Mapping[str, str]
    with_parameters: int

    @property
    def requirements(self) -> tuple[str, ...]:
        """Ids that all of the cases exercise."""
        common = set(self.results[0].requirements).intersection(*(result.requirements for result in self.results))
        return tuple(id_ for id_ in self.results[0].requirements if id_ in common)


def causes(results: Sequence[CaseResult]) -> list[Cause]:
    """Return the causes of everything that has neither passed nor lacked support; worst verdict first, then the most cases."""
    groups: dict[tuple[Verdict, str, _Key], list[CaseResult]] = defaultdict(list)
    ran: dict[str, list[Mapping[str, str]]] = defaultdict(list)
    for result in results:
        if result.verdict in EXPLAINED:
            groups[result.verdict, result.family, _key(result)].append(result)
    families = {family for _, family, _ in groups}
    for result in results:
        if result.family in families and result.parameters and result.verdict is not Verdict.NOT_SUPPORTED:
            ran[result.family].append(result.parameters)
    found = []
    for (verdict, family, key), group in groups.items():
        shared = shared_parameters([result.parameters for result in group], ran[family]) if len(group) >= TELLING else {}
        exact = {_words(result) for result in group}
        words = exact.pop() if len(exact) == 1 else _common(key)
        results_by_id = tuple(sorted(group, key=lambda result: result.id))
        with_shared = sum(shared.items() <= parameters.items() for parameters in ran[family]) if shared else 0
        found.append(Cause(verdict, family, key.code, key.defects, words, results_by_id, shared, with_shared))
    return sorted(found, key=lambda cause: (SEVERITY[cause.verdict], -len(cause.results), cause.family, cause.words))


@dataclass(frozen=True)
class _Key:
    """What cases that failed in the same way share. ``words`` are the words of a result without a code, which journals of older versions of
    the suite have."""

    code: str
    defects: tuple[str, ...] = ()
    words: str = ""


def _key(result: CaseResult) -> _Key:
    ids = tuple(match.id for match in _matches(result))
    if ids and all(ids):
        return _Key(result.code, ids)
    return _Key(result.code, words="" if result.code else _words(result))


def _common(key: _Key) -> str:
    return "; ".join(key.defects) or key.words or sentence(key.code)


def _matches(result: CaseResult) -> Sequence[Match]:
    """Return what explains the first failing array that anything explains."""
    return next((failure.matches for failure in result.failures if failure.matches), ())


def _words(result: CaseResult) -> str:
    """Return how a case failed."""
    if matches := _matches(result):
        equal = [match.text for match in matches if match.equal]
        return "; ".join([" or ".join(equal)] * bool(equal) + [match.text for match in matches if not match.equal])
    if result.failures:
        first = result.failures[0].mismatch
        # The pattern of bytes lists them, which no two cases have in common.
        which = first.pattern if first.matrix is not None else first.what
        return ": ".join(part for part in (first.kind, which) if part)
    return result.reason or "no reason given"


def shared_parameters(group: Sequence[Mapping[str, str]], ran: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the parameters in which all of ``group`` agree and not all of ``ran``: name -> label."""
    return {
        name: label
        for name, label in group[0].items()
        if all(other.get(name) == label for other in group) and any(other.get(name) != label for other in ran)
    }
