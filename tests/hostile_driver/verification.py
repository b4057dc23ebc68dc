"""Compares the results of a run with the demands of the table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree

from cts.verdict.verdict import Verdict
from tests.hostile_driver.running import Observed
from tests.hostile_driver.scenario import UNJUDGED, Run, Scenario, case_ids

_REPORTS = frozenset({"results.jsonl", "meta.json", "summary.json", "summary.md", "junit.xml", "index.html"})
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")
_OURS = re.compile(rb"Traceback \(most recent|INTERNALERROR|^E  ", re.MULTILINE)
_SAME = ("verdict", "reason", "subcases", "failures", "policy", "step", "driver_messages")
"""The fields of a case without a fault that must be the same as in a run without faults."""

_MARKUP = b"<script>alert"
"""Markup in the device's name in a scenario."""

_LONGEST_LINE = 600
"""The last line may have at most this many characters, because people read it."""

_FIRST_LINES = 12
_LAST_LINES = 4

Records = Mapping[str, Mapping[str, Any]]


def records_of(observed: Observed) -> dict[str, dict[str, Any]]:
    """Return family -> the record of its case."""
    return {line["id"].partition("[")[0]: line for line in observed.lines if line is not None}


def complaints(run: Run, seen: Observed, resumed: Observed | None, usual: Records) -> dict[str, list[str]]:
    """Return the deviations from the table, by scenario, or by the run's name if they belong to no scenario.

    Args:
        usual: family -> record of a run without faults.
    """
    found = {scenario.name: list(_of_scenario(scenario, seen)) for scenario in run.scenarios}
    for scenario, struck in _struck(run, seen):
        if not struck:
            found[scenario].append("the fault never struck")
    found.setdefault(run.name, [])
    found[run.name] += [*_of_process(run, seen), *_of_journal(run, seen, usual), *_of_findings(run, seen)]
    found[run.name] += [*_of_output(run, seen), *_of_reports(seen)]
    if resumed is not None:
        found[run.name] += _of_resumption(run, resumed, usual)
    return {name: texts for name, texts in found.items() if texts}


def _struck(run: Run, seen: Observed) -> Iterator[tuple[str, bool]]:
    names = [scenario.name for scenario in run.scenarios for _ in scenario.faults]
    return zip(names, seen.struck, strict=True)


def _of_scenario(scenario: Scenario, seen: Observed) -> Iterator[str]:
    if scenario.of is None:
        return
    record = records_of(seen).get(scenario.of)
    if UNJUDGED in scenario.verdict:
        if record is not None:
            yield f"{scenario.of}: {record['verdict']} is in the journal, though it was never judged alone"
        return
    if record is None:
        yield f"{scenario.of}: not in the journal"
        return
    if record["verdict"] not in scenario.verdict:
        yield f"{scenario.of}: {record['verdict']} ({record['reason']}), not {' or '.join(scenario.verdict)}"
    elif scenario.step is not None and record.get("step") != scenario.step:
        yield f"{scenario.of}: {record['verdict']} in step '{record.get('step')}', not '{scenario.step}' ({record['reason']})"
    tries = tuple(one["verdict"] for one in record.get("tries", ()))
    if tries[: len(scenario.tries)] != scenario.tries:
        yield f"{scenario.of}: tried with {tries}, which does not begin with {scenario.tries}"
    if (said := tuple(record.get("driver_messages", ()))) != scenario.says:
        yield f"{scenario.of}: the driver said {said}, not {scenario.says}"
    if scenario.stray is not None:
        yield from _of_stray(scenario.stray, record)


def _of_stray(where: str, record: Mapping[str, Any]) -> Iterator[str]:
    strays = [failure for failure in record["failures"] if failure["kind"] == "stray write"]
    if not strays:
        yield f"no stray write is recorded ({record['reason']})"
    elif len(strays) > 1 or strays[0]["count"] != 1:
        yield f"one byte was changed, but this is recorded: {strays}"
    elif not strays[0]["array"] or where not in strays[0]["what"]:
        yield f"the stray write is not reported as {where} a buffer: {strays[0]}"


def _of_process(run: Run, seen: Observed) -> Iterator[str]:
    if seen.exit != run.exit:
        how = f"had to be ended after {seen.seconds:.0f} s" if seen.exit is None else f"ended with exit code {seen.exit}"
        yield f"the run {how}, not with {run.exit}"
    if seen.left and not run.escapes:
        yield f"processes outlived the run: {'; '.join(seen.left)}"


def _of_journal(run: Run, seen: Observed, usual: Records) -> Iterator[str]:
    if None in seen.lines:
        yield "a line of the journal is broken"
    families = [line["id"].partition("[")[0] for line in seen.lines if line is not None]
    if len(set(families)) < len(families):
        yield f"judged twice: {sorted(family for family in set(families) if families.count(family) > 1)}"
    hit = {scenario.of for scenario in run.scenarios}
    records = records_of(seen)
    for family in case_ids(run.cases):
        if family not in hit:
            yield from _of_other(family, records.get(family), run.others, usual[family])


def _of_other(family: str, record: Mapping[str, Any] | None, others: str | None, usual: Mapping[str, Any]) -> Iterator[str]:
    if others == UNJUDGED:
        if record is not None:
            yield f"{family}: {record['verdict']} is in the journal, though it could not be judged"
    elif record is None:
        if others != "maybe":
            yield f"{family}: not in the journal, and no fault hit it"
    elif others not in (None, "maybe"):
        if record["verdict"] != others and record["verdict"] != Verdict.NOT_SUPPORTED:
            yield f"{family}: {record['verdict']} ({record['reason']}), not {others}"
    else:
        for name in _SAME:
            if record.get(name) != usual.get(name):
                yield f"{family}: {name} is {record.get(name)!r}, without faults {usual.get(name)!r} ({record['reason']})"
                break


def _of_findings(run: Run, seen: Observed) -> Iterator[str]:
    steps = sorted(str(finding.get("step")) for finding in seen.meta.get("findings", ()))
    if set(steps) != set(run.findings):
        yield f"the run has findings of the steps {steps}, not {sorted(run.findings)}"


def _of_output(run: Run, seen: Observed) -> Iterator[str]:
    if found := _OURS.search(seen.output):
        yield f"printed: {seen.output[found.start() : found.start() + 2000].decode(errors='replace')}"
    if found := _CONTROL.search(seen.output):
        yield f"printed a control character: {seen.output[max(0, found.start() - 60) : found.start() + 60]!r}"
    lines = seen.output.decode(errors="replace").splitlines()
    if lines and len(lines[-1]) > _LONGEST_LINE:
        yield f"the last line has {len(lines[-1]):,} characters: {lines[-1][:200]}…"
    for words, part, place in ((run.says, lines[-_LAST_LINES:], "last"), (run.opens_with, lines[:_FIRST_LINES], "first")):
        for word in words:
            if word not in "\n".join(part):
                yield f"'{word}' is not in the {place} lines: {part}"
    if seen.lines and (missing := _REPORTS - seen.reports.keys()):
        yield f"not written: {', '.join(sorted(missing))}"


def _of_reports(seen: Observed) -> Iterator[str]:
    for name, contents in seen.reports.items():
        if found := _CONTROL.search(contents):
            yield f"{name} has a control character: {contents[max(0, found.start() - 60) : found.start() + 60]!r}"
        if name.endswith((".html", ".xml")) and _MARKUP in contents:
            yield f"{name} has markup from the driver"
        if name.endswith(".xml"):
            try:
                ElementTree.fromstring(contents)
            except ElementTree.ParseError as error:
                yield f"{name} is not XML: {error}"


def _of_resumption(run: Run, resumed: Observed, usual: Records) -> Iterator[str]:
    if resumed.exit != 0:
        yield f"the run, resumed without faults, ended with exit code {resumed.exit}: {resumed.output[-1500:].decode(errors='replace')}"
    families = [line["id"].partition("[")[0] for line in resumed.lines if line is not None]
    if sorted(families) != sorted(case_ids(run.cases)):
        yield f"after the resumption, the journal has {sorted(families)}"
    for family, record in records_of(resumed).items():
        if record["verdict"] != usual[family]["verdict"]:
            yield f"{family}: {record['verdict']} after the resumption ({record['reason']})"
