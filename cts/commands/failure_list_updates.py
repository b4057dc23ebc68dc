"""Updates lists of known failures with the results of a run, and says what changed and why.

Comments, the order of lines, and lines of cases that the run did not judge stay as they are.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from cts.journal.outline import Outline
from cts.verdict.failure_lists import STATUS, Listed, ends_of, expression
from cts.verdict.verdict import Verdict


class Why(enum.StrEnum):
    """Why a line was added, changed or removed."""

    FAILS = "fails"
    ENDS_OTHERWISE = "ends otherwise"
    PASSES = "passes"
    NOT_SUPPORTED = "not supported"
    FLAKY = "flaky"


@dataclass(frozen=True)
class LineChange:
    """A change of one line.

    Attributes:
        id: the id of the case.
        before, after: the word of the line; empty if there is no line.
        why: see Why.
        code, defects: as in CaseResult; empty on a pass.
        link: the report to the driver's authors; empty if there is none.
    """

    id: str
    before: str
    after: str
    why: Why
    code: str = ""
    defects: tuple[str, ...] = ()
    link: str = ""


@dataclass(frozen=True)
class Update:
    """New content of a list.

    Attributes:
        text: the whole file.
        changes: added, changed and removed lines, in this order, each ordered by id.
        kept: how many lines stay because the run confirmed them.
        unjudged: how many lines stay because the run did not judge their cases.
    """

    text: str
    changes: tuple[LineChange, ...]
    kept: int
    unjudged: int


def failing_status(outline: Outline) -> str:
    """Return the word for a result in a list of failures; empty if the result does not belong there.

    The word for a known failure is its verdict without the list, which follows from its code.
    """
    verdict = outline.verdict
    if verdict is Verdict.KNOWN_FAIL:
        beginning = outline.code.partition(".")[0]
        verdict = Verdict(beginning) if beginning in set(Verdict) else Verdict.FAIL
    return STATUS.get(verdict, "")


def update_fails(
    text: str,
    listed: Sequence[Listed],
    judged: Mapping[str, Outline],
    covered: frozenset[str] = frozenset(),
    links: Mapping[str, str] = MappingProxyType({}),
) -> Update:
    """Update a list of failures with the results of a run, and return the new content.

    Args:
        text: the text of the file; empty for a new one.
        listed: the lines of the file.
        judged: the cases of the run, by id.
        covered: names of the known failures that other files explain; their cases are not added.
        links: the reports of known failures, by id.
    """
    lines = text.splitlines()
    changes: list[LineChange] = []
    kept = unjudged = 0
    removed: set[int] = set()
    for one in listed:
        outline = judged.get(one.id)
        if outline is None:
            unjudged += 1
            continue
        status = failing_status(outline)
        if status and _stands_for(one.status, status):
            kept += 1
        elif status:
            lines[one.line - 1] = f"{one.id},{status}"
            changes.append(_change(outline, one.status, status, Why.ENDS_OTHERWISE, links))
        elif outline.verdict in (Verdict.COMPILED, Verdict.FLAKY, Verdict.RESOURCE_ERROR, Verdict.ERROR):
            kept += 1
        else:
            removed.add(one.line - 1)
            supported = outline.verdict is not Verdict.NOT_SUPPORTED
            changes.append(LineChange(one.id, one.status, "", Why.PASSES if supported else Why.NOT_SUPPORTED))
    known = {one.id for one in listed}
    failing = [outline for id_, outline in sorted(judged.items()) if id_ not in known and failing_status(outline)]
    added = [outline for outline in failing if outline.known not in covered]
    changes += [_change(outline, "", failing_status(outline), Why.FAILS, links) for outline in added]
    kept_lines = [line for number, line in enumerate(lines) if number not in removed]
    new = _with_headings(added, lambda one: f"{one.id},{failing_status(one)}", links)
    return Update(_joined(kept_lines, new), _ordered(changes), kept, unjudged)


def update_flakes(text: str, matched: Iterable[str], judged: Mapping[str, Outline]) -> Update:
    """Add the flakes that a run found to a list of flakes, and return the new content. A flake is never removed: a pass proves nothing
    about it.

    Args:
        text: the text of the file; empty for a new one.
        matched: ids of the cases that an expression of the file already matches.
        judged: the cases of the run, by id.
    """
    there = set(matched)
    flaky = [outline for id_, outline in sorted(judged.items()) if _is_flaky(outline) and id_ not in there]
    changes = tuple(_change(one, "", "Flake", Why.FLAKY) for one in flaky)
    return Update(_joined(text.splitlines(), _with_headings(flaky, lambda one: expression(one.id))), changes, len(there), 0)


def _joined(lines: Sequence[str], new: Sequence[str]) -> str:
    """Return a file with new lines at its end."""
    return "".join(f"{line}\n" for line in [*lines, *([""] if lines and new and lines[-1] else []), *new])


def _change(outline: Outline, before: str, after: str, why: Why, links: Mapping[str, str] = MappingProxyType({})) -> LineChange:
    return LineChange(outline.id, before, after, why, outline.code, outline.defects, links.get(outline.known, ""))


def _is_flaky(outline: Outline) -> bool:
    return outline.verdict is Verdict.FLAKY or (outline.verdict is Verdict.KNOWN_FAIL and outline.code.partition(".")[0] == Verdict.FLAKY)


def _stands_for(listed: str, status: str) -> bool:
    return set(ends_of(status)) <= set(ends_of(listed))


def _with_headings(
    added: Sequence[Outline], line_of: Callable[[Outline], str], links: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    """Return lines for cases, grouped by how they fail, with a comment above each group."""
    groups: dict[tuple[str, str, tuple[str, ...], str], list[Outline]] = {}
    for outline in added:
        groups.setdefault((outline.family, outline.code, outline.defects, links.get(outline.known, "")), []).append(outline)
    lines: list[str] = []
    for (family, code, defects, link), members in sorted(groups.items()):
        lines.append(f"# {family}: {' '.join((code, *defects)) or members[0].verdict} ({members[0].driver}) {link}".rstrip())
        lines += map(line_of, members)
    return lines


def _ordered(changes: Iterable[LineChange]) -> tuple[LineChange, ...]:
    def place(change: LineChange) -> tuple[int, str]:
        return (0 if not change.before else 1 if change.after else 2), change.id

    return tuple(sorted(changes, key=place))
