"""A run whose output nobody reads."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from xml.etree import ElementTree

import pytest

from cts.cli import main
from cts.engine.request import NotSendable, check_sendable

LINE = r"cts: cannot write the output: .+; redirect it elsewhere\n"


def shell(checkout, command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command],
        cwd=checkout.root,
        env=checkout.environment(),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


@pytest.mark.parametrize("redirection", [">/dev/full", ">&-"])
def test_output_that_cannot_be_written_is_one_line(checkout, redirection):
    done = shell(checkout, f"{shlex.join(checkout.command('cts', '--report-dir', 'out'))} {redirection}")
    assert done.returncode == 2
    assert re.fullmatch(LINE, done.stderr), done.stderr


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_reader_that_goes_away_ends_the_run_with_its_reports(checkout, workers):
    process = subprocess.Popen(
        checkout.command("cts", *workers, "--report-dir", "out"),
        cwd=checkout.root,
        env=checkout.environment({"copying[number:n1]": "fail", "copying[number:n2]": "fail"}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    while not process.stdout.readline().startswith("FAIL "):
        assert process.poll() is None
    process.stdout.close()
    said = process.stderr.read()
    assert process.wait() == 2, said
    assert re.fullmatch(LINE, said), said
    assert (checkout.root / "out" / "summary.json").exists()
    meta = json.loads((checkout.root / "out" / "meta.json").read_text(encoding="utf-8"))
    assert "finished" in meta or "cannot write to standard output" in meta["stopped"]


def test_a_report_directory_may_have_any_bytes(checkout):
    done = shell(checkout, shlex.join(checkout.command("cts")) + r""" --report-dir $'out\xff\x1b[31m'""")
    assert done.returncode == 0, done.stdout + done.stderr
    (directory,) = [name for name in os.listdir(os.fsencode(checkout.root)) if name.startswith(b"out")]
    assert {b"index.html", b"summary.json", b"summary.md", b"junit.xml"} <= set(
        os.listdir(os.path.join(os.fsencode(checkout.root), directory))
    )
    assert "\x1b" not in done.stdout


def test_each_case_is_a_test_of_junit_if_the_run_or_the_report_is_asked_to(checkout):
    def tests():
        return len(ElementTree.parse(checkout.root / "out" / "junit.xml").findall(".//testcase"))

    assert checkout.run("cts", "--report-dir", "out", "--junit", "all").returncode == 0
    assert tests() == 8
    assert main(["report", str(checkout.root / "out"), "--junit", "attention"]) == 0
    assert tests() == 1
    assert main(["report", str(checkout.root / "out")]) == 0
    assert tests() == 8


def test_an_unknown_kind_of_junit_is_refused(checkout):
    assert checkout.run("cts", "--junit", "some").returncode == 2


def test_options_that_workers_cannot_be_sent_are_refused():
    check_sendable(["cts", "--report-dir", "ünï"])
    with pytest.raises(NotSendable):
        check_sendable(["cts", "--report-dir", "out\udcff"])


def test_a_full_disk_loses_nothing_that_was_judged(checkout):
    """The limit permits some records, but no report."""
    done = shell(checkout, f"ulimit -f 2; {shlex.join(checkout.command('cts', '--report-dir', 'out'))}")
    assert done.returncode == 2, done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert "File too large" in done.stdout + done.stderr
    journal = checkout.root / "out" / "results.jsonl"
    judged = journal.read_bytes().count(b'"verdict"') if journal.exists() else 0
    assert shell(checkout, shlex.join(checkout.command("cts", "--report-dir", "out", "--resume"))).returncode == 0
    assert len(checkout.results()) == 8
    assert judged < 8
