"""Writes one C file that asks a device for properties and judges a rule. It needs only a compiler and the Vulkan loader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from cts.devices.property_commands import COMMANDS, POISON, PropertyCommand
from cts.repro.feature_structures import FeatureStructure, structure_of
from cts.repro.program_files import template
from generators.errors import Lack, NotExpressible
from generators.property_query import PropertyQuery

_CAPACITIES: Mapping[str, str] = MappingProxyType(
    {"all": "available", "generous": "available + 2", "one_short": "available ? available - 1 : 0", "one": "1", "none": "0"}
)
"""For each rule, the capacity of the array as an expression of C, from the number of available structures."""

_SIZES = ("{}Size", "{}Granularity")
_SCOPE_SUBGROUP, _SCOPE_WORKGROUP = 3, 2


@dataclass(frozen=True)
class _Limits:
    """A structure of properties: its VkStructureType, and its members in order; all have 32 bits."""

    type: int
    members: tuple[str, ...]


_LIMITS = (
    _Limits(1000506002, ("cooperativeMatrixSupportedStages",)),
    _Limits(
        1000593002,
        (
            "cooperativeMatrixWorkgroupScopeMaxWorkgroupSize",
            "cooperativeMatrixFlexibleDimensionsMaxDimension",
            "cooperativeMatrixWorkgroupScopeReservedSharedMemory",
        ),
    ),
    _Limits(
        1000491001,
        (
            "cooperativeVectorSupportedStages",
            "cooperativeVectorTrainingFloat16Accumulation",
            "cooperativeVectorTrainingFloat32Accumulation",
            "maxCooperativeVectorComponents",
        ),
    ),
)

_LIMIT_RULES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "stages": ("cooperativeMatrixSupportedStages", "value == VK_SHADER_STAGE_COMPUTE_BIT"),
        "largest_workgroup": ("cooperativeMatrixWorkgroupScopeMaxWorkgroupSize", "value >= 2 * subgroups.subgroupSize"),
        "largest_dimension": ("cooperativeMatrixFlexibleDimensionsMaxDimension", "value >= 256"),
        "reserved_memory": (
            "cooperativeMatrixWorkgroupScopeReservedSharedMemory",
            "2ull * value <= properties.properties.limits.maxComputeSharedMemorySize",
        ),
        "vector_stages": ("cooperativeVectorSupportedStages", "value & VK_SHADER_STAGE_COMPUTE_BIT"),
        "vector_components": ("maxCooperativeVectorComponents", "value >= 128"),
    }
)
"""For each rule about a limit, the limit's name and the condition in C."""


def query_program(id_: str, query: PropertyQuery, words: str, feature: str, required: Sequence[Sequence[int]], about: Sequence[str]) -> str:
    """Return the program.

    Args:
        id_: the id of the case.
        query: the command and the rule.
        words: the demand of the rule, in words.
        feature: the feature on which the rule depends; empty if it always applies.
        required: combinations of component types that must be listed, for the rules about these.
        about: lines for the first comment.

    Raises:
        NotExpressible: the program does not know the rule.
    """
    command = COMMANDS[query.command]
    if query.info is not None:
        raise NotExpressible(
            Lack.PROGRAM_QUERY,
            "its command is called for one scope and subgroup size, and the C program calls only commands that list everything",
        )
    structures: dict[FeatureStructure, None] = {}

    def at(name: str) -> str:
        structure = structure_of(name, {command.extension})
        assert structure is not None, "it is a feature"
        structures.setdefault(structure)
        return f"features[{list(structures).index(structure)}].values[{structure.members.index(name)}]"

    needed = [{"name": name, "at": at(name)} for name in dict.fromkeys(filter(None, (command.asked_with, feature)))]
    each, any_of = _each(query.rule, command, at)
    known = bool(each) or query.rule in (*_CAPACITIES, *_LIMIT_RULES, "count", "repeated") or bool(required)
    if not known:
        raise NotExpressible(Lack.PROGRAM_QUERY, f"the C program does not know the rule {query.rule}")
    fields = [name for name in command.dtype.names or () if name not in ("sType", "pNext")]
    limit_name, limit = _LIMIT_RULES.get(query.rule, ("", ""))
    limits = next((one for one in _LIMITS if limit_name in one.members), None)
    feature_at = at(command.feature)
    return template("query.c.jinja").render(
        id=id_,
        words=words,
        about=about,
        rule=query.rule,
        command=query.command,
        structure=command.structure,
        structure_type=command.structure_type,
        extension=command.extension,
        feature=command.feature,
        feature_at=feature_at,
        lists_something=command.lists_something,
        fields=fields,
        poison=POISON,
        capacities=_CAPACITIES,
        describes=query.rule in _CAPACITIES or (bool(each) and not any_of),
        calls_command=query.rule not in _LIMIT_RULES,
        each=each,
        any_of=any_of,
        required=required,
        required_at=_required_at(fields, required),
        needed=needed,
        feature_structures=list(structures),
        limits_type=limits.type if limits else 0,
        limit=limit,
        limit_name=limit_name,
        limit_value=f"limits.values[{limits.members.index(limit_name)}]" if limits else "0",
    )


def _required_at(fields: Sequence[str], required: Sequence[Sequence[int]]) -> list[int]:
    """Return the numbers of the fields that required combinations name."""
    names = ("inputType", "inputInterpretation", "matrixInterpretation", "biasInterpretation", "resultType")
    found = [fields.index(name) for name in names if name in fields]
    return found if required else []


def _each(rule: str, command: PropertyCommand, at: Any) -> tuple[str, bool]:
    """Return the condition in C, and whether every structure or only one must meet it; empty if the rule is not about structures."""
    names = command.dtype.names or ()
    sizes = [name for name in names if name in {form.format(letter) for form in _SIZES for letter in "MNK"}]
    types = [name for name in names if name.endswith("Type") and name != "sType"]
    match rule:
        case "values":
            parts = [f"all[i].{name}" for name in sizes]
            parts += [f"may_be_a_type(all[i].{name})" for name in types]
            return " && ".join([*parts, "all[i].saturatingAccumulation <= 1"]), False
        case "power_of_two":
            return "(" + " && ".join(f"is_power_of_two(all[i].{name})" for name in sizes) + ")", True
        case "granularities":
            return " && ".join(f"is_power_of_two(all[i].{name})" for name in sizes), False
        case "scopes":
            workgroup = at("cooperativeMatrixWorkgroupScope")
            return f"all[i].scope == {_SCOPE_SUBGROUP} || (all[i].scope == {_SCOPE_WORKGROUP} && {workgroup})", False
        case "vector_values":
            kinds = [name for name in names if name not in ("sType", "pNext", "transpose")]
            packed = [f"all[i].{name} != 1000491000 && all[i].{name} != 1000491001" for name in kinds if name != "inputInterpretation"]
            return " && ".join([*(f"may_be_a_type(all[i].{name})" for name in kinds), *packed, "all[i].transpose <= 1"]), False
        case _:
            return "", False
