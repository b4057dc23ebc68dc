from __future__ import annotations

import json

import pytest

from cts.journal.journal import SCHEMA

BEHAVIOURS = {
    "copying[number:n0]": "fail",
    "copying[number:n1]": "crash",
    "copying[number:n2]": "timeout",
    "copying[number:n3]": "lost",
    "copying[number:n4]": "lost_once",
    "copying[number:n5]": "raise",
    "copying[number:n6]": "undefined",
    "copying[number:n7]": "not_supported",
}
VERDICTS = {
    "copying[number:n0]": "fail",
    "copying[number:n1]": "crash",
    "copying[number:n2]": "timeout",
    "copying[number:n3]": "device_lost",
    "copying[number:n4]": "pass",
    "copying[number:n5]": "error",
    "copying[number:n6]": "error",
    "copying[number:n7]": "not_supported",
}


@pytest.fixture(scope="module")
def whole(module_checkout):
    done = module_checkout.run("cts", "--report-dir", "out", behaviours=BEHAVIOURS)
    return done, module_checkout


def test_each_behaviour_is_the_verdict_of_exactly_its_case(whole):
    done, checkout = whole
    assert checkout.results() == VERDICTS
    assert done.returncode == 1


def test_failures_show_the_message_and_the_command_that_reproduces_but_no_traceback(whole):
    done, _ = whole
    block = done.stdout.split("_ copying[number:n0] _")[1].split("_ copying[")[0]
    assert "wrong value: 1 of 64 elements of matrix in target" in block
    assert "reproduce: cts repro 'copying[number:n0]' DIR" in block
    assert "Traceback" not in block


def test_errors_of_the_suite_are_marked_as_its_own_and_keep_their_traceback(whole):
    done, _ = whole
    assert "SUITE ERROR cases/khr_cooperative_matrix/copying.yaml::copying[number:n5]" in done.stdout
    assert "2 errors are the suite's own: they say nothing about the device" in done.stdout
    assert 'raise ZeroDivisionError("a slip of ours")' in done.stdout


def test_header_names_suite_device_driver_and_why(whole):
    done, checkout = whole
    header = done.stdout.split("collected")[0]
    assert "suite: " in header
    assert "tier smoke, front end spirv" in header
    assert "device: Double, driver double 1.0 (the only one)" in header
    assert f"results: {checkout.root / 'out'}" in header


def test_summary_counts_verdicts_families_and_reasons(whole):
    done, checkout = whole
    counts = "1 pass, 1 fail, 1 not_supported, 1 crash, 1 timeout, 1 device_lost, 2 error"
    assert f"verdicts: {counts}" in done.stdout
    assert f"  copying: {counts}" in done.stdout
    assert "       1  feature cooperativeMatrixDoubles" in done.stdout
    assert "cases/s; of the time spent on cases the device took" in done.stdout
    assert f"reports: {checkout.root / 'out' / 'index.html'}" in done.stdout
    assert "6 failed, 1 passed, 1 not supported" in done.stdout


def test_progress_is_a_line_with_percentage_and_failures_as_they_occur(whole):
    done, _ = whole
    assert "[100%] 8 of 8 cases: 1 pass, 1 fail" in done.stdout
    assert "\nCRASH cases/khr_cooperative_matrix/copying.yaml::copying[number:n1]\n" in done.stdout


def test_records_have_what_reports_need(whole):
    _, checkout = whole
    header, *records = [json.loads(line) for line in (checkout.root / "out" / "results.jsonl").read_text().splitlines()]
    assert header == {"schema": SCHEMA}
    first = next(record for record in records if record["verdict"] == "fail")
    assert first["requirements"] == ["KHR-LOAD-03"]
    assert first["subcases"] == 2
    assert {"emit", "missing", "expect", "device", "compare", "pipeline"} <= set(first["steps"])
    assert first["parameters"] == {"number": "n0", "colour": "red"}
    assert first["failures"][0]["subcase"] == "data:first"
    passed = next(record for record in records if record["verdict"] == "pass")
    assert (passed["code"], passed["reason"]) == ("", "")


CODES = {
    "copying[number:n0]": "fail.value",
    "copying[number:n1]": "crash",
    "copying[number:n2]": "timeout",
    "copying[number:n3]": "device_lost.dispatch",
    "copying[number:n4]": "",
    "copying[number:n5]": "error.device",
    "copying[number:n6]": "error.undefined_behaviour",
    "copying[number:n7]": "missing.feature.cooperativeMatrixDoubles",
}


def test_every_verdict_other_than_pass_has_a_code(whole):
    _, checkout = whole
    lines = (checkout.root / "out" / "results.jsonl").read_text().splitlines()
    assert {record["id"]: record["code"] for record in map(json.loads, lines) if "id" in record} == CODES


def test_meta_says_what_judged(whole):
    _, checkout = whole
    meta = json.loads((checkout.root / "out" / "meta.json").read_text())
    assert meta["device"]["name"] == "Double"
    assert meta["selector"]
    assert meta["tier"] == "smoke"
    assert meta["command"] == "pytest -p xdist -p no:cacheprovider cts --report-dir out"
    assert meta["started"] <= meta["finished"]


def test_not_supported_runs_no_case_on_the_device(whole):
    _, checkout = whole
    assert not any("copying[number:n7]" in line for line in checkout.log())


def test_a_run_in_which_nothing_is_supported_says_so_and_does_not_succeed(checkout):
    done = checkout.run("cts", behaviours={"*": "not_supported"})
    assert done.returncode == 5
    assert "NOTHING WAS TESTED: Double supports none of the 8 cases" in done.stdout


def test_a_run_that_has_memory_for_no_case_says_so_and_does_not_succeed(checkout):
    done = checkout.run("cts", "-k", "n0", behaviours={"copying[number:n0]": "out_of_memory"})
    assert done.returncode == 5
    assert "NOTHING WAS TESTED: Double supports none of the 1 cases, or has too little memory for them" in done.stdout


def test_tests_of_other_kinds_in_the_same_run_are_not_cases_without_a_verdict(checkout):
    (checkout.root / "tests").mkdir()
    (checkout.root / "tests" / "test_other.py").write_text("def test_other(): pass\n", encoding="utf-8")
    done = checkout.run("cts", "tests")
    assert done.returncode == 0, done.stdout
    assert "8 of 8 cases" in done.stdout


def test_a_run_without_failures_exits_with_0(checkout):
    done = checkout.run("cts")
    assert done.returncode == 0
    assert "8 passed" in done.stdout
    assert "results: not kept" in done.stdout


def test_verbose_prints_a_line_for_each_case(checkout):
    done = checkout.run("cts", "-v", behaviours={"copying[number:n1]": "not_supported"})
    assert "copying.yaml::copying[number:n0] PASS" in done.stdout
    assert "copying.yaml::copying[number:n1] NOT SUPPORTED" in done.stdout


def test_maxfail_stops_the_run(checkout):
    done = checkout.run("cts", "-x", "--report-dir", "out", behaviours={"*": "fail"})
    assert done.returncode == 1
    assert len(checkout.results()) == 1


def test_many_failures_are_not_all_announced_nor_explained(checkout):
    text = checkout.family.read_text(encoding="utf-8")
    numbers = ", ".join(f"n{number}" for number in range(60))
    checkout.describe(text.replace("n0, n1, n2, n3, n4, n5, n6, n7", numbers))
    done = checkout.run("cts", behaviours={"*": "crash"})
    assert done.stdout.count("\nCRASH cases") == 20
    assert "20 failures are shown above (--log-failures N); 40 more are not (--report-dir DIR keeps them all)" in done.stdout
    assert "20 failed, 40 more failed" in done.stdout
    assert done.returncode == 1
    assert "further failures are not announced" in done.stdout
    assert done.stdout.count("reproduce: cts repro") == 20


def test_a_device_that_cannot_be_opened_ends_the_run_with_2(checkout):
    done = checkout.run("cts", "--report-dir", "out", DOUBLES_OPEN="refuse")
    assert done.returncode == 2
    assert "the double cannot be opened: fix it" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert checkout.results() == {}


def test_a_run_keeps_no_report_of_what_pytest_only_counts(checkout):
    (checkout.root / "kept.py").write_text(
        "def pytest_unconfigure(config):\n"
        "    stats = config.pluginmanager.get_plugin('terminalreporter').stats\n"
        "    print(sorted((category, len(set(map(id, reports)))) for category, reports in stats.items() if category))\n",
        encoding="utf-8",
    )
    conftest = checkout.root / "conftest.py"
    conftest.write_text(conftest.read_text().replace('"doubles"', '"doubles", "kept"'))
    done = checkout.run(
        "cts", behaviours={f"copying[number:n{number}]": "not_supported" for number in range(3)} | {"copying[number:n7]": "fail"}
    )
    assert "[('failed', 1), ('not supported', 1), ('passed', 1)]" in done.stdout
    assert "1 failed, 4 passed, 3 not supported" in done.stdout


def test_an_exception_of_the_suite_is_not_reproduced_but_judged_again(checkout):
    done = checkout.run("cts", behaviours={"copying[number:n0]": "raise"})
    assert "1 error" in done.stdout
    assert "cts repro" not in done.stdout
    assert "cts run 'copying[number:n0]'" in done.stdout
