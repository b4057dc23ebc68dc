from __future__ import annotations

import json
import os
import signal

from cts.journal.journal import claim

from .conftest import FIRST, SMOKE


def ran(checkout) -> list[str]:
    return [line.split()[2] for line in checkout.log() if " run " in line]


def test_kill_9_loses_nothing_judged_and_resume_judges_only_the_rest(checkout, held):
    process = held()
    process.kill()
    process.communicate()
    assert set(checkout.results()) == FIRST
    (checkout.root / "log").unlink()

    done = checkout.run("cts", "--report-dir", "out", "--resume")
    assert done.returncode == 0, done.stdout
    assert set(checkout.results()) == SMOKE
    assert set(ran(checkout)) == SMOKE - FIRST
    assert "judged before, by the run that this one resumed: 4 pass" in done.stdout


def test_kill_9_under_xdist_loses_nothing_judged(checkout, held):
    process = held("-n", "2", processes=2)
    workers = {int(line.split()[0]) for line in checkout.log()}
    process.kill()
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    process.communicate()
    assert set(checkout.results()) == FIRST

    done = checkout.run("cts", "-n", "2", "--report-dir", "out", "--resume")
    assert done.returncode == 0, done.stdout
    assert set(checkout.results()) == SMOKE


def test_a_worker_that_dies_costs_only_its_case(checkout):
    done = checkout.run("cts", "-n", "2", "--report-dir", "out", behaviours={"copying[number:n3]": "kill"})
    results = checkout.results()
    assert done.returncode == 1
    assert results.pop("copying[number:n3]") == "crash"
    assert results == dict.fromkeys(SMOKE - {"copying[number:n3]"}, "pass")
    assert "the process that judged the case died and held the device" in done.stdout


def test_resume_drops_a_torn_last_line_and_judges_its_case_again(checkout):
    checkout.run("cts", "--report-dir", "out")
    journal = checkout.root / "out" / "results.jsonl"
    journal.write_bytes(journal.read_bytes()[:-20])
    (checkout.root / "log").unlink()
    done = checkout.run("cts", "--report-dir", "out", "--resume")
    assert done.returncode == 0
    assert ran(checkout) == ["copying[number:n7]"]
    assert set(checkout.results()) == SMOKE


def test_resume_with_nothing_left_succeeds_or_fails_as_the_first_run_did(checkout):
    checkout.run("cts", "--report-dir", "good")
    assert checkout.run("cts", "--report-dir", "good", "--resume").returncode == 0
    checkout.run("cts", "--report-dir", "bad", behaviours={"copying[number:n0]": "fail"})
    done = checkout.run("cts", "--report-dir", "bad", "--resume")
    assert done.returncode == 1
    assert "judged before, by the run that this one resumed: 7 pass, 1 fail" in done.stdout


def test_resume_fails_where_only_the_first_part_had_findings(checkout):
    checkout.run("cts", "-k", "n0", "--report-dir", "out")
    path = checkout.root / "out" / "meta.json"
    meta = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(meta | {"findings": [{"step": "close", "what": "the device crashed"}]}), encoding="utf-8")
    assert checkout.run("cts", "--report-dir", "out", "--resume").returncode == 1


def test_resume_fails_where_only_the_first_part_failed(checkout):
    checkout.run("cts", "-k", "n0", "--report-dir", "out", behaviours={"copying[number:n0]": "fail"})
    assert checkout.run("cts", "--report-dir", "out", "--resume").returncode == 1


def test_resume_goes_on_in_a_wider_tier(checkout):
    checkout.run("cts", "--report-dir", "out")
    (checkout.root / "log").unlink()
    checkout.run("cts", "--tier", "full", "--report-dir", "out", "--resume")
    assert set(ran(checkout)) == {f"copying[number:n{number}/colour:green]" for number in range(4)} | {
        "copying[number:n0/colour:blue]",
        "copying[number:n1/colour:blue]",
    }


def test_resume_on_another_front_end_is_refused(checkout):
    checkout.run("cts", "--report-dir", "out")
    meta = checkout.root / "out" / "meta.json"
    meta.write_text(meta.read_text(encoding="utf-8").replace('"spirv"', '"glsl"'), encoding="utf-8")
    done = checkout.run("cts", "--report-dir", "out", "--resume")
    assert done.returncode == 2
    assert "another front end (glsl; now spirv)" in done.stderr


def headline(checkout) -> str:
    return json.loads((checkout.root / "out" / "summary.json").read_text(encoding="utf-8"))["headline"]["title"]


def test_an_interrupted_run_is_not_reported_as_a_whole_one(checkout, held):
    process = held()
    process.send_signal(signal.SIGINT)
    printed = process.communicate()[0]
    assert set(checkout.results()) == FIRST
    assert headline(checkout) == "4 cases passed and none failed, but the run did not finish"
    assert printed.splitlines()[-1] == "STOPPED after 4 of 8 cases: ended by SIGINT; continue with --resume"

    assert checkout.run("cts", "--report-dir", "out", "--resume").returncode == 0
    assert headline(checkout) == "All 8 cases that the device supports passed"


def test_an_interrupted_run_of_several_processes_is_not_reported_as_a_whole_one(checkout, held):
    process = held("-n", "2", processes=2)
    process.send_signal(signal.SIGINT)
    assert process.communicate()[0].splitlines()[-1].startswith("STOPPED after ")
    assert headline(checkout).endswith("passed and none failed, but the run did not finish")


def test_a_run_that_stops_at_its_first_failure_is_not_reported_as_a_whole_one(checkout):
    done = checkout.run("cts", "-x", "--report-dir", "out", behaviours={"copying[number:n3]": "fail"})
    assert "NOT THE WHOLE RUN: 4 of 8 cases were judged" in done.stdout
    assert "finished" not in json.loads((checkout.root / "out" / "meta.json").read_text(encoding="utf-8"))


def test_a_run_resumed_with_fewer_cases_is_not_a_whole_one(checkout):
    checkout.run("cts", "-x", "--report-dir", "out", behaviours={"copying[number:n0]": "fail"})
    checkout.run("cts", "-k", "n5", "--report-dir", "out", "--resume")
    assert "finished" not in json.loads((checkout.root / "out" / "meta.json").read_text(encoding="utf-8"))
    checkout.run("cts", "--report-dir", "out", "--resume")
    assert "finished" in json.loads((checkout.root / "out" / "meta.json").read_text(encoding="utf-8"))


def test_a_second_run_into_the_directory_of_one_that_goes_on_is_refused(checkout):
    directory = checkout.root / "out"
    claimed = claim(directory)
    for more in ((), ("--resume",)):
        done = checkout.run("cts", "--report-dir", "out", *more)
        assert done.returncode == 2
        assert "another run is writing to it: wait until that has ended, or name another --report-dir" in done.stderr
    assert not list(directory.iterdir())
    os.close(claimed)
    assert checkout.run("cts", "--report-dir", "out").returncode == 0
    os.close(claim(directory))


def test_resume_judges_again_what_no_result_can_be_read_of(checkout):
    checkout.run("cts", "--report-dir", "out")
    journal = checkout.root / "out" / "results.jsonl"
    lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    for number, (old, new) in enumerate([('"verdict":"pass"', '"verdict":"maybe"'), ('"steps":{', '"steps":["x"],"was":{')], 1):
        assert old in lines[number]
        lines[number] = lines[number].replace(old, new)
    journal.write_text("".join(lines), encoding="utf-8")
    (checkout.root / "log").unlink()
    done = checkout.run("cts", "--report-dir", "out", "--resume")
    assert done.returncode == 0, done.stdout + done.stderr
    assert ran(checkout) == ["copying[number:n0]", "copying[number:n1]"]


def test_a_run_whose_reports_cannot_be_written_does_not_succeed(checkout):
    (checkout.root / "out" / "index.html").mkdir(parents=True)
    done = checkout.run("cts", "--report-dir", "out")
    assert done.returncode == 2, done.stdout
    assert "reports could not be written: " in done.stdout
    assert "; to write the reports later, run: cts report " in done.stdout
    assert set(checkout.results().values()) == {"pass"}
    assert checkout.run("cts", "--report-dir", "out", "--resume", behaviours={"*": "fail"}).returncode == 2
    (checkout.root / "fails" / "index.html").mkdir(parents=True)
    assert checkout.run("cts", "--report-dir", "fails", behaviours={"*": "fail"}).returncode == 1


def meta(checkout) -> dict[str, object]:
    return json.loads((checkout.root / "out" / "meta.json").read_text(encoding="utf-8"))


def test_after_the_time_limit_no_case_begins_and_unjudged_cases_are_reported(checkout):
    done = checkout.run("cts", "--report-dir", "out", "--time-limit", "1e-6")
    assert checkout.results() == {}
    assert "TIME LIMIT of 1e-06 s: 0 of 8 cases were judged" in done.stdout
    assert "not judged because of the time limit: 8 of copying" in done.stdout
    assert meta(checkout)["not_judged"] == {"copying": 8}
    assert done.returncode == 5

    done = checkout.run("cts", "--report-dir", "out", "--resume")
    assert (done.returncode, set(checkout.results())) == (0, SMOKE)
    assert meta(checkout)["not_judged"] == {}


def test_a_time_limit_that_is_enough_changes_nothing(checkout):
    done = checkout.run("cts", "-n", "2", "--report-dir", "out", "--time-limit", "1000")
    assert (done.returncode, set(checkout.results())) == (0, SMOKE)
    assert "TIME LIMIT" not in done.stdout


def test_with_a_time_limit_the_first_cases_cover_every_label(checkout):
    checkout.run("cts", "--tier", "nightly", "--report-dir", "out", "--time-limit", "1000")
    first = list(checkout.results())[:8]
    assert {id_.partition("number:")[2][:2] for id_ in first} == {f"n{number}" for number in range(8)}
    assert any("green" in id_ for id_ in first)


def test_a_time_limit_that_is_not_a_time_is_bad_input(checkout):
    done = checkout.run("cts", "--time-limit", "soon")
    assert done.returncode == 2
    assert "--time-limit soon: expected a number of seconds above 0" in done.stderr + done.stdout


def test_with_two_processes_nothing_begins_after_the_time_limit_either(checkout):
    done = checkout.run("cts", "-n", "2", "--report-dir", "out", "--time-limit", "1e-6")
    assert (checkout.results(), meta(checkout)["not_judged"]) == ({}, {"copying": 8})
    assert "TIME LIMIT of 1e-06 s: 0 of 8 cases were judged" in done.stdout
