from __future__ import annotations

import json

import pytest

from cts.exit_codes import INCOMPLETE

BEHAVIOURS = {"copying[number:n0]": "fail", "copying[number:n1]": "not_supported", "copying[number:n2]": "raise"}


def test_two_workers_judge_every_case_once_each_on_a_device_of_its_own(checkout):
    done = checkout.run("cts", "-n", "2", "--report-dir", "out", behaviours=BEHAVIOURS)
    assert done.returncode == 1
    expected = {f"copying[number:n{number}]": "pass" for number in range(8)}
    assert checkout.results() == expected | {
        "copying[number:n0]": "fail",
        "copying[number:n1]": "not_supported",
        "copying[number:n2]": "error",
    }
    assert len({line.split()[0] for line in checkout.log() if line.endswith(" open")}) == 2
    assert "verdicts: 5 pass, 1 fail, 1 not_supported, 1 error" in done.stdout
    assert "(1, 1) at byte 9: expected" in done.stdout
    assert "[100%] 8 of 8 cases" in done.stdout


def test_a_worker_that_does_not_see_the_report_directory_sends_its_records(checkout):
    # The worker finds another meta.json in the directory than the controller wrote, as if it ran on another machine.
    checkout.add_plugin(
        "elsewhere",
        "from cts.engine import setup\n"
        "def pytest_configure(config):\n"
        "    if hasattr(config, 'workerinput'):\n"
        "        setup.token = lambda directory: 'another machine'\n",
    )
    done = checkout.run("cts", "-n", "2", "--report-dir", "out")
    assert done.returncode == 0, done.stdout
    assert len(checkout.results()) == 8


def test_a_journal_that_the_main_process_cannot_write_ends_the_run_with_one_line(checkout):
    checkout.add_plugin(
        "full",
        "import os\n"
        "from cts.journal.journal import Journal, JournalError\n"
        "write = Journal.append_line\n"
        "def append_line(self, line):\n"
        "    if b'verdict' in line:\n"
        "        raise JournalError('cannot write: No space left on device')\n"
        "    write(self, line)\n"
        "if 'PYTEST_XDIST_WORKER' not in os.environ:\n"
        "    Journal.append_line = append_line\n",
    )
    done = checkout.run("cts", "-n", "1", "--report-dir", "out", behaviours={"copying[number:n2]": "kill"})
    assert done.returncode == 2, done.stdout
    assert "Traceback" not in done.stdout
    assert "INTERNALERROR" not in done.stdout
    assert "copying[number:n2]" not in checkout.results()
    assert done.stdout.splitlines()[-1].startswith("STOPPED after 2 of 8 cases: cannot write: No space left on device")


def test_a_device_that_workers_cannot_open_ends_the_run_with_2(checkout):
    done = checkout.run("cts", "-n", "2", DOUBLES_OPEN="refuse")
    assert done.returncode == 2
    assert "the double cannot be opened: fix it" in done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "scheduler"),
    [(("-n", "2"), "Scheduler"), (("-n", "2", "--dist", "loadscope"), "LoadScopeScheduling"), (("--tx", "2*popen"), "Scheduler")],
)
def test_the_suite_deals_out_its_cases_unless_told_otherwise(checkout, arguments, scheduler):
    done = checkout.run("cts", "-v", *arguments)
    assert done.returncode == 0, done.stdout
    assert f"scheduling tests via {scheduler}\n" in done.stdout


BESIDE = (
    "from cts.engine import reports_beside, run\n"
    "run.CASES = range(8, 9)\n"
    "reports_beside._MODULE = 'with_doubles'\n"
    "class Told(run.ReportsBeside):\n"
    "    def begin(self, record):\n"
    "        before = self._record\n"
    "        super().begin(record)\n"
    "        if self._record != before:\n"
    "            print('reports begin')\n"
    "    def write(self):\n"
    "        found = super().write()\n"
    "        print('beside:', found)\n"
    "        return found\n"
    "run.ReportsBeside = Told\n"
)


WITH_DOUBLES = "import runpy\nimport doubles\nrunpy.run_module('cts.report_process', run_name='__main__')\n"

FOUND_AT_THE_END = (
    "import pytest\n"
    "@pytest.hookimpl(tryfirst=True)\n"
    "def pytest_testnodedown(node):\n"
    "    print('a worker ended')\n"
    "    node.workeroutput['cts_findings'] = [{'what': 'it broke', 'step': 'close', 'outside': False}]\n"
)


def reports(checkout, name):
    directory = checkout.root / name
    return {path.relative_to(directory) for path in directory.rglob("*") if path.is_file()}


def test_a_process_beside_a_large_run_writes_its_reports(checkout):
    checkout.run("cts", "-n", "2", "--report-dir", "without", behaviours=BEHAVIOURS)
    checkout.add_plugin("beside", BESIDE)
    (checkout.root / "with_doubles.py").write_text(WITH_DOUBLES, encoding="utf-8")
    done = checkout.run("cts", "-n", "2", "--report-dir", "with", behaviours=BEHAVIOURS)
    assert "beside: True" in done.stdout, done.stdout
    assert done.returncode == 1
    assert reports(checkout, "with") == reports(checkout, "without")


def test_the_reports_are_written_although_the_process_beside_the_run_has_died(checkout):
    checkout.add_plugin("beside", BESIDE)
    done = checkout.run("cts", "-n", "2", "--report-dir", "with", behaviours=BEHAVIOURS)
    assert "beside: False" in done.stdout, done.stdout
    assert done.returncode == 1
    assert (checkout.root / "with" / "summary.json").is_file()


RECORDED = (
    "import json\n"
    "def pytest_testnodedown():\n"
    "    with open('with/meta.json') as file:\n"
    "        print('ended:', json.load(file).get('finished'))\n"
)


def test_the_reports_of_a_large_run_begin_before_its_last_worker_ends(checkout):
    checkout.add_plugin("beside", BESIDE + RECORDED)
    (checkout.root / "with_doubles.py").write_text(WITH_DOUBLES, encoding="utf-8")
    done = checkout.run("cts", "-n", "2", "-s", "--report-dir", "with")
    lines = [line for line in done.stdout.splitlines() if line.startswith(("reports begin", "ended:"))]
    # If the process that hands out the cases is killed meanwhile, the record does not say that the run has finished.
    assert sorted(lines) == ["ended: None", "ended: None", "reports begin"], done.stdout
    assert lines[-1] == "ended: None", done.stdout
    for name, part in (("summary.json", "context"), ("meta.json", None)):
        document = json.loads((checkout.root / "with" / name).read_text(encoding="utf-8"))
        assert (document[part] if part else document)["finished"]


def test_the_reports_have_what_is_found_when_the_workers_end(checkout):
    checkout.add_plugin("beside", f"{BESIDE}{FOUND_AT_THE_END}")
    (checkout.root / "with_doubles.py").write_text(WITH_DOUBLES, encoding="utf-8")
    done = checkout.run("cts", "-n", "2", "-s", "--report-dir", "with")
    assert done.stdout.count("reports begin") == 2, done.stdout
    assert "beside: True" in done.stdout, done.stdout
    summary = json.loads((checkout.root / "with" / "summary.json").read_text(encoding="utf-8"))
    assert summary["context"]["findings"] == ["close: it broke"] * 2


INTERRUPTED = (
    "import os, signal\nfrom cts.engine import run\nrun.report_writer = lambda: lambda *_, **__: os.kill(os.getpid(), signal.SIGINT)\n"
)


def test_ctrl_c_while_the_reports_are_written_leaves_the_journal_and_says_how_to_write_them(checkout):
    checkout.add_plugin("interrupted", INTERRUPTED)
    done = checkout.run("cts", "--report-dir", "out")
    assert done.returncode == INCOMPLETE, done.stdout
    assert "reports could not be written: ended by SIGINT; " in done.stdout
    assert "Traceback" not in done.stdout
    assert len(checkout.results()) == 8


IMPORTED = (
    "import sys\n"
    "import pytest\n"
    "@pytest.hookimpl(trylast=True)\n"
    "def pytest_unconfigure():\n"
    "    with open('imported', 'a', encoding='utf-8') as file:\n"
    "        print('hypothesis' in sys.modules, file=file)\n"
)


def test_no_process_of_a_run_imports_hypothesis(checkout):
    checkout.add_plugin("imported", IMPORTED)
    checkout.run("cts", "-n", "2", "-p", "hypothesispytest")
    assert (checkout.root / "imported").read_text(encoding="utf-8").splitlines() == ["False"] * 3
