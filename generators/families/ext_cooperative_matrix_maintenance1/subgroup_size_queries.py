"""subgroup_size_queries: the rules of the command that lists properties for a subgroup size and a class of operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import SCOPES
from generators.property_query import MatrixInfo, PropertyQuery, Rule
from generators.types import Scope


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of a case."""

    rule: Rule = parameter("the rule that the answers keep")
    varying: bool = parameter(
        "the subgroup size: the device's own, or one that varies", default="own", labels={"own": False, "varying": True}
    )
    saturating: bool = parameter("whether multiply-adds saturate", default="no", labels={"no": False, "yes": True})
    scope: Scope = parameter("the scope of the matrices", default="subgroup", labels=SCOPES)


PREDICATES: Mapping[str, Callable[[Parameters], bool]] = MappingProxyType({})


def query(parameters: Parameters) -> PropertyQuery:
    """Return the query of a case."""
    info = MatrixInfo(parameters.varying, parameters.saturating, parameters.scope)
    return PropertyQuery("vkGetPhysicalDeviceCooperativeMatrixProperties2EXT", parameters.rule, info)
