"""function_pointers: matrices that functions reach by pointers, in their own variables, and in variables of the module.

Axis values are those of cases/khr_cooperative_matrix/function_pointers.yaml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from generators.families import chain_tiles
from generators.families.axes import SCOPES, SOURCES, SUBGROUPS, TakenValues, Values
from generators.families.chain_tiles import ChainWriter
from generators.families.decisions import U32, Decisions
from generators.families.function_variables import VARIABLES
from generators.families.pointer_parameters import POINTERS
from generators.families.pointer_writer import PointerWriter
from generators.program.builder import ProgramBuilder
from generators.program.program import Program, Subcase
from generators.program.values import ScalarValue
from generators.property_rows import parse_row
from generators.types import Layout, StorageClass

_LAYOUTS = {"r": Layout.ROW_MAJOR, "c": Layout.COLUMN_MAJOR}
_FORMS: Mapping[str, Callable[[PointerWriter], None]] = {**POINTERS, **VARIABLES}

AXES: TakenValues = {
    "row": None,
    "scope": SCOPES.keys(),
    "subgroups": SUBGROUPS,
    "workgroups": range(1, 17),
    "form": _FORMS.keys(),
    "storage": ("function", "private"),
    "source": (*SOURCES, "workgroup", "subgroup"),
    "control": ("none", "for", "against"),
    "layouts": ("rrrr", "cccc", "rcrc", "crcr"),
    "number": range(4),
}

PREDICATES: Mapping[str, Callable[[Values], bool]] = {"row_fits": lambda values: chain_tiles.fits(parse_row(values["row"]))}


def _layouts(values: Values) -> dict[str, Layout]:
    return {operand: _LAYOUTS[letter] for operand, letter in zip("abcd", values["layouts"], strict=True)}


def program(values: Values) -> Program:
    """The program of a case."""
    scope, source = SCOPES[values["scope"]], values["source"]
    builder = ProgramBuilder(scope, subgroups=int(values["subgroups"]), workgroups=int(values["workgroups"]))
    if source in ("workgroup", "subgroup"):
        n: ScalarValue = builder.built_in_index(source)
    else:
        n = builder.operand("n", U32, source, 3, 1)
    writer = ChainWriter(parse_row(values["row"]), builder, scope, _layouts(values), StorageClass.STORAGE_BUFFER)
    _FORMS[values["form"]](PointerWriter(writer, Decisions(writer, n, "less", "none"), values["control"], values["storage"]))
    return builder.build()


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """Data that differ in every tile, and n where it comes at run time."""
    operands = {o.name: int(values["number"]) for o in program.operands if o.source in ("push_constant", "buffer")}
    return Subcase(name, chain_tiles.inputs(parse_row(values["row"]), program, _layouts(values), rng), operands)
