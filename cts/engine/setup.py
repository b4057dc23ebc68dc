"""Sets up a run from its options: the device, the selection, the report directory and what is known before the first case."""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, cast

from cts.checkout import suite_version
from cts.devices.device import Finding
from cts.devices.identity import record_of
from cts.devices.listing import Listed
from cts.devices.spec import DeviceSpec
from cts.engine.alone import Alone
from cts.engine.attempts import Attempts, by_id
from cts.engine.control import proven_by
from cts.engine.foretelling import Foretelling
from cts.engine.groups import checked_groups, group_of
from cts.engine.judging import Judging
from cts.engine.keyword_expression import is_certain
from cts.engine.memory import keep_memory
from cts.engine.neighbours import Clock
from cts.engine.plan import JUNIT, Plan, checked_retry, log_failures, one_of
from cts.engine.request import Request
from cts.engine.run import Run, timestamp
from cts.engine.selected import Key, Selected
from cts.engine.selection import Selection, check_named, device_rows, list_ids, selection_digest
from cts.engine.session import Settings, open_holder
from cts.engine.shards import parse_shard
from cts.engine.tally import Digest, Tally
from cts.journal import journal
from cts.journal.run_record import DeviceRecord, RunRecord
from cts.kinds.foretelling import Foreteller
from cts.printable import portable_argument
from cts.verdict.known_failures import NONE_KNOWN, known_failures, with_files
from generators.casebook import Casebook, load_families, open_casebook
from generators.errors import CtsError


@dataclass(frozen=True)
class Invocation:
    """How a run was asked for.

    Attributes:
        root: the root of the checkout.
        directory: the working directory of relative paths.
        request: the cases that the command line names.
        options: the value of each option, by its key (cts.engine.options).
        words: the expression of ``-k``.
        command: the arguments of the command line.
        processes: how many processes judge; None if that is not known.
        lists_only: whether cases are only listed.
        deselected: beginnings of node ids that ``--deselect`` leaves out.
        selects_items: whether pytest selects among items in another way, so that each case needs one.
        deals: whether the suite chooses among the items those that are judged, so that known verdicts can wait.
        resuming: see cts.engine.github.
        listed: see cts.judges.choose.
    """

    root: Path
    directory: Path
    request: Request
    options: Mapping[str, Any]
    words: str
    command: Sequence[str]
    processes: int | None = 1
    lists_only: bool = False
    deselected: tuple[str, ...] = ()
    selects_items: bool = False
    deals: bool = False
    resuming: str = ""
    listed: Listed | None = None


@dataclass(frozen=True)
class Prepared:
    """A run before its first case.

    Attributes:
        plan: what other processes need.
        findings: the list of the run's findings.
        foretelling: finds the verdicts that are known without the device; None if nothing is known.
    """

    run: Run
    plan: Plan
    selection: Selection
    alone: Alone
    findings: list[Finding]
    foretelling: Foretelling | None


@cache
def casebook_of(root: Path) -> Casebook:
    """Return the casebook of a checkout, opened once: processes that are forked from this one have its families too.

    Raises:
        CasebookError: see ``open_casebook``.
    """
    return open_casebook(root)


def prepare(invocation: Invocation) -> Prepared:
    """Set up a run, in the only process or in the one that hands out the cases.

    Raises:
        CtsError: an option, a file or the device cannot be used; the message says what to do.
    """
    options = invocation.options
    if options["resume"] and not options["report_dir"]:
        raise CtsError("--resume continues the results in a report directory: name it with --report-dir DIR")
    if options["retry"] and not options["resume"]:
        raise CtsError("--retry judges again what an earlier run judged: add --resume")
    retry = checked_retry(options["retry"])
    junit = one_of("--junit", options["junit"] or JUNIT[0], JUNIT)
    shard = parse_shard(options["shard"]) if options["shard"] else None
    with ThreadPoolExecutor(1) as asking:
        # A driver answers in a separate process; read the casebook meanwhile.
        asked = asking.submit(checked_groups, options, invocation.listed)
        casebook = casebook_of(invocation.root)
        if not options["case_list"]:
            load_families(casebook)
        named = check_named(casebook, invocation.request)
        listed = list_ids(casebook, invocation.directory / options["case_list"]) if options["case_list"] else None
        groups = asked.result()
    if invocation.processes is not None and invocation.processes < len(groups):
        raise CtsError(f"--device: {len(groups)} devices need at least one process each: add -n {len(groups)} or more")
    groups = _with_known_failures(invocation, casebook, groups)
    settings = groups[0]
    rows = device_rows(settings.description)
    reports: Path | None = None
    claim: int | None = None
    before: dict[Key, Digest] = {}
    if options["report_dir"] and not invocation.lists_only:
        reports = (invocation.directory / options["report_dir"]).resolve()
        claim = journal.claim(reports)
        before = Digest.by_attempt(journal.read(journal.prepare(reports, bool(options["resume"]))))
        meta = _record(invocation, groups) | {
            "shard": str(shard or ""),
            "selection": selection_digest(invocation.request, invocation.words, listed, rows),
            "junit": junit,
        }
        journal.write_meta(reports, journal.resumed_meta(reports, meta) if before else meta)
    retried = {key: digest for key, digest in before.items() if digest.verdict in retry}
    before = {key: digest for key, digest in before.items() if key not in retried}
    tally = Tally()
    for digest in before.values():
        tally.add(digest)
    proven = proven_by(before, casebook)
    plan = Plan(groups, rows, named, listed, Attempts(settings.repeat, by_id(before)), proven, reports, token(reports), shard)
    foretelling: Foretelling | None = None
    told: frozenset[str] = frozenset()
    knows_items = invocation.request.everything and not invocation.selects_items and is_certain(invocation.words)
    if knows_items and invocation.request.alone and settings.tier != "full":
        foreteller = Foreteller(settings.spec, settings.description, settings.front_end)
        foretelling = Foretelling(plan.selection(casebook), foreteller, invocation.words.strip(), invocation.deselected)
        told = frozenset() if invocation.deals and settings.limit is None else foretelling.told_ids()
        items = {family: tuple(case.id for case in cases if case.id not in told) for family, cases in foretelling.cases.items()}
        plan = replace(plan, asked=items)
    selection = plan.selection(casebook)
    findings: list[Finding] = []
    run = Run(
        suite_version(),
        groups,
        reports,
        Selected(selection, tuple(told)),
        tally,
        retried,
        findings,
        invocation.processes,
        claim,
        invocation.resuming,
    )
    alone = Alone(casebook, [(group, open_holder(group, findings)) for group in groups], run.journal, findings, proven)
    return Prepared(run, plan, selection, alone, findings, foretelling)


def _with_known_failures(invocation: Invocation, casebook: Casebook, groups: Sequence[Settings]) -> tuple[Settings, ...]:
    options, driver = invocation.options, groups[0].description.driver
    known = NONE_KNOWN if options["no_known_failures"] else known_failures(invocation.root, casebook, driver)
    if options["known_failures"]:
        known = with_files(known, [invocation.directory / name for name in options["known_failures"]], casebook, driver)
    strict, shown = bool(options["fail_on_quality"]), log_failures(options["log_failures"])
    return tuple(replace(group, known=known, fail_on_quality=strict, log_failures=shown) for group in groups)


_OF_VULKAN = ("VK_", "MESA_", "GALLIVM_", "LP_", "RADV_", "ACO_", "ANV_", "INTEL_", "NVK_", "NAK_", "__GL_", "TU_", "IR3_", "AMD_")
"""How variables begin that change Vulkan's loader, layers or drivers."""


def _record(invocation: Invocation, groups: Sequence[Settings]) -> RunRecord:
    """Return the description of the run for its report directory."""
    settings = groups[0]
    number, mapping = (settings.spec.number, settings.spec.mapping) if isinstance(settings.spec, DeviceSpec) else (-1, "")
    return {
        "suite_version": suite_version(),
        "device": cast(DeviceRecord, record_of(settings.description, number)),
        "units": tuple(group.unit for group in groups if group.unit),
        "selector": settings.spec.selector,
        "why": settings.why,
        "fallback": settings.fallback,
        "modelled": settings.description.modelled,
        "repeat": settings.repeat,
        "rounds": settings.rounds,
        "tier": settings.tier,
        "front_end": settings.front_end,
        "validation": bool(invocation.options["validation"]),
        "embedded_mapping": mapping,
        "isolated": settings.isolated,
        "known_failures": ", ".join(settings.known.names),
        "left_out_by": ", ".join(skips.name for skips in settings.known.skips),
        "host": f"{platform.platform()}, {platform.machine()}, Python {platform.python_version()}",
        "environment": {name: value for name, value in sorted(os.environ.items()) if name.startswith(_OF_VULKAN)},
        "command": shlex.join(["pytest", *map(portable_argument, invocation.command)]),
        "started": timestamp(),
    }


@dataclass(frozen=True)
class Worker:
    """What a process needs to judge.

    Attributes:
        settings: the settings of its group.
        sends_records: whether another process must write its results to the journal.
    """

    judging: Judging
    selection: Selection
    settings: Settings
    sends_records: bool


def worker(plan: Plan, selection: Selection, findings: list[Finding], place: tuple[str, int] | None, at_once: bool) -> Worker:
    """Open what a process of a run needs to judge.

    Args:
        findings: the list that the findings of its device are added to.
        place: the name of the process and the number of processes; None for the only process of a run.
        at_once: see cts.engine.judging.Judging.
    """
    name, count = place or ("", 1)
    group = group_of(name, len(plan.groups)) if name else 0
    settings = plan.groups[group]
    keep_memory()
    here = plan.reports is not None and token(plan.reports) == plan.token
    written = None
    if plan.reports is not None and here:
        if place is not None:
            journal.join_writers(plan.reports)
        written = journal.Journal(plan.reports / journal.RESULTS)
    clock = Clock(name) if name and settings.isolated else None
    holder = open_holder(settings, findings, clock.lost if clock else lambda _: None)
    if settings.isolated and count > 1:
        # If many processes open the device at once, that takes seconds; meanwhile this process collects the cases.
        holder.begin()
    judging = Judging(settings, selection, holder, written, plan.proven, group, clock, at_once)
    return Worker(judging, selection, settings, plan.reports is not None and not here)


def token(directory: Path | None) -> str:
    """Return a token that tells whether two processes see the same directory, on whichever machine they run."""
    if directory is None:
        return ""
    try:
        return (directory / journal.META).read_text(encoding="utf-8")
    except OSError:
        return ""
