"""control_flow: matrices in branches, switches and loops, and what decides there.

Axis values are those of cases/khr_cooperative_matrix/control_flow.yaml. Every form reads one number ``n``: selections compare it with
2, loops run n times or leave at iteration n.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from generators.chains.cases import CHAIN_AXES, ROW_FITS, Decider, begin, subcase_with
from generators.chains.decisions import Decisions
from generators.chains.tiles import ChainWriter
from generators.families.khr_cooperative_matrix.control_flow.loops import LOOPS
from generators.families.khr_cooperative_matrix.control_flow.selections import SELECTIONS
from generators.parameters.vocabulary import TakenValues, Values
from generators.program.program import Program, Subcase
from generators.types import COMPONENT_TYPES, StorageClass

_FORMS: Mapping[str, Callable[[ChainWriter, Decisions], None]] = {**SELECTIONS, **LOOPS}
_LARGEST = {"loop": 7, "nested_loop": 3, "triangular_loop": 3, "swap": 7, "prefetch": 7, "last_iteration": 7}
"""The largest n of forms that run n times."""

_RELATIONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
_NUMBERS = (0, 1, 2, 3, 7, "top")

AXES: TakenValues = {
    **CHAIN_AXES,
    "form": _FORMS.keys(),
    "relation": _RELATIONS,
    "integer": ("u32", "s32"),
    "n": _NUMBERS,
    "hint": ("none", "for", "against"),
    "storage": ("storage_buffer", "physical_storage_buffer"),
    "at_run_time": _NUMBERS,
}


def _number(label: int | str, component: str) -> int:
    """The number of a label; ``top`` has all bits set, which is -1 or the largest."""
    if label == "top":
        return -1 if component == "s32" else (1 << 32) - 1
    return int(label)


def _runs(values: Values, label: int | str) -> bool:
    limit = _LARGEST.get(values["form"])
    return limit is None or (label != "top" and int(label) <= limit)


PREDICATES: Mapping[str, Callable[[Values], bool]] = {
    **ROW_FITS,
    "n_is_run": lambda values: _runs(values, values["n"]),
    "n_is_run_at_run_time": lambda values: _runs(values, values["at_run_time"]),
}


def program(values: Values) -> Program:
    """The program of a case."""
    value = _number(values["n"], values["integer"])
    # A constant that keeps its default decides otherwise for most relations, and loops more or less often.
    n = Decider(COMPONENT_TYPES[values["integer"]], value, 3 if value in (0, 1) else 1)
    case = begin(values, n, StorageClass(values["storage"]))
    _FORMS[values["form"]](case.writer, Decisions(case.writer, case.n, values["relation"], values["hint"]))
    return case.builder.build()


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """Data that differ in every tile, and n where it comes at run time."""
    return subcase_with(_number(values["at_run_time"], values["integer"]), name, values, program, rng)
