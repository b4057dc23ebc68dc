"""Groups cases that did not pass by cause, so a broken rule is one entry instead of a thousand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from cts.verdict.codes import sentence
from cts.verdict.failure import Match
from cts.verdict.verdict import CaseResult, Verdict
from reports.causes.boxes import Inside
from reports.causes.groups import Group, Searcher, groups
from reports.causes.sentences import decided
from reports.verdicts import EXPLAINED, SEVERITY, WORDING

NAMED_DEFECTS = 3
"""How many of the defects that explain a failure a short text names."""


@dataclass(frozen=True)
class Cause:
    """Cases with one explanation.

    Attributes:
        id: names the cause within a report: its explanation, otherwise family and code.
        verdict: the worst verdict.
        family: the family with the most cases. ``families``: number of cases in each, most first.
        code: the code of most failures (cts.verdict.codes); empty in a journal of an older version of the suite. ``codes``: number of cases
            with each, most first.
        known: id of the known failure; empty if there is none.
        defects: ids of the defects that explain them, the defect with the most cases first.
        words: the failure in words, for people: the text of the defect, or the reason if it is the same for all; otherwise the id of the
            defect, or the meaning of the code.
        results: ordered by id.
        inside: the boxes over the families' parameters that decide which cases belong to the cause. Empty in a journal of an older version
            of the suite, and if no parameters distinguish the cases from cases that passed.
        outside: number of cases in none of the boxes.
    """

    id: str
    verdict: Verdict
    family: str
    families: Mapping[str, int]
    code: str
    codes: Mapping[str, int]
    known: str
    defects: tuple[str, ...]
    words: str
    results: tuple[CaseResult, ...]
    inside: tuple[Inside, ...]
    outside: int

    @property
    def requirements(self) -> tuple[str, ...]:
        """Ids of the requirements that all of the cases exercise."""
        common = set(self.results[0].requirements).intersection(*(result.requirements for result in self.results))
        return tuple(id_ for id_ in self.results[0].requirements if id_ in common)

    @property
    def is_known(self) -> bool:
        """Tell whether the driver is known to fail so, which does not make the run fail."""
        return self.verdict is Verdict.KNOWN_FAIL

    @property
    def named(self) -> tuple[str, ...]:
        """Return all that programs know the cause by: the known failure, the codes, and the first of the defects."""
        return tuple(filter(None, (self.known, *self.codes, *self.defects[:NAMED_DEFECTS])))

    @property
    def decided(self) -> tuple[str, ...]:
        """Sentences that state the deciding conditions, and the cases that pass anyway."""
        return decided(self.inside, self.outside, self.verdict, len(self.families))


def causes(results: Sequence[CaseResult]) -> list[Cause]:
    """Return the causes of all cases that neither passed nor lacked support; worst verdict first, then most cases."""
    # The order of the journal must not matter.
    results = sorted(results, key=lambda result: (result.id, result.attempt))
    wanted = [place for place, result in enumerate(results) if result.verdict in EXPLAINED or result.verdict is Verdict.KNOWN_FAIL]
    found = [_cause(results, group) for group in groups(results, wanted, Searcher(results))]
    found.sort(key=lambda cause: (SEVERITY[cause.verdict], -len(cause.results), cause.family, cause.id, cause.results[0].id))
    return _with_own_ids(found)


def _with_own_ids(found: Sequence[Cause]) -> list[Cause]:
    """Return the causes with unique ids: the second cause of an id gets ``-2`` at its end, and so on."""
    seen: Counter[str] = Counter()
    named = []
    for cause in found:
        seen[cause.id] += 1
        number = seen[cause.id]
        named.append(cause if number == 1 else replace(cause, id=f"{cause.id}-{number}"))
    return named


def _cause(results: Sequence[CaseResult], group: Group) -> Cause:
    """Return the cause of a group's cases, with the verdict of the worst one. The explanation is the first of its defects."""
    cases = tuple(sorted((results[place] for place in group.cases), key=lambda result: (result.id, result.attempt)))
    families, codes = (_counted(cases, of) for of in (lambda one: one.family, lambda one: one.code))
    verdict = min((case.verdict for case in cases), key=SEVERITY.__getitem__)
    family, code = next(iter(families)), next(iter(codes))
    defects = Counter(id_ for case in cases for id_ in case.defects)
    by_cases = sorted(defects, key=lambda id_: (id_ != group.explanation, -defects[id_], id_))
    # If several defects fit equally well, prefer one that other cases of the group also have.
    kept = (group.explanation,) if group.explanation in defects else tuple(by_cases)
    known = {case.known for case in cases}
    return Cause(
        id=group.explanation or f"{family}.{code or verdict}",
        verdict=verdict,
        family=family,
        families=families,
        code=code,
        codes=codes,
        known=known.pop() if len(known) == 1 else "",
        defects=kept,
        words=_words(cases, group.explanation, code),
        results=cases,
        inside=group.inside,
        outside=group.outside,
    )


def _counted(cases: Sequence[CaseResult], of: Callable[[CaseResult], str]) -> dict[str, int]:
    return dict(sorted(Counter(map(of, cases)).items(), key=lambda item: (-item[1], item[0])))


def _words(cases: Sequence[CaseResult], explanation: str, code: str) -> str:
    """Return the failure in words: the text that all cases share, otherwise the meaning of the explanation or the code."""
    said = {_of_case(case, explanation) for case in cases}
    if len(said) == 1:
        return said.pop()
    of_all = set(cases[0].defects).intersection(*(case.defects for case in cases))
    if not explanation or any(case.code == explanation for case in cases):
        return min(of_all) if len(of_all) == 1 else sentence(code) or WORDING[cases[0].verdict].sentence
    return explanation


def _of_case(case: CaseResult, explanation: str) -> str:
    matches = _matches(case)
    chosen = [match for match in matches if match.id and match.id == explanation] or matches
    if case.verdict is not Verdict.KNOWN_FAIL and chosen:
        return _joined(list({match.text: match for match in chosen}.values()))
    if case.failures and case.verdict is not Verdict.KNOWN_FAIL:
        first = case.failures[0].mismatch
        # The pattern for bytes lists the bytes, which no two cases share.
        which = first.pattern if first.matrix is not None else first.what
        return ": ".join(part for part in (first.kind, which) if part)
    return case.reason or "no reason given"


def _joined(matches: Sequence[Match]) -> str:
    equal = [match.text for match in matches if match.equal]
    return "; ".join([" or ".join(equal)] * bool(equal) + [match.text for match in matches if not match.equal])


def _matches(result: CaseResult) -> Sequence[Match]:
    """Return the explanation of the first failing array that has one."""
    return next((failure.matches for failure in result.failures if failure.matches), ())
