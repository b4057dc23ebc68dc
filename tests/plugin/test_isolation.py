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
