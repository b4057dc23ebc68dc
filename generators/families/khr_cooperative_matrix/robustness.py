"""robustness: matrices that lie partly or wholly beyond the range of their buffer, where accesses are bounds-checked.

Axis values are those of cases/khr_cooperative_matrix/robustness.yaml.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from generators.errors import GeneratorError
from generators.inputs.patterns import index_coded, random_bits
from generators.parameters.vocabulary import LAYOUTS, SHAPE, SOURCES, SUBGROUPS, USES, TakenValues, Values, shape_of
from generators.program.builder import U32, ProgramBuilder
from generators.program.memory import Pointee
from generators.program.program import Program, Subcase
from generators.program.values import MatrixType, ScalarValue
from generators.types import COMPONENT_TYPES, Layout, Scope, StorageClass

_CUTS = ("line", "part", "first", "none", "far", "huge", "whole")

_RANGE_UNIT = 4
"""Bytes that the size of a range is a multiple of: the most that robustStorageBufferAccessSizeAlignment may be."""

_ALIGNMENT = 16
_FAR = 1 << 20
_HUGE = 0x7000_0000
"""Bytes to a place far beyond any buffer, which the lower 16 (20) bits of an offset do not tell, and which 32 signed bits still can."""


@dataclass(frozen=True)
class Side:
    """The array that the range cuts, all counted in its pointee.

    Attributes:
        pointee: of the array.
        first: element of the first instance's matrix. ``stride``: between lines. ``pitch``: between the matrices of two instances.
        length: of the array, and so of the buffer's range.
        whole: length that would hold all matrices.
    """

    pointee: Pointee
    first: int
    stride: int
    pitch: int
    length: int
    whole: int


def _side(values: Values) -> Side | None:
    """Where matrices and the end of the range lie; None where an address would be misaligned or an element would be split."""
    component = COMPONENT_TYPES[values["component"]]
    rows, columns = shape_of(values)
    lines, run = (rows, columns) if values["layout"] == "row" else (columns, rows)
    pointee = {"component": Pointee(component), "vec4": Pointee(component, 4), "uvec4": Pointee(U32, 4)}[values["pointee"]]
    unit, line = pointee.bytes, run * component.bytes
    granule = math.lcm(min(_ALIGNMENT, line), unit)
    if line % granule:
        return None
    stride = line + (granule if values["stride"] == "padded" else 0)
    start = math.lcm(_ALIGNMENT, unit)
    span = stride * (lines - 1) + line
    pitch = -(-span // start) * start + start
    instances = int(values["subgroups"])
    last = start + pitch * (instances - 1)
    step = math.lcm(_RANGE_UNIT, unit, component.bytes)
    half = stride * (lines // 2)
    end = {
        "whole": span,
        # A place whose upper bits were lost is in the range, and has data.
        "far": span,
        "huge": span,
        "line": half,
        "part": half + line // 2 // step * step,
        "first": step,
    }.get(values["cut"], 0)
    if end % step or (values["cut"] == "part" and end == half):
        return None
    away = {"far": _FAR, "huge": _HUGE}.get(values["cut"], 0)
    first = start + (away if away else 0)
    return Side(pointee, first // unit, stride // unit, pitch // unit, (last + end) // unit, (last + span) // unit)


PREDICATES: Mapping[str, Callable[[Values], bool]] = {"aligned": lambda values: _side(values) is not None}

AXES: TakenValues = {
    "component": COMPONENT_TYPES.keys(),
    "use": USES.keys(),
    "shape": SHAPE,
    "access": ("load", "store"),
    "layout": LAYOUTS.keys(),
    "stride": ("tight", "padded"),
    "cut": _CUTS,
    "pointee": ("component", "vec4", "uvec4"),
    "source": SOURCES,
    "subgroups": SUBGROUPS,
    "pattern": ("index", "bits"),
}


def program(values: Values) -> Program:
    """The program of a case: a load or a store that the range cuts, and the other one tight and in bounds."""
    component = COMPONENT_TYPES[values["component"]]
    rows, columns = shape_of(values)
    type_ = MatrixType(component, Scope.SUBGROUP, rows, columns, USES[values["use"]])
    side = _side(values)
    if side is None:
        raise GeneratorError("robustness: the constraint 'aligned' must exclude this case")
    builder = ProgramBuilder(Scope.SUBGROUP, subgroups=int(values["subgroups"]))
    loads = values["access"] == "load"
    tight = Pointee(component)
    size = rows * columns * builder.instances
    given, taken = (side.pointee, tight) if loads else (tight, side.pointee)
    source = builder.array("source", given, side.length if loads else size, StorageClass.STORAGE_BUFFER, "input")
    target = builder.array("target", taken, size if loads else side.length, StorageClass.STORAGE_BUFFER, "output")
    how = values["source"]
    stride = builder.operand("stride", U32, how, side.stride, side.stride * 2)
    first: ScalarValue = builder.operand("first", U32, how, side.first, 0)
    plain: ScalarValue = builder.literal(0)
    if builder.instances > 1:
        first = builder.offset("element", first, builder.instance_index(), side.pitch)
        plain = builder.offset("plain", builder.literal(0), builder.instance_index(), rows * columns)
    line = builder.literal(columns)
    layout = LAYOUTS[values["layout"]]
    if loads:
        matrix = builder.load("matrix", type_, source, first, stride, layout, robust=True)
        builder.store(matrix, target, plain, line, Layout.ROW_MAJOR)
    else:
        matrix = builder.load("matrix", type_, source, plain, line, Layout.ROW_MAJOR)
        builder.store(matrix, target, first, stride, layout, robust=True)
    return builder.build()


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """Bits of which none are zero where a type has others enough, so that a zero is one that a bounds check gave."""
    component = COMPONENT_TYPES[values["component"]]
    source = program.array("source")
    count = source.bytes // component.bytes
    bits = index_coded(component, count) if values["pattern"] == "index" else random_bits(component, count, rng)
    bits = np.where(bits == 0, component.bits_dtype.type(0x35), bits)
    side = _side(values)
    assert side is not None
    outside = {operand.name for operand in program.operands if operand.source in ("push_constant", "buffer")}
    places = {"first": side.first, "stride": side.stride}
    return Subcase(name, {"source": bits.view(np.uint8)}, {key: value for key, value in places.items() if key in outside})
