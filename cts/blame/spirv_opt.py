"""spirv-opt of SPIRV-Tools, which makes another module of the same program."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from cts.kinds.kind import one_line
from generators.errors import CtsError, NotInstalled

NAME = "spirv-opt"
SECONDS = 60.0


def optimised(module: bytes, option: str) -> bytes:
    """Return the module after the passes of an option, for example ``-O``.

    Raises:
        NotInstalled: spirv-opt is not installed.
        CtsError: it fails.
    """
    path = shutil.which(NAME)
    if path is None:
        raise NotInstalled(NAME, "spirv-opt is not on PATH: install SPIRV-Tools 2026.4 or newer (spirv-tools)")
    with tempfile.TemporaryDirectory(prefix="spirv-opt-") as folder:
        before, after = Path(folder, "before.spv"), Path(folder, "after.spv")
        before.write_bytes(module)
        # The pipeline still has the bindings and constants that the passes find unused.
        keep = ("--target-env=vulkan1.3", "--preserve-bindings", "--preserve-spec-constants")
        try:
            done = subprocess.run(
                [path, *keep, option, "-o", str(after), str(before)], capture_output=True, text=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise CtsError(f"spirv-opt took longer than {SECONDS:g} s") from None
        if done.returncode or not after.exists():
            raise CtsError(f"spirv-opt ended with status {done.returncode}: {one_line(done.stderr + done.stdout) or 'no message'}")
        return after.read_bytes()
