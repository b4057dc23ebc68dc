"""control_flow: matrices in branches, switches and loops, and the conditions that control them.

Every form reads one number ``n``: selections compare it with 2, loops run n times or leave at iteration n.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from generators.chains.cases import ROW_FITS, ChainParameters, Decider, Form, begin
from generators.chains.decisions import Decisions
from generators.families.khr_cooperative_matrix.control_flow.loops import LOOPS
from generators.families.khr_cooperative_matrix.control_flow.selections import SELECTIONS
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import STORAGE_CLASSES
from generators.program.control_flow import Relation
from generators.program.operation import Hint
from generators.program.program import Built
from generators.types import COMPONENT_TYPES, ComponentType, StorageClass

_NUMBERS: Mapping[str, int] = {**{str(number): number for number in (0, 1, 2, 3, 7)}, "top": -1}
"""``top`` has all bits set, so it is the largest unsigned n."""

_INTEGERS = {name: COMPONENT_TYPES[name] for name in ("u32", "s32")}
_STORAGE = {name: STORAGE_CLASSES[name] for name in ("storage_buffer", "physical_storage_buffer")}


def _known(parameters: Parameters) -> bool:
    return parameters.source in ("literal", "specialization")


@dataclass(frozen=True, kw_only=True)
class Parameters(ChainParameters):
    """The parameters of a case."""

    form: Form = parameter("what the control flow is", labels={**SELECTIONS, **LOOPS})
    relation: Relation = parameter("how a branch compares numbers", default="less", applies=lambda parameters: parameters.form.compares)
    integer: ComponentType = parameter("the type of n", default="u32", labels=_INTEGERS, then=("source",))
    n: int = parameter("n, if it is known before the shader runs", default="2", labels=_NUMBERS, applies=_known)
    hint: Hint = parameter(
        "the hint of branches and loops, for or against their removal",
        default="none",
        applies=lambda parameters: parameters.form.hinted,
        then=("layouts",),
    )
    storage: StorageClass = parameter("where the arrays are", default="storage_buffer", labels=_STORAGE)


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    at_run_time: int = parameter(
        "n, if it is supplied at run time", default="2", labels=_NUMBERS, applies=lambda parameters: parameters.n_comes_at_run_time
    )


def _runs(form: Form, n: int) -> bool:
    return form.largest is None or 0 <= n <= form.largest


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    **ROW_FITS,
    "n_is_run": lambda parameters: _runs(parameters.form, parameters.n),
    "n_is_run_at_run_time": lambda parameters: _runs(parameters.form, parameters.at_run_time),
}


def _bits(number: int, integer: ComponentType) -> int:
    return number if integer.is_signed else number % (1 << integer.bits)


def build(parameters: Parameters) -> Built:
    """Build a case: its program, and data that differ in every tile."""
    integer = parameters.integer
    # With most relations, a constant that keeps its default decides otherwise; a loop runs a different number of times.
    n = Decider(integer, _bits(parameters.n, integer), 3 if parameters.n in (0, 1) else 1)
    case = begin(parameters, n, parameters.storage)
    parameters.form.write(case.writer, Decisions(case.writer, case.n, parameters.relation, parameters.hint))
    return case.finish(lambda subcase: _bits(subcase.at_run_time, integer))
