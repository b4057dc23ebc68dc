"""function_pointers: matrices that functions reach by pointers, in their own variables, and in variables of the module.

Axis values are those of cases/khr_cooperative_matrix/function_pointers.yaml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from generators.chains.cases import CHAIN_AXES, ROW_FITS, begin, subcase
from generators.chains.decisions import Decisions
from generators.chains.pointers import PointerWriter
from generators.families.khr_cooperative_matrix.function_pointers.parameters import POINTERS
from generators.families.khr_cooperative_matrix.function_pointers.variables import VARIABLES
from generators.parameters.vocabulary import TakenValues, Values
from generators.program.program import Program

_FORMS: Mapping[str, Callable[[PointerWriter], None]] = {**POINTERS, **VARIABLES}

AXES: TakenValues = {
    **CHAIN_AXES,
    "form": _FORMS.keys(),
    "storage": ("function", "private"),
    "control": ("none", "for", "against"),
    "number": range(4),
}

PREDICATES = ROW_FITS

__all__ = ["AXES", "PREDICATES", "program", "subcase"]


def program(values: Values) -> Program:
    """The program of a case."""
    case = begin(values)
    _FORMS[values["form"]](PointerWriter(case.writer, Decisions(case.writer, case.n, "less", "none"), values["control"], values["storage"]))
    return case.builder.build()
