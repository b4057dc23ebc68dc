"""Known failures in whole runs."""

from __future__ import annotations

import json

import pytest

FILE = """\
driver: double
seen: double 1.0
failures:
  - id: first-fails
    cases: ["copying[number:n0]"]
    ends: [fail.value]
    what: the first case comes back wrong
    smallest: ["copying[number:n0]"]
  - id: crashes
    cases: [{family: copying, when: {number: [n1, n2]}}]
    ends: [crash]
    what: the compiler dies
    smallest: ["copying[number:n1]"]
"""

FAILING = {"copying[number:n0]": "fail", "copying[number:n1]": "crash", "copying[number:n2]": "crash"}


@pytest.fixture
def listed(checkout):
    folder = checkout.root / "golden" / "known_failures"
    folder.mkdir(parents=True)
    (folder / "double.yaml").write_text(FILE, encoding="utf-8")
    return checkout


def records(checkout) -> dict[str, dict]:
    lines = (checkout.root / "out" / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return {record["id"]: record for record in map(json.loads, lines) if "id" in record}


def test_a_known_failure_of_a_modelled_device_needs_no_second_run(listed):
    listed.run("cts", "--report-dir", "out", behaviours=FAILING, DOUBLES_MODELLED="a model")
    found = records(listed)
    assert [(found[id_]["verdict"], found[id_]["tries"]) for id_ in FAILING] == [("known_fail", [])] * 3


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_run_in_which_only_known_failures_occur_succeeds(listed, workers):
    done = listed.run("cts", "-n", workers, "--report-dir", "out", behaviours=FAILING)
    assert done.returncode == 0, done.stdout
    assert "verdicts: 5 pass, 3 known_fail" in done.stdout
    assert "       2  known fail: crashes" in done.stdout
    assert "known failures: golden/known_failures/double.yaml" in done.stdout
    assert "5 passed, 3 known failures in" in done.stdout
    found = records(listed)
    assert [(found[id_]["verdict"], found[id_]["known"], found[id_]["code"]) for id_ in FAILING] == [
        ("known_fail", "first-fails", "fail.value"),
        ("known_fail", "crashes", "crash"),
        ("known_fail", "crashes", "crash"),
    ]
    assert [one["verdict"] for one in found["copying[number:n1]"]["tries"]] == ["crash", "crash"]
    assert json.loads((listed.root / "out" / "meta.json").read_text())["known_failures"] == "double.yaml"
    numbers = json.loads((listed.root / "out" / "summary.json").read_text())["headline"]["numbers"]
    assert (numbers["fail"], numbers["known_fail"], numbers["unexpected_pass"]) == (0, 3, 0)


def test_a_pass_that_the_list_does_not_foresee_fails_the_run(listed):
    done = listed.run("cts", "--report-dir", "out", behaviours={**FAILING, "copying[number:n2]": "pass"})
    assert done.returncode == 1
    assert "UNEXPECTED PASS cases/khr_cooperative_matrix/copying.yaml::copying[number:n2]\n" in done.stdout
    assert "passed, but 'crashes' of the known failures says that it fails" in done.stdout
    assert records(listed)["copying[number:n2]"]["code"] == "unexpected_pass"


def test_a_known_failure_that_fails_in_another_way_is_not_known(listed):
    done = listed.run("cts", "--report-dir", "out", behaviours={**FAILING, "copying[number:n0]": "refused"})
    assert done.returncode == 1
    record = records(listed)["copying[number:n0]"]
    assert (record["verdict"], record["known"], record["code"]) == ("fail", "", "fail.call")


def test_the_list_can_be_left_out(listed):
    done = listed.run("cts", "--no-known-failures", "--report-dir", "out", behaviours=FAILING)
    assert done.returncode == 1
    assert "verdicts: 5 pass, 1 fail, 2 crash" in done.stdout
    assert "known failures:" not in done.stdout


def test_a_run_is_not_resumed_with_another_choice(listed):
    listed.run("cts", "-k", "n7", "--report-dir", "out")
    done = listed.run("cts", "--report-dir", "out", "--resume", "--no-known-failures")
    assert done.returncode == 2
    assert "results of another choice of known failures" in done.stdout + done.stderr


def test_a_malformed_list_ends_the_run_before_it_begins(listed):
    (listed.root / "golden" / "known_failures" / "double.yaml").write_text(FILE.replace("n2]", "n20]"), encoding="utf-8")
    done = listed.run("cts")
    assert done.returncode == 2
    assert "parameter 'number' has no label 'n20'" in done.stdout + done.stderr


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_case_that_is_known_to_lose_the_device_is_judged_once_and_after_all_others(listed, workers):
    file = listed.root / "golden" / "known_failures" / "double.yaml"
    file.write_text(FILE.replace("ends: [crash]", "ends: [device_lost]"), encoding="utf-8")
    behaviours = {**FAILING, "copying[number:n1]": "lost", "copying[number:n2]": "lost", "copying[number:n7]": "lost"}
    done = listed.run("cts", "-n", workers, "--report-dir", "out", behaviours=behaviours)
    assert "1 set aside: each is now judged again, alone" in done.stdout
    assert "2 kept for the end: according to the driver's known failures, they lose the device" in done.stdout
    found = records(listed)
    *_, unknown, one, other = found
    assert (unknown, {one, other}) == ("copying[number:n7]", {"copying[number:n1]", "copying[number:n2]"})
    for id_ in (one, other):
        assert (found[id_]["verdict"], [(one["alone"], one["verdict"]) for one in found[id_]["tries"]]) == (
            "known_fail",
            [(True, "device_lost")],
        )


@pytest.mark.parametrize("behaviour", ["lost", "fail"])
def test_cases_that_end_as_known_losses_of_the_device_share_a_process_that_works_after_each(listed, behaviour):
    events = after_the_loop(listed, {"copying[number:n1]": behaviour, "copying[number:n2]": behaviour})
    between = events[: events.index("run copying[number:n2]")]
    assert between.count("open") == (behaviour == "lost")
    assert [one["verdict"] for one in records(listed)["copying[number:n2]"]["tries"]] == [{"lost": "device_lost"}.get(behaviour, behaviour)]


def test_a_case_that_does_not_end_as_a_known_loss_of_the_device_is_judged_again_in_a_process_of_its_own(listed):
    events = after_the_loop(listed, {"copying[number:n1]": "lost", "copying[number:n2]": "pass"})
    first, again = (place for place, event in enumerate(events) if event == "run copying[number:n2]")
    assert "open" in events[first:again]
    found = records(listed)["copying[number:n2]"]
    assert (found["verdict"], len(found["tries"])) == ("unexpected_pass", 2)


def after_the_loop(listed, behaviours: dict[str, str]) -> list[str]:
    """Return what the device does from n1 on, in a run in which n1 and n2 are known to lose the device or give wrong values."""
    file = listed.root / "golden" / "known_failures" / "double.yaml"
    file.write_text(FILE.replace("ends: [crash]", "ends: [device_lost, fail.value]"), encoding="utf-8")
    listed.run("cts", "--report-dir", "out", behaviours={"copying[number:n0]": "fail", **behaviours})
    events = [line.partition(" ")[2] for line in listed.log()]
    return events[events.index("run copying[number:n1]") :]


def test_lists_of_deqp_runner_are_read_with_the_drivers_file(listed):
    """Names of cases need no quotes there; in expressions, brackets need a backslash."""
    (listed.root / "gpu-fails.txt").write_text("# why\ncopying[number:n3],Fail\n", encoding="utf-8")
    (listed.root / "gpu-flakes.txt").write_text("copying\\[number:n4\\]\n", encoding="utf-8")
    failing = {**FAILING, "copying[number:n3]": "fail", "copying[number:n4]": "refused"}
    lists = ("--known-failures", "gpu-fails.txt", "--known-failures", "gpu-flakes.txt")
    done = listed.run("cts", *lists, "--report-dir", "out", behaviours=failing)
    assert done.returncode == 0, done.stdout
    assert "known failures: golden/known_failures/double.yaml, gpu-fails.txt, gpu-flakes.txt" in done.stdout
    assert "       1  known fail: gpu-fails.txt" in done.stdout
    assert [records(listed)[f"copying[number:n{n}]"]["known"] for n in (0, 3, 4)] == ["first-fails", "gpu-fails.txt", "gpu-flakes.txt"]
    again = listed.run("cts", *lists, "-k", "n3 or n5", behaviours={"copying[number:n3]": "fail", "copying[number:n5]": "fail"})
    assert (again.returncode, "FAIL cases/khr_cooperative_matrix/copying.yaml::copying[number:n5]" in again.stdout) == (1, True)


@pytest.mark.parametrize("workers", ["0", "2"])
def test_cases_to_skip_are_not_judged_and_the_report_says_so(listed, workers):
    (listed.root / "gpu-skips.txt").write_text("n[67]\\]\n", encoding="utf-8")
    done = listed.run("cts", "-n", workers, "--known-failures", "gpu-skips.txt", "--report-dir", "out", behaviours=FAILING)
    assert done.returncode == 0, done.stdout
    assert sorted(records(listed)) == [f"copying[number:n{n}]" for n in range(6)]
    assert "Cases that gpu-skips.txt names were not judged." in (listed.root / "out" / "index.html").read_text(encoding="utf-8")


def test_a_list_that_cannot_be_read_ends_the_run_before_it_begins(listed):
    (listed.root / "gpu-fails.txt").write_text("copying[number:n9],Fail\n", encoding="utf-8")
    done = listed.run("cts", "--known-failures", "gpu-fails.txt")
    assert done.returncode == 2
    assert "gpu-fails.txt:1:" in done.stdout + done.stderr
    assert listed.run("cts", "--known-failures", "none-fails.txt").returncode == 2


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize(
    ("ends", "behaviour"),
    [
        pytest.param("ends: [timeout.pipeline]", "slow_to_compile", id="pipeline"),
        pytest.param("ends: [timeout]\n    limit: 20", "slow_to_run", id="limit"),
    ],
)
def test_a_known_timeout_of_a_slow_case_is_settled_where_it_happened(listed, workers, ends, behaviour):
    file = listed.root / "golden" / "known_failures" / "double.yaml"
    file.write_text(FILE.replace("ends: [crash]", ends), encoding="utf-8")
    behaviours = {f"copying[number:n{number}]": behaviour for number in (1, 2, 3)} | {"copying[number:n0]": "fail"}
    done = listed.run("cts", "-n", workers, "--report-dir", "out", behaviours=behaviours)
    assert "kept for the end" not in done.stdout
    assert "1 set aside: each is now judged again, alone" in done.stdout
    found = records(listed)
    assert [(found[f"copying[number:n{n}]"]["verdict"], len(found[f"copying[number:n{n}]"]["tries"])) for n in (1, 2, 3)] == [
        ("known_fail", 0),
        ("known_fail", 0),
        ("timeout", 2),
    ]
