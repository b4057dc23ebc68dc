"""decode_vector_features: the other features of a device with vector decode functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from generators.parameters.declaration import parameter
from generators.property_query import PropertyQuery


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of a case."""

    rule: Literal["decode_blocks"] = parameter("the rule that the device's features keep")


PREDICATES: Mapping[str, Callable[[Parameters], bool]] = MappingProxyType({})


def query(parameters: Parameters) -> PropertyQuery:
    """Return the query of a case. The extension has no command: the device reports features before any command is called."""
    return PropertyQuery("vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV", parameters.rule)
