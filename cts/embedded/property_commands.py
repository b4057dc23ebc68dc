"""Answers Vulkan's property commands from a profile (Vulkan, "Cooperative Matrices" and "Cooperative Vectors")."""

from __future__ import annotations

from cts.devices.device import DeviceDescription, MatrixRow, VectorRow
from cts.devices.property_commands import INCOMPLETE, SATURATING, SUCCESS, AskedFor, PropertyAnswer, PropertyCall, fresh
from generators.types import COMPONENT_TYPES, INTERPRETATIONS


def ask(description: DeviceDescription, call: PropertyCall) -> PropertyAnswer:
    """List as many of the profile's rows as fit in the caller's array: exact sizes, granularities, or cooperative vectors."""
    rows = _rows(description, call.command) if call.info is None else _asked_for(description, call.info)
    if call.capacity is None:
        return PropertyAnswer(SUCCESS, len(rows))
    array = fresh(call)
    written = rows[: call.capacity]
    for place, members in zip(array, written, strict=False):
        for field, value in members.items():
            place[field] = value
    return PropertyAnswer(SUCCESS if len(written) == len(rows) else INCOMPLETE, len(written), array.tobytes())


def _rows(description: DeviceDescription, command: str) -> list[dict[str, int]]:
    if command == "vkGetPhysicalDeviceCooperativeVectorPropertiesNV":
        return [_vector_members(row) for row in description.vector_rows]
    flexible = command == "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV"
    is_listed = not flexible or description.features.get("cooperativeMatrixFlexibleDimensions", False)
    return [_members(row) for row in description.rows if row.flexible is flexible and is_listed and row.subgroup_size is None]


def _asked_for(description: DeviceDescription, info: AskedFor) -> list[dict[str, int]]:
    """Return the members of each VkCooperativeMatrixProperties2EXT: exact sizes, or granularities if flexible dimensions are supported,
    for then any multiple of a listed size is.

    Rows of the other commands are listed for every subgroup size, other rows only for their own."""
    if not description.features.get("cooperativeMatrixProperties2"):
        return []
    flexible = description.features.get("cooperativeMatrixFlexibleDimensions", False)
    found = []
    for row in description.rows:
        fits = row.scope == info.scope and row.invocations in (0, info.invocations) and row.saturating is bool(info.flags & SATURATING)
        fits = fits and row.subgroup_size in (None, info.subgroup_size)
        if fits and row.flexible is flexible:
            found.append(_sizes_and_types(row, "Granularity"))
    return found


def _members(row: MatrixRow) -> dict[str, int]:
    flags = {"saturatingAccumulation": int(row.saturating), "scope": row.scope}
    if row.flexible:
        return _sizes_and_types(row, "Granularity") | flags | {"workgroupInvocations": row.invocations}
    return _sizes_and_types(row, "Size") | flags


def _sizes_and_types(row: MatrixRow, unit: str) -> dict[str, int]:
    types = {"AType": row.a, "BType": row.b, "CType": row.c, "ResultType": row.result}
    return {f"M{unit}": row.m, f"N{unit}": row.n, f"K{unit}": row.k} | {field: COMPONENT_TYPES[name].vk for field, name in types.items()}


def _vector_members(row: VectorRow) -> dict[str, int]:
    fields = "inputType", "inputInterpretation", "matrixInterpretation", "biasInterpretation", "resultType"
    types = {field: INTERPRETATIONS[name].vk for field, name in zip(fields, row.types, strict=True)}
    return types | {"transpose": int(row.transpose)}
