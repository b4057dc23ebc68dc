"""robustness: matrices partly or wholly beyond the range of their buffer, with bounds-checked accesses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from generators.errors import GeneratorError, Rule
from generators.inputs.patterns import pattern_bits
from generators.layouts.matrix_arrays import ALIGNMENT, Tiles, lines_of, matrix_source, matrix_target, rounded_up, tight
from generators.layouts.placement import add_witness, fills
from generators.operands.run_time import run_time_operands
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import LAYOUTS, SOURCE_NAMES, USES, parse_shape
from generators.program.builder import U32, ProgramBuilder
from generators.program.memory import Pointee
from generators.program.program import Built, Program, Subcase
from generators.program.values import MatrixType, ScalarValue
from generators.types import COMPONENT_TYPES, ComponentType, Layout, Scope, Use

_NONZERO = 0x35
"""The bits of an element in place of 0, so a zero comes from a bounds check."""

_POINTEES: Mapping[str, Callable[[ComponentType], Pointee]] = {
    "component": Pointee,
    "vec4": partial(Pointee, lanes=4),
    "uvec4": lambda _: Pointee(U32, 4),
}
"""Functions that make the pointee of an array from a component type."""

_RANGE_UNIT = 4
"""The size of a range in bytes is a multiple of this number, the maximum of robustStorageBufferAccessSizeAlignment."""

_FAR = 1 << 20
_HUGE = 0x7000_0000
"""Distances in bytes far beyond any buffer. They are lost in the lower 16 (20) bits of an offset, but fit in 32 signed bits."""


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of a case."""

    component: ComponentType = parameter("the component type of the matrix", labels=COMPONENT_TYPES)
    use: Use = parameter("the use of the matrix", labels=USES)
    shape: tuple[int, int] = parameter("rows and columns", decode=parse_shape)
    access: Literal["load", "store"] = parameter("the access that the range cuts; the other one is in bounds")
    layout: Layout = parameter("layout of the access that is cut", default="row", labels=LAYOUTS)
    stride: Literal["tight", "padded"] = parameter("whether lines are followed by padding", default="tight")
    cut: Literal["line", "part", "first", "none", "far", "huge", "whole"] = parameter(
        "where the range ends: after half of the lines, within a line, after the first bytes, before the matrix, or after it; "
        "far and huge: the matrix is a long way beyond the range",
        default="line",
    )
    pointee: Callable[[ComponentType], Pointee] = parameter(
        "the type that the array is declared with", default="component", labels=_POINTEES
    )
    source: SOURCE_NAMES = parameter("where stride and first element come from", default="literal")
    subgroups: int = parameter("subgroups of the workgroup, each with a matrix", default=1)


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Literal["index", "bits"] = parameter("how the data are drawn: by index, or at random")


def _cut_tiles(parameters: Parameters) -> Tiles | None:
    """Return the placement of the matrices in the array that the range cuts; None if an address would be misaligned or an element split."""
    component, cut = parameters.component, parameters.cut
    lines, components = lines_of(parameters.shape, parameters.layout)
    pointee = parameters.pointee(component)
    unit, line = pointee.bytes, components * component.bytes
    granule = math.lcm(min(ALIGNMENT, line), unit)
    if line % granule:
        return None
    stride = line + (granule if parameters.stride == "padded" else 0)
    start = math.lcm(ALIGNMENT, unit)
    span = stride * (lines - 1) + line
    pitch = rounded_up(span, start) + start
    last = start + pitch * (parameters.subgroups - 1)
    step = math.lcm(_RANGE_UNIT, unit, component.bytes)
    half = stride * (lines // 2)
    end = {
        "whole": span,
        # An offset that loses its upper bits falls into the range, where there are data.
        "far": span,
        "huge": span,
        "line": half,
        "part": half + line // 2 // step * step,
        "first": step,
    }.get(cut, 0)
    if end % step or (cut == "part" and end == half):
        return None
    first = start + {"far": _FAR, "huge": _HUGE}.get(cut, 0)
    type_ = MatrixType(component, Scope.SUBGROUP, *parameters.shape, parameters.use)
    sizes = stride // unit, pitch // unit, parameters.subgroups, 1, first // unit
    return Tiles(type_, parameters.layout, *sizes, of=pointee, end=(last + end) // unit)


def _is_whole(tiles: Tiles) -> bool:
    """Tell whether the range has a whole matrix, so a store must write it (F-KHR-38)."""
    lines, line = lines_of(tiles.type.shape, tiles.layout)
    unit = tiles.pointee.bytes
    return (tiles.first + tiles.stride * (lines - 1)) * unit + line * tiles.component.bytes <= tiles.bytes


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {"aligned": lambda parameters: _cut_tiles(parameters) is not None}


def build(parameters: Parameters) -> Built:
    """Build a case: a load or a store that the range cuts; the other access is tight and in bounds.

    Raises:
        GeneratorError: the case is one that the constraint ``aligned`` excludes.
    """
    component = parameters.component
    cut = _cut_tiles(parameters)
    if cut is None:
        raise GeneratorError(Rule.CONSTRAINT, "robustness: the constraint 'aligned' must exclude this case")
    builder = ProgramBuilder(Scope.SUBGROUP, subgroups=parameters.subgroups)
    loads = parameters.access == "load"
    whole = tight(cut.type, Layout.ROW_MAJOR, (builder.instances, 1))
    source = matrix_source(builder, "source", cut if loads else whole)
    target = matrix_target(builder, "target", whole if loads else cut)
    stride = builder.operand("stride", U32, parameters.source, cut.stride, cut.stride * 2)
    first: ScalarValue = builder.operand("first", U32, parameters.source, cut.first, 0)
    plain: ScalarValue = builder.literal(0)
    if builder.instances > 1:
        first = builder.offset("element", first, builder.instance_index(), cut.pitch)
        plain = builder.offset("plain", plain, builder.instance_index(), whole.pitch)
    if loads:
        target.store(source.load("matrix", first, stride, robust=True), plain)
    else:
        target.store(source.load("matrix", plain), first, stride, robust=True)
        if not _is_whole(cut):
            add_witness(builder)
    operands = {"first": cut.first, "stride": cut.stride}
    count = source.array.bytes // component.bytes

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        """Draw elements that all have at least one bit set."""
        bits = pattern_bits(parameters.pattern, component, count, rng)
        bits = np.where(bits == 0, component.bits_dtype.type(_NONZERO), bits)
        return Subcase(name, {"source": bits.view(np.uint8)} | fills(program, rng), run_time_operands(program, operands))

    return Built(builder.build(), draw)
