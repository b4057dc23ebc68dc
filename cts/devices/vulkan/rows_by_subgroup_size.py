"""Queries the property rows that only vkGetPhysicalDeviceCooperativeMatrixProperties2EXT lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from cts.devices.device import DeviceDescription, DriverRefused, MatrixRow
from cts.devices.property_commands import INCOMPLETE, SATURATING, AskedFor, PropertyAnswer, PropertyCall, workgroup_invocations
from cts.devices.vulkan.api import check
from generators.types import COMPONENT_TYPES, Scope

_COMMAND = "vkGetPhysicalDeviceCooperativeMatrixProperties2EXT"
_NAMES = {component.vk: name for name, component in COMPONENT_TYPES.items()}

Ask = Callable[[PropertyCall], PropertyAnswer]


def rows_by_subgroup_size(ask: Ask, description: DeviceDescription) -> tuple[MatrixRow, ...]:
    """Return the rows that the command lists for each subgroup size but the description lacks.

    Query each size that a pipeline may require, and 0; for matrices of a workgroup, each with every number of invocations. Query nothing if
    the device lacks the feature. With flexible dimensions the sizes of the rows are granularities
    (VUID-RuntimeSpirv-cooperativeMatrixFlexibleDimensions-10165).

    Args:
        ask: calls a property command.
        description: the device's description, with the rows of the other commands.

    Raises:
        DeviceFailure: a call fails, or returns an impossible answer.
    """
    if not description.features.get("cooperativeMatrixProperties2"):
        return ()
    flexible = description.features.get("cooperativeMatrixFlexibleDimensions", False)
    found: dict[MatrixRow, None] = {}
    for scope, invocations, subgroup_size in _questions(description):
        for saturating in (False, True):
            info = AskedFor(int(scope), invocations, subgroup_size, SATURATING if saturating else 0)
            for m, n, k, a, b, c, result in _listed(ask, info):
                row = MatrixRow(m, n, k, a, b, c, result, saturating, int(scope), flexible, invocations)
                if row not in description.rows:
                    found[replace(row, subgroup_size=subgroup_size)] = None
    return tuple(found)


def _questions(description: DeviceDescription) -> Iterator[tuple[Scope, int, int]]:
    """Yield scope, invocations and subgroup size of each query."""
    for subgroup_size in (0, *_sizes(description)):
        yield Scope.SUBGROUP, 0, subgroup_size
        if description.features.get("cooperativeMatrixWorkgroupScope"):
            for invocations in workgroup_invocations(description):
                # VUID-VkPhysicalDeviceCooperativeMatrixInfo2EXT-subgroupSize-13379
                if invocations >= subgroup_size:
                    yield Scope.WORKGROUP, invocations, subgroup_size


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
