"""tensor_view: permutations, own dimensions and strides, and clip windows of tensor views.

Axis values are those of cases/nv_cooperative_matrix2/tensor_view.yaml.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from generators.errors import GeneratorError
from generators.families.nv_cooperative_matrix2.tensor_view.shapes import (
    CLIPS,
    FORMS,
    Clip,
    clip_window,
    reached,
    row_major,
    slice_spans,
    view_elements,
    view_sizes,
    view_strides,
    window_elements,
    window_numbers,
)
from generators.inputs.patterns import PATTERNS
from generators.layouts.placement import Target, fills
from generators.layouts.tensor_tiles import Tensor, contents, matrix_in, matrix_out, tensor_elements, tensor_in, tensor_out
from generators.layouts.tensor_writer import LayoutStep, TensorWriter, ViewStep, slice_step
from generators.parameters.vocabulary import (
    CLAMP_MODES,
    SCOPES,
    SHAPE,
    SOURCES,
    STORAGE,
    SUBGROUPS,
    USES,
    TakenValues,
    Values,
    instances,
    shape_of,
)
from generators.program.builder import U32, ProgramBuilder
from generators.program.program import Program, Subcase
from generators.program.tensor import TensorLayout, TensorLayoutType, TensorView, TensorViewType, ViewSet, ViewSetting
from generators.program.tensor_access import TensorLoad, TensorStore
from generators.program.values import Extent, Matrix, MatrixType, ScalarValue
from generators.program.variables import VariableLoad, VariableStore
from generators.types import COMPONENT_TYPES, ClampMode, StorageClass

_CLAMP_VALUE = 0x5A3B6C4D
_DERIVED = ("derived", "derived_dimension", "derived_stride")
_MOST_ELEMENTS = 1 << 16
_MOST_WORKGROUP_BYTES = 8192

AXES: TakenValues = {
    "component": COMPONENT_TYPES.keys(),
    "use": USES.keys(),
    "shape": SHAPE,
    "scope": SCOPES.keys(),
    "subgroups": SUBGROUPS,
    "access": ("load", "store"),
    "rank": (1, 2, 3, 4, 5),
    "permutation": None,
    "form": FORMS,
    "fit": ("matrix", "window"),
    "clip": CLIPS,
    "spans": ("even", "odd"),
    "edge": ("inside", "over"),
    "mode": CLAMP_MODES.keys(),
    "place": ("value", "clip_first", "variable", *_DERIVED, "instance"),
    "constants": ("literal", "specialization"),
    "source": SOURCES,
    "integer": ("u32", "s32"),
    "storage": STORAGE,
    "pattern": PATTERNS,
}


@dataclass(frozen=True)
class Geometry:
    """What a case addresses.

    Attributes:
        sizes, tensor_strides, offsets, spans: of the tensor and its slice, for each dimension of the layout.
        dimensions: of the view, None where it has none of its own. ``strides``: that it sets, None where it sets none.
        clip: its window, None where it sets none.
    """

    sizes: tuple[int, ...]
    tensor_strides: tuple[int, ...]
    offsets: tuple[int, ...]
    spans: tuple[int, ...]
    dimensions: tuple[int, ...] | None
    strides: tuple[int, ...] | None
    clip: Clip | None


def _permutation(values: Values) -> tuple[int, ...]:
    """``p201``: dimension 2 is the outermost, 1 the innermost."""
    return tuple(map(int, values["permutation"][1:]))


def geometry(values: Values) -> Geometry | None:
    """What the axes ask for; None where they do not go together."""
    rows, columns = shape_of(values)
    rank, form = int(values["rank"]), values["form"]
    permutation = _permutation(values)
    clip = clip_window(values["clip"], rows, columns)
    elements = window_elements(clip, rows, columns) if values["fit"] == "window" else rows * columns
    if form == "span":
        if len(permutation) != rank:
            return None
        dimensions, strides, needed, line = None, None, elements, None
    else:
        dimensions = view_sizes(len(permutation), elements, form)
        if dimensions is None:
            return None
        strides = view_strides(form, dimensions)
        needed = reached(dimensions, strides or row_major(dimensions))
        # Windows over an image are seen as such in a slice of its width.
        line = strides[0] if strides and form == "sliding" and len(dimensions) == 4 else None
    spans = slice_spans(rank, needed, values["spans"] == "odd", line)
    lines = 0
    if values["edge"] == "over":
        seen = view_elements(window_numbers(clip, rows, columns), permutation, dimensions or spans, strides)
        # Where no element is seen, none has to stay inside.
        lines = int(seen.max()) // math.prod(spans[1:]) if seen.size else spans[0]
    sizes, offsets = [], []
    for dimension, span in enumerate(spans):
        over = values["edge"] == "over" and dimension in (0, rank - 1)
        # The first dimension is left at its beginning, the last one at its end, neither of them by all that the clip window lets see.
        offsets.append((-min(max(1, span // 4), lines) if dimension == 0 else min(2, span - 1)) if over else 1 + dimension % 2)
        sizes.append(max(2, span - (0 if dimension else max(1, span // 4))) if over else span + 3 + dimension)
    tensor_strides = row_major(sizes, 1)
    if tensor_elements(sizes, tensor_strides) * instances(values) > _limit(values):
        return None
    return Geometry(tuple(sizes), tensor_strides, tuple(offsets), spans, dimensions, strides, clip)


def _limit(values: Values) -> int:
    if values["storage"] == "workgroup":
        return _MOST_WORKGROUP_BYTES // COMPONENT_TYPES[values["component"]].bytes
    return _MOST_ELEMENTS


def _fits(values: Values) -> bool:
    return geometry(values) is not None


def _ranks_agree(values: Values) -> bool:
    return values["form"] != "span" or len(_permutation(values)) == int(values["rank"])


def _repeats_something(values: Values) -> bool:
    """With one dimension there is no inner one whose stride could be 0, and windows need two."""
    rank = len(_permutation(values))
    return rank > 1 or values["form"] not in ("outer_zero", "inner_zero", "sliding", "crossed")


PREDICATES: Mapping[str, Callable[[Values], bool]] = {
    "fits": _fits,
    "ranks_agree": _ranks_agree,
    "repeats_something": _repeats_something,
}


def _view_type(builder: ProgramBuilder, values: Values, own: bool) -> TensorViewType:
    permutation = _permutation(values)
    if values["constants"] == "literal":
        return TensorViewType(permutation, own)
    # A module without specialization has another permutation that is one as well, and the other kind of view.
    has_dimensions = builder.operand("has_dimensions", U32, "specialization", int(own), int(not own))
    rank = builder.operand("view_rank", U32, "specialization", len(permutation), len(permutation))
    dimensions: tuple[Extent, ...] = tuple(
        builder.operand(f"permutation_{i}", U32, "specialization", dimension, permutation[(i + 1) % len(permutation)])
        for i, dimension in enumerate(permutation)
    )
    return TensorViewType(dimensions, has_dimensions, rank)


def _clip_operands(writer: TensorWriter, values: Values, clip: Clip) -> Sequence[int | ScalarValue]:
    """The window, which lies lower down for each further scope instance if the view is to differ between them."""
    if values["place"] != "instance":
        return clip.operands
    builder = writer.builder
    first = writer.number("least", clip.row_offset, signed=False)
    return builder.arithmetic("varied", "add", first, builder.instance_index()), *clip.operands[1:]


def _view_steps(writer: TensorWriter, values: Values, shape: Geometry) -> list[ViewStep]:
    steps: list[ViewStep] = []
    if shape.dimensions is not None:
        if values["form"] == "reset":
            # What SetDimension replaces: other dimensions, and strides that are not row-major (TA-VDM-01).
            steps.append(("dimension", tuple(size + 2 for size in shape.dimensions)))
            steps.append(("stride", tuple(3 + i for i in range(len(shape.dimensions)))))
        steps.append(("dimension", shape.dimensions))
        if shape.strides is not None:
            steps.append(("stride", shape.strides))
    if shape.clip is not None:
        clip: ViewStep = ("clip", _clip_operands(writer, values, shape.clip))
        steps.insert(0 if values["place"] == "clip_first" else len(steps), clip)
    return steps


def _layout(writer: TensorWriter, values: Values, shape: Geometry) -> TensorLayout:
    mode = CLAMP_MODES[values["mode"]]
    steps: list[LayoutStep] = [("dimension", shape.sizes), ("stride", shape.tensor_strides)]
    if mode is ClampMode.CONSTANT:
        component = COMPONENT_TYPES[values["component"]]
        steps.append(("clamp_value", (_CLAMP_VALUE & ((1 << min(32, component.bits)) - 1),)))
    steps.append(slice_step(shape.offsets, shape.spans))
    return writer.layout("layout", TensorLayoutType(int(values["rank"]), mode), *steps)


def _derived(writer: TensorWriter, view: TensorView, kind: str, shape: Geometry, rows: int, columns: int) -> TensorView:
    """Another view made from ``view``, which stays what it was (TA-CPY-01)."""
    other = TensorView("derived", view.type)
    setting, numbers = _derived_step(kind, shape, rows, columns)
    operands = tuple(writer.number(f"derived_{i}", value) for i, value in enumerate(numbers))
    writer.builder.add(ViewSet(other, view, setting, operands))
    return other


def _derived_step(kind: str, shape: Geometry, rows: int, columns: int) -> tuple[ViewSetting, tuple[int, ...]]:
    """What the other view is given: another window, the dimensions backwards, or strides of which the outermost is 1; none of them
    reaches beyond what the view itself does."""
    if kind == "derived":
        window = Clip(2, rows - 3, 1, columns - 1) if shape.clip is None else Clip(0, rows, 0, columns)
        return "clip", window.operands
    if shape.dimensions is None:
        raise GeneratorError("tensor_view: a constraint must exclude views without dimensions that are derived by them")
    if kind == "derived_dimension":
        return "dimension", shape.dimensions[::-1]
    return "stride", tuple(row_major(shape.dimensions[::-1])[::-1])


def _through_variable(builder: ProgramBuilder, view: TensorView) -> TensorView:
    variable = builder.variable("view_variable", view.type)
    builder.add(VariableStore(variable, (), view))
    result = TensorView("loaded_view", view.type)
    builder.add(VariableLoad(result, variable))
    return result


def _access(
    builder: ProgramBuilder,
    load: bool,
    name: str,
    type_: MatrixType,
    tensor: Tensor,
    first: ScalarValue,
    layout: TensorLayout,
    view: TensorView,
) -> None:
    """A load by the view and a plain store to ``target<name>``, or a plain load from ``source<name>`` and a store by the view."""
    place = tensor.begin(builder, first)
    if load:
        matrix = Matrix(f"matrix{name}", type_)
        before = matrix_in(builder, f"before{name}", type_)
        builder.add(TensorLoad(matrix, tensor.array, place, before, layout, view))
        matrix_out(builder, f"target{name}", matrix)
    else:
        builder.add(TensorStore(matrix_in(builder, f"source{name}", type_), tensor.array, place, layout, view))


def _written(values: Values) -> tuple[ProgramBuilder, TensorWriter]:
    component, scope = COMPONENT_TYPES[values["component"]], SCOPES[values["scope"]]
    rows, columns = shape_of(values)
    type_ = MatrixType(component, scope, rows, columns, USES[values["use"]])
    shape = geometry(values)
    if shape is None:
        raise GeneratorError("tensor_view: the constraint 'fits' must exclude this case")
    builder = ProgramBuilder(scope, subgroups=int(values["subgroups"]))
    writer = TensorWriter(builder, values["source"], values["integer"] == "s32")
    storage = StorageClass(values["storage"])
    load, targets = values["access"] == "load", list[Target]()
    elements = tensor_elements(shape.sizes, shape.tensor_strides)

    def tensor(name: str) -> Tensor:
        if load:
            return tensor_in(builder, f"source{name}", component, elements, storage)
        made, target = tensor_out(builder, f"target{name}", component, elements, storage)
        targets.append(target)
        return made

    first_tensor = tensor("")
    second_tensor = tensor("_derived") if values["place"] in _DERIVED and not load else first_tensor
    layout = _layout(writer, values, shape)
    view = writer.view("view", _view_type(builder, values, shape.dimensions is not None), *_view_steps(writer, values, shape))
    derived = _derived(writer, view, values["place"], shape, rows, columns) if values["place"] in _DERIVED else None
    if values["place"] == "variable":
        view = _through_variable(builder, view)
    first = writer.number("first", first_tensor.first, signed=False)
    if derived is not None:
        _access(builder, load, "_derived", type_, second_tensor, first, layout, derived)
    _access(builder, load, "", type_, first_tensor, first, layout, view)
    for target in targets:
        target.finish(builder)
    return builder, writer


def program(values: Values) -> Program:
    """The program of a case: a load through the view and a plain store, or a plain load and a store through the view."""
    return _written(values)[0].build()


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """Every source is full of the pattern, gaps too; what a matrix held before has it backwards, so that no element has by chance what
    it is to be loaded with."""
    component = COMPONENT_TYPES[values["component"]]
    inputs = fills(program, rng)
    for array in program.arrays:
        if array.role != "input" or array.name in inputs or array.name == "operands":
            continue
        data = contents(array, component, values["pattern"], rng)
        if array.name.startswith("before"):
            data = data.view(component.bits_dtype)[::-1].copy().view(np.uint8)
        inputs[array.name] = data
    return Subcase(name, inputs, _written(values)[1].operands)
