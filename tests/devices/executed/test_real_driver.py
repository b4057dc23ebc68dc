"""The whole way, where RADV and its null kernel driver are installed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cts.devices.compile_only.missing import NotInstalled
from cts.devices.executed.environment import executing
from cts.devices.executed.gpu import GENERATIONS
from tests.suite import REPOSITORY


@pytest.mark.parametrize("chip", GENERATIONS)
def test_a_chip_passes_plain_shaders_and_a_multiplication(chip):
    try:
        executing(chip)
    except NotInstalled as missing:
        pytest.skip(f"this machine lacks what the test needs: {missing}")
    chosen = "plain_shaders or (muladd and f16.f16.f32.f32 and form:loop and not flexible)"
    command = [sys.executable, "-m", "pytest", "cts", "--device", f"executed:{chip}", "-k", chosen, "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=REPOSITORY, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
