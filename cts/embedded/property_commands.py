"""Answers Vulkan's property commands from a profile (Vulkan, "Cooperative Matrices" and "Cooperative Vectors")."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from cts.devices.device import DeviceDescription, MatrixRow, VectorRow
from cts.devices.property_commands import INCOMPLETE, SATURATING, SUCCESS, AskedFor, PropertyAnswer, PropertyCall, fresh
from generators.types import COMPONENT_TYPES, INTERPRETATIONS


def ask(description: DeviceDescription, call: PropertyCall) -> PropertyAnswer:
    """List as many of the profile's rows as fit in the caller's array: exact sizes, granularities, or cooperative vectors."""
    rows, members_of = _rows(description, call.command) if call.info is None else _asked_for(description, call.info)
    if call.capacity is None:
        return PropertyAnswer(SUCCESS, len(rows))
    array = fresh(call)
    written = [members_of(row) for row in rows[: call.capacity]]
    # All rows of a command have the same members.
    for field in written[0] if written else ():
        array[field][: len(written)] = [members[field] for members in written]
    return PropertyAnswer(SUCCESS if len(written) == len(rows) else INCOMPLETE, len(written), array.tobytes())


Listed = tuple[Sequence[Any], Callable[[Any], dict[str, int]]]
"""Rows that a command lists, and the function that returns the members of the structure for a row."""


def _rows(description: DeviceDescription, command: str) -> Listed:
    if command == "vkGetPhysicalDeviceCooperativeVectorPropertiesNV":
        return description.vector_rows, _vector_members
    flexible = command == "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV"
    is_listed = not flexible or description.features.get("cooperativeMatrixFlexibleDimensions", False)
    return [row for row in description.rows if row.flexible is flexible and is_listed and row.subgroup_size is None], _members


def _asked_for(description: DeviceDescription, info: AskedFor) -> Listed:
    """Return the rows that VkCooperativeMatrixProperties2EXT structures describe: exact sizes, or granularities if flexible dimensions are
    supported, for then any multiple of a listed size is.

    Rows of the other commands are listed for every subgroup size, other rows only for their own."""
    found = []
    flexible = description.features.get("cooperativeMatrixFlexibleDimensions", False)
    for row in description.rows if description.features.get("cooperativeMatrixProperties2") else ():
        fits = row.scope == info.scope and row.invocations in (0, info.invocations) and row.saturating is bool(info.flags & SATURATING)
        fits = fits and row.subgroup_size in (None, info.subgroup_size)
        if fits and row.flexible is flexible:
            found.append(row)
    return found, partial(_sizes_and_types, unit="Granularity")


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
