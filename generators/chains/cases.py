"""What families of forms on chains of tiles share: axes, the program around a form, and data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from generators.chains import tiles as chain_tiles
from generators.chains.decisions import U32
from generators.chains.tiles import ChainWriter
from generators.parameters.vocabulary import LAYOUT_LETTERS, SCOPES, SOURCES, SUBGROUPS, TakenValues, Values
from generators.program.builder import ProgramBuilder
from generators.program.program import Program, Subcase
from generators.program.values import ScalarValue
from generators.property_rows import parse_row
from generators.types import ComponentType, Layout, StorageClass

_BUILT_IN = ("workgroup", "subgroup")

CHAIN_AXES: TakenValues = MappingProxyType(
    {
        "row": None,
        "scope": SCOPES.keys(),
        "subgroups": SUBGROUPS,
        "workgroups": range(1, 17),
        "source": (*SOURCES, *_BUILT_IN),
        "layouts": ("rrrr", "cccc", "rcrc", "crcr"),
    }
)
"""The axes that every such family has, and what they take."""

ROW_FITS: Mapping[str, Callable[[Values], bool]] = MappingProxyType({"row_fits": lambda values: chain_tiles.fits(parse_row(values["row"]))})
"""The constraint that they share."""


def _layouts(values: Values) -> dict[str, Layout]:
    return {operand: LAYOUT_LETTERS[letter] for operand, letter in zip("abcd", values["layouts"], strict=True)}


@dataclass(frozen=True)
class Decider:
    """The number that decides, where it is no built-in: its type, its value, and the default of a specialization constant."""

    component: ComponentType = U32
    value: int = 3
    default: int = 1


@dataclass(frozen=True)
class ChainCase:
    """A program that is begun: ``writer`` writes its chain, ``n`` is the number that decides, from the case's source."""

    builder: ProgramBuilder
    writer: ChainWriter
    n: ScalarValue


def begin(values: Values, n: Decider = Decider(), storage: StorageClass = StorageClass.STORAGE_BUFFER) -> ChainCase:
    """The frame of a case's program."""
    scope, source = SCOPES[values["scope"]], values["source"]
    builder = ProgramBuilder(scope, subgroups=int(values["subgroups"]), workgroups=int(values["workgroups"]))
    if source in _BUILT_IN:
        number: ScalarValue = builder.built_in_index(source)
    else:
        number = builder.operand("n", n.component, source, n.value, n.default)
    return ChainCase(builder, ChainWriter(parse_row(values["row"]), builder, scope, _layouts(values), storage), number)


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """As ``subcase_with``; n is the axis ``number``."""
    return subcase_with(int(values["number"]), name, values, program, rng)


def subcase_with(number: int, name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """Data that differ in every tile, and n where it comes at run time."""
    operands = {o.name: number for o in program.operands if o.source in ("push_constant", "buffer")}
    return Subcase(name, chain_tiles.inputs(parse_row(values["row"]), program, _layouts(values), rng), operands)
