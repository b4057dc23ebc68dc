"""Finds Mesa's software driver, and what this machine lacks for tests on it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from cts.devices.child import ChildProcess
from cts.devices.device import DeviceDescription
from cts.devices.driver_files import VARIABLE
from cts.devices.listing import list_vulkan

_DRIVERS = (Path("/usr/share/vulkan/icd.d"), Path("/etc/vulkan/icd.d"), Path("/usr/local/share/vulkan/icd.d"))
_HEADERS = Path("/usr/include/vulkan")
_VERSION = re.compile(r"^#define VK_HEADER_VERSION (\d+)$", re.MULTILINE)

MATRICES = 255
"""The version of Vulkan's headers that first had VK_KHR_cooperative_matrix."""

MATRIX2 = (
    "cooperativeMatrix",
    "cooperativeMatrixConversions",
    "cooperativeMatrixFlexibleDimensions",
    "cooperativeMatrixPerElementOperations",
    "cooperativeMatrixReductions",
)
"""The features that lavapipe has since it has any part of VK_NV_cooperative_matrix2."""


@cache
def manifest() -> Path | None:
    """Return the manifest of lavapipe; None if this machine does not have it."""
    return next((path for folder in _DRIVERS for path in sorted(folder.glob("lvp_icd*.json"))), None)


@cache
def _description() -> DeviceDescription | None:
    def start(environment: Mapping[str, str]) -> ChildProcess:
        return ChildProcess({**environment, VARIABLE: str(manifest())})

    found = list_vulkan(start=start).devices if manifest() else ()
    return found[0].description if found else None


def driver_obstacle(*features: str) -> str:
    """Return why this machine's lavapipe cannot run a test that needs ``features``; empty if it can."""
    if manifest() is None:
        return "no lavapipe: mesa-vulkan-drivers has it"
    if not (found := _description()):
        return f"lavapipe ({manifest()}) does not open"
    lacking = [name for name in features if not found.features.get(name)]
    return f"{found.driver} lacks {', '.join(lacking)}" if lacking else ""


def compiler_obstacle(header: str, version: int = 0) -> str:
    """Return why this machine cannot compile a C program for Vulkan; empty if it can.

    Args:
        header: the header in ``vulkan/`` that the program includes.
        version: the least version of Vulkan's headers.
    """
    if shutil.which("cc") is None:
        return "no C compiler (cc)"
    if not (_HEADERS / header).exists():
        return f"no Vulkan headers ({_HEADERS / header}): libvulkan-dev has them"
    found = _VERSION.search((_HEADERS / "vulkan_core.h").read_text(encoding="utf-8"))
    if found and int(found[1]) < version:
        return f"Vulkan's headers have version {found[1]}, and {version} is needed"
    return ""


def needs(obstacle: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test because of ``obstacle``, if there is one."""
    return pytest.mark.skipif(bool(obstacle), reason=f"this machine lacks what the test needs: {obstacle}")
