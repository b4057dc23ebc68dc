"""Finds the manifests of Vulkan drivers where the loader looks for them, so one driver can be loaded without the others."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

VARIABLE = "VK_DRIVER_FILES"
"""The environment variable that lists the files and folders with the only manifests that the loader reads."""

_FOLDER = Path("vulkan") / "icd.d"


def find(environment: Mapping[str, str]) -> list[Path]:
    """Return the manifests that the loader would read with these environment variables, each once, in its order.

    The variables and folders are from the loader's document "Driver interface to the Vulkan Loader" for Linux.
    """
    named = environment.get(VARIABLE) or environment.get("VK_ICD_FILENAMES")
    places = _split(named) if named else [*_split(environment.get("VK_ADD_DRIVER_FILES")), *_standard(environment)]
    found = dict.fromkeys(manifest for place in places for manifest in _manifests(place))
    return list(found)


def _standard(environment: Mapping[str, str]) -> Iterator[Path]:
    home = Path(environment.get("HOME") or "/nonexistent")
    yield Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / _FOLDER
    yield from (folder / _FOLDER for folder in _split(environment.get("XDG_CONFIG_DIRS") or "/etc/xdg"))
    yield Path("/etc") / _FOLDER
    yield Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share") / _FOLDER
    yield from (folder / _FOLDER for folder in _split(environment.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"))


def _split(paths: str | None) -> list[Path]:
    return [Path(path) for path in (paths or "").split(os.pathsep) if path]


def _manifests(place: Path) -> list[Path]:
    if place.is_dir():
        return sorted(place.glob("*.json"))
    return [place] if place.is_file() else []
