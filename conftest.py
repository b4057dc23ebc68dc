"""Loads the suite's plugin, nothing else."""

pytest_plugins = ["cts.run.plugin"]
