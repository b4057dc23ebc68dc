"""Cases whose pinned needs show, before the device is asked, that it does not support them."""

from __future__ import annotations

import json
import subprocess
import sys
from queue import Empty, Queue
from types import SimpleNamespace

import pytest

from cts.run.main_process import Foretold, Meanwhile
from tests.plugin.conftest import SMOKE
from tests.plugin.processes import HANGS
from tests.suite import REPOSITORY

BEHAVIOURS = {"copying[number:n1]": "foretold", "copying[number:n2]": "fail", "copying[number:n6]": "foretold"}
VERDICTS = dict.fromkeys(SMOKE, "pass") | {
    "copying[number:n1]": "not_supported",
    "copying[number:n2]": "fail",
    "copying[number:n6]": "not_supported",
}


def records(checkout, directory: str):
    lines = (checkout.root / directory / "results.jsonl").read_text(encoding="utf-8").splitlines()
    found = [record for record in map(json.loads, lines) if "id" in record]
    return {record["id"]: record | {"seconds": 0, "steps": 0} for record in found}


@pytest.mark.parametrize("more", [(), ("-n", "2")])
def test_each_has_its_verdict_and_never_runs(checkout, more):
    done = checkout.run("cts", "--report-dir", "out", *more, behaviours=BEHAVIOURS)
    assert done.returncode == 1
    assert checkout.results() == VERDICTS
    assert "verdicts: 5 pass, 1 fail, 2 not_supported" in done.stdout
    assert "5 passed, 2 not supported" in done.stdout
    assert "[100%] 8 of 8 cases" in done.stdout
    assert not [line for line in checkout.log() if "n1]" in line or "n6]" in line]


def test_their_records_are_those_that_each_would_have_alone(checkout):
    checkout.run("cts", "--report-dir", "together", behaviours=BEHAVIOURS)
    checkout.run("cts", "-m", "not slow", "--report-dir", "apart", behaviours=BEHAVIOURS)
    assert records(checkout, "together") == records(checkout, "apart")


def test_pytest_sees_each_by_its_id(checkout):
    done = checkout.run("cts", "-v", "--junitxml", "all.xml", behaviours=BEHAVIOURS)
    for id_ in ("copying[number:n1]", "copying[number:n6]"):
        assert f"{id_} NOT SUPPORTED" in done.stdout
        assert f'name="{id_}"' in (checkout.root / "all.xml").read_text(encoding="utf-8")
    assert (checkout.root / "all.xml").read_text(encoding="utf-8").count("<testcase ") == 8


NAMED = "cases/khr_cooperative_matrix/copying.yaml::copying[number:n6]"


@pytest.mark.parametrize("more", [(), ("-n", "2")])
@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        (("-k", "n1 or n2"), "12"),
        (("-k", "copying.yaml and not n6 and not colour:red"), ""),
        (("-k", "colour:red and (n5 or n6)"), "56"),
        (("-k", "cts and n1"), "1"),
        (("--deselect", NAMED), "0123457"),
        (("--deselect", NAMED, "-k", "n5 or n6"), "5"),
        (("-m", "not slow"), "01234567"),
        (("-m", "slow"), ""),
    ],
)
def test_options_that_select_meet_every_case(checkout, options, numbers, more):
    checkout.run("cts", "--report-dir", "out", *options, *more, behaviours=BEHAVIOURS)
    assert checkout.results() == {id_: VERDICTS[id_] for id_ in sorted(SMOKE) if id_[-2] in numbers}


@pytest.mark.parametrize("options", [("-k", "n1 or n2"), ("--deselect", NAMED)])
def test_options_that_select_by_id_make_no_item_for_them(checkout, options):
    checkout.add_plugin(
        "items", "import doubles\ndef pytest_collection_modifyitems(items):\n    [doubles.log(f'item {item.name}') for item in items]\n"
    )
    checkout.run("cts", *options, behaviours=BEHAVIOURS)
    items = [line for line in checkout.log() if " item " in line]
    assert items
    assert not [line for line in items if "n1]" in line or "n6]" in line]


def test_a_wrong_expression_gives_no_verdict(checkout):
    done = checkout.run("cts", "-k", "n1 and", "--report-dir", "out", behaviours=BEHAVIOURS)
    assert done.returncode == 4
    assert checkout.results() == {}


def test_collecting_lists_every_case(checkout):
    done = checkout.run("cts", "--collect-only", "-q", behaviours=BEHAVIOURS)
    assert all(id_ in done.stdout for id_ in SMOKE)


@pytest.mark.parametrize("more", [(), ("-n", "2")])
def test_a_run_that_is_resumed_judges_those_that_are_left(checkout, more):
    checkout.run("cts", "-k", "n0 or n1", "--report-dir", "out", behaviours=BEHAVIOURS)
    done = checkout.run("cts", "--report-dir", "out", "--resume", *more, behaviours=BEHAVIOURS)
    assert checkout.results() == VERDICTS
    assert "judged before, by the run that this one resumed: 1 pass, 1 not_supported" in done.stdout
    assert "NOT THE WHOLE RUN" not in done.stdout


def test_repeat_gives_each_as_many_records_as_it_says(checkout):
    checkout.run("cts", "--repeat", "3", "--report-dir", "out", behaviours=BEHAVIOURS)
    lines = (checkout.root / "out" / "results.jsonl").read_text(encoding="utf-8").splitlines()
    assert sorted(one["attempt"] for one in map(json.loads, lines) if one.get("id") == "copying[number:n6]") == [1, 2, 3]


@pytest.mark.parametrize("more", [(), ("-n", "2")])
def test_a_run_in_which_nothing_is_supported_says_so(checkout, more):
    done = checkout.run("cts", "--report-dir", "out", *more, behaviours=dict.fromkeys(SMOKE, "foretold"))
    assert "NOTHING WAS TESTED" in done.stdout
    assert set(checkout.results().values()) == {"not_supported"}
    assert len(checkout.results()) == len(SMOKE)
    # Not since the machine was started: the verdicts may come before the processes that judge.
    assert json.loads((checkout.root / "out" / "meta.json").read_text())["seconds"] < HANGS


def test_a_run_of_one_file_judges_only_its_cases(tmp_path):
    path = "cases/khr_variable_pointers/variable_pointers.yaml"
    command = [sys.executable, "-m", "pytest", path, "--device", "embedded:nvidia-h200", "--report-dir", str(tmp_path), "-q"]
    subprocess.run([*command, "-p", "no:cacheprovider"], cwd=REPOSITORY, check=False, capture_output=True)
    lines = (tmp_path / "results.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line).get("family") for line in lines} == {None, "variable_pointers"}


def test_the_first_verdicts_are_given_before_there_are_workers(checkout):
    checkout.add_plugin(
        "counts",
        "import pathlib\n"
        "import pytest\n"
        "@pytest.hookimpl(optionalhook=True)\n"
        "def pytest_configure_node(node):\n"
        "    journal = pathlib.Path('out/results.jsonl').read_text()\n"
        "    with open('counts.txt', 'a') as file:\n"
        "        print(journal.count('not_supported'), file=file)\n",
    )
    checkout.run("cts", "-n", "2", "--report-dir", "out", behaviours=BEHAVIOURS)
    assert checkout.results() == VERDICTS
    assert (checkout.root / "counts.txt").read_text().split() == ["2", "2"]


def test_an_end_while_they_are_reported_counts_what_the_journal_has(checkout):
    checkout.add_plugin(
        "ends",
        "import os, signal\n"
        "from cts.run import main_process\n"
        "real = main_process.verdict_report\n"
        "def verdict_report(nodeid, *rest):\n"
        "    if 'n6]' in nodeid:\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "    return real(nodeid, *rest)\n"
        "main_process.verdict_report = verdict_report\n",
    )
    done = checkout.run("cts", "-n", "2", "--report-dir", "out", behaviours=BEHAVIOURS)
    assert len(checkout.results()) in (1, 2)
    assert f"STOPPED after {len(checkout.results())} of 8 cases" in done.stdout or "STOPPED after 1 of 8 cases" in done.stdout
    assert json.loads((checkout.root / "out" / "meta.json").read_text())["selected"] == 8


def test_the_others_are_given_while_no_worker_says_anything():
    said: Queue[str] = Queue()
    done: list[int] = []

    def steps():
        for number in range(4):
            done.append(number)
            if number == 1:
                said.put("a report")
            yield number + 1

    meanwhile = Meanwhile(said, steps())
    assert (meanwhile.get(), done) == ("a report", [0, 1])
    meanwhile.put("another report")
    assert (meanwhile.get(), done) == ("another report", [0, 1])
    with pytest.raises(Empty):
        meanwhile.get(timeout=0)
    assert done == [0, 1, 2, 3]


@pytest.mark.parametrize(("end", "given"), [(pytest.Session.Interrupted("1 failure, -x"), ["one", "two"]), (KeyboardInterrupt(), [])])
def test_all_are_given_if_a_failure_ends_the_run_and_none_if_the_user_does(end, given):
    told: list[str] = []

    class Recording(Foretold):
        def _report(self, config, name):
            told.append(name)
            yield name

    foretold = Recording(SimpleNamespace(), SimpleNamespace(cases={"one": [], "two": []}, told=lambda _: ()))
    plugins = SimpleNamespace(get_plugin=lambda _: SimpleNamespace(queue=Queue()))
    session = SimpleNamespace(config=SimpleNamespace(pluginmanager=plugins), Interrupted=pytest.Session.Interrupted)
    loop = foretold.pytest_runtestloop(session)
    next(loop)
    with pytest.raises(type(end)):
        loop.throw(end)
    assert told == given


def test_a_worker_makes_an_item_only_for_a_case_that_it_judges_next(checkout):
    checkout.add_plugin(
        "makes",
        "import doubles\n"
        "from cts.run import collection\n"
        "real = collection.CasesFile.item\n"
        "def item(self, id_):\n"
        "    doubles.log(f'item {id_}')\n"
        "    return real(self, id_)\n"
        "collection.CasesFile.item = item\n",
    )
    checkout.run("cts", "-n", "1", "--no-known-failures", behaviours=BEHAVIOURS)
    events = [event.split()[0] for line in checkout.log() if (event := line.partition(" ")[2]).startswith(("item", "run"))]
    assert events[:5] == ["item", "item", "run", "item", "run"]
    assert events.count("item") == len(SMOKE) - 2


def test_a_process_finds_a_case_only_when_it_judges_it(checkout):
    checkout.add_plugin(
        "finds",
        "import doubles\n"
        "from cts.run import collection\n"
        "real = collection.named_case\n"
        "def named_case(casebook, id_):\n"
        "    doubles.log(f'find {id_}')\n"
        "    return real(casebook, id_)\n"
        "collection.named_case = named_case\n",
    )
    checkout.run("cts", "-n", "1", "--no-known-failures", behaviours=BEHAVIOURS)
    events = [event for line in checkout.log() if (event := line.partition(" ")[2]).startswith(("find", "run"))]
    assert events[:4] == ["find copying[number:n0]", "run copying[number:n0]", "find copying[number:n2]", "run copying[number:n2]"]
