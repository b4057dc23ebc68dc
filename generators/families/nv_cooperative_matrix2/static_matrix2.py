"""Static rules of SPV_NV_cooperative_matrix2 and SPV_NV_tensor_addressing: as static_rules, from a module with their instructions."""

from __future__ import annotations

from functools import lru_cache

from generators.families.khr_cooperative_matrix.static_rules import AXES, PREDICATES, checked_module
from generators.module_check import ModuleCheck
from generators.mutations.base import BaseModule
from generators.mutations.matrix2 import matrix2_base
from generators.parameters.vocabulary import Values
from generators.property_rows import PropertyRow, parse_row

__all__ = ["AXES", "PREDICATES", "module"]


@lru_cache(maxsize=64)
def _base(row: PropertyRow) -> BaseModule:
    return matrix2_base(row)


def module(values: Values) -> ModuleCheck:
    """The good module of the row, with the edits of the rule."""
    return checked_module(values, _base(parse_row(values["types"])))
