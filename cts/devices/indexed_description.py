"""Indexes the description of a device for the checks of kernels."""

from __future__ import annotations

from functools import lru_cache

from cts.devices.device import DeviceDescription, MatrixRow
from cts.devices.property_index import PropertyIndex

_UNLIMITED = 1 << 63
_SPIRV_OF_VULKAN = {"1.0": (1, 0), "1.1": (1, 3), "1.2": (1, 5)}


class _ByIdentity:
    """A cache key for a description: hashing its rows would be slow."""

    def __init__(self, description: DeviceDescription) -> None:
        self.description = description

    def __hash__(self) -> int:
        return id(self.description)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and self.description is other.description


class IndexedDescription:
    """A description of a device, with its rows indexed by type and by size.

    Attributes:
        description: the whole description.
        features: names of the supported features.
        extensions: names of the supported extensions; None if the device does not list them.
        spirv_version: the newest SPIR-V version that its Vulkan version accepts.
    """

    def __init__(self, description: DeviceDescription) -> None:
        self.description = description
        self.features = {name for name, supported in description.features.items() if supported}
        self._indices: dict[tuple[int, int] | None, PropertyIndex] = {}
        self._has_sized_rows = any(row.subgroup_size is not None for row in description.rows)
        listed = description.extra.get("extensions")
        self.extensions: frozenset[str] | None = None if listed is None else frozenset(listed)
        self.spirv_version = _SPIRV_OF_VULKAN.get(".".join(description.api_version.split(".")[:2]), (1, 6))

    @property
    def rows(self) -> PropertyIndex:
        """The rows from the commands that do not take a subgroup size."""
        return self._index(None)

    def rows_of(self, subgroup_size: int, invocations: int) -> PropertyIndex:
        """Return ``rows`` and the rows from vkGetPhysicalDeviceCooperativeMatrixProperties2EXT for a subgroup size (0: it varies) and a
        number of invocations in the workgroup."""
        return self._index((subgroup_size, invocations))

    def _index(self, asked: tuple[int, int] | None) -> PropertyIndex:
        if asked is not None and not self._has_sized_rows:
            asked = None
        if asked not in self._indices:
            rows = [row for row in self.description.rows if row.subgroup_size is None or _is_listed(row, asked)]
            flexible = "cooperativeMatrixFlexibleDimensions" in self.features
            largest = self.limit("cooperativeMatrixFlexibleDimensionsMaxDimension") if flexible else _UNLIMITED
            self._indices[asked] = PropertyIndex(rows, largest)
        return self._indices[asked]

    def limit(self, name: str) -> int:
        """Return the limit with a Vulkan name; a huge number if the device does not state it."""
        return self.description.limits.get(name, _UNLIMITED)


def _is_listed(row: MatrixRow, asked: tuple[int, int] | None) -> bool:
    """Return whether a query with a subgroup size and a number of invocations lists a row."""
    return asked is not None and row.subgroup_size == asked[0] and row.invocations in (0, asked[1])


@lru_cache(maxsize=8)
def _indexed(key: _ByIdentity) -> IndexedDescription:
    return IndexedDescription(key.description)


def indexed(description: DeviceDescription) -> IndexedDescription:
    """Return an indexed description; always the same object for the same description."""
    return _indexed(_ByIdentity(description))
