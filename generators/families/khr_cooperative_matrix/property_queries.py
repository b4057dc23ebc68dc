"""property_queries: the rules of the commands that list what a device supports.

Axis values are those of cases/khr_cooperative_matrix/property_queries.yaml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import get_args

from generators.parameters.vocabulary import TakenValues, Values
from generators.property_query import Command, PropertyQuery, Rule

_COMMANDS: Mapping[str, Command] = MappingProxyType({"matrix": "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"})

PREDICATES: Mapping[str, Callable[[Values], bool]] = MappingProxyType({})

AXES: TakenValues = {"command": _COMMANDS.keys(), "rule": get_args(Rule)}


def query(values: Values) -> PropertyQuery:
    """The query of a case."""
    return PropertyQuery(_COMMANDS[values["command"]], values["rule"])
