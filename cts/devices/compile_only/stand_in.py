"""Builds the library that stands in for the kernel drivers of Intel GPUs, since no distribution has one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from cts.devices.compile_only.library import built_library

SOURCES = Path(__file__).with_name("intel_stand_in")
HEADERS = MappingProxyType(
    {"drm.h": "struct drm_version", "i915_drm.h": "struct drm_i915_query", "xe_drm.h": "struct drm_xe_query_uc_fw_version"}
)
"""The kernel's headers that the sources include, in the folder drm, with a type that each of them has since Linux 6.8."""


def built_stand_in(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the library, built on first use; see ``built_library``."""
    return built_library("intel_stand_in", sorted(SOURCES.glob("*.[ch]")), HEADERS, environment)
