"""Builds the layer, and finds out whether this machine can run it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.hostile_driver.scenario import FOLDER
from tests.lavapipe import MATRICES, MATRIX2, compiler_obstacle, driver_obstacle

LAYER = "VK_LAYER_CTS_hostile"


def obstacle() -> str:
    """Return the missing requirements for building and running the layer; empty if there are none."""
    return compiler_obstacle("vk_layer.h", MATRICES) or driver_obstacle(*MATRIX2)


def build(folder: Path) -> None:
    """Put the layer and its manifest into ``folder``.

    Raises:
        RuntimeError: the compiler failed; has its message.
    """
    library = folder / "libhostile.so"
    command = ["cc", "-std=gnu11", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-Wl,-z,nodelete", "-o", str(library)]
    done = subprocess.run([*command, str(FOLDER / "layer.c"), "-lm", "-lpthread"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    manifest = {
        "file_format_version": "1.2.0",
        "layer": {
            "name": LAYER,
            "type": "GLOBAL",
            "library_path": str(library),
            "library_arch": "64",
            "api_version": "1.3.0",
            "implementation_version": "1",
            "description": "makes the driver misbehave",
        },
    }
    (folder / "hostile.json").write_text(json.dumps(manifest), encoding="utf-8")
