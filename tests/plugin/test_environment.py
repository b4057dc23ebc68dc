"""The pytest of a Python that lacks packages of the suite."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
WITHOUT_A_PACKAGE = "import sys; sys.modules['msgspec'] = None; import pytest; sys.exit(pytest.main(['cts', '--report-dir', 'out']))"


def test_a_missing_package_is_named_with_what_to_do() -> None:
    done = subprocess.run([sys.executable, "-P", "-c", WITHOUT_A_PACKAGE], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "lacks msgspec" in done.stderr + done.stdout
    assert "INTERNALERROR" not in done.stderr + done.stdout
