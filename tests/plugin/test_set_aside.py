"""Cases that lose the device, crash, time out or run out of memory decide nothing until they have been judged alone."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import pytest

WORKERS = pytest.mark.parametrize("workers", ["0", "2"])


def records(checkout, directory: str = "out") -> dict[str, dict]:
    lines = (checkout.root / directory / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return {record["id"]: record for record in map(json.loads, lines) if "id" in record}


def tries(checkout, id_: str) -> list[tuple[bool, str]]:
    return [(one["alone"], one["verdict"]) for one in records(checkout)[id_]["tries"]]


def runs(checkout) -> list[str]:
    return [line.split()[2] for line in checkout.log() if " run " in line]


@WORKERS
def test_a_case_that_was_lost_beside_others_and_passes_twice_alone_is_a_pass(checkout, workers):
    done = checkout.run("cts", "-n", workers, "--report-dir", "out", behaviours={"copying[number:n4]": "lost_once"})
    assert done.returncode == 0, done.stdout
    assert tries(checkout, "copying[number:n4]") == [(False, "device_lost"), (True, "pass"), (True, "pass")]
    assert checkout.results()["copying[number:n4]"] == "pass"


@WORKERS
def test_a_case_that_ends_alone_as_it_did_beside_others_is_settled_by_one_run(checkout, workers):
    done = checkout.run("cts", "-n", workers, "--report-dir", "out", behaviours={"copying[number:n4]": "lost"})
    assert done.returncode == 1
    assert tries(checkout, "copying[number:n4]") == [(False, "device_lost"), (True, "device_lost")]
    assert checkout.results() == {f"copying[number:n{number}]": "pass" for number in range(8)} | {"copying[number:n4]": "device_lost"}


def test_runs_alone_that_disagree_are_flaky(checkout):
    done = checkout.run("cts", "--report-dir", "out", behaviours={"copying[number:n4]": "lost_at_times"})
    assert done.returncode == 1
    record = records(checkout)["copying[number:n4]"]
    assert record["verdict"] == "flaky"
    assert record["code"] == "flaky"
    assert tries(checkout, "copying[number:n4]") == [(False, "device_lost"), (True, "pass"), (True, "device_lost")]


def test_a_device_out_of_memory_is_reported_and_is_not_a_failure(checkout):
    done = checkout.run("cts", "--report-dir", "out", behaviours={"copying[number:n4]": "out_of_memory"})
    assert done.returncode == 0, done.stdout
    assert records(checkout)["copying[number:n4]"]["verdict"] == "resource_error"
    assert records(checkout)["copying[number:n4]"]["step"] == "dispatch"
    assert "7 pass, 1 resource_error" in done.stdout


def test_timeouts_while_a_pipeline_is_made_are_counted_apart(checkout):
    done = checkout.run("cts", "--report-dir", "out", behaviours={"copying[number:n4]": "slow_to_compile", "copying[number:n5]": "timeout"})
    assert done.returncode == 1
    assert records(checkout)["copying[number:n4]"]["step"] == "pipeline"
    assert "1 of the timeouts happened during the creation of a pipeline, which breaks no rule" in done.stdout


@WORKERS
def test_set_aside_cases_are_judged_after_all_others_and_by_the_main_process(checkout, workers):
    done = checkout.run("cts", "-n", workers, "--report-dir", "out", behaviours={"copying[number:n0]": "lost"})
    assert "SET ASIDE cases/khr_cooperative_matrix/copying.yaml::copying[number:n0]: device lost: VK_ERROR_DEVICE_LOST" in done.stdout
    assert "1 set aside: each is now judged again, alone" in done.stdout
    lines = checkout.log()
    again = max(index for index, line in enumerate(lines) if line.endswith("run copying[number:n0]"))
    assert len(set(runs(checkout)[: sum(" run " in line for line in lines[:again])])) == 8
    opened = {line.split()[0] for line in lines[:again] if line.endswith(" open")} - {lines[again].split()[0]}
    closed = {line.split()[0] for line in lines[:again] if line.endswith(" close")}
    assert opened <= closed


def test_a_run_that_stops_at_a_failure_gives_no_verdict_to_what_it_set_aside(checkout):
    behaviours = {"copying[number:n0]": "lost", "copying[number:n1]": "fail"}
    done = checkout.run("cts", "-x", "--report-dir", "out", behaviours=behaviours)
    assert done.returncode == 1
    assert checkout.results() == {"copying[number:n1]": "fail"}
    assert "NOT THE WHOLE RUN: 1 of 8 cases were judged" in done.stdout


@WORKERS
def test_a_device_that_is_lost_for_good_blames_no_case_and_ends_the_run(checkout, workers):
    options = ("-n", workers, "--open-pause", "0.01", "--report-dir", "out")
    done = checkout.run("cts", *options, DOUBLES_GONE="3")
    assert done.returncode == 2, done.stdout
    assert set(checkout.results().values()) == {"pass"}
    assert "the device no longer works: " in done.stdout
    assert done.stdout.splitlines()[-1].startswith(f"STOPPED after {len(checkout.results())} of 8 cases: ")

    again = checkout.run("cts", *options, "--resume")
    assert again.returncode == 0, again.stdout
    assert len(checkout.results()) == 8


@WORKERS
def test_a_device_that_is_still_lost_when_the_run_is_resumed_blames_no_case(checkout, workers):
    options = ("-n", workers, "--open-pause", "0.01", "--report-dir", "out")
    checkout.run("cts", *options, DOUBLES_GONE="3")
    before = checkout.results()
    done = checkout.run("cts", *options, "--resume", DOUBLES_GONE="0")
    assert done.returncode == 2, done.stdout
    assert checkout.results() == before


def test_a_device_that_goes_away_between_two_runs_alone_makes_no_case_flaky(checkout):
    options = ("--open-pause", "0.01", "--report-dir", "out")
    done = checkout.run("cts", *options, behaviours={"copying[number:n4]": "lost_once"}, DOUBLES_GONE="9")
    assert done.returncode == 2, done.stdout
    assert "copying[number:n4]" not in checkout.results()
    assert "the device no longer works: " in done.stdout


@WORKERS
def test_a_device_that_does_not_open_again_blames_no_case_and_ends_the_run(checkout, workers):
    options = ("-n", workers, "--open-pause", "0.01", "--report-dir", "out")
    done = checkout.run("cts", *options, behaviours={"copying[number:n3]": "lost"}, DOUBLES_OPEN=str(max(1, int(workers))))
    assert done.returncode == 2, done.stdout
    assert set(checkout.results().values()) == {"pass"}
    assert done.stdout.splitlines()[-1].startswith("STOPPED after ")
    assert "the double cannot be opened: fix it" in done.stdout.splitlines()[-1]
    assert headline(checkout).endswith("did not finish")


@WORKERS
def test_a_device_that_lacks_a_feature_when_it_is_opened_again_ends_the_run(checkout, workers):
    options = ("-n", workers, "--report-dir", "out")
    done = checkout.run("cts", *options, behaviours={"copying[number:n3]": "lost"}, DOUBLES_CHANGED=str(max(1, int(workers))))
    assert done.returncode == 2, done.stdout
    assert set(checkout.results().values()) == {"pass"}
    assert "features.cooperativeMatrix: true → false" in done.stdout.splitlines()[-1]
    again = checkout.run("cts", *options, "--resume")
    assert again.returncode == 0, again.stdout


def test_a_run_is_not_resumed_on_a_device_that_says_something_else(checkout):
    checkout.run("cts", "-k", "n0", "--report-dir", "out")
    meta = checkout.root / "out" / "meta.json"
    text = meta.read_text(encoding="utf-8").replace('"cooperativeMatrix": true', '"cooperativeMatrix": false')
    meta.write_text(re.sub('"digest": "[0-9a-f]*"', '"digest": "0"', text), encoding="utf-8")
    done = checkout.run("cts", "--report-dir", "out", "--resume")
    assert done.returncode == 2
    assert "features.cooperativeMatrix: false → true" in done.stdout + done.stderr


def headline(checkout) -> str:
    return json.loads((checkout.root / "out" / "summary.json").read_text(encoding="utf-8"))["headline"]["title"]


def test_resume_judges_again_the_verdicts_that_it_is_told_to(checkout):
    checkout.run(
        "cts", "--report-dir", "out", behaviours={"copying[number:n1]": "crash", "copying[number:n2]": "lost", "copying[number:n3]": "fail"}
    )
    (checkout.root / "log").unlink()
    done = checkout.run("cts", "--report-dir", "out", "--resume", "--retry", "crash,device_lost")
    assert done.returncode == 1, done.stdout
    assert set(runs(checkout)) == {"copying[number:n1]", "copying[number:n2]"}
    last = {id_: record["verdict"] for id_, record in records(checkout).items()}
    assert last == {f"copying[number:n{number}]": "pass" for number in range(8)} | {"copying[number:n3]": "fail"}


def test_resume_judges_failures_again_if_it_is_told_to(checkout):
    checkout.run("cts", "--report-dir", "out", behaviours={"copying[number:n3]": "fail", "copying[number:n4]": "crash"})
    done = checkout.run("cts", "--report-dir", "out", "--resume", "--retry", "fail")
    assert done.returncode == 1, done.stdout
    last = {id_: record["verdict"] for id_, record in records(checkout).items()}
    assert last == {f"copying[number:n{number}]": "pass" for number in range(8)} | {"copying[number:n4]": "crash"}


@WORKERS
@pytest.mark.parametrize("more", [("-k", "n0"), ("-k", "n4", "--repeat", "1")])
def test_a_case_to_be_judged_again_that_is_not_selected_still_counts(checkout, workers, more):
    checkout.run("cts", "--repeat", "2", "--report-dir", "out", behaviours={"copying[number:n4]": "lost"})
    again = checkout.run("cts", "-n", workers, "--report-dir", "out", "--resume", "--retry", "device_lost", *more)
    assert again.returncode == 1, again.stdout
    assert "device_lost" in again.stdout.partition("judged before, by the run that this one resumed: ")[2].splitlines()[0]


def test_a_case_that_a_worker_sets_aside_is_one_test_of_junit(checkout):
    checkout.run("cts", "-n", "1", "--junitxml", "junit.xml", behaviours={"copying[number:n0]": "lost", "copying[number:n1]": "lost_once"})
    tests = ElementTree.parse(checkout.root / "junit.xml").findall(".//testcase")
    assert sorted(test.get("name", "nameless") for test in tests) == sorted(f"copying[number:n{number}]" for number in range(8))


def attempts(checkout) -> list[tuple[str, int, str]]:
    lines = map(json.loads, (checkout.root / "out" / "results.jsonl").read_text(encoding="utf-8").splitlines())
    return [(record["id"], record["attempt"], record["verdict"]) for record in lines if "id" in record]


def test_a_worker_that_dies_in_a_later_attempt_costs_only_that_attempt(checkout):
    behaviours = {"copying[number:n4]": "lost_then_kill"}
    done = checkout.run("cts", "-n", "1", "-k", "n4", "--repeat", "2", "--report-dir", "out", behaviours=behaviours)
    assert done.returncode == 1
    assert sorted(attempts(checkout)) == [("copying[number:n4]", 1, "pass"), ("copying[number:n4]", 2, "crash")]


def test_a_worker_that_dies_as_it_judges_a_case_again_gets_a_verdict_of_its_own(checkout):
    checkout.run("cts", "-k", "n4", "--report-dir", "out", behaviours={"copying[number:n4]": "lost"})
    options = ("-n", "1", "-k", "n4", "--report-dir", "out", "--resume", "--retry", "device_lost")
    done = checkout.run("cts", *options, behaviours={"copying[number:n4]": "kill"})
    assert done.returncode == 1
    assert attempts(checkout) == [("copying[number:n4]", 1, "device_lost"), ("copying[number:n4]", 1, "crash")]


@WORKERS
def test_repeat_judges_each_case_as_often_as_it_says_with_the_attempt_in_its_record(checkout, workers):
    done = checkout.run("cts", "-n", workers, "--repeat", "3", "--report-dir", "out", behaviours={"copying[number:n4]": "lost"})
    assert done.returncode == 1
    lines = map(json.loads, (checkout.root / "out" / "results.jsonl").read_text(encoding="utf-8").splitlines())
    judged = [(record["id"], record["attempt"]) for record in lines if "id" in record]
    assert sorted(judged) == [(f"copying[number:n{number}]", attempt) for number in range(8) for attempt in (1, 2, 3)]
    assert "verdicts: 21 pass, 3 device_lost" in done.stdout


def test_resume_goes_on_with_the_attempts_that_are_left(checkout):
    checkout.run("cts", "--report-dir", "out")
    done = checkout.run("cts", "--repeat", "2", "--report-dir", "out", "--resume")
    assert done.returncode == 0
    assert "verdicts: 8 pass" in done.stdout


@WORKERS
def test_the_fallback_for_a_missing_vulkan_device_is_named_first_and_last(checkout, workers):
    done = checkout.run("cts", "-n", workers, "--report-dir", "out", DOUBLES_FALLBACK="no Vulkan device was judged: no driver")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0] == lines[-1] == "no Vulkan device was judged: no driver"
    assert json.loads((checkout.root / "out" / "meta.json").read_text(encoding="utf-8"))["fallback"] == lines[0]
