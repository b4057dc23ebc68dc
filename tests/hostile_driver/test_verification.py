"""A run that does not meet a demand of the table gets a complaint."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.hostile_driver.running import Observed
from tests.hostile_driver.scenario import UNJUDGED, Run, Scenario, case_ids
from tests.hostile_driver.verification import complaints

HIT, OTHER = "muladd", "reduce"
SCENARIO = Scenario("a crash", ("call=vkQueueSubmit do=crash",), HIT, ("crash",), "dispatch", ("crash",))
RUN = Run("crashes", (SCENARIO,), cases=(HIT, OTHER), says=("1 crash",), findings=("close",))


def record(family: str, verdict: str, **more: Any) -> dict[str, Any]:
    plain = {"reason": "", "subcases": 3, "failures": [], "policy": "", "step": "", "tries": []}
    return plain | {"id": case_ids()[family], "verdict": verdict} | more


CRASH = record(HIT, "crash", step="dispatch", tries=[{"verdict": "crash"}])
PASS = record(OTHER, "pass")
USUAL = {HIT: record(HIT, "pass"), OTHER: PASS}
REPORTS = dict.fromkeys(("results.jsonl", "meta.json", "summary.json", "summary.md", "index.html"), b"") | {"junit.xml": b"<testsuites/>"}
GOOD = Observed(
    exit=1,
    output=b"suite\n1 crash\n",
    lines=(CRASH, PASS),
    meta={"findings": [{"step": "close", "what": "…"}]},
    reports=REPORTS,
    struck=(True,),
    left=(),
    seconds=1.0,
)


def test_a_run_as_demanded_gives_no_complaint() -> None:
    assert complaints(RUN, GOOD, None, USUAL) == {}


@pytest.mark.parametrize(
    "changes",
    [
        {"lines": (record(HIT, "fail", step="dispatch", tries=CRASH["tries"]), PASS)},
        {"lines": (CRASH | {"step": "pipeline"}, PASS)},
        {"lines": (CRASH | {"tries": []}, PASS)},
        {"lines": (PASS,)},
        {"struck": (False,)},
        {"lines": (CRASH | {"driver_messages": ["odd"]}, PASS)},
    ],
    ids=["another verdict", "another step", "no tries", "not journalled", "never struck", "messages"],
)
def test_complaints_about_the_case_belong_to_its_scenario(changes: dict[str, Any]) -> None:
    assert complaints(RUN, replace(GOOD, **changes), None, USUAL).keys() == {"a crash"}


@pytest.mark.parametrize(
    "changes",
    [
        {"exit": 0},
        {"exit": None},
        {"lines": (CRASH, record(OTHER, "fail"))},
        {"lines": (CRASH, PASS | {"subcases": 2})},
        {"lines": (CRASH,)},
        {"lines": (CRASH, PASS, PASS)},
        {"lines": (CRASH, PASS, None)},
        {"meta": {}},
        {"meta": {"findings": [{"step": "close"}, {"step": "open"}]}},
        {"output": b"suite\nTraceback (most recent call last):\n1 crash\n"},
        {"output": b"suite\n1 crash\x1b[31m\n"},
        {"output": b"suite\n1 crash\xc2\x9b\n"},
        {"output": b"suite\n"},
        {"output": b"suite\n1 crash\n" + b"word " * 1000},
        {"reports": {"results.jsonl": b"", "meta.json": b""}},
        {"reports": REPORTS | {"summary.md": b"\x1b[31m"}},
        {"reports": REPORTS | {"index.html": b"<script>alert(1)</script>"}},
        {"reports": REPORTS | {"junit.xml": b"<testsuites>"}},
        {"left": ("sleep",)},
    ],
    ids=str,
)
def test_complaints_about_the_run_belong_to_the_run(changes: dict[str, Any]) -> None:
    assert complaints(RUN, replace(GOOD, **changes), None, USUAL).keys() == {"crashes"}


def test_a_case_that_must_not_be_judged_is_not_in_the_journal() -> None:
    scenario = replace(SCENARIO, verdict=(UNJUDGED,), step=None, tries=())
    assert complaints(replace(RUN, scenarios=(scenario,)), GOOD, None, USUAL).keys() == {"a crash"}


@pytest.mark.parametrize(
    "failures",
    [
        [],
        [{"kind": "stray write", "what": "memory before the buffer", "count": 1, "array": "d"}],
        [{"kind": "stray write", "what": "memory after the buffer", "count": 2, "array": "d"}],
    ],
    ids=["none", "elsewhere", "too many"],
)
def test_a_stray_write_is_reported_with_its_place(failures: list[dict[str, Any]]) -> None:
    scenario = replace(SCENARIO, verdict=("fail",), step=None, tries=(), stray="after")
    seen = replace(GOOD, lines=(record(HIT, "fail", failures=failures), PASS))
    assert complaints(replace(RUN, scenarios=(scenario,)), seen, None, USUAL).keys() == {"a crash"}


def test_a_resumption_judges_every_case_once_and_as_usual() -> None:
    whole = replace(GOOD, exit=0, lines=(record(HIT, "pass"), PASS))
    assert complaints(RUN, GOOD, whole, USUAL) == {}
    for changes in ({"exit": 1}, {"lines": (PASS,)}, {"lines": (*whole.lines, PASS)}, {"lines": (CRASH, PASS)}):
        assert complaints(RUN, GOOD, replace(whole, **changes), USUAL).keys() == {"crashes"}
