"""Totals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cts.verdict.verdict import CaseResult, Verdict
from reports import read, summarise
from reports.summary import Missing
from reports.verdicts import BAD


def result(number: int, verdict: Verdict, family: str = "muladd", seconds: float = 0.5, **changes: object) -> CaseResult:
    values = {"reason": "", "device": "", "driver": "", "front_end": "", "tier": "", "requirements": (), "subcases": 2} | changes
    return CaseResult(id=f"{family}[{number}]", family=family, verdict=verdict, seconds=seconds, **values)  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.sampled_from(Verdict), st.sampled_from("abc"), st.sets(st.sampled_from("xyz")))))
def test_every_case_is_counted_once_by_verdict_and_family_and_once_for_each_requirement(cases):
    summary = summarise(result(n, verdict, family, requirements=tuple(sorted(ids))) for n, (verdict, family, ids) in enumerate(cases))
    assert sum(summary.verdicts.values()) == summary.cases == len(cases)
    assert sum(sum(tally.values()) for tally in summary.families.values()) == len(cases)
    assert sum(sum(tally.values()) for tally in summary.requirements.values()) == sum(len(ids) for _, _, ids in cases)
    neither = tuple(verdict for verdict in Verdict if verdict not in (*BAD, Verdict.NOT_SUPPORTED))
    assert summary.bad + sum(summary.verdicts.get(verdict, 0) for verdict in neither) == summary.ran


def test_families_with_failures_come_first():
    results = [result(1, Verdict.PASS, "a"), result(2, Verdict.ERROR, "b"), result(3, Verdict.CRASH, "c"), result(4, Verdict.FAIL, "d")]
    assert list(summarise(results).families) == ["d", "c", "b", "a"]


def test_reasons_for_not_supported_are_counted_most_first():
    reasons = ["feature x", "row y", "row y", ""]
    summary = summarise(result(n, Verdict.NOT_SUPPORTED, reason=reason) for n, reason in enumerate(reasons))
    assert [(lack.reason, lack.cases) for lack in summary.not_supported] == [("row y", 2), ("feature x", 1), ("no reason given", 1)]


def test_missing_needs_are_counted_by_their_code():
    lacks = [("missing.row.type", "row x"), ("missing.feature.y", "feature y"), ("missing.row.type", "row x")]
    summary = summarise(result(n, Verdict.NOT_SUPPORTED, code=code, reason=reason) for n, (code, reason) in enumerate(lacks))
    assert summary.not_supported == (Missing("missing.row.type", "row x", 2), Missing("missing.feature.y", "feature y", 1))


def test_cases_that_did_not_run_do_not_count_as_speed():
    summary = summarise([result(1, Verdict.PASS, seconds=0.5), result(2, Verdict.NOT_SUPPORTED, seconds=100)])
    assert summary.cases_per_second == 2


def test_shares_of_steps_are_of_the_time_of_all_cases():
    steps = {"device": 0.4, "pipeline": 0.3}
    summary = summarise([result(1, Verdict.PASS, steps=steps), result(2, Verdict.PASS, steps=steps)])
    assert [(step.step, step.share) for step in summary.steps] == [("device", pytest.approx(0.8)), ("pipeline", pytest.approx(0.6))]


def test_policies_count_the_verdicts_that_depend_on_them():
    results = [result(1, Verdict.PASS, policy="envelope"), result(2, Verdict.NOT_SUPPORTED, policy="envelope"), result(3, Verdict.PASS)]
    assert summarise(results).policies == {"envelope": 1}


def test_nothing_judged_gives_no_rates():
    summary = summarise([])
    assert summary.cases == 0
    assert summary.cases_per_second == 0
    assert summary.steps == ()


def test_the_slowest_come_first(journal):
    slowest = summarise(read(journal).results).slowest
    assert len(slowest) == 20
    assert [slow.seconds for slow in slowest] == sorted((slow.seconds for slow in slowest), reverse=True)
