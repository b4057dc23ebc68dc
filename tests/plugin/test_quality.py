"""Results that the specification permits but the suite does not expect, in whole runs."""

from __future__ import annotations

import json

import pytest

QUALITY = {"copying[number:n0]": "quality", "copying[number:n3]": "quality"}


def record_of(checkout, id_: str) -> dict:
    lines = (checkout.root / "out" / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return next(record for record in map(json.loads, lines) if record.get("id") == id_)


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_quality_warning_is_counted_apart_and_fails_no_run(checkout, workers):
    done = checkout.run("cts", "-n", workers, "--report-dir", "out", behaviours=QUALITY)
    assert done.returncode == 0, done.stdout
    assert "verdicts: 6 pass, 2 quality_warning" in done.stdout
    assert "       2  F-KHR-25" in done.stdout
    assert "6 passed, 2 quality warnings in" in done.stdout
    record = record_of(checkout, "copying[number:n0]")
    assert (record["verdict"], record["code"]) == ("quality_warning", "quality_warning.F-KHR-25")
    assert [failure["kind"] for failure in record["failures"]] == ["permitted, not expected"]
    assert 'required by KHR-LOAD-03: "' in record["message"]
    assert "and F-KHR-25, a position of this suite" in record["message"]


@pytest.mark.parametrize("workers", ["0", "2"])
def test_with_the_option_it_makes_the_run_fail(checkout, workers):
    done = checkout.run("cts", "-n", workers, "--fail-on-quality", behaviours=QUALITY)
    assert done.returncode == 1, done.stdout
    assert "verdicts: 6 pass, 2 quality_warning" in done.stdout
    assert "permitted, not expected: 1 of 64 elements" in done.stdout


def test_a_run_that_goes_on_counts_the_warnings_before(checkout):
    checkout.run("cts", "--report-dir", "out", behaviours=QUALITY)
    assert checkout.run("cts", "--report-dir", "out", "--resume").returncode == 0
    assert checkout.run("cts", "--report-dir", "out", "--resume", "--fail-on-quality").returncode == 1


def test_a_failure_beside_a_warning_is_a_failure(checkout):
    done = checkout.run("cts", "--report-dir", "out", behaviours={**QUALITY, "copying[number:n1]": "fail"})
    assert done.returncode == 1
    assert "verdicts: 5 pass, 2 quality_warning, 1 fail" in done.stdout
    assert "required by KHR-" in record_of(checkout, "copying[number:n1]")["message"]
