"""function_pointers: matrices that functions reach through pointers, in their own variables, and in variables of the module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from generators.chains.cases import ROW_FITS, CallForm, CallParameters, NumberParameters, build_calls
from generators.chains.functions import Storage
from generators.families.khr_cooperative_matrix.function_pointers.parameters import POINTERS
from generators.families.khr_cooperative_matrix.function_pointers.variables import VARIABLES
from generators.parameters.declaration import parameter
from generators.program.program import Built

FORMS: Mapping[str, CallForm] = {**POINTERS, **VARIABLES}
"""By label."""


@dataclass(frozen=True, kw_only=True)
class Parameters(CallParameters):
    """The parameters of a case."""

    form: CallForm = parameter("what the functions and their variables are", labels=FORMS, then=("storage", "source", "control", "layouts"))
    storage: Storage = parameter(
        "the variables that pointers point to", default="function", applies=lambda parameters: parameters.form.any_storage
    )


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(NumberParameters, Parameters):
    """The parameters of a subcase."""


PREDICATES = ROW_FITS


def build(parameters: Parameters) -> Built:
    """Build a case: its program, and data that differ in every tile."""
    return build_calls(parameters, parameters.storage)
