"""The wording of a comparison, shared by text and HTML."""

from __future__ import annotations

from collections.abc import Sequence

from cts.verdict.verdict import Verdict
from reports.comparison.changes import ChangeKind, State
from reports.comparison.groups import Group
from reports.comparison.pairs import Pair
from reports.comparison.statistics import Changed, ChangedStatistic, CompiledCode
from reports.comparison.times import STEPS, Times
from reports.formats import count
from reports.verdicts import WORDING


def verdict_on(pair: Pair) -> str:
    """Return the sentence that sums a comparison up."""
    counts, causes = pair.counts, pair.causes
    if not pair.compared:
        return "The runs have no case in common"
    if not pair.of_one_driver:
        second, first = (
            f"{count(counts[kind], 'case')} ({count(causes[kind], 'cause')})" for kind in (ChangeKind.NEW_FAILURE, ChangeKind.MENDED)
        )
        return f"Failures only in the second run: {second}; only in the first: {first}"
    parts = []
    if new := counts[ChangeKind.NEW_FAILURE]:
        parts.append(f"{count(new, 'new failure')} of {count(causes[ChangeKind.NEW_FAILURE], 'cause')}")
    if pair.of_one_device and (lost := counts[ChangeKind.LOST]):
        parts.append(f"{count(lost, 'case')} no longer supported")
    if not parts:
        parts = ["No new failure"]
    if mended := counts[ChangeKind.MENDED]:
        parts.append(f"{count(mended)} mended")
    return ", ".join(parts)


def rest_of(pair: Pair) -> str:
    """Return the second sentence: the other differences, and the number of unchanged cases."""
    changed = pair.counts[ChangeKind.CHANGED_VERDICT] + pair.counts[ChangeKind.CHANGED_REASON]
    parts = [f"{count(pair.compared, 'case')} in both runs, {count(pair.same)} with the same result"]
    parts += [f"{count(pair.still_failing)} fail in both"] * bool(pair.still_failing)
    parts += [f"{count(changed)} with another verdict or reason"] * bool(changed)
    if pair.times.slower:
        parts.append(f"{count(pair.times.slower, 'family or case', 'families or cases')} slower")
    return ", ".join(parts)


def families_of(group: Group, most: int = 4) -> str:
    """Return the families of a group; if there are many, the first ones with their numbers of cases."""
    if len(group.families) == 1:
        return next(iter(group.families))
    named = [f"{family} ({cases:,})" for family, cases in list(group.families.items())[:most]]
    rest = len(group.families) - len(named)
    return ", ".join(named) + (f" and {count(rest, 'more family', 'more families')}" if rest > 0 else "")


def ended(one: State) -> str:
    """Return the outcome of a group: the verdict's label, then ids."""
    label = WORDING[Verdict(one.verdict)].label.lower() if one.verdict else ""
    return " ".join((label, *ids_of(one))).strip()


def ids_of(one: State) -> Sequence[str]:
    """Return the known failure, the code and the defects of a state."""
    code = one.code if one.code != one.verdict else ""
    return [id_ for id_ in (one.known, code, *one.defects) if id_]


def before_of(group: Group) -> str:
    """Return the outcome of a group in the first run."""
    if group.before.verdict:
        return ended(group.before)
    if group.kind is ChangeKind.ONLY_AFTER:
        return ""
    return ", ".join(f"{cases:,} {verdict}" for verdict, cases in group.verdicts_before.items())


def code_of(code: CompiledCode) -> str:
    """Return the sentence that sums the changes of compiled code up."""
    differing = f"{code.differing:,} of {count(code.compared, 'case')} with statistics in both runs"
    return f"Compiled code: {differing} have another value of {count(len(code.changed), 'statistic')}."


def told_statistics(code: CompiledCode, most: int) -> Sequence[ChangedStatistic]:
    """Return the statistics whose totals changed most, as a share, in the driver's order."""
    by_share = sorted(code.changed, key=lambda one: -abs(one.total.growth) / max(abs(one.total.before), 1))
    return [one for one in code.changed if one in by_share[:most]]


def growth_of(one: Changed) -> str:
    """Return the growth of a value, as a difference and as a share."""
    share = f" ({100 * one.growth / abs(one.before):+.1f} %)" if one.before else ""
    return f"{one.growth:+,.10g}{share}"


def pace_of(times: Times) -> str:
    """Return the overall speed of the second run."""
    if times.why_not:
        return f"Times are not compared: {times.why_not}."
    paces = [f"{step} {times.paces[step]:.2f} times" for step in STEPS if step in times.paces]
    return f"Median time of a case, by step: {', '.join(paces)} as long as before. The factors below come on top of that."
