"""Profiles: what the embedded device says of itself, so that it can stand in for any device."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from cts.devices.device import DeviceDescription, DeviceError, MatrixRow
from generators.types import COMPONENT_TYPES, Scope

PROFILES = Path(__file__).parent / "profiles"

_SCOPES = {"subgroup": int(Scope.SUBGROUP), "workgroup": int(Scope.WORKGROUP)}
_KEYS: Mapping[str, tuple[type, bool]] = {
    "name": (str, True),
    "driver": (str, True),
    "api_version": (str, True),
    "subgroup_size": (int, True),
    "max_workgroup_invocations": (int, True),
    "max_shared_memory": (int, True),
    "features": (list, True),
    "limits": (dict, False),
    "extensions": (list, False),
    "rows": (list, True),
}
"""By key of a profile: its type, and whether it must be there."""

_ROW_KEYS = frozenset({"sizes", "scopes", "types", "a", "b", "c", "result", "saturating", "flexible", "invocations"})


@dataclass(frozen=True)
class Profile:
    """A device to stand in for.

    Attributes:
        name, driver, api_version, subgroup_size, max_workgroup_invocations, max_shared_memory, limits, rows: see DeviceDescription.
        features: names of the features that it has.
        extensions: names of the Vulkan extensions that it has; None for all.
    """

    name: str
    driver: str
    api_version: str
    subgroup_size: int
    max_workgroup_invocations: int
    max_shared_memory: int
    features: frozenset[str]
    rows: tuple[MatrixRow, ...]
    limits: Mapping[str, int] = field(default_factory=dict)
    extensions: tuple[str, ...] | None = None

    @property
    def description(self) -> DeviceDescription:
        """What the device says of itself."""
        return DeviceDescription(
            name=self.name,
            driver=self.driver,
            uuid="",
            kind="embedded",
            api_version=self.api_version,
            subgroup_size=self.subgroup_size,
            max_workgroup_invocations=self.max_workgroup_invocations,
            max_shared_memory=self.max_shared_memory,
            features=dict.fromkeys(sorted(self.features), True),
            limits=dict(self.limits),
            rows=self.rows,
            extra={} if self.extensions is None else {"extensions": list(self.extensions)},
        )


@cache
def load_profile(name_or_path: str) -> Profile:
    """The profile of a name (one of cts/devices/embedded/profiles) or of a YAML file.

    Raises:
        DeviceError: no such profile, or it says something that a profile cannot.
    """
    path = Path(name_or_path)
    if not path.suffix:
        path = PROFILES / f"{name_or_path}.yaml"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        known = ", ".join(sorted(p.stem for p in PROFILES.glob("*.yaml")))
        raise DeviceError(f"no profile '{name_or_path}' of the embedded device; give one of {known}, or a path to a YAML file") from None
    try:
        data = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise DeviceError(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    return _profile(str(path), data)


def _profile(source: str, data: Any) -> Profile:
    if not isinstance(data, dict):
        raise DeviceError(f"{source}: a profile is a mapping with the keys {', '.join(_KEYS)}")
    for key in data:
        if key not in _KEYS:
            raise DeviceError(f"{source}: unknown key '{key}'; a profile has {', '.join(_KEYS)}")
    for key, (type_, needed) in _KEYS.items():
        if needed and key not in data:
            raise DeviceError(f"{source}: the key '{key}' is missing")
        if key in data and (not isinstance(data[key], type_) or isinstance(data[key], bool)):
            raise DeviceError(f"{source}: '{key}' must be a {type_.__name__}, not {data[key]!r}")
    size = data["subgroup_size"]
    if size < 1 or size > 128 or size & (size - 1):
        raise DeviceError(f"{source}: subgroup_size {size} is not a power of two from 1 to 128")
    for name, value in data.get("limits", {}).items():
        if not isinstance(value, int):
            raise DeviceError(f"{source}: limit {name} must be an integer, not {value!r}")
    rows = tuple(row for number, entry in enumerate(data["rows"]) for row in _rows(f"{source}: rows[{number}]", entry))
    return Profile(
        name=data["name"],
        driver=data["driver"],
        api_version=data["api_version"],
        subgroup_size=size,
        max_workgroup_invocations=data["max_workgroup_invocations"],
        max_shared_memory=data["max_shared_memory"],
        features=frozenset(data["features"]),
        rows=tuple(dict.fromkeys(rows)),
        limits=dict(data.get("limits", {})),
        extensions=tuple(data["extensions"]) if "extensions" in data else None,
    )


def _rows(where: str, entry: Any) -> list[MatrixRow]:
    """The rows of an entry: the product of its lists."""
    if not isinstance(entry, dict):
        raise DeviceError(f"{where}: expected a mapping with sizes, scopes and types")
    for key in entry:
        if key not in _ROW_KEYS:
            raise DeviceError(f"{where}: unknown key '{key}'; an entry of rows has {', '.join(sorted(_ROW_KEYS))}")
    if "sizes" not in entry:
        raise DeviceError(f"{where}: the key 'sizes' is missing")
    return [
        MatrixRow(*size, *types, saturating, scope, bool(entry.get("flexible", False)), invocations)
        for size, types, saturating, (scope, invocations) in itertools.product(
            [_size(where, size) for size in entry["sizes"]],
            _types(where, entry),
            _flags(where, entry.get("saturating", [False])),
            _places(where, entry),
        )
    ]


def _size(where: str, text: Any) -> tuple[int, int, int]:
    parts = str(text).split("x")
    if len(parts) != 3 or not all(part.isdecimal() and int(part) for part in parts):
        raise DeviceError(f"{where}: size '{text}' must be MxNxK, for example 16x16x16")
    m, n, k = map(int, parts)
    return m, n, k


def _flags(where: str, flags: Any) -> list[bool]:
    if not isinstance(flags, list) or not all(isinstance(flag, bool) for flag in flags):
        raise DeviceError(f"{where}: saturating must be a list of true and false, not {flags!r}")
    return flags


def _places(where: str, entry: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Scopes, and for each at workgroup scope the invocations (0 for any)."""
    places = []
    for name in entry.get("scopes", ["subgroup"]):
        if name not in _SCOPES:
            raise DeviceError(f"{where}: unknown scope '{name}'; one of {', '.join(_SCOPES)}")
        counts = entry.get("invocations", [0]) if name == "workgroup" else [0]
        places += [(_SCOPES[name], count) for count in counts]
    return places


def _types(where: str, entry: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """Component types of A, B, C and Result: those listed, or the product of the four lists."""
    if "types" in entry:
        combinations: list[Sequence[str]] = [str(text).split(".") for text in entry["types"]]
    else:
        for key in "a", "b", "c", "result":
            if key not in entry:
                raise DeviceError(f"{where}: give 'types' (A.B.C.Result), or lists a, b, c and result; '{key}' is missing")
        combinations = list(itertools.product(entry["a"], entry["b"], entry["c"], entry["result"]))
    result = []
    for combination in combinations:
        if len(combination) != 4:
            raise DeviceError(f"{where}: types '{'.'.join(combination)}' must be four: A.B.C.Result")
        for name in combination:
            if name not in COMPONENT_TYPES:
                raise DeviceError(f"{where}: unknown component type '{name}'; one of {', '.join(COMPONENT_TYPES)}")
        a, b, c, d = combination
        result.append((a, b, c, d))
    return result
