"""The HTML report: ``index.html``, a page for each failure, and one for each requirement."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from cts.verdict.codes import Code, is_within
from cts.verdict.known_failures import KnownFailure
from cts.verdict.verdict import CaseResult, Verdict
from reports.case_page import CasePage
from reports.causes import Cause
from reports.context import Context, Headline
from reports.facts import columns, ordered
from reports.journals import Key, Run, key_of
from reports.links import failure_place
from reports.page_template import template
from reports.picture import failing_array
from reports.requirement_page import RequirementPage
from reports.requirement_texts import RequirementText
from reports.summary import Summary, VerdictCounts
from reports.verdicts import EXPLAINED, PAGED, SEVERITY, WORDING

PAGES = 2_000
"""Maximum number of failures with their own page."""

ARRAYS = 6
"""Maximum number of failing arrays that one page draws; the rest are listed."""

_VERDICTS = tuple(WORDING)


_UNPROVEN = frozenset({*PAGED, Verdict.COMPILED})
"""The verdicts of a case that proves no requirement."""


def index(
    run: Run,
    summary: Summary,
    causes: Sequence[Cause],
    context: Context,
    headline: Headline,
    texts: Mapping[str, RequirementText],
    pages: Mapping[Key, str],
    issues: Mapping[str, KnownFailure],
    has_history: bool = False,
) -> str:
    """Return ``index.html``.

    Args:
        run, summary, causes, context, headline, texts: the contents.
        pages: the path of the page of each attempt at a case that has one.
        issues: known failures by id, if the checkout has them.
        has_history: whether ``history.html`` is beside it.
    """
    idle_families = {name: tally for name, tally in summary.families.items() if _is_idle(tally)}
    elsewhere = {name for name, tally in idle_families.items() if summary.elsewhere.get(name) == sum(tally.values())}
    other_judges = [lack for lack in summary.not_supported if is_within(lack.code, Code.MISSING_JUDGE)]
    return template("index.html").render(
        summary=summary,
        failed=[cause for cause in causes if not cause.is_known],
        known=[cause for cause in causes if cause.is_known],
        context=context,
        headline=headline,
        texts=texts,
        pages=pages,
        issues=issues,
        has_history=has_history,
        families={name: tally for name, tally in summary.families.items() if name not in idle_families},
        idle_families={name: tally for name, tally in idle_families.items() if name not in elsewhere},
        idle_cases=sum(sum(tally.values()) for name, tally in idle_families.items() if name not in elsewhere),
        families_elsewhere={name: idle_families[name] for name in idle_families if name in elsewhere},
        requirements={id_: tally for id_, tally in summary.requirements.items() if tally.keys() & _UNPROVEN},
        passed_requirements={
            id_: tally for id_, tally in summary.requirements.items() if not _is_idle(tally) and not tally.keys() & _UNPROVEN
        },
        idle_requirements={id_: tally for id_, tally in summary.requirements.items() if _is_idle(tally)},
        other_judges=other_judges,
        lacks=[lack for lack in summary.not_supported if lack not in other_judges],
        explained=sum(summary.verdicts.get(verdict, 0) for verdict in EXPLAINED),
        paged=sum(summary.verdicts.get(verdict, 0) for verdict in PAGED),
        shown=tuple(summary.verdicts),
        columns=columns(run.results),
        cases=case_table(run.results, pages),
    )


def _is_idle(tally: VerdictCounts) -> bool:
    """Tell whether the device ran none of the cases."""
    return not tally.keys() - {Verdict.NOT_SUPPORTED}


def failure_page(page: CasePage, context: Context, texts: Mapping[str, RequirementText]) -> str:
    """Return the page of one case that neither passed nor lacked support."""
    return template("failure.html").render(
        page=page,
        result=page.result,
        arrays=[failing_array(failure, number) for number, failure in enumerate(page.result.failures)],
        drawn=ARRAYS,
        texts=texts,
        context=context,
    )


def requirement_page(page: RequirementPage, context: Context, pages: Mapping[Key, str]) -> str:
    """Return the page of one requirement. ``pages``: the path of the page of each attempt at a case that has one."""
    return template("requirement.html").render(page=page, context=context, pages=pages, columns=columns(page.results))


def pages(results: Sequence[CaseResult]) -> dict[Key, str]:
    """Return the paths of the pages of at most PAGES failures, by attempt at a case, in the order of the links between them: by verdict,
    worst first, then by family and id. Each family and verdict gets its first pages, so none hides another."""
    places: Counter[tuple[str, Verdict]] = Counter()
    ranked = []
    for result in results:
        if result.verdict in PAGED:
            known = result.verdict is Verdict.KNOWN_FAIL
            order = (SEVERITY[result.verdict], result.family, key_of(result))
            ranked.append((known, places[result.family, result.verdict], order))
            places[result.family, result.verdict] += 1
    return {key: failure_place(*key) for _, _, key in sorted(order for _, _, order in sorted(ranked)[:PAGES])}


def _ranks(texts: Mapping[Any, str]) -> dict[Any, int]:
    """Return the rank of the text of each value."""
    ranks: dict[str, int] = defaultdict(lambda: len(ranks))
    return {value: ranks[text] for value, text in texts.items()}


def case_table(results: Sequence[CaseResult], pages: Mapping[Key, str]) -> dict[str, Any]:
    """Return all cases, compact: each is [family, labels, verdict, texts, end, requirements], followed by the path of its page if it has
    one. Family, verdict, end and requirements are indices into the lists of the same name; an end is a reason with its code, the id of a
    known failure, and the ids of the defects that explain it. Texts are indices into the texts of each column, which are in its order."""
    families: dict[str, int] = defaultdict(lambda: len(families))
    ends: dict[tuple[str, str, str, str], int] = defaultdict(lambda: len(ends))
    requirements: dict[tuple[str, ...], int] = defaultdict(lambda: len(requirements))
    rows = []
    shown = columns(results)
    in_words = {name: ordered(results, name) for name in shown}
    texts = {name: list(dict.fromkeys(each.values())) for name, each in in_words.items()}
    ranks = [(attrgetter(name), _ranks(each)) for name, each in in_words.items()]
    for result in results:
        page = pages.get(key_of(result))
        rows.append(
            (
                families[result.family],
                result.id.removeprefix(result.family) + (f" attempt {result.attempt}" if result.attempt > 1 else ""),
                SEVERITY[result.verdict],
                [rank[value(result)] for value, rank in ranks],
                ends[result.reason, result.code, result.known, " ".join(result.defects)],
                requirements[result.requirements],
                *([page] if page else ()),
            )
        )
    return {
        "families": list(families),
        "verdicts": [[verdict, WORDING[verdict].label, WORDING[verdict].mark] for verdict in _VERDICTS],
        "columns": [[one.key, one.title, one.number, texts[name]] for name, one in shown.items()],
        "ends": list(ends),
        "requirements": list(requirements),
        "cases": rows,
    }
