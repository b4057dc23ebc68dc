"""The HTML report: ``index.html``, and a page for each failure."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jinja2
from markupsafe import Markup

from cts.verdict.verdict import CaseResult, Verdict
from reports import formats
from reports.causes import Cause
from reports.context import Context, Headline
from reports.journals import Key, Run, key_of
from reports.neighbours import Neighbour
from reports.picture import allowed, failing_array
from reports.requirement_texts import RequirementText
from reports.summary import Summary
from reports.verdicts import EXPLAINED, NUMBERS, SEVERITY, WORDING

PAGES = 2_000
"""Failures that get a page of their own."""

ARRAYS = 12
"""Failing arrays that one page draws; the rest are listed."""

_VERDICTS = tuple(WORDING)


def index(
    run: Run,
    summary: Summary,
    causes: Sequence[Cause],
    context: Context,
    headline: Headline,
    texts: Mapping[str, RequirementText],
    pages: Mapping[Key, str],
) -> str:
    """Return ``index.html``. ``pages`` is the path of the page of each attempt at a case that has one."""
    return template("index.html").render(
        summary=summary,
        causes=causes,
        context=context,
        headline=headline,
        texts=texts,
        pages=pages,
        explained=sum(summary.verdicts.get(verdict, 0) for verdict in EXPLAINED),
        shown=tuple(summary.verdicts),
        cases=case_table(run.results, pages),
    )


def failure_page(
    result: CaseResult,
    context: Context,
    texts: Mapping[str, RequirementText],
    commands: Mapping[str, str],
    neighbours: Sequence[Neighbour] = (),
    defects: Mapping[str, int] = MappingProxyType({}),
) -> str:
    """Return the page of one case that neither passed nor lacked support.

    Args:
        result, context, texts: the case, its run, and the texts of requirements and positions.
        commands: purpose -> command line.
        neighbours: cases that passed and are almost this one.
        defects: how many failing cases of the run each defect explains, by id.
    """
    return template("failure.html").render(
        result=result,
        arrays=[failing_array(failure, number) for number, failure in enumerate(result.failures)],
        drawn=ARRAYS,
        commands=commands,
        texts=texts,
        context=context,
        neighbours=neighbours,
        others={id_: defects.get(id_, 0) - (result.verdict is Verdict.FAIL and id_ in result.defects) for id_ in result.defects},
    )


def pages(results: Sequence[CaseResult]) -> dict[Key, str]:
    """Return the paths of the pages of at most PAGES failures, by attempt at a case. Each family and verdict gets its first ones: none
    hides another."""
    places: Counter[tuple[str, Verdict]] = Counter()
    ranked = []
    for result in results:
        if result.verdict in EXPLAINED:
            ranked.append((places[result.family, result.verdict], SEVERITY[result.verdict], key_of(result)))
            places[result.family, result.verdict] += 1
    return {key: f"failures/{slug(*key)}.html" for _, _, key in sorted(ranked)[:PAGES]}


def slug(id_: str, attempt: int = 1) -> str:
    """Return a file name for an attempt at a case: readable, at most 100 characters, and unique by the digest of the id."""
    repeated = f"-attempt-{attempt}" if attempt > 1 else ""
    readable = re.sub(r"[^A-Za-z0-9.-]+", "_", id_).strip("_.-")[: 91 - len(repeated)] + repeated
    return f"{readable}-{hashlib.sha256(id_.encode()).hexdigest()[:8]}"


def case_table(results: Sequence[CaseResult], pages: Mapping[Key, str]) -> dict[str, Any]:
    """Return all cases, compact: each is [family, labels, verdict, milliseconds, reason, requirements, has a page], where family, verdict,
    reason and requirements are places in the lists of the same name."""
    families: dict[str, int] = defaultdict(lambda: len(families))
    reasons: dict[str, int] = defaultdict(lambda: len(reasons))
    requirements: dict[tuple[str, ...], int] = defaultdict(lambda: len(requirements))
    rows = []
    for result in results:
        rows.append(
            (
                families[result.family],
                result.id.removeprefix(result.family) + (f" attempt {result.attempt}" if result.attempt > 1 else ""),
                SEVERITY[result.verdict],
                round(result.seconds * 1000, 2),
                reasons[result.reason],
                requirements[result.requirements],
                pages.get(key_of(result), 0),
            )
        )
    return {
        "families": list(families),
        "verdicts": [[verdict, WORDING[verdict].label, WORDING[verdict].mark] for verdict in _VERDICTS],
        "reasons": list(reasons),
        "requirements": list(requirements),
        "cases": rows,
    }


def _embedded(value: Any) -> Markup:
    """Return JSON that may be inside a script element."""
    return Markup(json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"))


@cache
def template(name: str) -> jinja2.Template:
    """Return a template of reports/templates, with the filters that all of them use."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "json": _embedded,
        "allowed": allowed,
        "count": formats.count,
        "duration": formats.duration,
        "percent": formats.percent,
        "rate": formats.rate,
        "number": lambda number: f"{number:,}",
    }
    environment.globals |= {"wording": WORDING, "numbers": NUMBERS}
    return environment.get_template(name)
