"""static_rules: a module that breaks one rule of SPV_KHR_cooperative_matrix, and the most similar module that keeps it."""

from __future__ import annotations

from functools import lru_cache

from generators.module_check import ModuleCheck
from generators.mutations.base import BaseModule, base_module
from generators.mutations.rules import PREDICATES, Parameters, checked_module
from generators.property_rows import PropertyRow

__all__ = ["PREDICATES", "Parameters", "module"]


@lru_cache(maxsize=64)
def _base(row: PropertyRow) -> BaseModule:
    return base_module(row)


def module(parameters: Parameters) -> ModuleCheck:
    """Return the valid module of the row after the edits of the rule."""
    return checked_module(parameters, _base(parameters.types))
