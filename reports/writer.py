"""Writes every report of a run."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cts.blame import report as blame
from cts.journal.atomic import write_text
from cts.journal.journal import MetaReader, Opener, opened, read_meta
from cts.journal.renames import renames
from cts.journal.run_record import EVERY_CASE
from cts.verdict.known_failures import KnownFailure
from cts.verdict.verdict import CaseResult
from generators.casebook import Casebook
from generators.errors import CtsError
from reports import html
from reports.case_files import case_folder, family_files, opened_casebook, readable_casebook
from reports.case_page import CasePage, turns
from reports.case_sources import case_source
from reports.case_walk import first_walk
from reports.causes import Cause, causes
from reports.causes.document import document as box
from reports.commands import commands
from reports.context import Context, Headline, context, headline
from reports.history.groups import Ended, Group, Selection, read_groups
from reports.history.page import history_page
from reports.history.source import opened_source
from reports.in_parts import beside
from reports.journals import Key, Run, in_order, key_of, read, whole_results
from reports.junit import junit
from reports.known_issues import known_issues
from reports.leading import leading
from reports.links import requirement_place
from reports.markdown import markdown
from reports.neighbours import Neighbours
from reports.prepared import prepare_pages
from reports.requirement_page import requirement_pages
from reports.requirement_texts import requirement_texts
from reports.summary import Summary, summarise

SCHEMA = 4
"""Version of the structure of ``summary.json``."""

FOLDERS = MappingProxyType(
    {
        "failures": re.compile(r".*-[0-9a-f]{8}\.html"),
        "requirements": re.compile(r"(.*-[0-9a-f]{8}|[A-Z][A-Z0-9]*-[A-Z0-9]+-[0-9]{2})\.html"),
    }
)
"""Folders of pages -> the pattern of their file names. Other files in them are left alone."""


HISTORY_RUNS = 100
"""How many of the newest runs of each device and front end the pages show."""

PAGES_OF_A_PROCESS = 32
"""How many pages are worth a process."""


class ReportError(CtsError):
    """The reports cannot be written; the message names the file and why."""


def write(
    results: Path | Sequence[Path],
    directory: Path,
    history: str | None = None,
    casebook: Casebook | None = None,
    processes: int = 1,
    opened: Opener = opened,
    read_meta: MetaReader = read_meta,
    every_case: bool | None = None,
) -> tuple[str, ...]:
    """Write ``summary.json``, ``junit.xml``, ``summary.md``, ``index.html``, and the pages of ``failures/`` and ``requirements/``.

    Args:
        results: one journal or several (shards), which are merged.
        directory: created if it does not exist. Pages of an earlier report in it are removed.
        history: an archive, or a folder of report directories. The pages of cases and requirements then show its newest runs too, and
            ``history.html`` is written; None for none.
        casebook: the casebook of the checkout, if the caller has it already; None to read it if a page needs it.
        processes: how many processes may make pages; more than 1 only if this one has no other threads.
        opened, read_meta: see reports.journals.read.
        every_case: whether each case is a test of JUnit; None for what the runs were asked for.

    Returns:
        The faults of the journals, one line each, for the caller.

    Raises:
        JournalError: a journal cannot be read.
        SelectionError, ArchiveError, JournalError: the history cannot be read.
        ReportError: the directory cannot be written.
    """
    # First what needs no results: while the journal grows, there is time.
    cases = case_folder() if casebook is None else casebook.root
    texts, files = requirement_texts(casebook or opened_casebook(cases)), family_files(cases)
    past: tuple[Group, ...] = ()
    if history is not None:
        with opened_source(history, renames(cases.parent)) as archive:
            past = tuple(read_groups(archive, Selection(newest=HISTORY_RUNS)))
    if processes > 1 and casebook is not None:
        prepare_pages(casebook)
    run = read(results, opened, read_meta)
    summary, about = summarise(run.results), context(run)
    title, pages = headline(summary, about), html.pages(run.results)
    parts = min(processes, (len(pages) + len(summary.requirements)) // PAGES_OF_A_PROCESS)
    if casebook is None and (summary.known or pages):
        casebook = readable_casebook(cases)
        if parts > 1:
            prepare_pages(casebook)
    issues = known_issues({known.id for known in summary.known}, {result.driver for result in run.results}, casebook)
    places = {*pages.values(), *map(requirement_place, summary.requirements)}
    case_pages = _CasePages(run, summary, pages, files, casebook, issues, past)

    def write_pages(part: int, parts: int) -> None:
        for page in case_pages.of(set(list(pages)[part::parts])):
            write_text(directory / pages[key_of(page.result)], html.failure_page(page, about, texts))
        tallies = dict(list(summary.requirements.items())[part::parts])
        for requirement in requirement_pages(run.results, tallies, texts, past):
            write_text(directory / requirement_place(requirement.id), html.requirement_page(requirement, about, pages))

    def write_junit() -> None:
        each = any(meta.get("junit") == EVERY_CASE for meta in run.metas) if every_case is None else every_case
        write_text(directory / "junit.xml", junit(run.results, about, issues, each))

    try:
        for folder in FOLDERS:
            (directory / folder).mkdir(parents=True, exist_ok=True)
        with beside([*(partial(write_pages, part, parts) for part in range(parts)), write_junit] if parts > 1 else ()):
            if parts <= 1:
                write_pages(0, 1)
                write_junit()
            found = causes(run.results)
            if past:
                write_text(directory / "history.html", history_page(past, directory))
            write_text(directory / "index.html", html.index(run, summary, found, about, title, texts, pages, issues, bool(past)))
            write_text(directory / "summary.json", _summary_json(run, summary, found, about, title, pages))
            write_text(directory / "summary.md", markdown(summary, found, about, title, issues, texts))
        _remove_others(directory, places)
    except OSError as error:
        place = error.filename or directory
        raise ReportError(f"cannot write the report {place}: {error.strerror}; choose another directory") from error
    more = f"{run.dropped} lines of the journal cannot be read as results"
    return (*map(str, run.faults), *((more,) if run.dropped > len(run.faults) else ()))


class _CasePages:
    """Makes the contents of the pages of cases."""

    def __init__(
        self,
        run: Run,
        summary: Summary,
        pages: Mapping[Key, str],
        files: Mapping[str, Path],
        casebook: Casebook | None,
        issues: Mapping[str, KnownFailure],
        past: Sequence[Group],
    ) -> None:
        self._run, self._summary, self._files, self._casebook, self._issues, self._past = run, summary, files, casebook, issues, past
        self._neighbours, self._place = Neighbours(run.results), dict(turns(list(pages)))
        told = (one for path in run.journals for one in blame.read(path.parent))
        self._blamed = {(one.id, one.device, one.driver, str(one.facts.front_end)): one for one in told}
        self._leading = {key_of(result) for result in leading(in_order(run, pages.keys()))}

    def of(self, wanted: Collection[Key]) -> Iterator[CasePage]:
        """Yield the contents of some pages, each once."""
        run, casebook = self._run, self._casebook
        for result in whole_results(run, wanted):
            leads = key_of(result) in self._leading
            yield CasePage(
                result,
                self._place[key_of(result)],
                commands(result, run.metas, self._files, casebook),
                self._neighbours.passed(result),
                case_source(result, casebook, leads),
                self._issues.get(result.known),
                _ended(self._past, result.id),
                first_walk(result, casebook) if leads else None,
                self._summary.defects,
                self._blamed.get((result.id, result.device, result.driver, result.front_end)),
            )


def _ended(past: Sequence[Group], id_: str) -> list[Ended]:
    """Return how a case ended in runs on all devices, oldest first."""
    return sorted((one for group in past for one in group.of(id_)), key=lambda one: (one.run.facts["started"], one.run.name))


def _remove_others(directory: Path, places: Collection[str]) -> None:
    """Remove the pages of an earlier report, and no other file."""
    for folder, pattern in FOLDERS.items():
        for path in (directory / folder).iterdir():
            if f"{folder}/{path.name}" not in places and pattern.fullmatch(path.name):
                path.unlink()


def _summary_json(run: Run, summary: Summary, found: Sequence[Cause], about: Context, title: Headline, pages: Mapping[Key, str]) -> str:
    rest = asdict(about)
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "headline": asdict(title),
        "fallback": about.fallback,
        "stopped": about.stopped,
        "findings": [finding for meta in run.metas for finding in meta.get("findings", ())],
        "dropped": {"lines": run.dropped, "first": [{**asdict(fault), "path": fault.path.name} for fault in run.faults]},
        "context": {**rest.pop("facts"), **rest, "meta": list(run.metas)},
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
