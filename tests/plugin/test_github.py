"""The output of a run in GitHub's workflows."""

from __future__ import annotations

import pytest

from cts.cli import main
from cts.engine.github import ANNOTATIONS, SUMMARY_BYTES, _Cause, annotated, bounded
from cts.verdict.verdict import Verdict


def causes(number: int) -> list[_Cause]:
    return [_Cause(Verdict.FAIL, f"family{n}", "wrong", f"family{n}[a]", 2) for n in range(number)]


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_step_gets_a_summary_and_an_annotation_for_each_cause(checkout, workers):
    summary = checkout.root / "summary"
    summary.write_text("before\n", encoding="utf-8")
    done = checkout.run(
        "cts", *workers, "--report-dir", "out", behaviours={"*": "fail"}, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary)
    )
    errors = [line for line in done.stdout.splitlines() if line.startswith("::error ")]
    assert len(errors) == 1
    assert errors[0].startswith("::error title=FAIL%3A copying%2C 8 cases::fail.value")
    assert summary.read_text(encoding="utf-8") == "before\n" + (checkout.root / "out" / "summary.md").read_text(encoding="utf-8")


def obeyed(lines: list[str]) -> list[str]:
    """Return the commands that GitHub obeys in a log: none between ``::stop-commands::WORD`` and ``::WORD::``."""
    found, stopped = [], ""
    for line in lines:
        if stopped:
            stopped = "" if line == f"::{stopped}::" else stopped
        elif line.startswith("::stop-commands::"):
            stopped = line.removeprefix("::stop-commands::")
        elif line.startswith("::"):
            found.append(line)
    return found


SPOKEN = "::warning ::made up"
SPEAKS = f"""\
def pytest_configure():
    print({SPOKEN!r})

def pytest_unconfigure():
    print({SPOKEN!r})
"""
"""A plugin that prints, outside of the session, what a driver could print."""


@pytest.mark.parametrize("end", [(), ("--help",), ("--retry", "fail")])
def test_commands_are_obeyed_again_after_a_run(checkout, end):
    done = checkout.run("cts", *end, GITHUB_ACTIONS="true")
    assert obeyed([*done.stdout.splitlines(), SPOKEN]) == [SPOKEN]


def test_only_the_annotations_of_a_run_are_commands(checkout):
    checkout.add_plugin("driver", SPEAKS)
    done = checkout.run("cts", behaviours={"*": "fail"}, GITHUB_ACTIONS="true")
    assert done.stdout.count(SPOKEN) == 2
    (error,) = obeyed(done.stdout.splitlines())
    assert error.startswith("::error ")


def test_the_command_that_runs_pytest_leaves_its_annotations_to_it(capsys, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert main(["run", "--no-such-option"]) != 0
    assert "::stop-commands::" not in capsys.readouterr().err


def test_without_a_report_directory_the_summary_has_the_counts(checkout):
    summary = checkout.root / "summary"
    done = checkout.run("cts", GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary))
    assert done.returncode == 0
    assert "| `copying` | 8 pass |" in summary.read_text(encoding="utf-8")
    assert "::error" not in done.stdout


def test_a_run_elsewhere_prints_no_commands_for_workflows(checkout):
    assert "::error" not in checkout.run("cts", behaviours={"*": "fail"}, GITHUB_ACTIONS="").stdout


def test_a_summary_that_cannot_be_written_changes_no_verdict(checkout):
    done = checkout.run("cts", GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(checkout.root / "none" / "summary"))
    assert done.returncode == 0
    assert "GITHUB_STEP_SUMMARY: cannot write" in done.stdout


def test_the_last_annotation_counts_the_causes_without_one():
    lines = annotated(causes(ANNOTATIONS + 5))
    assert len(lines) == ANNOTATIONS
    assert lines[-1] == "::error title=6 more causes::12 cases failed in other ways: see the log and the reports"
    assert len(annotated(causes(ANNOTATIONS))) == ANNOTATIONS


def test_an_annotation_is_one_line_whatever_a_driver_says():
    (line,) = annotated([_Cause(Verdict.CRASH, "a", "100%\n::error::\x1b", "a[b]", 1)])
    assert line.startswith("::error title=CRASH%3A a%2C 1 case::100%25\\n::error::\\x1b ")
    assert "\n" not in line


@pytest.mark.parametrize("room", [0, 10, 100, 5000])
def test_a_summary_keeps_within_its_room(room):
    assert len(bounded("line of text\n" * 300, room)) <= room


def test_a_summary_that_fits_is_whole():
    assert bounded("é\n" * 100, SUMMARY_BYTES) == ("é\n" * 100).encode()
