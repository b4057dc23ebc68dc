"""Settings of all tests: no test depends on a clock or runs forever, and no test ignores a signal, or requires a Vulkan device, because its
parent process does."""

import os
import signal

import pytest

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

HANGS = 1200
"""Seconds after which a test counts as hanging. The longest test needs a minute, and a few minutes on a busy machine."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """End tests that hang, if pytest-timeout is installed."""
    if config.pluginmanager.hasplugin("timeout"):
        for item in items:
            item.add_marker(pytest.mark.timeout(HANGS))
