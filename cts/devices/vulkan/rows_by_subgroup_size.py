"""Queries the property rows that only vkGetPhysicalDeviceCooperativeMatrixProperties2EXT lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cts.devices.capabilities import enabled_features
from cts.devices.device import DeviceDescription, DriverRefused, MatrixRow
from cts.devices.property_commands import INCOMPLETE, SATURATING, AskedFor, PropertyAnswer, PropertyCall
from cts.devices.vulkan.api import check
from generators.types import COMPONENT_TYPES, Scope

_COMMAND = "vkGetPhysicalDeviceCooperativeMatrixProperties2EXT"
_FEATURE = "cooperativeMatrixProperties2"
_NAMES = {component.vk: name for name, component in COMPONENT_TYPES.items()}

Ask = Callable[[PropertyCall], PropertyAnswer]


def rows_by_subgroup_size(ask: Ask, description: DeviceDescription) -> tuple[MatrixRow, ...]:
    """Return the rows at subgroup scope that the command lists for each subgroup size but the description lacks.

    Query each size that a pipeline may require, and 0. Query nothing if the suite does not enable the feature on the device.

    Args:
        ask: calls a property command.
        description: the device's description, with the rows of the other commands.

    Raises:
        DeviceFailure: a call fails, or returns an impossible answer.
    """
    if not description.features.get(_FEATURE) or _FEATURE not in enabled_features(description.features):
        return ()
    found: dict[MatrixRow, None] = {}
    for subgroup_size in (0, *_sizes(description)):
        for saturating in (False, True):
            info = AskedFor(int(Scope.SUBGROUP), 0, subgroup_size, SATURATING if saturating else 0)
            for m, n, k, a, b, c, result in _listed(ask, info):
                row = MatrixRow(m, n, k, a, b, c, result, saturating, int(Scope.SUBGROUP))
                if row not in description.rows:
                    found[MatrixRow(m, n, k, a, b, c, result, saturating, int(Scope.SUBGROUP), subgroup_size=subgroup_size)] = None
    return tuple(found)


def _sizes(description: DeviceDescription) -> Iterator[int]:
    """Yield the subgroup sizes that a query may have (VUIDs 13374 to 13377 of VkPhysicalDeviceCooperativeMatrixInfo2EXT)."""
    own, limits = description.subgroup_size, description.limits
    size, most = own, own
    if description.features.get("subgroupSizeControl"):
        size, most = limits.get("minSubgroupSize", own), limits.get("maxSubgroupSize", own)
    while 0 < size <= most:
        yield size
        size *= 2


def _listed(ask: Ask, info: AskedFor) -> Iterator[tuple[int, int, int, str, str, str, str]]:
    """Yield the sizes (M, N, K) and component types (A, B, C, Result) of each row that the command lists."""
    available = ask(PropertyCall(_COMMAND, info=info))
    check(_COMMAND, available.result)
    answer = ask(PropertyCall(_COMMAND, available.count, available.count, info))
    check(_COMMAND, answer.result, INCOMPLETE)
    if answer.count > available.count:
        raise DriverRefused(f"{_COMMAND} claims to have written {answer.count:,} entries to an array of {available.count:,}", call=_COMMAND)
    for entry in answer.structures(_COMMAND)[: answer.count]:
        m, n, k = (int(entry[f"{name}Granularity"]) for name in "MNK")
        a, b, c, result = (_name(int(entry[f"{name}Type"])) for name in ("A", "B", "C", "Result"))
        yield m, n, k, a, b, c, result


def _name(vk: int) -> str:
    return _NAMES.get(vk, f"component type {vk}")
