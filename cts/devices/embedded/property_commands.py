"""Answers Vulkan's property commands from a profile (Vulkan, "Cooperative Matrices" and "Cooperative Vectors")."""

from __future__ import annotations

from cts.devices.device import DeviceDescription, MatrixRow, VectorRow
from cts.devices.property_commands import INCOMPLETE, SUCCESS, PropertyAnswer, PropertyCall, fresh
from generators.types import COMPONENT_TYPES, INTERPRETATIONS


def ask(description: DeviceDescription, call: PropertyCall) -> PropertyAnswer:
    """List as many of the profile's rows as the caller has room for: rows of exact sizes, or of cooperative vectors."""
    rows = _rows(description, call.command)
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
    return [_members(row) for row in description.rows if not row.flexible]


def _members(row: MatrixRow) -> dict[str, int]:
    types = {"AType": row.a, "BType": row.b, "CType": row.c, "ResultType": row.result}
    sizes = {"MSize": row.m, "NSize": row.n, "KSize": row.k}
    flags = {"saturatingAccumulation": int(row.saturating), "scope": row.scope}
    return sizes | {field: COMPONENT_TYPES[name].vk for field, name in types.items()} | flags


def _vector_members(row: VectorRow) -> dict[str, int]:
    fields = "inputType", "inputInterpretation", "matrixInterpretation", "biasInterpretation", "resultType"
    types = {field: INTERPRETATIONS[name].vk for field, name in zip(fields, row.types, strict=True)}
    return types | {"transpose": int(row.transpose)}
