"""Profiles: descriptions that let the embedded device stand in for other devices."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from cts.devices.capabilities import STATED_FEATURES
from cts.devices.device import DeviceDescription, DeviceError, MatrixRow, VectorRow
from cts.printable import quoted
from generators.document import Element, read_document
from generators.errors import CasebookError
from generators.types import COMPONENT_TYPES, INTERPRETATIONS, Scope

PROFILES = Path(__file__).parent / "profiles"

_SCOPES = {"subgroup": int(Scope.SUBGROUP), "workgroup": int(Scope.WORKGROUP)}
_REQUIRED = ("name", "driver", "api_version", "subgroup_size", "max_workgroup_invocations", "max_shared_memory", "features", "rows")
_OPTIONAL = ("limits", "extensions", "vector_rows")
_ROW_KEYS = ("scopes", "types", "a", "b", "c", "result", "saturating", "flexible", "invocations", "subgroup_sizes")

_MOST_SUBGROUP = 128
_MOST_INVOCATIONS = 1 << 16
_MOST_SHARED_MEMORY = 1 << 30
_MOST_LIMIT = 1 << 64
_MOST_SIZE = 1 << 16
_DIGITS = 6
_OPERANDS = ("a", "b", "c", "result")
_VECTOR_TYPES = 5
_MOST_ROWS = 100_000
"""The most rows of a profile. Real devices have some dozens, but an entry is a product of lists and grows fast."""


@dataclass(frozen=True)
class Profile:
    """A device that the embedded device stands in for.

    Attributes:
        name, driver, api_version, subgroup_size, max_workgroup_invocations, max_shared_memory, limits, rows, vector_rows: see
            DeviceDescription.
        features: names of the supported features.
        extensions: names of the supported Vulkan extensions; None for all.
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
    vector_rows: tuple[VectorRow, ...] = ()

    @property
    def description(self) -> DeviceDescription:
        """The description of the device."""
        return DeviceDescription(
            name=self.name,
            driver=self.driver,
            uuid="",
            kind="embedded",
            api_version=self.api_version,
            subgroup_size=self.subgroup_size,
            max_workgroup_invocations=self.max_workgroup_invocations,
            max_shared_memory=self.max_shared_memory,
            features={name: name in self.features for name in sorted(STATED_FEATURES | self.features)},
            limits=dict(self.limits),
            rows=self.rows,
            vector_rows=self.vector_rows,
            extra={} if self.extensions is None else {"extensions": list(self.extensions)},
        )


class UnknownProfile(DeviceError):
    """No profile has the requested name.

    Attributes:
        known: names of profiles.
    """

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__(f"no profile {quoted(name)} of the embedded device; give one of {', '.join(known)}, or a path to a YAML file")
        self.known = known


class ProfileError(DeviceError):
    """The YAML file of a profile is malformed."""


@cache
def load_profile(name_or_path: str) -> Profile:
    """Return the profile with a name (a file in cts/embedded/profiles) or from the path of a YAML file.

    Raises:
        UnknownProfile: there is no such profile.
        ProfileError: the file is malformed.
    """
    path = Path(name_or_path)
    if not path.suffix:
        path = PROFILES / f"{name_or_path}.yaml"
    if not path.exists():
        raise UnknownProfile(name_or_path, tuple(sorted(p.stem for p in PROFILES.glob("*.yaml"))))
    try:
        return _profile(read_document(path))
    except CasebookError as error:
        raise ProfileError(str(error)) from None


def _profile(document: Element) -> Profile:
    keys = document.fields(_REQUIRED, _OPTIONAL)
    size = keys["subgroup_size"].integer(1, _MOST_SUBGROUP)
    if size & (size - 1):
        raise keys["subgroup_size"].error(f"{size} is not a power of two from 1 to {_MOST_SUBGROUP}")
    rows: dict[MatrixRow, None] = {}
    for entry in keys["rows"].items("rows"):
        rows |= dict.fromkeys(_rows(entry))
        if len(rows) > _MOST_ROWS:
            raise entry.error(f"the profile has more than {_MOST_ROWS:,} rows")
    vector_rows: dict[VectorRow, None] = {}
    for entry in keys["vector_rows"].items("rows") if "vector_rows" in keys else ():
        vector_rows |= dict.fromkeys(_vector_rows(entry))
    limits = keys["limits"].entries("a mapping from limit to number") if "limits" in keys else {}
    return Profile(
        name=keys["name"].text(),
        driver=keys["driver"].text(),
        api_version=keys["api_version"].text(),
        subgroup_size=size,
        max_workgroup_invocations=keys["max_workgroup_invocations"].integer(1, _MOST_INVOCATIONS),
        max_shared_memory=keys["max_shared_memory"].integer(0, _MOST_SHARED_MEMORY),
        features=frozenset(feature.text("the name of a feature") for feature in keys["features"].items("features")),
        rows=tuple(rows),
        limits={name: value.integer(0, _MOST_LIMIT) for name, value in limits.items()},
        extensions=tuple(name.text() for name in keys["extensions"].items("extensions")) if "extensions" in keys else None,
        vector_rows=tuple(vector_rows),
    )


def _rows(entry: Element) -> list[MatrixRow]:
    """Return the rows of an entry: the product of its lists."""
    keys = entry.fields(("sizes",), _ROW_KEYS)
    flexible = keys["flexible"].flag() if "flexible" in keys else False
    asked: list[int | None] = [None]
    if "subgroup_sizes" in keys:
        asked = [size.integer(0, _MOST_SUBGROUP) for size in keys["subgroup_sizes"].items("subgroup sizes")]
    saturating = [flag.flag() for flag in keys["saturating"].items("true and false")] if "saturating" in keys else [False]
    parts = [_size(size) for size in keys["sizes"].items("sizes")], _types(entry, keys), saturating, _places(keys), asked
    if math.prod(len(part) for part in parts) > _MOST_ROWS:
        raise entry.error(f"the lists make more than {_MOST_ROWS:,} rows")
    return [
        MatrixRow(*size, *types, saturates, scope, flexible, invocations, subgroup_size)
        for size, types, saturates, (scope, invocations), subgroup_size in itertools.product(*parts)
    ]


def _size(element: Element) -> tuple[int, int, int]:
    parts = element.text("a size like 16x16x16").split("x")
    sizes = [int(part) for part in parts if part.isdecimal() and len(part) < _DIGITS]
    if len(parts) != 3 or len(sizes) != 3 or not all(1 <= size <= _MOST_SIZE for size in sizes):
        raise element.error(f"size {quoted(element.text())} must be MxNxK, for example 16x16x16")
    m, n, k = sizes
    return m, n, k


def _places(keys: Mapping[str, Element]) -> list[tuple[int, int]]:
    """Return (scope, invocations) pairs; the invocations of a workgroup-scope row may be 0 for any."""
    if "scopes" not in keys:
        return [(_SCOPES["subgroup"], 0)]
    invocations = [count.integer(0, _MOST_INVOCATIONS) for count in keys["invocations"].items("counts")] if "invocations" in keys else [0]
    places = []
    for element in keys["scopes"].items("scopes"):
        name = element.text("a scope")
        if name not in _SCOPES:
            raise element.error(f"unknown scope {quoted(name)}; one of {', '.join(_SCOPES)}")
        places += [(_SCOPES[name], count) for count in (invocations if name == "workgroup" else [0])]
    return places


def _types(entry: Element, keys: Mapping[str, Element]) -> list[tuple[str, str, str, str]]:
    """Return the component types of A, B, C and Result: the list ``types``, or the product of four lists."""
    if "types" in keys:
        return [_combination(element) for element in keys["types"].items("types like f16.f16.f32.f32")]
    for key in _OPERANDS:
        if key not in keys:
            raise entry.error(f"give 'types' (A.B.C.Result), or lists a, b, c and result; '{key}' is missing")
    lists = [[_component(element, element.text("a type")) for element in keys[key].items("types")] for key in _OPERANDS]
    if math.prod(map(len, lists)) > _MOST_ROWS:
        raise entry.error(f"the lists make more than {_MOST_ROWS:,} rows")
    return [(a, b, c, result) for a, b, c, result in itertools.product(*lists)]


def _vector_rows(entry: Element) -> list[VectorRow]:
    """Return the rows of an entry. Each type is Input.InputInterpretation.MatrixInterpretation.BiasInterpretation.Result."""
    keys = entry.fields(("types",), ("transpose",))
    transpose = keys["transpose"].flag() if "transpose" in keys else False
    rows = []
    for element in keys["types"].items("types like f16.f16.f16.f16.f16"):
        names = element.text("types like f16.f16.f16.f16.f16").split(".")
        if len(names) != _VECTOR_TYPES:
            raise element.error(f"types {quoted(element.text())} must be five: Input, its interpretation, matrix, bias, Result")
        input_, as_, matrix, bias, result = names
        for name in names:
            if name not in INTERPRETATIONS or (INTERPRETATIONS[name].packed and name != as_):
                raise element.error(f"{quoted(name)} is not a component type there; one of {', '.join(INTERPRETATIONS)}")
        rows.append(VectorRow(input_, as_, matrix, bias, result, transpose))
    return rows


def _combination(element: Element) -> tuple[str, str, str, str]:
    names = element.text("types like f16.f16.f32.f32").split(".")
    if len(names) != len(_OPERANDS):
        raise element.error(f"types {quoted(element.text())} must be four: A.B.C.Result")
    a, b, c, result = (_component(element, name) for name in names)
    return a, b, c, result


def _component(element: Element, name: str) -> str:
    if name not in COMPONENT_TYPES:
        raise element.error(f"unknown component type {quoted(name)}; one of {', '.join(COMPONENT_TYPES)}")
    return name
