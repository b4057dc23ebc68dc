"""Loads the suite's plugin, if this Python has the packages that it needs."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

_PACKAGES = ("cffi", "jinja2", "ml_dtypes", "msgspec", "numpy", "vulkan", "xdist", "yaml")

if any(find_spec(name) is None for name in _PACKAGES):
    # A shell without the virtual environment finds the pytest of another Python, such as a distribution's own.
    absent = ", ".join(name for name in _PACKAGES if find_spec(name) is None)
    pytest.exit(f"this pytest lacks {absent}: run '. .venv/bin/activate' first, after 'pip install -e .' in that environment", returncode=2)

pytest_plugins = ["cts.run.plugin"]
