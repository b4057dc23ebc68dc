"""Answers Vulkan's property commands from a profile (Vulkan, "Cooperative Matrices")."""

from __future__ import annotations

from cts.devices.device import DeviceDescription, MatrixRow
from cts.devices.property_commands import INCOMPLETE, SUCCESS, PropertyAnswer, PropertyCall, fresh
from generators.types import COMPONENT_TYPES


def ask(description: DeviceDescription, call: PropertyCall) -> PropertyAnswer:
    """List as many of the profile's rows of exact sizes, or of granularities, as the caller has room for."""
    flexible = call.command == "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV"
    is_listed = not flexible or description.features.get("cooperativeMatrixFlexibleDimensions", False)
    rows = [row for row in description.rows if row.flexible is flexible and is_listed]
    if call.capacity is None:
        return PropertyAnswer(SUCCESS, len(rows))
    array = fresh(call)
    written = rows[: call.capacity]
    for place, row in zip(array, written, strict=False):
        for field, value in _members(row).items():
            place[field] = value
    return PropertyAnswer(SUCCESS if len(written) == len(rows) else INCOMPLETE, len(written), array.tobytes())


def _members(row: MatrixRow) -> dict[str, int]:
    types = {"AType": row.a, "BType": row.b, "CType": row.c, "ResultType": row.result}
    sizes = {"MSize": row.m, "NSize": row.n, "KSize": row.k}
    if row.flexible:
        sizes = {"MGranularity": row.m, "NGranularity": row.n, "KGranularity": row.k, "workgroupInvocations": row.invocations}
    flags = {"saturatingAccumulation": int(row.saturating), "scope": row.scope}
    return sizes | {field: COMPONENT_TYPES[name].vk for field, name in types.items()} | flags
