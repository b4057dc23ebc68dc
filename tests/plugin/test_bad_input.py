from __future__ import annotations

import os

import pytest

FILE = "cases/khr_cooperative_matrix/copying.yaml"


def refused(done, *words: str) -> None:
    """Check for one clear line on standard error, exit code 2, and no traceback."""
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("Exit: ")]
    assert len(lines) == 1, done.stderr
    for word in words:
        assert word in lines[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["cts", "--device", "nonesuch"], ["no device 'nonesuch'", "there is double"]),
        (["cts", "--tier", "hourly"], ["--tier hourly", "smoke, nightly, full"]),
        (["cts", "--front-end", "hlsl"], ["--front-end hlsl", "spirv, glsl"]),
        (["cts", "--isolation", "maybe"], ["--isolation maybe", "auto, on, off"]),
        (["cts", "--step-timeout", "soon"], ["--step-timeout soon", "seconds"]),
        (["cts", "--step-timeout", "5"], ["--step-timeout 5", "in the suite's own process", "--isolation on"]),
        (["cts", "--step-timeout", "-1"], ["--step-timeout -1", "seconds"]),
        (["cts", "--step-timeout", "1e10"], ["--step-timeout 1e10", "seconds"]),
        (["cts", "--repeat", "9" * 5000], ["--repeat 999", "from 1 to 100,000"]),
        (["cts", "--repeat", "1000000000"], ["--repeat 1000000000", "from 1 to 100,000"]),
        (["cts", "--open-attempts", "2000"], ["--open-attempts 2000", "from 1 to 100"]),
        (["cts", "-n", "1", "--dist", "each"], ["--dist each", "every process would judge every case"]),
        (["cts", "--case-list", ""], ["--case-list", "empty"]),
        (["cts", "--report-dir", ""], ["--report-dir", "empty"]),
        (["cts", "--tier", ""], ["--tier", "empty"]),
        (["cts", "--tier", "smoke", "--rootdir", "/"], ["rootdir /", "not a checkout"]),
        (["cts", "--statistics"], ["--statistics needs VK_KHR_pipeline_executable_properties", "Double"]),
        (["cts", "--validation"], ["--validation is for Vulkan devices", "Double"]),
        (["cts", "--resume"], ["--report-dir DIR"]),
        (["cts", "--case-list", "nonesuch.txt"], ["cannot read the case list", "nonesuch.txt", "No such file"]),
        (["--tier", "smoke"], ["--tier", "pytest cts"]),
        (["cases/khr_cooperative_matrix/nonesuch.yaml"], ["no such file", FILE]),
        ([f"{FILE}::nonesuch[n1-red]"], ["nonesuch", "copying"]),
        ([f"{FILE}::copying[number:n9]"], ["n9", "number"]),
        ([f"{FILE}::copying[n1]"], ["copying[n1]"]),
    ],
)
def test_what_does_not_exist_is_refused(checkout, arguments, words):
    refused(checkout.run(*arguments), *words)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("parameters:", "parameters: [", ["copying.yaml:"]),
        ("plan:", "plam:", ["copying.yaml:", "plam"]),
        ("KHR-LOAD-03", "KHR-LOAD-99", ["copying.yaml:4", "KHR-LOAD-99"]),
    ],
)
def test_a_bad_family_file_is_refused(checkout, old, new, words):
    checkout.family.write_text(checkout.family.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    refused(checkout.run("cts"), *words)


def test_an_unknown_id_in_a_case_list_is_refused_with_its_line(checkout):
    (checkout.root / "list.txt").write_text("copying[number:n1]\ncopying[number:n1/colour:pink]\n", encoding="utf-8")
    refused(checkout.run("cts", "--case-list", "list.txt"), "list.txt:2", "pink")


def test_a_case_list_that_names_itself_is_refused(checkout):
    (checkout.root / "list.txt").write_text("other.txt\n", encoding="utf-8")
    (checkout.root / "other.txt").write_text("list.txt\n", encoding="utf-8")
    refused(checkout.run("cts", "--case-list", "list.txt"), "names itself")


def test_a_report_directory_that_cannot_be_written_is_refused(checkout):
    (checkout.root / "file").write_text("", encoding="utf-8")
    refused(checkout.run("cts", "--report-dir", "file/out"), "cannot write the report directory", "file/out")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_report_directory_without_permission_is_refused(checkout):
    (checkout.root / "out").mkdir(mode=0o500)
    refused(checkout.run("cts", "--report-dir", "out"), "cannot write the report directory")


def test_results_of_an_earlier_run_are_not_overwritten(checkout):
    assert checkout.run("cts", "-k", "n1", "--report-dir", "out").returncode == 0
    before = (checkout.root / "out" / "results.jsonl").read_bytes()
    refused(checkout.run("cts", "--report-dir", "out"), "earlier run", "--resume")
    assert (checkout.root / "out" / "results.jsonl").read_bytes() == before


def test_bad_input_is_refused_before_xdist_starts_workers(checkout):
    refused(checkout.run("cts", "-n", "2", "--tier", "hourly"), "--tier hourly")


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_malformed_family_beside_a_named_one_ends_the_run_before_it_begins(checkout, workers):
    checkout.family.with_name("broken.yaml").write_text("family: [", encoding="utf-8")
    done = checkout.run(checkout.family.relative_to(checkout.root).as_posix(), "-n", workers)
    assert done.returncode == 2
    assert checkout.log() == []
