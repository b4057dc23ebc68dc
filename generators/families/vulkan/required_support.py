"""required_support: what Vulkan requires of every implementation, and each extension of one that advertises it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from generators.parameters.declaration import parameter
from generators.property_query import PropertyQuery, Rule


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of a case."""

    rule: Rule = parameter("the rule that the device's limits, features or extensions keep")


PREDICATES: Mapping[str, Callable[[Parameters], bool]] = MappingProxyType({})


def query(parameters: Parameters) -> PropertyQuery:
    """Return the query of a case. The rules are about the device's description of itself: no property command is called."""
    return PropertyQuery("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR", parameters.rule)
