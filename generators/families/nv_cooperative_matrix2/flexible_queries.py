"""flexible_queries: the rules of the command that lists flexible dimensions, and of that extension's limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from generators.parameters.declaration import parameter
from generators.property_query import Command, PropertyQuery, Rule

_COMMANDS: Mapping[str, Command] = MappingProxyType({"flexible": "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV"})


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of a case."""

    command: Command = parameter("the property command", default="flexible", labels=_COMMANDS)
    rule: Rule = parameter("the rule that the answers keep")


PREDICATES: Mapping[str, Callable[[Parameters], bool]] = MappingProxyType({})


def query(parameters: Parameters) -> PropertyQuery:
    """Return the query of a case."""
    return PropertyQuery(parameters.command, parameters.rule)
