"""property_queries: a query of one of a device's property commands, and a rule that the answers keep.

A family of queries consists of its YAML, and of the command and the rules of its specification. cts.kinds.property_rules has the rules in
words and in code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, make_dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, get_args

from generators.parameters.declaration import declarations, parameter
from generators.parameters.vocabulary import SCOPES
from generators.property_query import Command, DeviceRule, ListRule, MatrixInfo, PropertyQuery, Rule
from generators.types import Scope


@dataclass(frozen=True, kw_only=True)
class _CountAndArray:
    """A command that takes nothing besides count and array."""

    @property
    def info(self) -> MatrixInfo | None:
        """The command's additional input."""
        return None


@dataclass(frozen=True, kw_only=True)
class _MatrixInfo(_CountAndArray):
    """A command that takes VkPhysicalDeviceCooperativeMatrixInfo2EXT."""

    varying: bool = parameter(
        "the subgroup size: the device's own, or one that varies", default="own", labels={"own": False, "varying": True}
    )
    saturating: bool = parameter("whether multiply-adds saturate", default="no", labels={"no": False, "yes": True})
    scope: Scope = parameter("the scope of the matrices", default="subgroup", labels=SCOPES)

    @property
    def info(self) -> MatrixInfo:
        """The command's additional input."""
        return MatrixInfo(self.varying, self.saturating, self.scope)


@dataclass(frozen=True, eq=False)
class PropertyQueries:
    """The builder of a specification's queries.

    Attributes:
        command: the command. Rules about what a device says of itself call none.
        rules: the rules by label.
        label: the label of the command, if cases have a parameter for it.
        takes: the parameters of the command's additional input.
    """

    command: Command
    rules: Mapping[str, Rule]
    label: str = ""
    takes: type = _CountAndArray

    PREDICATES: ClassVar[Mapping[str, Callable[[Any], bool]]] = MappingProxyType({})

    @cached_property
    def Parameters(self) -> type:  # noqa: N802 (a class)
        """The parameters of a case."""
        command = parameter("the property command", default=self.label, labels={self.label: self.command})
        rule = parameter("the rule that the answers keep", labels=self.rules, then=tuple(declarations(self.takes)))
        fields = [*([("command", Command, command)] if self.label else []), ("rule", Rule, rule)]
        return make_dataclass("Parameters", fields, bases=(self.takes,), frozen=True, kw_only=True)

    def query(self, parameters: Any) -> PropertyQuery:
        """Return the query of a case."""
        return PropertyQuery(self.command, parameters.rule, parameters.info)


def _rules(*rules: Rule) -> Mapping[str, Rule]:
    return MappingProxyType({rule: rule for rule in rules})


BUILDERS: Mapping[str, PropertyQueries] = MappingProxyType(
    {
        "khr_cooperative_matrix": PropertyQueries(
            "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR",
            _rules(*get_args(ListRule), "values", "power_of_two", "scopes", "stages"),
            "matrix",
        ),
        "ext_cooperative_matrix_maintenance1": PropertyQueries(
            "vkGetPhysicalDeviceCooperativeMatrixProperties2EXT",
            _rules(*get_args(ListRule), "values", "matrix_required", "power_of_two", "properties2_supported"),
            takes=_MatrixInfo,
        ),
        "nv_cooperative_matrix2": PropertyQueries(
            "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV",
            _rules(*get_args(ListRule), "values", "granularities", "largest_workgroup", "largest_dimension", "reserved_memory"),
            "flexible",
        ),
        "nv_cooperative_matrix_decode_vector": PropertyQueries(
            "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV", _rules("decode_blocks")
        ),
        "nv_cooperative_vector": PropertyQueries(
            "vkGetPhysicalDeviceCooperativeVectorPropertiesNV",
            {
                **_rules(*get_args(ListRule)),
                "values": "vector_values",
                "required": "vector_required",
                "stages": "vector_stages",
                "components": "vector_components",
            },
        ),
        "vulkan": PropertyQueries(
            "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR",
            _rules(*get_args(DeviceRule)),
        ),
    }
)
"""The builder by the folder of the specification."""
