"""Groups the changes of cases by cause."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from cts.journal.outline import Outline
from cts.verdict.codes import sentence
from cts.verdict.verdict import Verdict
from reports.causes import Inside
from reports.causes.groups import Searcher
from reports.causes.groups import groups as explained
from reports.causes.sentences import decided
from reports.comparison.changes import Change, ChangeKind, State, state
from reports.verdicts import SEVERITY


@dataclass(frozen=True)
class Group:
    """Changes with one cause.

    Attributes:
        kind: the kind of all the changes.
        families: number of cases in each family, most first.
        before, after: the common outcome of the cases.
        verdicts_before: verdict -> cases; ``not judged`` where there is none.
        changes: ordered by id.
        reason: for people: the reason of the cases if all have the same, otherwise the meaning of the code. Grouping does not depend on it.
        inside: the boxes over the parameters that decide which cases belong to the group: in the run in which they fail, or in the second
            run for other changes. Empty if the cases did not run there.
        outside: number of cases in none of the boxes.
    """

    kind: ChangeKind
    families: Mapping[str, int]
    before: State
    after: State
    verdicts_before: Mapping[str, int]
    changes: tuple[Change, ...]
    reason: str
    inside: tuple[Inside, ...] = ()
    outside: int = 0

    @property
    def decided(self) -> tuple[str, ...]:
        """Sentences that state the deciding conditions, and the cases that pass anyway."""
        told = self.before if self.kind is ChangeKind.MENDED else self.after
        return decided(self.inside, self.outside, Verdict(told.verdict or Verdict.FAIL), len(self.families))


def groups(found: Iterable[Change], before: Collection[Outline], after: Collection[Outline]) -> list[Group]:
    """Return changes grouped by cause: regressions first, then in the order of ChangeKind, with the most cases first.

    New failures have the causes of the second run, and fixed failures the causes of the first (reports.causes.groups). Other changes are
    grouped by how their cases ended before and after.

    Args:
        found: the changes.
        before, after: the cases of the runs.
    """
    together: dict[tuple[ChangeKind, str, State, State], list[Change]] = defaultdict(list)
    failing: dict[ChangeKind, dict[str, Change]] = {ChangeKind.NEW_FAILURE: {}, ChangeKind.MENDED: {}}
    for change in found:
        if change.kind in failing:
            failing[change.kind][change.id] = change
        else:
            together[_key(change)].append(change)
    first, second = (Searcher(sorted(run, key=lambda outline: outline.id)) for run in (before, after))
    made = [
        group
        for kind, searcher in ((ChangeKind.NEW_FAILURE, second), (ChangeKind.MENDED, first))
        for group in _of_failures(failing[kind], searcher)
    ]
    places = {outline.id: place for place, outline in enumerate(second.results)}
    by_size = sorted(together.items(), key=lambda item: (-len(item[1]), item[0]))
    for key, members in by_size:
        inside, outside = _inside(members, second, places)
        made.append(replace(_group(key[0], members, *key[2:], inside), outside=outside))
    kinds = list(ChangeKind)
    return sorted(
        made,
        key=lambda group: (
            kinds.index(group.kind),
            _severity(group),
            -len(group.changes),
            [*group.families],
            group.after,
            group.changes[0].id,
        ),
    )


def _of_failures(members: Mapping[str, Change], searcher: Searcher) -> Iterable[Group]:
    """Yield groups of changes, given by id, by the causes of the run in which they fail."""
    places = [place for place, outline in enumerate(searcher.results) if outline.id in members]
    for cause in explained(searcher.results, places, searcher):
        changes = sorted((members[searcher.results[place].id] for place in cause.cases), key=lambda change: change.id)
        kind = changes[0].kind
        before, after = _common(one.before for one in changes), _common(one.after for one in changes)
        failed = _common((one.before if kind is ChangeKind.MENDED else one.after for one in changes), cause.explanation)
        if kind is ChangeKind.NEW_FAILURE:
            # Their previous outcome does not show the cause.
            before, after = State(), failed
        else:
            before = failed
        yield replace(_group(kind, changes, before, after, cause.inside), outside=cause.outside)


def _common(outlines: Iterable[Outline | None], explanation: str = "") -> State:
    """Return the common outcome of cases. Only defects that explain all of them count."""
    states = [state(one) for one in outlines]
    first, *others = states
    defects = first.defects if all(one.defects == first.defects for one in others) else ()
    return State(
        first.verdict if all(one.verdict == first.verdict for one in others) else "",
        first.code if all(one.code == first.code for one in others) else "",
        (explanation,) if any(explanation in one.defects for one in states) else defects,
        first.known if all(one.known == first.known for one in others) else "",
    )


def _inside(members: Sequence[Change], searcher: Searcher, places: Mapping[str, int]) -> tuple[tuple[Inside, ...], int]:
    """Return the boxes of changes in the second run, in which they ran, and the number of changes in none."""
    ran = [places[change.id] for change in members if change.after and change.after.verdict is not Verdict.NOT_SUPPORTED]
    if not ran or members[0].kind not in (ChangeKind.CHANGED_VERDICT, ChangeKind.CHANGED_REASON):
        return (), 0
    inside = searcher.inside(ran)
    return inside, searcher.outside(ran, inside)


def _severity(group: Group) -> int:
    verdict = group.after.verdict
    return SEVERITY[Verdict(verdict)] if verdict else len(SEVERITY)


def _key(change: Change) -> tuple[ChangeKind, str, State, State]:
    """Return the key that the changes of one group share: kind, family, and the outcomes before and after.

    A device gains or loses a feature in all families at once, and a known failure of a driver is one cause in all of them.
    """
    before, after, family = state(change.before), state(change.after), change.family
    match change.kind:
        case ChangeKind.LOST:
            return change.kind, "", State(), after
        case ChangeKind.ONLY_BEFORE:
            return change.kind, "", State(before.verdict), State()
        case ChangeKind.ONLY_AFTER:
            return change.kind, "", State(), State(after.verdict)
        case ChangeKind.CHANGED_VERDICT:
            if before.known or after.known or Verdict.NOT_SUPPORTED in (before.verdict, after.verdict):
                family = ""
            return change.kind, family, _cause(before), _cause(after)
    return change.kind, "" if after.verdict == Verdict.NOT_SUPPORTED else family, before, after


def _cause(one: State) -> State:
    """Return the name of the cause: the known failure, if there is one, whatever its effect on each case."""
    return State(one.verdict, known=one.known) if one.known else one


def _group(kind: ChangeKind, members: Sequence[Change], before: State, after: State, inside: tuple[Inside, ...]) -> Group:
    told = [outline for change in members if (outline := change.after if after.code else change.before) is not None]
    reasons = {outline.reason for outline in told}
    code = after.code or before.code
    return Group(
        kind=kind,
        families=dict(sorted(Counter(change.family for change in members).items(), key=lambda item: (-item[1], item[0]))),
        before=before,
        after=after,
        verdicts_before=dict(Counter(state(change.before).verdict or "not judged" for change in members).most_common()),
        changes=tuple(members),
        reason=reasons.pop() if len(reasons) == 1 else sentence(code) if code else "",
        inside=inside,
    )
