"""static_rules: a module that breaks one rule of a specification, and the most similar module that keeps it.

A family of static rules consists of its YAML, and of a valid module that uses the specification's instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from generators.module_check import ModuleCheck
from generators.mutations.array_conversion import array_base
from generators.mutations.base import BaseModule, base_module
from generators.mutations.decode_vector import decode_vector_base
from generators.mutations.edits import edited
from generators.mutations.maintenance1 import maintenance1_base
from generators.mutations.matrix2 import matrix2_base
from generators.mutations.rules import Rule, element_group
from generators.mutations.vector import vector_base
from generators.parameters.declaration import parameter
from generators.property_rows import PropertyRow, parse_row
from generators.spirv.assemble import assemble
from generators.types import ComponentType
from generators.vector_rows import VectorTypes, parse_vector_row


@dataclass(frozen=True, kw_only=True)
class _RuleParameters:
    """The parameters that all cases of static rules have."""

    rule: Rule = parameter("the rule, and what breaks it")
    form: Literal["legal", "broken"] = parameter("whether the module keeps the rule or breaks it", default="legal")


@dataclass(frozen=True, kw_only=True)
class Parameters(_RuleParameters):
    """The parameters of a case with matrices."""

    types: PropertyRow = parameter("the row of the module's multiply-add", default="16x16x16.f16.f16.f32.f32", decode=parse_row)

    @property
    def component(self) -> ComponentType:
        """The component type that decides which rules the module has."""
        return self.types.a


@dataclass(frozen=True, kw_only=True)
class ArrayParameters(Parameters):
    """The parameters of a case with matrices that come from arrays."""

    types: PropertyRow = parameter("the row of the module's matrices", default="32x32x16.f16.f16.f16.f16", decode=parse_row)


@dataclass(frozen=True, kw_only=True)
class VectorParameters(_RuleParameters):
    """The parameters of a case with cooperative vectors."""

    types: VectorTypes = parameter("the types of the module's multiplies", default="f16.f16.f16.f16.f16", decode=parse_vector_row)

    @property
    def component(self) -> ComponentType:
        """The component type that decides which rules the module has."""
        return self.types.input


@lru_cache(maxsize=64)
def _made(base: Callable[[Any], BaseModule], types: PropertyRow | VectorTypes) -> BaseModule:
    return base(types)


@dataclass(frozen=True)
class StaticRules:
    """The builder of a specification's static rules.

    Attributes:
        base: makes the valid module of a row, which the edits of a rule change.
        Parameters: the parameters of a case.
    """

    base: Callable[[Any], BaseModule]
    Parameters: type = Parameters

    PREDICATES: ClassVar[Mapping[str, Callable[[Any], bool]]] = MappingProxyType(
        {"applies": lambda parameters: element_group(parameters.component) in parameters.rule.elements}
    )

    def module(self, parameters: Any) -> ModuleCheck:
        """Return the valid module of the row after the edits of the rule, and the expected verdict of a validator."""
        rule, legal = parameters.rule, parameters.form == "legal"
        base = _made(self.base, parameters.types)
        text = "\n".join(edited(base.lines, (rule.common, rule.legal if legal else rule.broken), base.aliases))
        return ModuleCheck(assemble(text), f"{rule.requirement}: {rule.rule}", None if legal else rule.message)


BUILDERS: Mapping[str, StaticRules] = MappingProxyType(
    {
        "khr_cooperative_matrix": StaticRules(base_module),
        "ext_cooperative_matrix_maintenance1": StaticRules(maintenance1_base),
        "nv_cooperative_matrix2": StaticRules(matrix2_base),
        "nv_cooperative_matrix_decode_vector": StaticRules(decode_vector_base),
        "nv_cooperative_vector": StaticRules(vector_base, VectorParameters),
        "qcom_cooperative_matrix_conversion": StaticRules(array_base, ArrayParameters),
    }
)
"""The builder by the folder of the specification."""
