"""What all tests share: no clock decides one, none runs for ever, and what ignores signals outside of the tests does not do so in them."""

import signal

import pytest
from hypothesis import HealthCheck, settings

# An example may take as long as it takes on a machine that has other things to do.
settings.register_profile("no clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no clock")

# nohup has the processes that it starts, and all that they start, ignore it: tests that send it would wait for ever.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

HANGS = 1200
"""Seconds after which a test is taken to hang. The longest needs a minute, and on a loaded machine a few."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """End tests that hang, where pytest-timeout is installed."""
    if config.pluginmanager.hasplugin("timeout"):
        for item in items:
            item.add_marker(pytest.mark.timeout(HANGS))
