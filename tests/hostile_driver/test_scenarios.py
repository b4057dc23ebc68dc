"""The suite on a driver that misbehaves: each scenario of the table is reported for the right case, and for no other."""

from __future__ import annotations

import subprocess
import sys

from tests.hostile_driver.building import obstacle
from tests.hostile_driver.forks import JOBS, ROOT
from tests.lavapipe import needs

pytestmark = needs(obstacle())


def test_each_fault_is_reported_of_the_case_that_it_hit() -> None:
    command = [sys.executable, "-m", "tests.hostile_driver", "--jobs", str(JOBS)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout
