"""tensor_clamp: loads and stores with coordinates that are out of bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.errors import possible
from generators.layouts.matrix_arrays import matrix_in, matrix_out
from generators.layouts.placement import add_witness, fills
from generators.layouts.sliced_tensors import ENDLESS, SlicedTensor, matrix_spans
from generators.layouts.tensor_writer import CLAMP_VALUE, LayoutStep, TensorWriter, slice_step
from generators.layouts.tensors import pattern_contents, row_major, tensor_array
from generators.numerics.formats import bits_of
from generators.parameters.declaration import parameter
from generators.parameters.matrices import OPERANDS, OnePointedTensor, Rank
from generators.parameters.vocabulary import CLAMP_MODES
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Carried
from generators.program.program import Built, Program, Subcase
from generators.program.values import Matrix, MatrixType, TensorLayoutType, Value
from generators.types import COMPONENT_TYPES, ClampMode, StorageClass, Use

_MOST_ELEMENTS = 1 << 18
_DEPTH = 16
_LARGEST = 5
"""Columns of A, and the largest element, in a multiply-add that makes an Object: sums are exact in f16."""


def _goes_out(parameters: Parameters) -> bool:
    return parameters.side != "inside"


def _has_clamp_value(parameters: Parameters) -> bool:
    return parameters.mode is ClampMode.CONSTANT


@dataclass(frozen=True, kw_only=True)
class Parameters(OnePointedTensor):
    """The parameters of a case."""

    rank: Rank = parameter("dimensions of the tensor")
    mode: ClampMode = parameter("the clamp mode of the layout", labels=CLAMP_MODES)
    access: Literal["load", "store"] = parameter("what is done by tensor addressing", default="load")
    side: Literal["inside", "before", "after", "both"] = parameter("which end of a dimension the slice crosses")
    which: Literal["all", "outermost", "innermost", "middle", "ends", "beside_one"] = parameter(
        "the dimensions in which it does; beside_one: all except an outermost dimension of one element", default="all"
    )
    reach: Literal["one", "part", "whole", "periods", "far", "immense"] = parameter(
        "by how much: one element, half of the slice, all of it, several periods of the tensor, a million elements, or 2^30",
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
        "the strides: default, with gaps between lines, or with gaps between elements too", default="default"
    )
    clamp_value: Literal["default", "low", "garbage"] = parameter(
        "the clamp value: not set, of the component's width, or with other bits above that width",
        default="default",
        applies=_has_clamp_value,
        then=("pointee",),
    )
    object: Literal["splat", "null", "undefined", "again", "product", "loaded", "carried"] = parameter(
        "the Object of the load: a splat, null, or undefined; a matrix that is stored after the load: one that a plain load gives, the "
        "result of a multiply-add, the result of a load of another slice; or one that a loop around the load carries",
        default="splat",
        applies=lambda parameters: parameters.access == "load",
        then=OPERANDS,
    )


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Literal["index", "index_high", "bits"] = parameter("what the source array is full of")


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
    """Return the number of elements by which the slice exceeds an end."""
    match parameters.reach:
        case "one":
            return 1
        case "part":
            return (span + 1) // 2
        case "whole":
            return span
        case "periods":
            return span + 3 * size + 1
        case "far":
            return span + 1_000_003
        case _:
            # Truncated to fewer than 30 bits, the offset is near the tensor.
            return (1 << 30) - span // 2


def _offset(parameters: Parameters, size: int, span: int) -> int | None:
    """Return the offset of the slice in a dimension; None if side and size exclude each other."""
    match parameters.side:
        case "before":
            # The part that is inside ends before the dimension does, or the slice is beyond both ends.
            return -_amount(parameters, size, span)
        case "after":
            return size - span + _amount(parameters, size, span)
        case _:
            beyond = span - size
            return -(beyond // 2) if beyond >= 2 and parameters.reach == "part" else None


def sliced_tensor(parameters: Parameters) -> SlicedTensor | None:
    """Return the tensor and the slice; None if the parameters contradict each other or the tensor is too large."""
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
        sizes[0] = ENDLESS
    strides = row_major(sizes, parameters.strides != "default", 3 if parameters.strides == "spread" else 1)
    result = SlicedTensor(tuple(sizes), tuple(offsets), spans, strides)
    return result if parameters.has_room(result.elements * parameters.instances, _MOST_ELEMENTS) else None


def _which_differ(parameters: Parameters) -> bool:
    """Return whether the label is the only one for these dimensions."""
    rank, which = parameters.rank, parameters.which
    return which == "all" or rank > 2 or (rank == 2 and which not in ("middle", "ends"))


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "fits": lambda parameters: sliced_tensor(parameters) is not None,
    "pointee_fits": lambda parameters: parameters.pointee_fits,
    "which_differ": _which_differ,
}


def _clamp_value(parameters: Parameters) -> int:
    bits = min(32, parameters.component.bits)
    return CLAMP_VALUE if parameters.clamp_value == "garbage" else CLAMP_VALUE & ((1 << bits) - 1)


def _product(builder: ProgramBuilder, parameters: Parameters) -> Matrix:
    """Multiply a matrix of small whole numbers by a splat of two, and add three: every element is an odd number."""
    type_, f16 = parameters.matrix_type, COMPONENT_TYPES["f16"]
    rows, columns = parameters.shape
    a = matrix_in(builder, "factor", MatrixType(f16, parameters.scope, rows, _DEPTH, Use.A))
    b = builder.splat("twos", MatrixType(f16, parameters.scope, _DEPTH, columns, Use.B), builder.literal(bits_of(f16, 2.0), f16))
    c = builder.splat("threes", type_, builder.literal(bits_of(parameters.component, 3.0), parameters.component))
    return builder.muladd("object", type_, a, b, c, None)


def _load(builder: ProgramBuilder, parameters: Parameters, load: Callable[[str, Matrix], Matrix], other: Callable[[], Matrix]) -> None:
    """Load with the Object of the case and store the result. If the Object has its own value, store it after the load.

    Args:
        load: the load from the slice of the case, by name and Object.
        other: a load from another slice.
    """
    type_ = parameters.matrix_type
    match parameters.object:
        case "null":
            matrix_out(builder, "target", load("matrix", builder.null("before", type_)))
        case "undefined":
            matrix_out(builder, "target", load("matrix", builder.undefined("before", type_, "function")))
        case "splat":
            before = builder.splat("before", type_, builder.literal(1, parameters.component))
            matrix_out(builder, "target", load("matrix", before))
        case "carried":
            matrix, kept = (Value(name, type_) for name in ("current", "kept"))
            first, carried = matrix_in(builder, "object", type_), list[Carried]()
            # A single iteration, which is unknown to the compiler: the loop then has to keep the Object of the load.
            with builder.loop(Value("iteration", U32), builder.operand("trips", U32, "push_constant", 1), carried):
                carried += [Carried(first, matrix, load("matrix", matrix)), Carried(first, kept, matrix)]
            matrix_out(builder, "target", matrix)
            matrix_out(builder, "object_after", kept)
        case _:
            if parameters.object == "product":
                before = _product(builder, parameters)
            else:
                before = matrix_in(builder, "object", type_) if parameters.object == "again" else other()
            matrix_out(builder, "target", load("matrix", before))
            matrix_out(builder, "object_after", before)


def build(parameters: Parameters) -> Built:
    """Build a load by tensor addressing and a plain store, or a plain load and a store by tensor addressing.

    The whole source array holds the pattern, so a wrong address reads a wrong value.
    """
    component, type_ = parameters.component, parameters.matrix_type
    shape = possible(sliced_tensor(parameters), "tensor_clamp")
    builder = ProgramBuilder(parameters.scope, subgroups=parameters.subgroups)
    writer = TensorWriter(builder, parameters.source, parameters.integer.is_signed)
    load = parameters.access == "load"
    name, pointee = "source" if load else "target", parameters.array_pointee
    tensor = tensor_array(builder, name, component, shape.elements, parameters.storage, not load, pointee)
    steps: list[LayoutStep] = [("dimension", shape.sizes)]
    if parameters.strides != "default":
        steps.append(("stride", shape.strides))
    if parameters.clamp_value != "default":
        steps.append(("clamp_value", (_clamp_value(parameters),)))
    steps.append(shape.slice)
    layout_type = TensorLayoutType(parameters.rank, parameters.mode)
    layout = writer.layout("layout", layout_type, *steps)
    first = tensor.begin(writer.number("first", tensor.first, signed=False))
    if load:

        def other() -> Matrix:
            other_layout = writer.layout("other_layout", layout_type, *steps[:-1], slice_step((0,) * parameters.rank, shape.spans))
            return tensor.load("object", type_, first, builder.null("nothing", type_), other_layout)

        _load(builder, parameters, lambda name, before: tensor.load(name, type_, first, before, layout), other)
    else:
        tensor.store(matrix_in(builder, "source", type_), first, layout)
        tensor.finish(builder)
        if shape.is_outside and parameters.storage is not StorageClass.WORKGROUP:
            add_witness(builder)

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        inputs = fills(program, rng)
        inputs["source"] = pattern_contents(program.array("source"), component, parameters.pattern, rng)
        if parameters.object in ("again", "carried"):
            # Reversed, so no element has by chance the bits that the load should give it.
            data = pattern_contents(program.array("object"), component, parameters.pattern, rng)
            inputs["object"] = data.view(component.bits_dtype)[::-1].copy().view(np.uint8)
        if parameters.object == "product":
            inputs["factor"] = (
                rng.integers(-_LARGEST, _LARGEST, program.array("factor").count, endpoint=True).astype(np.float16).view(np.uint8)
            )
        return Subcase(name, inputs)

    return Built(builder.build(), draw)
