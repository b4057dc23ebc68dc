"""Settings of all tests: no test depends on a clock or runs forever, and no test ignores a signal, or requires a Vulkan device, because its
parent process does."""

import gc
import os
import signal

import pytest
from xdist.scheduler import WorkStealingScheduling

try:
    from hypothesis import HealthCheck, settings
except ImportError:
    pytest.exit("the tests need the development tools: run pip install -e '.[dev]' in this environment", returncode=2)

# An example may take any time, because the machine may be busy.
settings.register_profile("no clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no clock")

# Processes under nohup ignore this signal, as do the processes that they start. Tests that send it would wait forever.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# A run in a job of a CI system needs a Vulkan device, unless another device is named.
os.environ.pop("CI", None)

# Items and modules live until the end. The garbage collector would look at them again and again.
gc.disable()

HANGS = 1200
"""Seconds after which a test counts as hanging. The longest test needs a minute, and a few minutes on a busy machine."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """End tests that hang, if pytest-timeout is installed."""
    if config.pluginmanager.hasplugin("timeout"):
        for item in items:
            item.add_marker(pytest.mark.timeout(HANGS))


def pytest_collection_finish() -> None:
    """Leave what collection made out of all later garbage collections, and let these be few: tests keep what several of them need."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> WorkStealingScheduling | None:
    """Give each worker tests that follow one another, which share what a module or a family computes once."""
    return WorkStealingScheduling(config, log) if config.getoption("dist") == "load" else None
