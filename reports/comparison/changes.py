"""What became of each case from one run to another, grouped by cause."""

from __future__ import annotations

import enum
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from cts.journal.outline import Outline
from cts.verdict.codes import Code, is_within, sentence
from cts.verdict.verdict import Verdict
from reports.causes import TELLING, shared_parameters
from reports.verdicts import BAD, SEVERITY

FAILING = frozenset({*BAD, Verdict.ERROR})
"""Verdicts of a case that failed, and was not known to fail."""

GOOD = frozenset({Verdict.PASS, Verdict.QUALITY_WARNING})

_MENDED = GOOD | {Verdict.UNEXPECTED_PASS}

_NOT_OF_THE_DEVICE = (Code.MISSING_GLSL, Code.MISSING_JUDGE)


class Kind(enum.StrEnum):
    """What became of a case. The first is a regression; so is the second, if device and front end are the same."""

    NEW_FAILURE = "new_failure"
    LOST = "lost"
    MENDED = "mended"
    CHANGED_VERDICT = "changed_verdict"
    CHANGED_REASON = "changed_reason"
    ONLY_BEFORE = "only_before"
    ONLY_AFTER = "only_after"


TITLES: Mapping[Kind, str] = MappingProxyType(
    {
        Kind.NEW_FAILURE: "New failures",
        Kind.LOST: "No longer supported",
        Kind.MENDED: "Mended",
        Kind.CHANGED_VERDICT: "Changed verdicts",
        Kind.CHANGED_REASON: "Changed reasons",
        Kind.ONLY_BEFORE: "Not judged any more",
        Kind.ONLY_AFTER: "Judged for the first time",
    }
)
"""Of two runs of one device."""

TITLES_OF_DEVICES: Mapping[Kind, str] = MappingProxyType(
    {
        Kind.NEW_FAILURE: "Fails in the second run alone",
        Kind.LOST: "Supported in the first run alone",
        Kind.MENDED: "Fails in the first run alone",
        Kind.CHANGED_VERDICT: "Other verdicts",
        Kind.CHANGED_REASON: "Other reasons",
        Kind.ONLY_BEFORE: "Judged in the first run alone",
        Kind.ONLY_AFTER: "Judged in the second run alone",
    }
)
"""Of runs of two devices, drivers or front ends, where nothing is older than the other."""

MEANINGS: Mapping[Kind, str] = MappingProxyType(
    {
        Kind.NEW_FAILURE: "They fail in the second run. In the first they passed, failed as known, were not supported, or not judged.",
        Kind.LOST: "They passed in the first run. In the second the device lacks what they need.",
        Kind.MENDED: "They failed in the first run, some as a known failure, and pass in the second.",
        Kind.CHANGED_VERDICT: "Their verdicts differ in another way.",
        Kind.CHANGED_REASON: "Their verdict is the same; the code, the defects or the known failure is another one.",
        Kind.ONLY_BEFORE: "The second run did not judge them.",
        Kind.ONLY_AFTER: "The first run did not judge them. In the second they do not fail.",
    }
)


@dataclass(frozen=True, order=True)
class State:
    """How cases ended, without words: what the cases of a group have in common.

    Attributes:
        verdict: empty where cases of the group ended in several ways, or were not judged.
        code, known: as in CaseResult. ``defects``: sorted.
    """

    verdict: str = ""
    code: str = ""
    defects: tuple[str, ...] = ()
    known: str = ""


@dataclass(frozen=True)
class Change:
    """One case: its outline in both runs, None in the one that did not judge it."""

    kind: Kind
    before: Outline | None
    after: Outline | None

    @property
    def id(self) -> str:
        """Return the case's id."""
        return self._either.id

    @property
    def family(self) -> str:
        """Return the case's family."""
        return self._either.family

    @property
    def _either(self) -> Outline:
        either = self.after or self.before
        assert either is not None
        return either


@dataclass(frozen=True)
class Group:
    """Changes with one cause.

    Attributes:
        kind: of all of them.
        families: how many cases each family has, most first.
        before, after: what the cases have in common.
        verdicts_before: verdict -> cases; ``not judged`` where there is none.
        changes: ordered by id.
        reason: why, for people: of the cases if all have the same, else what the code means. No group depends on it.
        parameters: name -> label of what all cases have, and not every case of the family that ran; empty for several families.
        with_parameters: how many cases of the family that ran have all of these parameters.
    """

    kind: Kind
    families: Mapping[str, int]
    before: State
    after: State
    verdicts_before: Mapping[str, int]
    changes: tuple[Change, ...]
    reason: str
    parameters: Mapping[str, str]
    with_parameters: int


def state(outline: Outline | None) -> State:
    """Return how a case ended."""
    if outline is None:
        return State()
    return State(str(outline.verdict), outline.code, tuple(sorted(outline.defects)), outline.known)


def kind_of(before: Outline | None, after: Outline | None) -> Kind | None:
    """Return what became of a case; None where nothing did."""
    fails = after is not None and after.verdict in FAILING
    if fails and (before is None or before.verdict not in FAILING):
        return Kind.NEW_FAILURE
    if before is None:
        return Kind.ONLY_AFTER
    if after is None:
        return Kind.ONLY_BEFORE
    if after.verdict in _MENDED and (before.verdict in FAILING or before.verdict is Verdict.KNOWN_FAIL):
        return Kind.MENDED
    if (
        before.verdict in GOOD
        and after.verdict is Verdict.NOT_SUPPORTED
        and not any(is_within(after.code, one) for one in _NOT_OF_THE_DEVICE)
    ):
        return Kind.LOST
    if before.verdict is not after.verdict:
        return Kind.CHANGED_VERDICT
    # Journals of schema 1 have no codes, and nothing can be said of their reasons.
    if before.code and after.code and state(before) != state(after):
        return Kind.CHANGED_REASON
    return None


def changes(before: Mapping[str, Outline], after: Mapping[str, Outline]) -> list[Change]:
    """Return what became of the cases of two runs, given by id."""
    found = []
    for id_ in sorted(before.keys() | after.keys()):
        was, is_ = before.get(id_), after.get(id_)
        kind = kind_of(was, is_)
        if kind is not None:
            found.append(Change(kind, was, is_))
    return found


def groups(found: Iterable[Change], ran: Collection[Outline]) -> list[Group]:
    """Return changes grouped by cause: regressions first, then as Kind has them, and the most cases first.

    Args:
        found: the changes.
        ran: the cases of the second run, among which a group's parameters are looked for.
    """
    together: dict[tuple[Kind, str, State, State], list[Change]] = defaultdict(list)
    for change in found:
        together[_key(change)].append(change)
    labels: dict[str, list[Mapping[str, str]]] = defaultdict(list)
    for outline in ran:
        if outline.parameters and outline.verdict is not Verdict.NOT_SUPPORTED:
            labels[outline.family].append(outline.parameters)
    made = [_group(key, members, labels) for key, members in together.items()]
    kinds = list(Kind)
    return sorted(made, key=lambda group: (kinds.index(group.kind), _severity(group), -len(group.changes), [*group.families], group.after))


def _severity(group: Group) -> int:
    verdict = group.after.verdict
    return SEVERITY[Verdict(verdict)] if verdict else len(SEVERITY)


def _key(change: Change) -> tuple[Kind, str, State, State]:
    """Return what the changes of one group share: kind, family, and how the cases ended before and after.

    A device gains or loses a feature in all families at once, and a known failure of a driver is one cause in all of them.
    """
    before, after, family = state(change.before), state(change.after), change.family
    match change.kind:
        case Kind.NEW_FAILURE:
            return change.kind, family, State(), after
        case Kind.LOST:
            return change.kind, "", State(), after
        case Kind.MENDED:
            return change.kind, "" if before.known else family, _cause(before), State(after.verdict)
        case Kind.ONLY_BEFORE:
            return change.kind, "", State(before.verdict), State()
        case Kind.ONLY_AFTER:
            return change.kind, "", State(), State(after.verdict)
        case Kind.CHANGED_VERDICT:
            if before.known or after.known or Verdict.NOT_SUPPORTED in (before.verdict, after.verdict):
                family = ""
            return change.kind, family, _cause(before), _cause(after)
    return change.kind, "" if after.verdict == Verdict.NOT_SUPPORTED else family, before, after


def _cause(one: State) -> State:
    """Return what names the cause: the known failure, where there is one, whatever it did to each case."""
    return State(one.verdict, known=one.known) if one.known else one


def _group(key: tuple[Kind, str, State, State], members: Sequence[Change], labels: Mapping[str, Sequence[Mapping[str, str]]]) -> Group:
    kind, family, before, after = key
    told = [outline for change in members if (outline := change.after if after.code else change.before) is not None]
    reasons = {outline.reason for outline in told}
    code = after.code or before.code
    shared: dict[str, str] = {}
    # Cases that the second run did not run are in none of its counts.
    if family and after.verdict != Verdict.NOT_SUPPORTED and len(members) >= TELLING:
        shared = shared_parameters([change.after.parameters for change in members if change.after], labels.get(family, ()))
    return Group(
        kind=kind,
        families=dict(sorted(Counter(change.family for change in members).items(), key=lambda item: (-item[1], item[0]))),
        before=before,
        after=after,
        verdicts_before=dict(Counter(state(change.before).verdict or "not judged" for change in members).most_common()),
        changes=tuple(members),
        reason=reasons.pop() if len(reasons) == 1 else sentence(code) if code else "",
        parameters=shared,
        with_parameters=sum(shared.items() <= one.items() for one in labels.get(family, ())) if shared else 0,
    )
