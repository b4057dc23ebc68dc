"""A device whose draws are lost or wrong, while its dispatches work."""

from __future__ import annotations

import json
import os

import pytest

from tests.plugin.processes import run
from tests.suite import REPOSITORY

DRAWS = """
from cts.devices.device import DeviceCrash
from cts.embedded import device

run = device.EmbeddedDevice.run


def without_draws(self, kernel, dispatches):
    if kernel.draw is not None:
        raise DeviceCrash("SIGSEGV")
    return run(self, kernel, dispatches)


device.EmbeddedDevice.run = without_draws
"""
WRONG = """
from itertools import repeat

from cts.embedded import device

run = device.EmbeddedDevice.run
wrong = repeat(True{times})


def wrong_draws(self, kernel, dispatches):
    outcomes = run(self, kernel, dispatches)
    if kernel.draw is not None and {only!r} in kernel.spirv and next(wrong, False):
        for outcome in outcomes:
            for name in outcome.outputs:
                outcome.outputs[name] = outcome.outputs[name] ^ 1
    return outcomes


device.EmbeddedDevice.run = wrong_draws
"""
DRAWN = "vector_stages[stage:vertex/operation:copy]"
OTHER_DRAWN = "vector_stages[stage:vertex/operation:reduce_sum]"
DISPATCHED = "plain_shaders[stage:compute]"


@pytest.fixture
def judged(tmp_path):
    """Judge both draws and the dispatch on a device; return the run, and the verdicts by id."""
    (tmp_path / "cases.txt").write_text("\n".join([DRAWN, OTHER_DRAWN, DISPATCHED]), encoding="utf-8")

    def judge(device_double: str, *options: str):
        (tmp_path / "device_double.py").write_text(device_double, encoding="utf-8")
        device = ("--device", "embedded:nvidia-h200", "--isolation", "off", "--open-attempts", "1")
        plugins = ("-p", "device_double", "-p", "no:cacheprovider")
        places = ("--case-list", str(tmp_path / "cases.txt"), "--report-dir", str(tmp_path / "out"))
        done = run(["cts", *plugins, *device, *places, *options], REPOSITORY, {**os.environ, "PYTHONPATH": str(tmp_path)})
        lines = (tmp_path / "out" / "results.jsonl").read_text(encoding="utf-8").splitlines()
        return done, {record["id"]: record["verdict"] for record in map(json.loads, lines) if "id" in record}

    return judge


def test_no_draw_is_blamed_and_the_run_says_that_the_device_no_longer_works(judged):
    done, verdicts = judged(DRAWS)
    assert done.returncode == 2, done.stdout
    assert verdicts == {DISPATCHED: "pass"}
    assert "plain_shaders[stage:vertex]" in done.stdout


def test_a_draw_that_is_known_to_crash_is_a_known_failure(judged, tmp_path):
    (tmp_path / "all-fails.txt").write_text(f"{DRAWN},Crash\n{OTHER_DRAWN},Crash\nplain_shaders[stage:vertex],Crash\n", encoding="utf-8")
    done, verdicts = judged(DRAWS, "--known-failures", str(tmp_path / "all-fails.txt"))
    assert done.returncode == 0, done.stdout
    assert verdicts == {DISPATCHED: "pass", DRAWN: "known_fail", OTHER_DRAWN: "known_fail"}


def test_no_draw_is_blamed_if_draws_without_cooperative_types_are_also_wrong(judged):
    done, verdicts = judged(WRONG.format(only=b"", times=""))
    assert done.returncode == 2, done.stdout
    assert verdicts == {DISPATCHED: "pass"}
    assert "plain_shaders[stage:vertex]" in done.stdout


def test_a_wrong_draw_is_blamed_where_draws_without_cooperative_types_are_right(judged):
    done, verdicts = judged(WRONG.format(only=b"SPV_NV_cooperative_vector", times=""))
    assert done.returncode == 1, done.stdout
    assert verdicts == {DISPATCHED: "pass", DRAWN: "fail", OTHER_DRAWN: "fail"}


def test_draws_that_are_wrong_at_first_blame_the_run_and_no_case(judged, tmp_path):
    done, verdicts = judged(WRONG.format(only=b"", times=", 2"))
    assert done.returncode == 1, done.stdout
    assert set(verdicts.values()) == {"pass"}
    (finding,) = json.loads((tmp_path / "out" / "meta.json").read_text(encoding="utf-8"))["findings"]
    assert DRAWN in finding["what"]
