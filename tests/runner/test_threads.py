"""Numpy's products use one thread in each process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cts.threads import use_one_thread
from tests.suite import REPOSITORY

ASK = """
import os, sys
import cts.cli, cts.run.plugin
from cts.threads import use_one_thread
assert "numpy" not in sys.modules, "then it has read the variable"
use_one_thread()
import numpy
print(os.environ["OPENBLAS_NUM_THREADS"], len(os.listdir("/proc/self/task")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts the threads in /proc")
def test_numpy_is_loaded_with_one_thread():
    variables = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    told = subprocess.run([sys.executable, "-c", ASK], cwd=REPOSITORY, env=variables, capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["1", "1"]


def test_the_environment_decides_first(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    use_one_thread()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "2"
