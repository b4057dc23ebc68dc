"""JUnit XML for continuous integration: a test suite for each family."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from cts.printable import printable
from cts.verdict.verdict import CaseResult, Verdict
from reports.context import Context
from reports.formats import count
from reports.summary import COMPILING
from reports.verdicts import EXPLAINED, WORDING

SKIPPED = (Verdict.NOT_SUPPORTED, Verdict.KNOWN_FAIL, Verdict.RESOURCE_ERROR)
"""Verdicts with a reason that do not make a run fail. The format has one word for them; its ``type`` has ours."""

LISTED_CASES = 20_000
"""A run with more cases lists its failures alone, and counts the rest by family and reason: viewers stop at some 250,000 XML objects,
30 MB or 500,000 cases."""

LONG_MESSAGES = 1_000
"""Failures that keep their whole message; later ones have their reason alone, which keeps the file below 30 MB."""

_MESSAGE_CHARACTERS = 8_000

_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")


def junit(results: Sequence[CaseResult], context: Context) -> str:
    """Return the document.

    Failed, crashed, timed out and lost cases are ``failure``, and so are unexpected passes; the suite's own errors are ``error``; what the
    device does not support, and known failures, are ``skipped``. Quality warnings pass, and have their message as output.
    """
    families: dict[str, list[CaseResult]] = defaultdict(list)
    for result in results:
        families[result.family].append(result)
    root = ET.Element("testsuites", name="cts")
    listed = len(results) <= LISTED_CASES
    room = LONG_MESSAGES
    for family in sorted(families):
        suite = ET.SubElement(root, "testsuite", name=printable(family))
        _properties(suite, families[family], context)
        for result in families[family]:
            if listed or result.verdict in EXPLAINED:
                _case(suite, result, whole=room > 0)
                room -= result.verdict in EXPLAINED
        if not listed:
            _counted(suite, families[family])
        _total(suite, (suite,))
        suite.set("time", f"{sum(result.seconds for result in families[family]):.3f}")
        if began := _TIMESTAMP.match(context.started):
            suite.set("timestamp", began.group())
    _total(root, root)
    root.set("time", f"{sum(result.seconds for result in results):.3f}")
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _properties(suite: ET.Element, results: Sequence[CaseResult], context: Context) -> None:
    properties = ET.SubElement(suite, "properties")
    facts = {heading.lower().replace(" ", "_"): text for heading, text in context.facts.items()}
    verdicts = Counter(result.verdict for result in results)
    outcome = {"fallback": context.fallback, "stopped": context.stopped, "findings": "; ".join(context.findings)}
    outcome |= {"lines_dropped": str(context.dropped) if context.dropped else ""}
    facts |= {name: text for name, text in outcome.items() if text}
    compiling = sum(result.verdict is Verdict.TIMEOUT and result.step == COMPILING for result in results)
    facts |= {"cases_timeout_compiling": str(compiling)} if compiling else {}
    facts |= {f"cases_{verdict}": str(verdicts[verdict]) for verdict in WORDING if verdicts[verdict]}
    for name, value in facts.items():
        ET.SubElement(properties, "property", name=name, value=printable(value))


def _case(suite: ET.Element, result: CaseResult, whole: bool) -> None:
    name = result.id + (f" attempt {result.attempt}" if result.attempt > 1 else "")
    case = ET.SubElement(suite, "testcase", classname=printable(result.family), name=printable(name), time=f"{result.seconds:.4f}")
    reason = printable(result.reason)
    if result.verdict in SKIPPED:
        ET.SubElement(case, "skipped", type=result.verdict, message=_coded(result.code, _of_known(result.known, reason)))
    elif result.verdict is Verdict.QUALITY_WARNING:
        # Of a test that passes the format knows only what it printed.
        text = printable(result.message[:_MESSAGE_CHARACTERS] if whole else "") or reason
        ET.SubElement(case, "system-out").text = f"{result.verdict}: {_coded(result.code, reason)}\n{text}"
    elif result.verdict in EXPLAINED:
        tag = "error" if result.verdict is Verdict.ERROR else "failure"
        element = ET.SubElement(case, tag, type=result.verdict, message=_coded(result.code, reason))
        element.text = printable(result.message[:_MESSAGE_CHARACTERS] if whole else "") or reason
        if result.requirements:
            element.text += f"\ncovers {', '.join(map(printable, result.requirements))}"


def _counted(suite: ET.Element, results: Iterable[CaseResult]) -> None:
    """Add one test case for all passes of a family, and one for each reason why cases were not run."""
    passes = [result for result in results if result.verdict is Verdict.PASS]
    if passes:
        seconds = sum(result.seconds for result in passes)
        ET.SubElement(
            suite, "testcase", classname=suite.get("name", ""), name=count(len(passes), "case") + " passed", time=f"{seconds:.3f}"
        )
    skipped = (result for result in results if result.verdict in SKIPPED and result.verdict not in EXPLAINED)
    reasons = Counter((result.verdict, result.code, _of_known(result.known, result.reason)) for result in skipped)
    for (verdict, code, reason), number in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
        name = f"{count(number, 'case')} {WORDING[verdict].label.lower()}: {printable(reason)}"
        case = ET.SubElement(suite, "testcase", classname=suite.get("name", ""), name=name, time="0")
        ET.SubElement(case, "skipped", type=verdict, message=_coded(code, printable(reason)))


def _of_known(known: str, reason: str) -> str:
    """Return the reason of a known failure with the failure's id."""
    return f"known failure {printable(known)}: {reason}" if known else reason


def _coded(code: str, reason: str) -> str:
    """Return a reason with its code before it."""
    return f"{printable(code)}: {reason}" if code else reason


def _total(element: ET.Element, suites: Iterable[ET.Element]) -> None:
    """Set the counts of the elements that are there, which is what viewers count."""
    cases = [case for suite in suites for case in suite.iter("testcase")]
    element.set("tests", str(len(cases)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(attribute, str(sum(case.find(tag) is not None for case in cases)))
