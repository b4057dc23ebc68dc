"""JUnit XML for continuous integration: a test suite for each family, with the same structure for runs of any size.

A case that needs attention is a separate test, named by its id. All others are combined into one test for each family and outcome: passes,
each code of cases that are not supported, and each known failure; ``--junit all`` gives each case its own test instead. Names contain no
numbers and no wording, so a viewer that compares tests by name sees the same tests every night. GitLab reads files below 30 MB, with fewer
than 250,000 XML objects.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from cts.printable import printable
from cts.verdict.known_failures import KnownFailure
from cts.verdict.verdict import ENDED_WELL, CaseResult, Verdict
from reports.causes import NAMED_DEFECTS
from reports.context import Context
from reports.formats import count
from reports.summary import COMPILING
from reports.verdicts import EXPLAINED, WORDING

SKIPPED = (Verdict.NOT_SUPPORTED, Verdict.COMPILED, Verdict.KNOWN_FAIL, Verdict.RESOURCE_ERROR)
"""Verdicts that are not passes and do not make a run fail. The format has one element for them; its ``type`` names the verdict."""

LISTED_CASES = 10_000
"""Maximum number of cases with their own test; further cases are counted by family and verdict."""

LONG_MESSAGES = 500
"""Number of cases that keep their whole message; later cases have only their reason."""

_MESSAGE_CHARACTERS = 8_000
_REASON_CHARACTERS = 300

_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")


def junit(
    results: Sequence[CaseResult],
    context: Context,
    issues: Mapping[str, KnownFailure] = MappingProxyType({}),
    every_case: bool = False,
) -> str:
    """Return the document.

    Args:
        results: the results of the run.
        context: what to say of the run.
        issues: known failures by id, if the checkout has them.
        every_case: whether each case is a test of its own, also one that needs no attention.

    Failed, crashed, timed out and lost cases are ``failure``, and so are unexpected passes; the suite's own errors are ``error``;
    unsupported cases, compiled ones and known failures are ``skipped``. Quality warnings pass, with their message as output.
    """
    families: dict[str, list[CaseResult]] = defaultdict(list)
    for result in results:
        families[result.family].append(result)
    root = ET.Element("testsuites", name="cts")
    listed = 0
    for family in sorted(families):
        suite = ET.SubElement(root, "testsuite", name=printable(family))
        _properties(suite, families[family], context)
        rest: list[CaseResult] = []
        for result in families[family]:
            needs_attention = result.verdict in EXPLAINED
            if every_case or (needs_attention and listed < LISTED_CASES):
                _case(suite, result, needs_attention and listed < LONG_MESSAGES, issues)
                listed += needs_attention
            else:
                rest.append(result)
        _counted(suite, rest, issues)
        _set_counts(suite, (suite,))
        suite.set("time", f"{sum(result.seconds for result in families[family]):.3f}")
        if began := _TIMESTAMP.match(context.facts["started"]):
            suite.set("timestamp", began.group())
    _set_counts(root, root)
    root.set("time", f"{sum(result.seconds for result in results):.3f}")
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _properties(suite: ET.Element, results: Sequence[CaseResult], context: Context) -> None:
    properties = ET.SubElement(suite, "properties")
    facts = context.header
    verdicts = Counter(result.verdict for result in results)
    outcome = {"fallback": context.fallback, "modelled": context.modelled, "stopped": context.stopped}
    outcome |= {"findings": "; ".join(context.findings), "lines_dropped": str(context.dropped) if context.dropped else ""}
    facts |= {name: text for name, text in outcome.items() if text}
    compiling = sum(result.verdict is Verdict.TIMEOUT and result.step == COMPILING for result in results)
    facts |= {"cases_timeout_compiling": str(compiling)} if compiling else {}
    facts |= {f"cases_{verdict}": str(verdicts[verdict]) for verdict in WORDING if verdicts[verdict]}
    for name, value in facts.items():
        ET.SubElement(properties, "property", name=name, value=printable(value))


def _case(suite: ET.Element, result: CaseResult, whole: bool, issues: Mapping[str, KnownFailure]) -> None:
    name = result.id + (f" attempt {result.attempt}" if result.attempt > 1 else "")
    case = ET.SubElement(suite, "testcase", classname=printable(result.family), name=printable(name), time=f"{result.seconds:.4f}")
    reason, brief = printable(result.reason[:_REASON_CHARACTERS]), _brief(result, issues)
    if result.verdict is Verdict.PASS:
        return
    if result.verdict in SKIPPED:
        ET.SubElement(case, "skipped", type=result.verdict, message=brief)
    elif result.verdict is Verdict.QUALITY_WARNING:
        # For a test that passes, the format has only its output.
        text = printable(result.message[:_MESSAGE_CHARACTERS] if whole else "") or reason
        ET.SubElement(case, "system-out").text = f"{result.verdict}: {brief}\n{text}"
    else:
        element = ET.SubElement(case, _tag(result.verdict), type=result.verdict, message=brief)
        element.text = printable(result.message[:_MESSAGE_CHARACTERS] if whole else "") or reason
        if result.requirements:
            element.text += f"\ncovers {', '.join(map(printable, result.requirements))}"


def _counted(suite: ET.Element, results: Iterable[CaseResult], issues: Mapping[str, KnownFailure]) -> None:
    """Add a test for the passes among ``results``, and one for each verdict, code and known failure."""
    groups: dict[tuple[Verdict, str], list[CaseResult]] = defaultdict(list)
    for result in results:
        groups[result.verdict, "" if result.verdict in ENDED_WELL else result.known or result.code].append(result)
    for (verdict, code), members in sorted(groups.items()):
        name = printable(f"{verdict} {code}".rstrip())
        seconds = sum(result.seconds for result in members)
        case = ET.SubElement(suite, "testcase", classname=suite.get("name", ""), name=name, time=f"{seconds:.3f}")
        counted = count(len(members), "case") + (f", for example {printable(members[0].id)}" if verdict not in ENDED_WELL else "")
        if verdict in (Verdict.PASS, Verdict.QUALITY_WARNING):
            ET.SubElement(case, "system-out").text = counted
        else:
            tag = "skipped" if verdict in SKIPPED else _tag(verdict)
            ET.SubElement(case, tag, type=verdict, message="; ".join(filter(None, (_brief(members[0], issues), counted))))


def _tag(verdict: Verdict) -> str:
    return "error" if verdict is Verdict.ERROR else "failure"


def _brief(result: CaseResult, issues: Mapping[str, KnownFailure]) -> str:
    """Return the code, the first defects and the reason of a result, and the link to the report of a known failure."""
    names = ", ".join(filter(None, (result.code, *result.defects[:NAMED_DEFECTS])))
    link = issues[result.known].link if result.known in issues else ""
    said = f"{names}: {result.reason[:_REASON_CHARACTERS]}" if names else result.reason[:_REASON_CHARACTERS]
    return printable(f"{said} ({link})" if link else said)


def _set_counts(element: ET.Element, suites: Iterable[ET.Element]) -> None:
    """Set the counts that viewers show: of the test cases in these suites, and of those that failed or were skipped."""
    cases = [case for suite in suites for case in suite.iter("testcase")]
    element.set("tests", str(len(cases)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(attribute, str(sum(case.find(tag) is not None for case in cases)))
