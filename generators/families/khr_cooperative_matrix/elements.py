"""elements: each invocation reads and writes its own components, and together they are the matrix.

Axis values are those of cases/khr_cooperative_matrix/elements.yaml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from generators.layouts.row_types import row_type
from generators.layouts.tile_arrays import TileArray, tame_bits, tile_array
from generators.numerics.formats import bits_of
from generators.parameters.vocabulary import LAYOUT_LETTERS, SCOPES, SUBGROUPS, TakenValues, Values
from generators.program.builder import U32, ProgramBuilder
from generators.program.elements import ElementFunction, ElementUpdate
from generators.program.program import Program, Subcase
from generators.program.values import MatrixType, Operand
from generators.program.variables import ArrayType, Path, StructType, ValueType, Variable
from generators.property_rows import parse_row
from generators.types import ComponentType, Scope

_DATA_SOURCES = ("literal", "specialization", "buffer")

AXES: TakenValues = {
    "row": None,
    "member": ("a", "b", "c"),
    "scope": SCOPES.keys(),
    "subgroups": SUBGROUPS,
    "layouts": ("rr", "rc", "cr", "cc"),
    "storage": ("function", "private"),
    "holder": ("plain", "array", "dynamic", "struct", "nested"),
    "action": ("other", "in_place", "move"),
    "condition": ("always", "below", "odd_lane"),
    "leading": (0, 1, 2),
    "leading_form": ("pointer", "composite"),
    "operand": _DATA_SOURCES,
}


def _component(values: Values) -> ComponentType:
    return row_type(parse_row(values["row"]), values["member"], Scope.SUBGROUP).component


def _has_arithmetic(values: Values) -> bool:
    """SPIR-V has no arithmetic and no comparison of bf16 and 8-bit floats."""
    return values["action"] == "move" or _component(values).has_arithmetic


PREDICATES: Mapping[str, Callable[[Values], bool]] = {"has_arithmetic": _has_arithmetic}


def _data(builder: ProgramBuilder, name: str, component: ComponentType, source: str, value: float, default: float) -> Operand:
    if source == "literal":
        return builder.literal(bits_of(component, value), component)
    # A float of small magnitude keeps the results exact, whichever value a defect takes.
    return builder.operand(name, component, source, bits_of(component, value), bits_of(component, default))  # type: ignore[arg-type]


def _function(builder: ProgramBuilder, values: Values, component: ComponentType) -> ElementFunction:
    """Neither linear without a constant nor its own inverse for integers; exact for floats, which a factor of minus two keeps normal."""
    if values["action"] == "move":
        return ElementFunction()
    if component.is_float:
        return ElementFunction(_data(builder, "factor", component, values["operand"], *_FLOAT_FACTORS))
    return ElementFunction(
        _data(builder, "factor", component, values["operand"], *_FACTORS), _data(builder, "addend", component, values["operand"], *_ADDENDS)
    )


_FLOAT_FACTORS = (-2.0, 0.5)
_FACTORS = (5, 3)
_ADDENDS = (41, 78)


def _threshold(component: ComponentType) -> tuple[float, float]:
    """A value that about half of the data are less than, and another; the other reading of an integer's sign moves many across."""
    if component.is_float:
        return -0.75, 1.5
    return (-11.0, 29.0) if component.is_signed else (3.0 * (1 << component.bits - 3), 7.0 * (1 << component.bits - 3))


def _holder(builder: ProgramBuilder, values: Values, name: str, type_: MatrixType) -> tuple[Variable, Path, tuple[Path, ...]]:
    """A variable, the path to the matrix that is updated, and the paths of matrices beside it that must stay."""
    whole: ValueType = type_
    path: Path = ()
    beside: tuple[Path, ...] = ()
    match values["holder"]:
        case "array":
            whole, path, beside = ArrayType(type_, 3), (1,), ((0,), (2,))
        case "dynamic":
            index = builder.operand(f"{name}_index", U32, "push_constant")
            whole, path, beside = ArrayType(type_, 3), (index,), ((0,), (2,))
        case "struct":
            whole, path, beside = StructType(f"{name}_holder", (type_, U32, type_)), (2,), ((0,),)
        case "nested":
            index = builder.operand(f"{name}_index", U32, "push_constant")
            struct = StructType(f"{name}_holder", (U32, ArrayType(type_, 2)))
            whole, path, beside = ArrayType(struct, 2), (index, 1, index), ((0, 1, 1), (1, 1, 0))
    return builder.variable(name, whole, values["storage"]), path, beside


def _store_all(builder: ProgramBuilder, name: str, variable: Variable, paths: tuple[Path, ...], target: TileArray, start: int) -> int:
    for offset, path in enumerate(paths):
        target.store(builder, builder.get_matrix(f"{name}_{start + offset}", variable, *path), start + offset)
    return start + len(paths)


def program(values: Values) -> Program:
    """The program of a case: matrices into variables, components updated, all matrices stored."""
    scope = SCOPES[values["scope"]]
    type_ = row_type(parse_row(values["row"]), values["member"], scope)
    component = type_.component
    builder = ProgramBuilder(scope, subgroups=int(values["subgroups"]))
    load, store = (LAYOUT_LETTERS[letter] for letter in values["layouts"])
    function = _function(builder, values, component)
    threshold = None
    if values["condition"] == "below":
        threshold = _data(builder, "threshold", component, values["operand"], *_threshold(component))
    held, path, beside = _holder(builder, values, "held", type_)
    holders = [(held, path, beside)]
    if values["action"] != "in_place":
        holders.append(_holder(builder, values, "other", type_))
    kept = builder.variable("kept", type_, "function") if values["leading_form"] == "composite" else None
    count = sum(1 + len(paths) for _, _, paths in holders)
    source = tile_array(builder, "source", type_, count, load)
    target = tile_array(builder, "target", type_, count + (kept is not None), store, output=True)
    tile = 0
    for variable, at, paths in holders:
        for one in (at, *paths):
            builder.set(variable, one, source.load(builder, f"matrix_{tile}", tile))
            tile += 1
    changed, place = holders[-1][:2]
    if kept is not None:
        builder.set(kept, (), builder.get_matrix("matrix_kept", changed, *place))
    builder.add(
        ElementUpdate(
            changed, place, held, path, function, values["condition"], threshold, int(values["leading"]), values["leading_form"], kept
        )
    )
    start = 0
    if kept is not None:
        holders.append((kept, (), ()))
    for variable, at, paths in holders:
        start = _store_all(builder, variable.name, variable, (at, *paths), target, start)
    return builder.build()


def subcase(name: str, _: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """Random data without zeros or denormals, and every operand at the value that the program is made for."""
    component = program.array("source").pointee.component
    inputs = {"source": tame_bits(component, program.array("source").count, rng).view(np.uint8)}
    data: dict[str, float] = {
        "factor": _FLOAT_FACTORS[0] if component.is_float else _FACTORS[0],
        "addend": _ADDENDS[0],
        "threshold": _threshold(component)[0],
    }
    operands = {}
    for operand in program.operands:
        if operand.name.endswith("_index"):
            operands[operand.name] = 1
        elif operand.source == "buffer":
            operands[operand.name] = bits_of(component, data[operand.name])
    return Subcase(name, inputs, operands)
