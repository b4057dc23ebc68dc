"""Judging a run by the published run of its chip."""

from __future__ import annotations

import pytest

from reports.newer_driver import judge, main


@pytest.fixture
def runs(example, tmp_path):
    """Write two runs of one case with these drivers and verdicts, and return their folders."""

    def made(driver: str, verdict: str, was: str = "compiled"):
        for name, ended, of in (("run", verdict, driver), ("published", was, "radv Mesa 26.2.6")):
            example.write_journal(tmp_path / name, [example.record("a[1]", ended)], device=example.DEVICE | {"driver": of})
        return tmp_path / "run", tmp_path / "published"

    return made


@pytest.mark.parametrize(
    ("driver", "verdict", "was", "bad"),
    [
        ("radv Mesa 26.2.6", "compiled", "compiled", 0),
        ("radv Mesa 26.2.6", "fail", "compiled", 1),
        ("radv Mesa 26.2.6", "unexpected_pass", "known_fail", 1),
        ("radv Mesa 26.3.0", "crash", "compiled", 1),
        ("radv Mesa 26.3.0", "crash", "pass", 1),
        ("radv Mesa 26.3.0", "crash", "known_fail", 0),
        ("radv Mesa 26.3.0", "fail", "compiled", 0),
        ("radv Mesa 26.3.0", "unexpected_pass", "known_fail", 0),
    ],
)
def test_another_driver_fails_only_if_a_case_crashes_that_ended_well(runs, driver, verdict, was, bad):
    run, published = runs(driver, verdict, was)
    assert len(judge(run, published).bad) == bad
    assert main([str(run), str(published)]) == bool(bad)


def test_what_changed_is_listed(runs):
    lines = judge(*runs("radv Mesa 26.3.0", "fail")).lines
    assert "1 cases: compiled before, fail now, for example a[1]" in lines


def test_a_folder_without_results_is_bad_input(tmp_path):
    assert main([str(tmp_path), str(tmp_path)]) == 2
