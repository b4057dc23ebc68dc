"""static_qcom: static rules of SPV_QCOM_cooperative_matrix_conversion, in a module that uses its instructions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from generators.module_check import ModuleCheck
from generators.mutations.array_conversion import array_base
from generators.mutations.base import BaseModule
from generators.mutations.rules import RuleParameters, checked_module, element
from generators.parameters.declaration import parameter
from generators.property_rows import PropertyRow, parse_row


@dataclass(frozen=True, kw_only=True)
class Parameters(RuleParameters):
    """The parameters of a case."""

    types: PropertyRow = parameter("the row of the module's matrices", default="32x32x16.f16.f16.f16.f16", decode=parse_row)


PREDICATES: Mapping[str, Callable[[Parameters], bool]] = MappingProxyType(
    {"applies": lambda parameters: element(parameters.types) in parameters.rule.elements}
)


@lru_cache(maxsize=64)
def _base(row: PropertyRow) -> BaseModule:
    return array_base(row)


def module(parameters: Parameters) -> ModuleCheck:
    """Return the valid module of the row after the edits of the rule."""
    return checked_module(parameters, _base(parameters.types))
