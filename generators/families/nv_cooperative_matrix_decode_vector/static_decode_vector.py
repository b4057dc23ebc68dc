"""static_decode_vector: static rules of SPV_NV_cooperative_matrix_decode_vector, in a module with two decode functions."""

from __future__ import annotations

from functools import lru_cache

from generators.module_check import ModuleCheck
from generators.mutations.base import BaseModule
from generators.mutations.decode_vector import decode_vector_base
from generators.mutations.rules import PREDICATES, Parameters, checked_module
from generators.property_rows import PropertyRow

__all__ = ["PREDICATES", "Parameters", "module"]


@lru_cache(maxsize=64)
def _base(row: PropertyRow) -> BaseModule:
    return decode_vector_base(row)


def module(parameters: Parameters) -> ModuleCheck:
    """Return the valid module of the row after the edits of the rule."""
    return checked_module(parameters, _base(parameters.types))
