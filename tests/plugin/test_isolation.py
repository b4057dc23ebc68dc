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


def judged_by_one(checkout, *options: str, **behaviours: str):
    return checkout.run(
        *("cts", "--isolation", "on", "--report-dir", "out", *options),
        DOUBLES_FACTORY="child_double:ChildDouble",
        CHILD=json.dumps(behaviours),
        CHILD_LOST=str(checkout.root / "lost"),
    )


@pytest.mark.parametrize(("behaviour", "signal", "code"), [("killed_idle", "SIGKILL", 0), ("dies_idle", "SIGSEGV", 1)])
def test_only_a_process_that_died_idle_by_its_own_fault_makes_runs_fail_and_each_says_why(checkout, behaviour, signal, code):
    for options in ((), ("--resume",)):
        done = judged_by_one(checkout, *options, n3=behaviour)
        assert done.returncode == code, done.stdout
        (line,) = [line for line in done.stdout.splitlines() if line.startswith("finding")]
        assert signal in line
    assert set(checkout.results().values()) == {"pass"}


@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_failures_are_the_same_whether_they_are_confirmed_at_once_or_at_the_end(checkout, options):
    done = judged_by_one(checkout, *options, **{f"n{number}": "wrong" for number in (0, 2, 3, 4, 5, 6, 7)})
    assert done.returncode == 1
    verdicts = {f"copying[number:n{number}]": "pass" if number == 1 else "fail" for number in range(8)}
    assert checkout.results() == verdicts, done.stdout


SMALL_BATCHES = """
from cts.engine import judging

judging.BATCH, judging.CONFIRMED_AT_ONCE = 3, 0
"""


@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_each_process_judges_its_failures_again_when_there_are_enough_for_a_fresh_process(checkout, options):
    checkout.add_plugin("small_batches", SMALL_BATCHES)
    done = judged_by_one(checkout, *options, **{f"n{number}": "wrong" for number in (0, 2, 3, 4, 5, 6, 7)})
    assert done.returncode == 1
    verdicts = {f"copying[number:n{number}]": "pass" if number == 1 else "fail" for number in range(8)}
    assert checkout.results() == verdicts, done.stdout
    lines = map(json.loads, (checkout.root / "out" / "results.jsonl").read_text(encoding="utf-8").splitlines())
    # At most two of each process are left for the end.
    again = [one["tries"][1]["alone"] for one in lines if one.get("verdict") == "fail"]
    assert again.count(False) in (3, 6)


def test_a_run_that_stops_at_a_failure_confirms_it_first(checkout):
    judged_by_one(checkout, "-x", n2="wrong", n3="wrong")
    assert [verdict for verdict in checkout.results().values() if verdict != "pass"] == ["fail"]


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


def test_a_wrong_result_that_a_fresh_process_does_not_repeat_blames_the_run_and_no_case(checkout):
    done, tries = judged_by_two(checkout, n2="wrong_once")
    assert tries == {"n1": [], "n2": ["fail", "pass", "pass"]}, done.stdout
    assert set(checkout.results().values()) == {"pass"}
    assert done.returncode == 1
    (finding,) = json.loads((checkout.root / "out" / "meta.json").read_text(encoding="utf-8"))["findings"]
    assert "copying[number:n2]" in finding["what"]


@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_a_forbidden_result_that_is_later_permitted_makes_the_run_fail(checkout, options):
    done = checkout.run(
        *("cts", "--isolation", "on", "--report-dir", "out", *options),
        DOUBLES_FACTORY="child_double:ChildDouble",
        DOUBLES=json.dumps({"copying[number:n2]": "quality"}),
        CHILD=json.dumps({"n2": "wrong_then_permitted"}),
        CHILD_LOST=str(checkout.root / "lost"),
    )
    assert checkout.results()["copying[number:n2]"] == "quality_warning", done.stdout
    assert done.returncode == 1
    (finding,) = json.loads((checkout.root / "out" / "meta.json").read_text(encoding="utf-8"))["findings"]
    assert "copying[number:n2]" in finding["what"]


@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_a_warning_after_which_the_device_is_damaged_in_one_process_makes_the_run_fail(checkout, options):
    done = checkout.run(
        *("cts", "--isolation", "on", "--report-dir", "out", *options),
        DOUBLES_FACTORY="child_double:ChildDouble",
        DOUBLES=json.dumps({"copying[number:n2]": "quality"}),
        CHILD=json.dumps({"n2": "permitted_and_damages"}),
        CHILD_LOST=str(checkout.root / "lost"),
    )
    verdicts = {f"copying[number:n{number}]": "quality_warning" if number == 2 else "pass" for number in range(8)}
    assert checkout.results() == verdicts, done.stdout
    assert done.returncode == 1
    (finding,) = json.loads((checkout.root / "out" / "meta.json").read_text(encoding="utf-8"))["findings"]
    assert "copying[number:n2]" in finding["what"]


def test_a_wrong_result_that_a_fresh_process_repeats_is_a_failure(checkout):
    done, tries = judged_by_two(checkout, n2="wrong")
    assert tries == {"n1": [], "n2": ["fail", "fail"]}, done.stdout
    assert checkout.results() == {"copying[number:n1]": "pass", "copying[number:n2]": "fail"}


LATE = """
import json
import os
from pathlib import Path

from cts.engine.time_limit import TimeLimit

event = json.loads(os.environ["CHILD"]).get("late", ".wrong")
TimeLimit.over = property(lambda self: Path(os.environ["CHILD_LOST"]).with_suffix(event).exists())
"""


def test_a_time_limit_does_not_hide_wrong_values_that_were_seen(checkout):
    checkout.add_plugin("late", LATE)
    done, tries = judged_by_two(checkout, "--time-limit", "600", n1="killed_after_wrong", n2="wrong")
    assert done.returncode == 1, done.stdout
    assert tries == {"n2": ["fail", "fail"]}


@pytest.mark.parametrize(("late", "runs"), [(".wrong", 1), (".again", 2)])
def test_after_the_time_limit_no_process_begins_to_confirm_a_failure(checkout, late, runs):
    checkout.add_plugin("late", LATE)
    done = judged_by_one(checkout, "--time-limit", "600", late=late, n2="wrong_in_other_ways")
    assert done.returncode == 1
    lines = map(json.loads, (checkout.root / "out" / "results.jsonl").read_text(encoding="utf-8").splitlines())
    (failed,) = [line for line in lines if line.get("verdict") == "fail"]
    assert [one["fresh"] for one in failed["tries"]] == [False]
    assert (checkout.root / "lost.runs").read_text() == "." * runs
