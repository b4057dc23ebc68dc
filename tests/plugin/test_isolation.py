from __future__ import annotations

import json

import pytest

BEHAVIOURS = {"n1": "kill", "n3": "hang", "n5": "lost", "n6": "lost_once"}
VERDICTS = {f"copying[number:n{number}]": "pass" for number in range(8)} | {
    "copying[number:n1]": "crash",
    "copying[number:n3]": "timeout",
    "copying[number:n5]": "device_lost",
}


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_child_that_dies_hangs_or_loses_its_device_costs_exactly_that_case(checkout, workers):
    done = checkout.run(
        *("cts", "-n", workers, "--isolation", "on", "--step-timeout", "10", "--report-dir", "out"),
        DOUBLES_FACTORY="child_double:ChildDouble",
        CHILD=json.dumps(BEHAVIOURS),
        CHILD_LOST=str(checkout.root / "lost"),
    )
    assert checkout.results() == VERDICTS, done.stdout
    assert done.returncode == 1
    assert "held by a child process, 10 s for each step" in done.stdout


def judged_by_two(checkout, *options: str, **behaviours: str):
    """Judge two cases in two processes; return the run, and the verdicts of the tries of each case."""
    done = checkout.run(
        *("cts", "-n", "2", "-k", "n1 or n2", "--isolation", "on", "--report-dir", "out", *options),
        DOUBLES_FACTORY="child_double:ChildDouble",
        CHILD=json.dumps(behaviours),
        CHILD_LOST=str(checkout.root / "lost"),
    )
    lines = map(json.loads, (checkout.root / "out" / "results.jsonl").read_text(encoding="utf-8").splitlines())
    return done, {line["parameters"]["number"]: [one["verdict"] for one in line["tries"]] for line in lines if "id" in line}


@pytest.mark.parametrize(("how", "verdict"), [("killed", "crash"), ("lost", "device_lost")])
def test_a_wrong_result_beside_a_process_that_loses_the_device_is_judged_again_alone(checkout, how, verdict):
    done, tries = judged_by_two(checkout, n1=f"{how}_after_wrong", n2="wrong_once")
    assert tries == {"n1": [verdict, verdict], "n2": ["fail", "pass", "pass"]}, done.stdout
    assert checkout.results() == {"copying[number:n1]": verdict, "copying[number:n2]": "pass"}
    assert "1 had wrong values beside others and not alone" in done.stdout


def test_a_wrong_result_beside_processes_that_keep_the_device_counts_at_once(checkout):
    done, tries = judged_by_two(checkout, n2="wrong_once")
    assert tries == {"n1": [], "n2": []}, done.stdout
    assert checkout.results() == {"copying[number:n1]": "pass", "copying[number:n2]": "fail"}


LATE = """
import os
from pathlib import Path

from cts.run.time_limit import TimeLimit

TimeLimit.over = property(lambda self: Path(os.environ["CHILD_LOST"]).with_suffix(".wrong").exists())
"""


def test_a_time_limit_does_not_hide_wrong_values_that_were_seen(checkout):
    checkout.add_plugin("late", LATE)
    done, tries = judged_by_two(checkout, "--time-limit", "600", n1="killed_after_wrong", n2="wrong")
    assert done.returncode == 1, done.stdout
    assert tries == {"n2": ["fail", "fail"]}
