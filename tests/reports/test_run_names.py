"""Names of runs."""

from __future__ import annotations

from reports.run_names import run_names


def test_runs_have_the_shortest_names_that_tell_them_apart():
    assert run_names(["/farm/monday/gpu", "/farm/tuesday/gpu"]) == ["monday/gpu", "tuesday/gpu"]
    assert run_names(["/farm/monday/gpu", "/farm/other"]) == ["gpu", "other"]
    assert run_names(["/farm/gpu", "/farm/gpu"]) == ["gpu (1)", "gpu (2)"]


def test_a_name_has_no_control_characters():
    assert run_names(["/farm/red\x1b[31m"]) == ["red\\x1b[31m"]


def test_no_runs_have_no_names():
    assert run_names([]) == []
