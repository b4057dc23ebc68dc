"""The history of cases for a terminal."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice

from cts.engine.tally import phrase
from reports.formats import count, duration, percent
from reports.history.findings import Broke, Flake, Growth, broke, flakes, spells
from reports.history.groups import End, Group, PastRun, Selection
from reports.verdicts import WORDING

LISTED_RUNS = 10
"""How many of the newest runs of a group the text describes."""

MARKS = 60
"""How many of the newest runs have a mark."""


def text(groups: Sequence[Group], growths: Sequence[Sequence[Growth]], selection: Selection, listed: int) -> Iterator[str]:
    """Yield lines about groups.

    Args:
        groups: the runs.
        growths: for each group the cases that became slower.
        selection: what was asked for.
        listed: number of cases of each kind that the text names.
    """
    for group, grown in zip(groups, growths, strict=True):
        yield f"{group.device or 'unknown device'}, {group.front_end or 'unknown front end'}: {count(len(group.runs), 'run')}"
        yield from _case(group, selection.case) if selection.case else _group(group, grown, selection, listed)
        yield ""


def _case(group: Group, id_: str) -> Iterator[str]:
    """Yield a case's life."""
    yield f"  {id_}"
    for spell in spells(group, group.cases.index(id_)):
        about = ", ".join(filter(None, (WORDING[spell.end.verdict].label.lower(), spell.end.code, spell.end.known)))
        until = "" if spell.runs == 1 else f" to {named(spell.last)}"
        yield f"  {WORDING[spell.end.verdict].mark} {about}: {count(spell.runs, 'run')}: {named(spell.first)}{until}"
    yield from (f"  {line}" for line in map(_place, broke(group)))
    yield from (f"  {_flake(flake)}" for flake in flakes(group))


def _group(group: Group, grown: Sequence[Growth], selection: Selection, listed: int) -> Iterator[str]:
    runs = list(enumerate(group.runs, 1))
    if len(runs) > LISTED_RUNS:
        yield f"  the newest {LISTED_RUNS}, since {_about(group.runs[0])}:"
    for number, run in runs[-LISTED_RUNS:]:
        yield f"{number:5d}  {run.name}: {_about(run)}"
        yield f"       {phrase(run.verdicts)}"
        yield from (f"       note: the run {note}; cases may be missing" for note in run.notes)
    yield from _broken(broke(group), listed)
    if flaky := flakes(group):
        cases = count(len({one.case for one in flaky}), "case")
        yield f"  flaky: {cases} did not end alike with one driver and one version of the suite:"
        yield from _listed(map(_flake, flaky), len(flaky), listed)
    if grown:
        yield f"  slower: {count(len(grown), 'case')} took longer in the last runs than in the first, most lost time first:"
        lines = (f"{duration(one.before)} -> {duration(one.after)}, {one.ratio:.1f} times  {one.case}" for one in grown)
        yield from _listed(lines, len(grown), listed)
    shown = range(len(group.cases)) if selection.names_cases else [place for place, changed in enumerate(group.changed) if changed]
    if not shown:
        yield f"  no case changed: {count(group.judged, 'case')} in all"
        return
    which = "are selected" if selection.names_cases else "did not end in the same way in all runs"
    newest = f", of the newest {MARKS}" if len(group.runs) > MARKS else ""
    yield f"  {len(shown):,} of {count(group.judged, 'case')} {which}; one mark for each run{newest}: {_legend(group)}"
    for place in shown[:listed]:
        ends = (None if end < 0 else group.ends[end] for end in group.strips[place, -MARKS:])
        yield f"    {''.join(map(_mark, ends))}  {group.cases[place]}"
    yield from _more(len(shown), listed)


def _broken(found: Sequence[Broke], listed: int) -> Iterator[str]:
    """Yield the cases that do not end well now by the run that was the first bad one, newest first."""
    places: dict[tuple[PastRun, PastRun | None], list[Broke]] = defaultdict(list)
    for one in found:
        places[one.first_bad, one.last_good].append(one)
    if found:
        counted = Counter(one.now.verdict for one in found)
        kinds = phrase({verdict: counted[verdict] for verdict in WORDING if counted[verdict]})
        does = "does" if len(found) == 1 else "do"
        yield f"  {count(len(found), 'case')} {does} not end well now ({kinds}), by the run where that began:"
    for those in places.values():
        yield f"    {_place(those[0])}: {count(len(those), 'case')}"
        yield from (f"      {_mark(one.now)}  {one.case}" for one in those[:listed])
        yield from _more(len(those), listed)


def _listed(lines: Iterator[str], number: int, listed: int) -> Iterator[str]:
    yield from (f"    {line}" for line in islice(lines, listed))
    yield from _more(number, listed)


def _more(number: int, listed: int) -> Iterator[str]:
    if number > listed:
        yield f"    and {number - listed:,} more: --cases N names more, --json and --html have all"


def _place(one: Broke) -> str:
    good = f"last good: {named(one.last_good)}" if one.last_good else "no good run before it"
    return f"first bad: {named(one.first_bad)}; {good}"


def _flake(one: Flake) -> str:
    versions = ", ".join(filter(None, (one.driver, one.suite_version)))
    return f"{one.bad} of {count(one.runs, 'run')} bad ({percent(one.bad / one.runs)}) with {versions}  {one.case}"


def named(run: PastRun) -> str:
    """Return the name of a run, with its start and the versions of driver and suite."""
    facts = run.facts
    return f"{run.name} ({', '.join(filter(None, (facts['driver'] or facts['device'], facts['suite_version'], facts['started'])))})"


def _about(run: PastRun) -> str:
    facts = run.facts
    return ", ".join(filter(None, (facts["started"], facts["driver"] or facts["device"], facts["tier"], facts["suite_version"])))


def _mark(end: End | None) -> str:
    return "·" if end is None else WORDING[end.verdict].mark


def _legend(group: Group) -> str:
    shown = (verdict for verdict in WORDING if any(verdict in run.verdicts for run in group.runs))
    return ", ".join((*(f"{WORDING[verdict].mark} {WORDING[verdict].label.lower()}" for verdict in shown), "· not judged"))
