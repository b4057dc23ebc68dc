"""static_matrix2: static rules of SPV_NV_cooperative_matrix2 and SPV_NV_tensor_addressing, in a module that uses their instructions."""

from __future__ import annotations

from functools import lru_cache

from generators.module_check import ModuleCheck
from generators.mutations.base import BaseModule
from generators.mutations.matrix2 import matrix2_base
from generators.mutations.rules import PREDICATES, Parameters, checked_module
from generators.property_rows import PropertyRow

__all__ = ["PREDICATES", "Parameters", "module"]


@lru_cache(maxsize=64)
def _base(row: PropertyRow) -> BaseModule:
    return matrix2_base(row)


def module(parameters: Parameters) -> ModuleCheck:
    """Return the valid module of the row after the edits of the rule."""
    return checked_module(parameters, _base(parameters.types))
