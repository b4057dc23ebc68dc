"""A comparison as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cts.engine.tally import phrase
from reports.comparison.changes import ChangeKind
from reports.comparison.groups import Group
from reports.comparison.pairs import Pair
from reports.comparison.runs import ComparedRun
from reports.comparison.statistics import ChangedStatistic, grown
from reports.comparison.times import Slower
from reports.comparison.wording import before_of, code_of, ended, families_of, growth_of, pace_of, rest_of, told_statistics, verdict_on
from reports.formats import count, duration

STATISTICS = 8
"""Number of changed statistics of compiled code that the text tells of; of each, GROWN families and cases."""

GROWN = 3

LISTED = 5
"""Default number of cases of a group that the text names."""


def text(pairs: Sequence[Pair], listed: int = LISTED) -> str:
    """Return the text for a terminal.

    Args:
        pairs: comparisons with the same first run.
        listed: number of cases of each group that the text names.
    """
    lines = [*_run("first", pairs[0].before)]
    for number, pair in enumerate(pairs, 2):
        lines += _run("second" if len(pairs) == 1 else f"run {number}", pair.after)
    for pair in pairs:
        lines += ["", *_pair(pair, listed, named=len(pairs) > 1)]
    return "\n".join(lines) + "\n"


def _run(place: str, run: ComparedRun) -> Iterator[str]:
    facts = run.facts
    tier = f"{facts['tier']} tier" if facts["tier"] else ""
    front_end = f"front end {facts['front_end']}" if facts["front_end"] else ""
    version = f"suite {facts['suite_version']}" if facts["suite_version"] else ""
    yield f"{place + ':':8s} {run.name}"
    yield f"         {', '.join(part for part in (facts['device'], facts['driver'], tier, front_end, version, facts['started']) if part)}"
    yield f"         {count(len(run.cases), 'case')}: {phrase(run.verdicts)}"
    for note in run.notes:
        yield f"         note: the run {note}; cases may be missing"


def _pair(pair: Pair, listed: int, named: bool) -> Iterator[str]:
    if named:
        yield f"== {pair.after.name} compared with {pair.before.name} =="
    for one in pair.differences:
        yield f"differs: {one.heading.lower()}: {one.before} -> {one.after}"
    yield f"{verdict_on(pair)}; {rest_of(pair)}"
    for kind in ChangeKind:
        of_kind = [group for group in pair.groups if group.kind is kind]
        if of_kind:
            yield ""
            yield f"{pair.titles[kind]}: {count(pair.counts[kind], 'case')}, {count(len(of_kind), 'cause')}"
            for group in of_kind:
                yield from _group(group, listed)
    yield ""
    yield pace_of(pair.times)
    for slower in (*pair.times.families, *pair.times.cases):
        yield _slower(slower)
    if pair.code.compared:
        yield ""
        yield code_of(pair.code)
    told = told_statistics(pair.code, STATISTICS)
    for statistic in told:
        yield from _statistic(statistic, min(listed, GROWN))
    if rest := len(pair.code.changed) - len(told):
        yield f"  and {count(rest, 'more statistic')}, which changed less"


def _group(group: Group, listed: int) -> Iterator[str]:
    before, after = before_of(group), ended(group.after)
    ways = f"{before} -> {after}" if before and after and before != after else before or after
    yield f"  {len(group.changes):6d}  {families_of(group)}: {ways}"
    if group.reason:
        yield f"          {group.reason}"
    for sentence in group.decided:
        yield f"          {sentence}"
    if group.kind in (ChangeKind.ONLY_BEFORE, ChangeKind.ONLY_AFTER, ChangeKind.LOST):
        return
    for change in group.changes[:listed]:
        yield f"          {change.id}"
    if listed and len(group.changes) > listed:
        yield f"          and {len(group.changes) - listed:,} more"


def _statistic(one: ChangedStatistic, listed: int) -> Iterator[str]:
    total, cases = one.total, count(one.total.cases, "case")
    yield f"  {one.name}: {total.before:,.10g} -> {total.after:,.10g}, {growth_of(total)}, in {cases}, {one.grew:,} of them more"
    for family in grown(one.families, GROWN):
        yield f"      {growth_of(family)}  {family.family} ({count(family.cases, 'case')})"
    for case in grown(one.cases, listed):
        yield f"      {growth_of(case)}  {case.id}"


def _slower(one: Slower) -> str:
    what = one.id or f"{one.family} ({count(one.cases, 'case')})"
    return f"  {one.ratio:5.1f} times as long  {what}, {one.step}: {duration(one.before)} -> {duration(one.after)}"
