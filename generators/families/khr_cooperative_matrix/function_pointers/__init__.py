"""function_pointers: matrices that functions reach by pointers, in their own variables, and in variables of the module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from generators.chains.cases import ROW_FITS, ChainParameters, DecidingSource, begin
from generators.chains.decisions import Decisions
from generators.chains.pointers import PointerWriter, Storage
from generators.families.khr_cooperative_matrix.function_pointers.forms import Form
from generators.families.khr_cooperative_matrix.function_pointers.parameters import POINTERS
from generators.families.khr_cooperative_matrix.function_pointers.variables import VARIABLES
from generators.parameters.declaration import parameter
from generators.program.built import Built
from generators.program.operation import Hint

FORMS: Mapping[str, Form] = {**POINTERS, **VARIABLES}
"""By label."""


def _decides(parameters: Parameters) -> bool:
    return parameters.form.decides


@dataclass(frozen=True, kw_only=True)
class Parameters(ChainParameters):
    """The parameters of a case."""

    form: Form = parameter("what the functions and their variables are", labels=FORMS)
    storage: Storage = parameter(
        "the variables that pointers point to", default="function", applies=lambda parameters: parameters.form.any_storage
    )
    source: DecidingSource = parameter("where n comes from", default="push_constant", applies=_decides)
    control: Hint = parameter("the function control, for or against inlining", default="none")


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    number: int = parameter(
        "n, where it comes at run time", default=3, applies=lambda parameters: _decides(parameters) and parameters.n_comes_at_run_time
    )


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {**ROW_FITS}


def build(parameters: Parameters) -> Built:
    """Build a case: its program, and data that differ in every tile."""
    case = begin(parameters)
    decisions = Decisions(case.writer, case.n, "less", "none")
    parameters.form.write(PointerWriter(case.writer, decisions, parameters.control, parameters.storage))
    return case.finish(lambda subcase: subcase.number)
