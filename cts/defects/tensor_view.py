"""Defects of tensor views: a permutation is inverted, strides are ignored, clip windows are misread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from cts.defects.defect import Defect, every, named
from cts.defects.edits import with_matrix, zeroed
from cts.defects.evaluation import Substitute
from cts.defects.glossary import EVERY, ParameterValue
from cts.defects.known import defects_of
from cts.defects.tensor_access import Access, access_at
from cts.reference.state import State
from cts.reference.tensor import WHOLE_SPAN, LayoutState, ViewState, layout_state, row_major, view_state
from cts.reference.tensor_access import place
from cts.reference.tensor_addressing import linear_in_clip, per_instance, places, slice_addresses, through_view
from cts.reference.values import MatrixValue
from generators.errors import GeneratorError, Rule
from generators.program.operation import Operation
from generators.program.program import Program
from generators.program.tensor import ViewSet
from generators.program.tensor_access import TensorLoad, TensorStore, moved_matrix
from generators.program.values import TensorView, TensorViewType, extent


@dataclass(frozen=True)
class Seen:
    """The view and the layout as a device reads them.

    Attributes:
        permutation: the permutation of the view's type.
        own: whether the view's type has dimensions of its own.
        view, layout: their states.
    """

    permutation: tuple[int, ...]
    own: bool
    view: ViewState
    layout: LayoutState


Bend = Callable[[Seen], Seen]
"""Returns the view and layout as a device with a defect reads them."""


def _seen(state: State, access: Access) -> Seen:
    view = access.view
    assert view is not None, "a defect of views needs a view"
    return Seen(tuple(map(extent, view.type.permutation)), _own(view), view_state(state, view), layout_state(state, access.layout))


Line = Callable[[np.ndarray, np.ndarray, int, ViewState], tuple[np.ndarray, np.ndarray]]
"""Takes rows, columns, the matrix's number of columns and the view. Returns indices in the clip window, and which elements are outside."""


def _performed(state: State, access: Access, seen: Seen | None, line: Line = linear_in_clip) -> None:
    """Access with another view, without a view, or with other indices in the clip window."""
    shape, store = moved_matrix(access).type.shape, isinstance(access, TensorStore)
    layout = layout_state(state, access.layout) if seen is None else seen.layout
    row, column = places(shape, layout)
    if seen is None:
        index, clipped = row * shape[1] + column, np.zeros(row.shape, bool)
    else:
        index, clipped = line(row, column, shape[1], seen.view)
        index = through_view(index, TensorViewType(seen.permutation, seen.own), seen.view, layout)
    found = slice_addresses(index, clipped, access.layout.type, layout, store, state.undefined)
    access_at(state, access, found, place(state, access))


def _bent(bend: Bend) -> Substitute:
    def step(state: State, access: Access) -> None:
        _performed(state, access, bend(_seen(state, access)))

    return step


def _lined(line: Line) -> Substitute:
    def step(state: State, access: Access) -> None:
        _performed(state, access, _seen(state, access), line)

    return step


def _without_view(state: State, access: Access) -> None:
    _performed(state, access, None)


def _with_own(seen: Seen) -> Seen:
    """Return the same view, with dimensions and strides of its own."""
    if seen.own:
        return seen
    return replace(seen, own=True, view=replace(seen.view, dimension=seen.layout.span, stride=row_major(seen.layout.span)))


Fields = Callable[[Seen], Mapping[str, np.ndarray]]
"""Returns the wrong fields of the view."""


def _viewed(fields: Fields) -> Bend:
    """Return a function that changes fields of the view."""
    return lambda seen: replace(seen, view=replace(seen.view, **fields(seen)))


def _owned(fields: Fields) -> Bend:
    """Return a function that changes fields of the view, which gets dimensions and strides of its own."""
    return lambda seen: _viewed(fields)(_with_own(seen))


def _permuted(change: Callable[[tuple[int, ...]], Iterable[int]]) -> Bend:
    return lambda seen: replace(seen, permutation=tuple(map(int, change(seen.permutation))))


_unpermuted = _permuted(lambda permutation: range(len(permutation)))


def _permuted_alone(field: str) -> Bend:
    """Return a function that permutes a field, but combines coordinates as if the dimensions had not been permuted."""
    return lambda seen: _unpermuted(_owned(lambda own: {field: getattr(own.view, field)[:, list(own.permutation)]})(seen))


def _strides_in_permuted_order(seen: Seen) -> dict[str, np.ndarray]:
    order = list(seen.permutation)
    stride = np.empty_like(seen.view.stride)
    stride[:, order] = row_major(seen.view.dimension[:, order])
    return {"stride": stride}


def _zero_as_default(seen: Seen) -> dict[str, np.ndarray]:
    stride = seen.view.stride
    return {"stride": np.where(stride == 0, row_major(seen.view.dimension), stride)}


def _in_16_bits(field: str) -> Bend:
    return _viewed(lambda seen: {field: getattr(seen.view, field) & 0xFFFF})


def _check_rank(seen: Seen) -> None:
    if seen.layout.span.shape[1] != len(seen.permutation):
        raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "the layout's dimensions do not fit a view of another rank")


def _spans_of_layout(seen: Seen) -> Seen:
    _check_rank(seen)
    return replace(seen, own=False)


def _dimensions_of_layout(seen: Seen) -> Seen:
    sizes = seen.layout.dimension
    return replace(seen, own=True, view=replace(seen.view, dimension=sizes, stride=row_major(sizes)))


def _tensor_strides(seen: Seen) -> dict[str, np.ndarray]:
    _check_rank(seen)
    return {"stride": seen.layout.stride}


def _without_end(seen: Seen) -> dict[str, np.ndarray]:
    """Make the outermost dimension so large that no coordinate reaches its end."""
    dimension = seen.view.dimension.copy()
    dimension[:, seen.permutation[0]] = 1 << 20
    return {"dimension": dimension}


def _without_offset(seen: Seen) -> Seen:
    return replace(seen, layout=replace(seen.layout, offset=np.zeros_like(seen.layout.offset)))


def _clipped_by(*columns: int) -> Bend:
    return _viewed(lambda seen: {"clip": seen.view.clip[:, list(columns)]})


def _unclipped_from(first: int, end: int) -> Bend:
    """Return a function that ignores some of the offsets and spans of the clip window."""

    def fields(seen: Seen) -> dict[str, np.ndarray]:
        clip = seen.view.clip.copy()
        clip[:, first:end:2], clip[:, first + 1 : end : 2] = 0, WHOLE_SPAN
        return {"clip": clip}

    return _viewed(fields)


_UNCLIPPED = _unclipped_from(0, 4)


def _longer(seen: Seen) -> dict[str, np.ndarray]:
    return {"clip": np.minimum(seen.view.clip + np.array([0, 1, 0, 1]), WHOLE_SPAN)}


def _numbered(number: Callable[[np.ndarray, np.ndarray, int, Sequence[np.ndarray]], np.ndarray]) -> Line:
    """Return a function that gives the elements of the clip window other numbers.

    Args:
        number: takes rows, columns, the matrix's number of columns, and the offset and span of the window's rows and columns.
    """

    def line(row: np.ndarray, column: np.ndarray, columns: int, view: ViewState) -> tuple[np.ndarray, np.ndarray]:
        window = [per_instance(view.clip[:, i]) for i in range(4)]
        return number(row, column, columns, window), linear_in_clip(row, column, columns, view)[1]

    return line


def _not_subtracted(row: np.ndarray, column: np.ndarray, columns: int, window: Sequence[np.ndarray]) -> np.ndarray:
    return np.asarray(row * np.minimum(columns, window[3]) + column)


def _as_wide(width: Callable[[int, np.ndarray, np.ndarray], np.ndarray]) -> Line:
    """Return a function that numbers the elements in lines of the width that the matrix's columns and the window's give."""

    def number(row: np.ndarray, column: np.ndarray, columns: int, window: Sequence[np.ndarray]) -> np.ndarray:
        row_offset, _, offset, span = window
        return np.asarray((row - row_offset) * width(columns, offset, span) + column - offset)

    return _numbered(number)


def _ends(row: np.ndarray, column: np.ndarray, columns: int, view: ViewState) -> tuple[np.ndarray, np.ndarray]:
    """Read spans as the places where the window ends."""
    row_offset, row_span, column_offset, column_span = (per_instance(view.clip[:, i]) for i in range(4))
    outside = (row < row_offset) | (row >= row_span) | (column < column_offset) | (column >= column_span)
    return (row - row_offset) * np.minimum(columns, column_span) + column - column_offset, outside


def _shifted(value: MatrixValue) -> MatrixValue:
    return MatrixValue(value.component, np.roll(value.bits, -1, axis=2))


_BENDS: Mapping[str, Bend] = MappingProxyType(
    {
        "tensor_view.permutation_inverted": _permuted(np.argsort),
        "tensor_view.permutation_ignored": _unpermuted,
        "tensor_view.permutation_backwards": _permuted(lambda permutation: permutation[::-1]),
        "tensor_view.dimensions_permuted_only": _permuted_alone("dimension"),
        "tensor_view.strides_permuted_only": _permuted_alone("stride"),
        "tensor_view.strides_of_permuted_dimensions": _owned(_strides_in_permuted_order),
        "tensor_view.strides_of_tensor": _owned(_tensor_strides),
        "tensor_view.outermost_without_end": _owned(_without_end),
        "tensor_view.slice_offset_ignored": _without_offset,
    }
)
_STRIDES: Mapping[str, Bend] = MappingProxyType(
    {
        "tensor_view.strides_ignored": _viewed(lambda seen: {"stride": row_major(seen.view.dimension)}),
        "tensor_view.stride_zero_as_one": _viewed(lambda seen: {"stride": np.maximum(seen.view.stride, 1)}),
        "tensor_view.stride_zero_as_default": _viewed(_zero_as_default),
        "tensor_view.strides_in_16_bits": _in_16_bits("stride"),
    }
)
_CLIPS: Mapping[str, Bend] = MappingProxyType(
    {
        "tensor_view.clip_ignored": _UNCLIPPED,
        "tensor_view.clip_rows_only": _unclipped_from(2, 4),
        "tensor_view.clip_columns_only": _unclipped_from(0, 2),
        "tensor_view.clip_axes_exchanged": _clipped_by(2, 3, 0, 1),
        "tensor_view.clip_offsets_and_spans_exchanged": _clipped_by(1, 0, 3, 2),
        "tensor_view.clip_operands_grouped": _clipped_by(0, 2, 1, 3),
        "tensor_view.clip_end_included": _viewed(_longer),
    }
)
_LINES: Mapping[str, Line] = MappingProxyType(
    {
        "tensor_view.clip_offset_not_subtracted": _numbered(_not_subtracted),
        "tensor_view.numbered_in_matrix": _numbered(lambda row, column, columns, _: row * columns + column),
        "tensor_view.clip_lines_of_matrix": _as_wide(lambda columns, _, span: np.full_like(span, columns)),
        "tensor_view.clip_lines_of_span": _as_wide(lambda _, __, span: span),
        "tensor_view.clip_lines_of_seen": _as_wide(lambda columns, offset, span: np.clip(columns - offset, 0, span)),
        "tensor_view.clip_spans_as_ends": _ends,
    }
)


def _place(access: Access) -> dict[str, ParameterValue]:
    return {"matrix": named(moved_matrix(access)), "access": "stored" if isinstance(access, TensorStore) else "loaded"}


def _own(view: TensorView) -> bool:
    given = view.type.has_dimensions
    return given if isinstance(given, bool) else bool(extent(given))


def _with_set(seen: Seen) -> Seen:
    """Use the dimensions and strides that were set, although the view's type says that it has none."""
    if (seen.view.dimension <= 0).any():
        raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "a dimension that was not set is 0")
    return replace(seen, own=True)


def _changes(program: Program, view: TensorView) -> Iterator[ViewSet]:
    """Yield the steps that made ``view``, last step first; none if it came from a variable."""
    made = {change.result.name: change for change in every(program.operations, ViewSet)}
    while (change := made.get(view.name)) is not None:
        yield change
        view = change.view


@defects_of("tensor_view", Access, ViewSet)
def tensor_view_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of the tensor loads and stores of ``program`` that have views."""
    accesses: list[Access] = [*every(program.operations, TensorLoad), *every(program.operations, TensorStore)]
    viewed = [access for access in accesses if access.view is not None]
    changes = every(program.operations, ViewSet)
    for access in viewed:
        yield from _of_one(program, access, changes)
    if len(viewed) > 1:
        for id_, step in _steps(changes):
            everyone: dict[Operation, Substitute] = dict.fromkeys(viewed, step)
            yield Defect(id_, everyone, {"matrix": EVERY, "access": "loaded or stored"})


def _steps(changes: Sequence[ViewSet]) -> Iterator[tuple[str, Substitute]]:
    settings = {change.setting for change in changes}
    yield "tensor_view.ignored", _without_view
    bends = {**_BENDS, **(_STRIDES if "stride" in settings else {}), **(_CLIPS if "clip" in settings else {})}
    for id_, bend in bends.items():
        yield id_, _bent(bend)
    if "clip" in settings:
        for id_, line in _LINES.items():
            yield id_, _lined(line)


def _of_one(program: Program, access: Access, changes: Sequence[ViewSet]) -> Iterator[Defect]:
    view = access.view
    assert view is not None
    where = _place(access)
    for id_, step in _steps(changes):
        yield Defect(id_, {access: step}, where)
    if not _own(view):
        yield Defect("tensor_view.dimensions_of_tensor", {access: _bent(_dimensions_of_layout)}, where)
        if any(change.setting in ("dimension", "stride") for change in _changes(program, view)):
            yield Defect("tensor_view.set_though_not_owned", {access: _bent(_with_set)}, where)
    else:
        yield Defect("tensor_view.dimensions_in_16_bits", {access: _bent(_in_16_bits("dimension"))}, where)
    if _own(view) and len(view.type.permutation) == extent(access.layout.type.rank):
        yield Defect("tensor_view.spans_of_slice", {access: _bent(_spans_of_layout)}, where)
    if isinstance(access, TensorLoad) and any(change.setting == "clip" for change in changes):
        yield Defect("tensor_view.clipped_elements_zero", {access: with_matrix("before", zeroed)}, where)
        yield Defect("tensor_view.clipped_elements_shifted", {access: with_matrix("before", _shifted)}, where)
    made = list(_changes(program, view))
    for position, change in enumerate(made):
        earlier = {before.setting for before in made[position + 1 :]}
        if change.setting == "dimension" and "stride" in earlier:
            yield Defect("tensor_view.strides_outlive_dimensions", {access: _kept(change, "stride")}, where)
        if change.setting == "dimension" and "clip" in earlier:
            yield Defect("tensor_view.clip_ended_by_dimensions", {access: _bent(_UNCLIPPED)}, where)
    for change in changes:
        if change.view == view:
            yield Defect("tensor_view.changed_in_place", {access: _as_derived(change)}, {**where, "setting": change.setting})


def _kept(change: ViewSet, name: str) -> Substitute:
    """Build a step that keeps what ``change`` should have replaced."""

    def step(state: State, access: Access) -> None:
        seen = _seen(state, access)
        _performed(state, access, replace(seen, view=replace(seen.view, **{name: getattr(view_state(state, change.view), name)})))

    return step


def _as_derived(change: ViewSet) -> Substitute:
    def step(state: State, access: Access) -> None:
        _performed(state, access, replace(_seen(state, access), view=view_state(state, change.result)))

    return step
