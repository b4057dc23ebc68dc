"""static_vector: static rules of SPV_NV_cooperative_vector, in a module that uses its instructions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from generators.module_check import ModuleCheck
from generators.mutations.base import BaseModule
from generators.mutations.rules import ElementGroup, RuleParameters, checked_module
from generators.mutations.vector import vector_base
from generators.parameters.declaration import parameter
from generators.vector_rows import VectorTypes, parse_vector_row


@dataclass(frozen=True, kw_only=True)
class Parameters(RuleParameters):
    """The parameters of a case."""

    types: VectorTypes = parameter("the types of the module's multiplies", default="f16.f16.f16.f16.f16", decode=parse_vector_row)


def _group(types: VectorTypes) -> ElementGroup:
    """Return the group of the input's component types."""
    if types.input.is_float:
        return "ieee"
    return "signed" if types.input.is_signed else "unsigned"


PREDICATES: Mapping[str, Callable[[Parameters], bool]] = MappingProxyType(
    {"applies": lambda parameters: _group(parameters.types) in parameters.rule.elements}
)


@lru_cache(maxsize=64)
def _base(types: VectorTypes) -> BaseModule:
    return vector_base(types)


def module(parameters: Parameters) -> ModuleCheck:
    """Return the valid module of the types after the edits of the rule."""
    return checked_module(parameters, _base(parameters.types))
