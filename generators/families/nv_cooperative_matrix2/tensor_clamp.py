"""tensor_clamp: what loads and stores do with coordinates that are out of bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.errors import GeneratorError
from generators.layouts.matrix_arrays import matrix_in, matrix_out
from generators.layouts.placement import fills
from generators.layouts.tensor_slices import matrix_spans
from generators.layouts.tensor_writer import CLAMP_VALUE, LayoutStep, TensorWriter, slice_step
from generators.layouts.tensors import contents, row_major, tensor_array, tensor_elements
from generators.parameters.declaration import parameter
from generators.parameters.matrices import OneTensor, Rank
from generators.parameters.vocabulary import CLAMP_MODES
from generators.program.builder import ProgramBuilder
from generators.program.built import Built
from generators.program.program import Program, Subcase
from generators.program.values import TensorLayoutType
from generators.types import ClampMode, StorageClass

_MOST_ELEMENTS = 1 << 18
_MOST_WORKGROUP_BYTES = 8192
_ENDLESS = 0xFFFFFFFF


def _goes_out(parameters: Parameters) -> bool:
    return parameters.side != "inside"


def _has_clamp_value(parameters: Parameters) -> bool:
    return parameters.mode is ClampMode.CONSTANT


@dataclass(frozen=True, kw_only=True)
class Parameters(OneTensor):
    """The parameters of a case."""

    rank: Rank = parameter("dimensions of the tensor")
    mode: ClampMode = parameter("the clamp mode of the layout", labels=CLAMP_MODES)
    access: Literal["load", "store"] = parameter("what is done by tensor addressing", default="load")
    side: Literal["inside", "before", "after", "both"] = parameter("which end of a dimension the slice goes over")
    which: Literal["all", "outermost", "innermost", "middle", "ends", "beside_one"] = parameter(
        "the dimensions in which it does; beside_one: all but an outermost one of a single element", default="all"
    )
    reach: Literal["one", "part", "whole", "periods", "far"] = parameter(
        "by how much: one element, half of the slice, all of it, several periods of the tensor, or a million elements",
        default="one",
        applies=_goes_out,
    )
    size: Literal["large", "fit", "odd", "two", "one"] = parameter(
        "size of these dimensions: more than twice the slice's, the slice's, 3 or 5, 2, or 1", default="large", applies=_goes_out
    )
    outermost: Literal["sized", "endless"] = parameter(
        "size of the outermost dimension: as the other parameters say, or 0xFFFFFFFF, which has no upper end", default="sized"
    )
    strides: Literal["default", "padded", "spread"] = parameter(
        "default strides, gaps between lines, or between elements too", default="default"
    )
    clamp_value: Literal["default", "low", "garbage"] = parameter(
        "none is set, one of the component's width, or one with other bits above that", default="default", applies=_has_clamp_value
    )


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Literal["index", "index_high", "bits"] = parameter("what the source array is full of")


@dataclass(frozen=True)
class Geometry:
    """The tensor and the slice of a case: for each dimension its size, the slice's offset and span, and the stride in elements."""

    sizes: tuple[int, ...]
    offsets: tuple[int, ...]
    spans: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def elements(self) -> int:
        """Elements of memory from the first element of the tensor to its last, both included; of an endless one to the slice's last."""
        outermost = self.offsets[0] + self.spans[0] if self.sizes[0] == _ENDLESS else self.sizes[0]
        return tensor_elements((outermost, *self.sizes[1:]), self.strides)


def _touched(parameters: Parameters) -> tuple[int, ...]:
    """Return the dimensions in which the slice goes out of bounds."""
    rank = parameters.rank
    if parameters.side == "inside":
        return ()
    match parameters.which:
        case "all":
            return tuple(range(rank))
        case "outermost":
            return (0,)
        case "innermost":
            return (rank - 1,)
        case "middle":
            return (rank // 2,)
        case "beside_one":
            return tuple(range(1, rank))
        case _:
            return 0, rank - 1


def _size(parameters: Parameters, span: int) -> int:
    match parameters.size:
        case "one":
            return 1
        case "two":
            return 2
        case "odd":
            return 3 if span < 8 else 5
        case "fit":
            return span
        case _:
            return 2 * span + 3


def _amount(parameters: Parameters, size: int, span: int) -> int:
    """Return by how many elements the slice goes over an end."""
    match parameters.reach:
        case "one":
            return 1
        case "part":
            return (span + 1) // 2
        case "whole":
            return span
        case "periods":
            return span + 3 * size + 1
        case _:
            return span + 1_000_003


def _offset(parameters: Parameters, size: int, span: int) -> int | None:
    """Return where the slice begins in a dimension; None where side and size exclude each other."""
    match parameters.side:
        case "before":
            # The part that is inside ends before the dimension does, or the slice is beyond both ends.
            return -_amount(parameters, size, span)
        case "after":
            return size - span + _amount(parameters, size, span)
        case _:
            beyond = span - size
            return -(beyond // 2) if beyond >= 2 and parameters.reach == "part" else None


def geometry(parameters: Parameters) -> Geometry | None:
    """Return the tensor and the slice; None where the parameters contradict each other, or the tensor is too large."""
    rows, columns = parameters.shape
    rank = parameters.rank
    beside_one = parameters.which == "beside_one"
    if rank - beside_one == 5 and rows % 4:
        return None
    spans = (1, *matrix_spans(rows, columns, rank - 1)) if beside_one else matrix_spans(rows, columns, rank)
    touched = _touched(parameters)
    sizes, offsets = [], []
    for dimension, span in enumerate(spans):
        if beside_one and dimension == 0:
            sizes.append(1)
            offsets.append(0)
            continue
        if dimension not in touched:
            sizes.append(span + 3)
            offsets.append(1 + dimension % 2)
            continue
        size = _size(parameters, span)
        offset = _offset(parameters, size, span)
        if offset is None:
            return None
        sizes.append(size)
        offsets.append(offset)
    if parameters.outermost == "endless":
        if 0 in touched:
            return None
        sizes[0] = _ENDLESS
    strides = row_major(sizes, parameters.strides != "default", 3 if parameters.strides == "spread" else 1)
    result = Geometry(tuple(sizes), tuple(offsets), spans, strides)
    in_workgroup = parameters.storage is StorageClass.WORKGROUP
    limit = _MOST_WORKGROUP_BYTES // parameters.component.bytes if in_workgroup else _MOST_ELEMENTS
    return result if result.elements * parameters.instances <= limit else None


def _fits(parameters: Parameters) -> bool:
    return geometry(parameters) is not None


def _which_differ(parameters: Parameters) -> bool:
    """Return whether no other word for the same dimensions is used."""
    rank, which = parameters.rank, parameters.which
    return which == "all" or rank > 2 or (rank == 2 and which not in ("middle", "ends"))


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {"fits": _fits, "which_differ": _which_differ}


def _clamp_value(parameters: Parameters) -> int:
    bits = min(32, parameters.component.bits)
    return CLAMP_VALUE if parameters.clamp_value == "garbage" else CLAMP_VALUE & ((1 << bits) - 1)


def build(parameters: Parameters) -> Built:
    """Build a load by tensor addressing and a plain store, or a plain load and a store by tensor addressing.

    The whole source array holds the pattern, so a wrong address reads a wrong value.
    """
    component, type_, shape = parameters.component, parameters.matrix_type, geometry(parameters)
    if shape is None:
        raise GeneratorError("tensor_clamp: the constraint 'fits' must exclude this case")
    builder = ProgramBuilder(parameters.scope, subgroups=parameters.subgroups)
    writer = TensorWriter(builder, parameters.source, parameters.integer.is_signed)
    load = parameters.access == "load"
    tensor = tensor_array(builder, "source" if load else "target", component, shape.elements, parameters.storage, not load)
    steps: list[LayoutStep] = [("dimension", shape.sizes)]
    if parameters.strides != "default":
        steps.append(("stride", shape.strides))
    if parameters.clamp_value != "default":
        steps.append(("clamp_value", (_clamp_value(parameters),)))
    steps.append(slice_step(shape.offsets, shape.spans))
    layout = writer.layout("layout", TensorLayoutType(parameters.rank, parameters.mode), *steps)
    first = tensor.begin(writer.number("first", tensor.first, signed=False))
    if load:
        before = builder.splat("before", type_, builder.literal(1, component))
        matrix_out(builder, "target", tensor.load("matrix", type_, first, before, layout))
    else:
        tensor.store(matrix_in(builder, "source", type_), first, layout)
        tensor.finish(builder)

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        inputs = fills(program, rng)
        inputs["source"] = contents(program.array("source"), component, parameters.pattern, rng)
        return Subcase(name, inputs, dict(writer.operands))

    return Built(builder.build(), draw)
