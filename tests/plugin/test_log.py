"""The details of a run's failures in its log."""

from __future__ import annotations

import json

import pytest

from cts.engine.summary import LAST_LINES, MESSAGE_LINES, shortened

FAILING = {"*": "fail"}


def test_as_many_failures_are_announced_and_explained_as_asked_for(checkout):
    done = checkout.run("cts", "--log-failures", "3", behaviours=FAILING)
    assert done.stdout.count("\nFAIL cases/") == 3
    assert done.stdout.count("reproduce: cts repro") == 3
    assert "3 failures are shown above (--log-failures N); 5 more" in done.stdout


def test_no_failure_is_shown_where_none_is_wanted(checkout):
    done = checkout.run("cts", "--log-failures", "0", behaviours=FAILING)
    assert done.returncode == 1
    assert "reproduce: cts repro" not in done.stdout
    assert "verdicts: 8 fail" in done.stdout


@pytest.mark.parametrize("behaviour", ["fail", "crash", "raise"])
def test_each_message_is_printed_once(checkout, behaviour):
    done = checkout.run("cts", "-k", "n0", "--report-dir", "out", behaviours={"copying[number:n0]": behaviour})
    lines = (checkout.root / "out" / "results.jsonl").read_text(encoding="utf-8").splitlines()
    reason = json.loads(lines[-1])["reason"]
    assert reason
    # Setting a case aside is a separate event, which is reported with its cause when it happens. The run of the case alone reports the
    # outcome.
    told = [line for line in done.stdout.splitlines() if reason in line and not line.startswith(("SET ASIDE", "run "))]
    assert len(told) == 1, done.stdout


def test_a_long_message_keeps_its_beginning_and_its_end():
    lines = [f"line {number}" for number in range(100)]
    short = shortened("\n".join(lines), "reports").splitlines()
    assert len(short) == MESSAGE_LINES
    assert short[:3] == lines[:3]
    assert short[-LAST_LINES:] == lines[-LAST_LINES:]
    assert short[-LAST_LINES - 1] == f"… {100 - MESSAGE_LINES + 1} lines more, in reports"


def test_a_message_that_fits_stays_as_it_is():
    text = "\n".join(map(str, range(MESSAGE_LINES)))
    assert shortened(text, "reports") == text
