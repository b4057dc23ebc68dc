"""Builds the layer, and finds out whether this machine can run it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.hostile_driver.scenario import FOLDER

LAYER = "VK_LAYER_CTS_hostile"
_HEADER = Path("/usr/include/vulkan/vk_layer.h")
_DRIVERS = (Path("/usr/share/vulkan/icd.d"), Path("/etc/vulkan/icd.d"), Path("/usr/local/share/vulkan/icd.d"))


def lavapipe() -> Path | None:
    """Return the manifest of Mesa's software driver, which the layer makes hostile."""

    def found() -> Iterator[Path]:
        for folder in _DRIVERS:
            yield from sorted(folder.glob("lvp_icd*.json"))

    return next(found(), None)


def obstacle() -> str:
    """Return the missing requirements for building and running the layer; empty if there are none."""
    if shutil.which("cc") is None:
        return "no C compiler (cc)"
    if not _HEADER.exists():
        return f"no Vulkan headers ({_HEADER}): libvulkan-dev has them"
    return "" if lavapipe() else "no lavapipe: mesa-vulkan-drivers has it"


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
