"""vector_property_queries: the rules of the command and the limits that describe a device's support for cooperative vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from generators.parameters.declaration import parameter
from generators.property_query import PropertyQuery, Rule

_RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "values": "vector_values",
        "required": "vector_required",
        "stages": "vector_stages",
        "components": "vector_components",
        "count": "count",
        "all": "all",
        "generous": "generous",
        "one_short": "one_short",
        "one": "one",
        "none": "none",
        "repeated": "repeated",
    }
)


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of a case."""

    rule: Rule = parameter("the rule that the answers keep", labels=_RULES)


PREDICATES: Mapping[str, Callable[[Parameters], bool]] = MappingProxyType({})


def query(parameters: Parameters) -> PropertyQuery:
    """Return the query of a case."""
    return PropertyQuery("vkGetPhysicalDeviceCooperativeVectorPropertiesNV", parameters.rule)
