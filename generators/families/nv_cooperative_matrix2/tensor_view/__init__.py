"""tensor_view: permutations, own dimensions and strides, and clip windows of tensor views."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from generators.errors import GeneratorError, Rule, possible
from generators.families.nv_cooperative_matrix2.tensor_view.shapes import (
    Clip,
    ClipKind,
    FormKind,
    broadened,
    clip_window,
    slice_spans,
    unused_sizes,
    unused_strides,
    view_elements,
    view_sizes,
    view_strides,
    window_elements,
    window_numbers,
)
from generators.layouts.matrix_arrays import matrix_in, matrix_out
from generators.layouts.placement import add_witness, fills
from generators.layouts.sliced_tensors import SlicedTensor
from generators.layouts.tensor_writer import LayoutStep, TensorWriter, ViewStep
from generators.layouts.tensors import Tensor, pattern_contents, row_major, tensor_array, tensor_elements
from generators.parameters.declaration import parameter
from generators.parameters.matrices import OPERANDS, OnePointedTensor, Rank
from generators.parameters.vocabulary import CLAMP_MODES
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Carried
from generators.program.program import Built, Program, Subcase
from generators.program.tensor import ViewSet, ViewSetting
from generators.program.values import Extent, MatrixType, ScalarValue, TensorLayout, TensorLayoutType, TensorView, TensorViewType, Value
from generators.program.variables import VariableLoad, VariableStore
from generators.types import ClampMode, StorageClass

_CLAMP_VALUE = 0x5A3B6C4D
_DERIVED: Mapping[str, ViewSetting] = MappingProxyType({"derived": "clip", "derived_dimension": "dimension", "derived_stride": "stride"})
"""The setting that makes another view from the view, by the label of the parameter for the place of views."""

_WITHOUT_DIMENSIONS = ("span", "span_set")
_MOST_ELEMENTS = 1 << 16
_MOST_ELEMENTS_FAR = 1 << 20
_TRIPS = 2
"""Iterations that carry the Object. A second load leaves the same elements as the first."""


def _permutation(text: str) -> tuple[int, ...]:
    """Return the dimensions that ``p201`` names, outermost first: 2, 0, 1.

    Raises:
        ValueError: they are not a permutation.
    """
    dimensions = tuple(int(digit) for digit in text[1:])
    if text[:1] != "p" or sorted(dimensions) != list(range(len(dimensions))) or not 1 <= len(dimensions) <= 5:
        raise ValueError("expected p and each dimension once, such as p201")
    return dimensions


@dataclass(frozen=True, kw_only=True)
class Parameters(OnePointedTensor):
    """The parameters of a case."""

    access: Literal["load", "store"] = parameter("what is done through the view", default="load")
    rank: Rank = parameter("dimensions of the layout", default=2)
    permutation: tuple[int, ...] = parameter("dimensions of the view, outermost first", decode=_permutation)
    form: FormKind = parameter("dimensions and strides of the view", default="default")
    fit: Literal["matrix", "window"] = parameter(
        "whether the dimensions have as many elements as the matrix or as the clip window",
        default="matrix",
        applies=lambda parameters: parameters.clip != "none",
    )
    clip: ClipKind = parameter("the clip window", default="none")
    spans: Literal["even", "odd"] = parameter("whether spans of the slice are powers of two", default="even")
    edge: Literal["inside", "over", "past"] = parameter(
        "whether the slice is inside the tensor, over the first edge of the first dimension and the last edge "
        "of the last, or one element past the end of only the first dimension",
        default="inside",
    )
    mode: ClampMode = parameter("the clamp mode of the layout", default="undefined", labels=CLAMP_MODES)
    place: Literal["value", "clip_first", "variable", "derived", "derived_dimension", "derived_stride", "instance"] = parameter(
        "how the access gets its view: straight from the instructions; with the clip window set first; from a "
        "variable; after another view was made from it by a window, dimensions or strides; or with a "
        "different window for each scope instance",
        default="value",
    )
    constants: Literal["literal", "specialization"] = parameter("the operands of the view's type", default="literal", then=OPERANDS)
    object: Literal["loaded", "null", "splat", "again", "carried"] = parameter(
        "the Object of the load, whose elements stay outside the clip window; it may be stored again after the load, or come from the "
        "iteration before",
        default="loaded",
        applies=lambda parameters: parameters.access == "load",
        then=("pointee",),
    )


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Literal["index", "index_high", "bits"] = parameter("what the source array is full of")


@dataclass(frozen=True)
class Geometry:
    """The tensor, its slice and the view of a case.

    Attributes:
        tensor: the tensor and its slice.
        dimensions: the dimensions of the view; None if it has none of its own.
        strides: the strides that the view sets; None if it sets none.
        clip: the window; None if the view sets none.
    """

    tensor: SlicedTensor
    dimensions: tuple[int, ...] | None
    strides: tuple[int, ...] | None
    clip: Clip | None


def geometry(parameters: Parameters) -> Geometry | None:
    """Return the tensor, its slice and the view; None if the parameters exclude each other."""
    rows, columns = parameters.shape
    rank, form = parameters.rank, parameters.form
    permutation = parameters.permutation
    clip = clip_window(parameters.clip, rows, columns)
    elements = window_elements(clip, rows, columns) if parameters.fit == "window" else rows * columns
    if form in _WITHOUT_DIMENSIONS:
        if len(permutation) != rank:
            return None
        dimensions, strides, needed, line = None, None, elements, None
    else:
        dimensions = view_sizes(len(permutation), elements, form)
        if dimensions is None:
            return None
        strides = view_strides(form, dimensions)
        needed = tensor_elements(dimensions, strides or row_major(dimensions))
        if form == "broad":
            dimensions = broadened(dimensions, permutation)
        # Windows over an image are recognizable only in a slice of the image's width.
        line = strides[0] if strides and form == "sliding" and len(dimensions) == 4 else None
    spans = slice_spans(rank, needed, parameters.spans == "odd", line)
    lines = 0
    if parameters.edge == "over":
        seen = view_elements(window_numbers(clip, rows, columns), permutation, dimensions or spans, strides)
        # If the view shows no element, none has to stay inside.
        lines = int(seen.max()) // math.prod(spans[1:]) if seen.size else spans[0]
    sizes, offsets = [], []
    for dimension, span in enumerate(spans):
        if parameters.edge == "past" and dimension == 0:
            offsets.append(3)
            sizes.append(span + 2)
            continue
        over = parameters.edge == "over" and dimension in (0, rank - 1)
        # The slice begins before the start of the first dimension and ends after the end of the last one, but some elements in the clip
        # window stay inside.
        offsets.append((-min(max(1, span // 4), lines) if dimension == 0 else min(2, span - 1)) if over else 1 + dimension % 2)
        sizes.append(max(2, span - (0 if dimension else max(1, span // 4))) if over else span + 3 + dimension)
    tensor = SlicedTensor(tuple(sizes), tuple(offsets), spans, row_major(sizes, padded=True))
    if not parameters.has_room(tensor.elements * parameters.instances, _MOST_ELEMENTS_FAR if form == "far" else _MOST_ELEMENTS):
        return None
    return Geometry(tensor, dimensions, strides, clip)


def _ranks_agree(parameters: Parameters) -> bool:
    return parameters.form not in _WITHOUT_DIMENSIONS or len(parameters.permutation) == parameters.rank


def _repeats_something(parameters: Parameters) -> bool:
    """Return whether the view has the dimensions that its strides need: a single dimension has no inner one whose stride could be 0, and
    windows need two."""
    return len(parameters.permutation) > 1 or parameters.form not in ("outer_zero", "inner_zero", "sliding", "crossed")


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "fits": lambda parameters: geometry(parameters) is not None,
    "pointee_fits": lambda parameters: parameters.pointee_fits,
    "ranks_agree": _ranks_agree,
    "repeats_something": _repeats_something,
}


def _view_type(builder: ProgramBuilder, parameters: Parameters, own: bool) -> TensorViewType:
    permutation = parameters.permutation
    if parameters.constants == "literal":
        return TensorViewType(permutation, own)
    # The unspecialized module has a different permutation and the other kind of view.
    has_dimensions = builder.operand("has_dimensions", U32, "specialization", int(own), int(not own))
    rank = builder.operand("view_rank", U32, "specialization", len(permutation), len(permutation))
    dimensions: tuple[Extent, ...] = tuple(
        builder.operand(f"permutation_{i}", U32, "specialization", dimension, permutation[(i + 1) % len(permutation)])
        for i, dimension in enumerate(permutation)
    )
    return TensorViewType(dimensions, has_dimensions, rank)


def _clip_operands(writer: TensorWriter, parameters: Parameters, clip: Clip) -> Sequence[int | ScalarValue]:
    """Return the window. If the view differs between scope instances, each further instance has it one row lower."""
    if parameters.place != "instance":
        return clip.operands
    builder = writer.builder
    first = writer.number("least", clip.row_offset, signed=False)
    return builder.arithmetic("varied", "add", first, builder.instance_index()), *clip.operands[1:]


def _view_steps(writer: TensorWriter, parameters: Parameters, shape: Geometry) -> list[ViewStep]:
    steps: list[ViewStep] = []
    if shape.dimensions is not None:
        if parameters.form == "reset":
            # SetDimension replaces other dimensions and strides that are not row-major (TA-VDM-01).
            steps.append(("dimension", tuple(size + 2 for size in shape.dimensions)))
            steps.append(("stride", tuple(3 + i for i in range(len(shape.dimensions)))))
        steps.append(("dimension", shape.dimensions))
        if shape.strides is not None:
            steps.append(("stride", shape.strides))
    elif parameters.form == "span_set":
        # Neither has an effect in a view without its own dimensions (CM2-VW-05).
        steps += [("dimension", unused_sizes(shape.tensor.spans)), ("stride", unused_strides(shape.tensor.spans))]
    if shape.clip is not None:
        clip: ViewStep = ("clip", _clip_operands(writer, parameters, shape.clip))
        steps.insert(0 if parameters.place == "clip_first" else len(steps), clip)
    return steps


def _layout(writer: TensorWriter, parameters: Parameters, shape: Geometry) -> TensorLayout:
    mode = parameters.mode
    steps: list[LayoutStep] = [("dimension", shape.tensor.sizes), ("stride", shape.tensor.strides)]
    if mode is ClampMode.CONSTANT:
        steps.append(("clamp_value", (_CLAMP_VALUE & ((1 << min(32, parameters.component.bits)) - 1),)))
    steps.append(shape.tensor.slice)
    return writer.layout("layout", TensorLayoutType(parameters.rank, mode), *steps)


def _derived(writer: TensorWriter, view: TensorView, setting: ViewSetting, shape: Geometry, matrix: tuple[int, int]) -> TensorView:
    """Make another view from ``view``, which stays unchanged (TA-CPY-01)."""
    other = Value("derived", view.type)
    numbers = _derived_numbers(setting, shape, matrix)
    operands = tuple(writer.number(f"derived_{i}", value) for i, value in enumerate(numbers))
    writer.builder.add(ViewSet(other, view, setting, operands))
    return other


def _derived_numbers(setting: ViewSetting, shape: Geometry, matrix: tuple[int, int]) -> tuple[int, ...]:
    """Return another window, the reversed dimensions, or strides whose outermost is 1. None of these lets a view reach more elements."""
    if setting == "clip":
        rows, columns = matrix
        window = Clip(2, rows - 3, 1, columns - 1) if shape.clip is None else Clip(0, rows, 0, columns)
        return window.operands
    if shape.dimensions is None:
        raise GeneratorError(
            Rule.CONSTRAINT, "tensor_view: a constraint must exclude setting the dimensions of a view that has none to make another view"
        )
    return shape.dimensions[::-1] if setting == "dimension" else tuple(row_major(shape.dimensions[::-1])[::-1])


def _through_variable(builder: ProgramBuilder, view: TensorView) -> TensorView:
    variable = builder.variable("view_variable", view.type)
    builder.add(VariableStore(variable, (), view))
    result = Value("loaded_view", view.type)
    builder.add(VariableLoad(result, variable))
    return result


def _access(
    builder: ProgramBuilder,
    parameters: Parameters,
    name: str,
    type_: MatrixType,
    tensor: Tensor,
    first: ScalarValue,
    layout: TensorLayout,
    view: TensorView,
) -> None:
    """Load through the view and store plainly to ``target<name>``, or load plainly from ``source<name>`` and store through the view."""
    begin = tensor.begin(first)
    if parameters.access == "load":
        match parameters.object:
            case "null":
                before = builder.null(f"before{name}", type_)
            case "splat":
                before = builder.splat(f"before{name}", type_, builder.literal(1, parameters.component))
            case _:
                before = matrix_in(builder, f"before{name}", type_)
        if parameters.object == "carried":
            matrix, carried = Value(f"current{name}", type_), list[Carried]()
            with builder.loop(Value(f"iteration{name}", U32), builder.operand(f"trips{name}", U32, "push_constant", _TRIPS), carried):
                carried.append(Carried(before, matrix, tensor.load(f"matrix{name}", type_, begin, matrix, layout, view)))
        else:
            matrix = tensor.load(f"matrix{name}", type_, begin, before, layout, view)
        matrix_out(builder, f"target{name}", matrix)
        if parameters.object == "again":
            matrix_out(builder, f"before_after{name}", before)
    else:
        tensor.store(matrix_in(builder, f"source{name}", type_), begin, layout, view)


def build(parameters: Parameters) -> Built:
    """Build a load through the view and a plain store, or a plain load and a store through the view.

    Every source is full of the pattern, including gaps. The target of a load holds the reversed pattern beforehand, so no element has by
    chance the bits that the load should give it.
    """
    component, type_, shape = parameters.component, parameters.matrix_type, possible(geometry(parameters), "tensor_view")
    builder = ProgramBuilder(parameters.scope, subgroups=parameters.subgroups)
    writer = TensorWriter(builder, parameters.source, parameters.integer.is_signed)
    load, tensors = parameters.access == "load", list[Tensor]()

    def tensor(name: str) -> Tensor:
        name = f"{'source' if load else 'target'}{name}"
        storage, pointee = parameters.storage, parameters.array_pointee
        tensors.append(tensor_array(builder, name, component, shape.tensor.elements, storage, not load, pointee))
        return tensors[-1]

    derived_by = _DERIVED.get(parameters.place)
    first_tensor = tensor("")
    second_tensor = first_tensor if derived_by is None or load else tensor("_derived")
    layout = _layout(writer, parameters, shape)
    view_type = _view_type(builder, parameters, shape.dimensions is not None)
    view = writer.view("view", view_type, *_view_steps(writer, parameters, shape))
    derived = None if derived_by is None else _derived(writer, view, derived_by, shape, parameters.shape)
    if parameters.place == "variable":
        view = _through_variable(builder, view)
    first = writer.number("first", first_tensor.first, signed=False)
    if derived is not None:
        _access(builder, parameters, "_derived", type_, second_tensor, first, layout, derived)
    _access(builder, parameters, "", type_, first_tensor, first, layout, view)
    for one in tensors:
        one.finish(builder)
    is_seen = derived is not None or window_numbers(shape.clip, *parameters.shape).size > 0
    if not load and not is_seen and parameters.storage is not StorageClass.WORKGROUP:
        add_witness(builder)

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        inputs = fills(program, rng)
        for array in program.arrays:
            if array.role != "input" or array.name in inputs or array.name == "operands":
                continue
            data = pattern_contents(array, component, parameters.pattern, rng)
            if array.name.startswith("before"):
                data = data.view(component.bits_dtype)[::-1].copy().view(np.uint8)
            inputs[array.name] = data
        return Subcase(name, inputs)

    return Built(builder.build(), draw)
