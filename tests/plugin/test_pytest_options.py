"""Options of pytest itself mean for cases what they mean for tests."""

from __future__ import annotations

import re

import pytest

CACHE = ("-p", "cacheprovider", "-p", "stepwise")
FAILING = {"copying[number:n3]": "fail", "copying[number:n5]": "fail"}


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_last_failed_judges_what_failed_in_the_last_run(checkout, workers):
    assert checkout.run("cts", *CACHE, *workers, behaviours=FAILING).returncode == 1
    done = checkout.run("cts", "--lf", "--report-dir", "out", *CACHE, *workers)
    assert done.returncode == 0
    assert set(checkout.results()) == set(FAILING)


def test_failed_first_judges_all_and_begins_with_what_failed(checkout):
    checkout.run("cts", *CACHE, behaviours=FAILING)
    done = checkout.run("cts", "--ff", "--report-dir", "out", *CACHE)
    assert done.returncode == 0
    assert list(checkout.results())[:2] == list(FAILING)
    assert len(checkout.results()) == 8


def test_durations_list_each_of_the_slowest_cases_once(checkout):
    done = checkout.run("cts", "--durations", "3", "--durations-min", "0")
    listed = re.findall(r"^\d+\.\d+s call +cases/.*::(\S+)", done.stdout, re.MULTILINE)
    assert len(listed) == len(set(listed)) == 3


def test_stepwise_continues_with_the_failure_that_stopped_the_last_run(checkout):
    first = checkout.run("cts", "--sw", "--report-dir", "first", *CACHE, behaviours=FAILING)
    assert first.returncode == 2, "as in pytest"
    done = checkout.run("cts", "--sw", "--report-dir", "out", *CACHE)
    assert done.returncode == 0
    assert next(iter(checkout.results())) == "copying[number:n3]"


@pytest.mark.parametrize("plugin", ["xdist", "junitxml", "cacheprovider", "timeout", "stepwise"])
def test_a_run_needs_none_of_the_plugins_that_pytest_can_leave_out(checkout, plugin):
    done = checkout.run("cts", "-p", f"no:{plugin}")
    assert done.returncode == 0, done.stdout
    assert "verdicts: 8 pass" in done.stdout
