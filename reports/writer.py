"""Writes every report of a run."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cts.journal.atomic import write_text
from cts.verdict.verdict import CaseResult
from generators.errors import CtsError
from reports import html
from reports.case_files import case_folder, family_files
from reports.causes import Cause, causes
from reports.causes.document import document as box
from reports.commands import commands
from reports.context import Context, Headline, context, headline
from reports.journals import Key, Run, key_of, read, whole_results
from reports.junit import junit
from reports.markdown import markdown
from reports.neighbours import Neighbours
from reports.requirement_texts import requirement_texts
from reports.summary import Summary, summarise

SCHEMA = 4
"""Version of the structure of ``summary.json``."""

_PAGE = re.compile(r".*-[0-9a-f]{8}\.html")


class ReportError(CtsError):
    """The reports cannot be written; the message names the file and why."""


def write(results: Path | Sequence[Path], directory: Path) -> tuple[str, ...]:
    """Write ``summary.json``, ``junit.xml``, ``summary.md``, ``index.html`` and ``failures/*.html`` to ``directory``.

    Args:
        results: one journal or several (shards), which are merged.
        directory: made if it does not exist. Failure pages of an earlier report in it are removed.

    Returns:
        What is wrong with the journals, a line each, for whoever asked for the reports.

    Raises:
        JournalError: a journal cannot be read.
        ReportError: the directory cannot be written.
    """
    run = read(results)
    summary, found, about = summarise(run.results), causes(run.results), context(run)
    title, pages = headline(summary, about), html.pages(run.results)
    cases = case_folder()
    texts, files = requirement_texts(cases), family_files(cases)
    neighbours = Neighbours(run.results)
    try:
        (directory / "failures").mkdir(parents=True, exist_ok=True)
        for result in whole_results(run, pages.keys()):
            again, near = commands(result, run.metas, files), neighbours.passed(result)
            page = html.failure_page(result, about, texts, again, near, summary.defects)
            write_text(directory / pages[key_of(result)], page)
        write_text(directory / "index.html", html.index(run, summary, found, about, title, texts, pages))
        write_text(directory / "summary.json", _summary_json(run, summary, found, about, title, pages))
        write_text(directory / "summary.md", markdown(summary, found, about, title))
        write_text(directory / "junit.xml", junit(run.results, about))
        current = {Path(place).name for place in pages.values()}
        for path in (directory / "failures").iterdir():
            if path.name not in current and _PAGE.fullmatch(path.name):
                path.unlink()
    except OSError as error:
        place = error.filename or directory
        raise ReportError(f"cannot write the report {place}: {error.strerror}; choose another directory") from error
    more = f"{run.dropped} lines of the journal hold no result that can be read"
    return (*map(str, run.faults), *((more,) if run.dropped > len(run.faults) else ()))


def _summary_json(run: Run, summary: Summary, found: Sequence[Cause], about: Context, title: Headline, pages: Mapping[Key, str]) -> str:
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "headline": asdict(title),
        "fallback": about.fallback,
        "stopped": about.stopped,
        "findings": [finding for meta in run.metas for finding in meta.get("findings", ())],
        "dropped": {"lines": run.dropped, "first": [{**asdict(fault), "path": fault.path.name} for fault in run.faults]},
        "context": {**asdict(about), "meta": list(run.metas)},
        **asdict(summary),
        "causes": [
            {
                "id": cause.id,
                "verdict": cause.verdict,
                "families": cause.families,
                "codes": cause.codes,
                "known": cause.known,
                "defects": cause.defects,
                "cause": cause.words,
                "decided": cause.decided,
                "boxes": [box(inside) for inside in cause.inside],
                "outside": cause.outside,
                "cases": [_brief(result, pages) for result in cause.results],
            }
            for cause in found
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _brief(result: CaseResult, pages: Mapping[Key, str]) -> dict[str, Any]:
    return {"id": result.id, "code": result.code, "reason": result.reason, "page": pages.get(key_of(result))}
