"""control_flow: matrices in branches, switches and loops, and what decides there.

Axis values are those of cases/khr_cooperative_matrix/control_flow.yaml. Every form reads one number ``n``: selections compare it with
2, loops run n times or leave at iteration n.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from generators.families import chain_tiles
from generators.families.axes import LAYOUT_LETTERS, SCOPES, SOURCES, SUBGROUPS, TakenValues, Values
from generators.families.chain_tiles import ChainWriter
from generators.families.control_flow_loops import LOOPS
from generators.families.control_flow_selections import SELECTIONS
from generators.families.decisions import Decisions
from generators.program.builder import ProgramBuilder
from generators.program.program import Program, Subcase
from generators.program.values import ScalarValue
from generators.property_rows import parse_row
from generators.types import COMPONENT_TYPES, Layout, StorageClass

_BUILT_IN = ("workgroup", "subgroup")
_FORMS: Mapping[str, Callable[[ChainWriter, Decisions], None]] = {**SELECTIONS, **LOOPS}
_LARGEST = {"loop": 7, "nested_loop": 3, "triangular_loop": 3, "swap": 7, "prefetch": 7, "last_iteration": 7}
"""The largest n of forms that run n times."""

_RELATIONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
_NUMBERS = (0, 1, 2, 3, 7, "top")

AXES: TakenValues = {
    "row": None,
    "scope": SCOPES.keys(),
    "subgroups": SUBGROUPS,
    "workgroups": range(1, 17),
    "form": _FORMS.keys(),
    "relation": _RELATIONS,
    "integer": ("u32", "s32"),
    "source": (*SOURCES, *_BUILT_IN),
    "n": _NUMBERS,
    "hint": ("none", "for", "against"),
    "layouts": ("rrrr", "cccc", "rcrc", "crcr"),
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
    "row_fits": lambda values: chain_tiles.fits(parse_row(values["row"])),
    "n_is_run": lambda values: _runs(values, values["n"]),
    "n_is_run_at_run_time": lambda values: _runs(values, values["at_run_time"]),
}


def _layouts(values: Values) -> dict[str, Layout]:
    return {operand: LAYOUT_LETTERS[letter] for operand, letter in zip("abcd", values["layouts"], strict=True)}


def program(values: Values) -> Program:
    """The program of a case."""
    scope = SCOPES[values["scope"]]
    builder = ProgramBuilder(scope, subgroups=int(values["subgroups"]), workgroups=int(values["workgroups"]))
    source, component = values["source"], values["integer"]
    if source in _BUILT_IN:
        n: ScalarValue = builder.built_in_index(source)
    else:
        value = _number(values["n"], component)
        # A constant that keeps its default decides otherwise for most relations, and loops more or less often.
        n = builder.operand("n", COMPONENT_TYPES[component], source, value, 3 if value in (0, 1) else 1)
    writer = ChainWriter(parse_row(values["row"]), builder, scope, _layouts(values), StorageClass(values["storage"]))
    decisions = Decisions(writer, n, values["relation"], values["hint"])
    _FORMS[values["form"]](writer, decisions)
    return builder.build()


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """Data that differ in every tile, and n where it comes at run time."""
    number = _number(values["at_run_time"], values["integer"])
    operands = {operand.name: number for operand in program.operands if operand.source in ("push_constant", "buffer")}
    return Subcase(name, chain_tiles.inputs(parse_row(values["row"]), program, _layouts(values), rng), operands)
