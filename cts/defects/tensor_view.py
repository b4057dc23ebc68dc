"""Defects of tensor views: a permutation is inverted, strides are ignored, clip windows are misread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from cts.defects.defect import Defect, every, named
from cts.defects.evaluation import Substitute
from cts.defects.glossary import EVERY, ParameterValue
from cts.defects.known import defects_of
from cts.defects.tensor_access import Access, access_at
from cts.reference.state import State
from cts.reference.tensor import WHOLE_SPAN, LayoutState, ViewState, layout_state, row_major, view_state
from cts.reference.tensor_access import place, tensor_load
from cts.reference.tensor_addressing import linear_in_clip, per_instance, places, slice_addresses, through_view
from cts.reference.values import MatrixValue
from generators.errors import GeneratorError, Rule
from generators.program.operation import Operation
from generators.program.program import Program
from generators.program.tensor import ViewSet
from generators.program.tensor_access import TensorLoad, TensorStore, moved_matrix
from generators.program.values import TensorView, TensorViewType, extent

_16_BITS = 0xFFFF


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


def _inverted(seen: Seen) -> Seen:
    return replace(seen, permutation=tuple(int(i) for i in np.argsort(seen.permutation)))


def _unpermuted(seen: Seen) -> Seen:
    return replace(seen, permutation=tuple(range(len(seen.permutation))))


def _backwards(seen: Seen) -> Seen:
    return replace(seen, permutation=seen.permutation[::-1])


def _sizes_only(seen: Seen) -> Seen:
    """Permute the dimensions, but combine coordinates as if they had not been permuted."""
    own = _with_own(seen)
    order = list(seen.permutation)
    return _unpermuted(replace(own, view=replace(own.view, dimension=own.view.dimension[:, order])))


def _strides_only(seen: Seen) -> Seen:
    own = _with_own(seen)
    order = list(seen.permutation)
    return _unpermuted(replace(own, view=replace(own.view, stride=own.view.stride[:, order])))


def _default_strides(seen: Seen) -> Seen:
    return replace(seen, view=replace(seen.view, stride=row_major(seen.view.dimension)))


def _strides_in_permuted_order(seen: Seen) -> Seen:
    own = _with_own(seen)
    order = list(seen.permutation)
    stride = np.empty_like(own.view.stride)
    stride[:, order] = row_major(own.view.dimension[:, order])
    return replace(own, view=replace(own.view, stride=stride))


def _zero_as_one(seen: Seen) -> Seen:
    return replace(seen, view=replace(seen.view, stride=np.maximum(seen.view.stride, 1)))


def _zero_as_default(seen: Seen) -> Seen:
    stride = seen.view.stride
    return replace(seen, view=replace(seen.view, stride=np.where(stride == 0, row_major(seen.view.dimension), stride)))


def _narrow_dimensions(seen: Seen) -> Seen:
    return replace(seen, view=replace(seen.view, dimension=seen.view.dimension & _16_BITS))


def _narrow_strides(seen: Seen) -> Seen:
    return replace(seen, view=replace(seen.view, stride=seen.view.stride & _16_BITS))


def _spans_of_layout(seen: Seen) -> Seen:
    if seen.layout.span.shape[1] != len(seen.permutation):
        raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "the layout's spans are not dimensions of a view of another rank")
    return replace(seen, own=False)


def _dimensions_of_layout(seen: Seen) -> Seen:
    sizes = seen.layout.dimension
    return replace(seen, own=True, view=replace(seen.view, dimension=sizes, stride=row_major(sizes)))


def _tensor_strides(seen: Seen) -> Seen:
    if seen.layout.span.shape[1] != len(seen.permutation):
        raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "the layout's strides do not fit a view of another rank")
    own = _with_own(seen)
    return replace(own, view=replace(own.view, stride=seen.layout.stride))


def _without_end(seen: Seen) -> Seen:
    """Return the view with an outermost dimension so large that no coordinate reaches it."""
    own = _with_own(seen)
    dimension = own.view.dimension.copy()
    dimension[:, seen.permutation[0]] = 1 << 20
    return replace(own, view=replace(own.view, dimension=dimension))


def _without_offset(seen: Seen) -> Seen:
    return replace(seen, layout=replace(seen.layout, offset=np.zeros_like(seen.layout.offset)))


def _clipped_by(columns: tuple[int, ...]) -> Bend:
    def bend(seen: Seen) -> Seen:
        return replace(seen, view=replace(seen.view, clip=seen.view.clip[:, list(columns)]))

    return bend


def _unclipped(seen: Seen) -> Seen:
    clip = np.tile(np.array([0, WHOLE_SPAN, 0, WHOLE_SPAN], np.int64), (len(seen.view.clip), 1))
    return replace(seen, view=replace(seen.view, clip=clip))


def _clipped_to(rows: bool) -> Bend:
    def bend(seen: Seen) -> Seen:
        clip = seen.view.clip.copy()
        clip[:, 2 if rows else 0], clip[:, 3 if rows else 1] = 0, WHOLE_SPAN
        return replace(seen, view=replace(seen.view, clip=clip))

    return bend


def _longer(seen: Seen) -> Seen:
    clip = seen.view.clip + np.array([0, 1, 0, 1])
    return replace(seen, view=replace(seen.view, clip=np.minimum(clip, WHOLE_SPAN)))


def _not_subtracted(row: np.ndarray, column: np.ndarray, columns: int, view: ViewState) -> tuple[np.ndarray, np.ndarray]:
    outside = linear_in_clip(row, column, columns, view)[1]
    return row * np.minimum(columns, per_instance(view.clip[:, 3])) + column, outside


def _in_matrix(row: np.ndarray, column: np.ndarray, columns: int, view: ViewState) -> tuple[np.ndarray, np.ndarray]:
    """Count elements in the whole matrix, not in the clip window."""
    return row * columns + column, linear_in_clip(row, column, columns, view)[1]


def _as_wide(width: Callable[[int, np.ndarray, np.ndarray], np.ndarray]) -> Line:
    def line(row: np.ndarray, column: np.ndarray, columns: int, view: ViewState) -> tuple[np.ndarray, np.ndarray]:
        outside = linear_in_clip(row, column, columns, view)[1]
        row_offset, _, column_offset, column_span = (per_instance(view.clip[:, i]) for i in range(4))
        return (row - row_offset) * width(columns, column_offset, column_span) + column - column_offset, outside

    return line


def _ends(row: np.ndarray, column: np.ndarray, columns: int, view: ViewState) -> tuple[np.ndarray, np.ndarray]:
    """Read spans as the places where the window ends."""
    row_offset, row_span, column_offset, column_span = (per_instance(view.clip[:, i]) for i in range(4))
    outside = (row < row_offset) | (row >= row_span) | (column < column_offset) | (column >= column_span)
    return (row - row_offset) * np.minimum(columns, column_span) + column - column_offset, outside


def _before_bent(bend: Callable[[np.ndarray], np.ndarray]) -> Substitute:
    def step(state: State, access: TensorLoad) -> None:
        before = state.matrices[access.before.name]
        state.matrices[access.before.name] = MatrixValue(before.component, bend(before.bits))
        tensor_load(state, access)
        state.matrices[access.before.name] = before

    return step


_zero_before = _before_bent(np.zeros_like)
_shifted_before = _before_bent(lambda bits: np.roll(bits, -1, axis=2))


_BENDS: Mapping[str, Bend] = MappingProxyType(
    {
        "tensor_view.permutation_inverted": _inverted,
        "tensor_view.permutation_ignored": _unpermuted,
        "tensor_view.permutation_backwards": _backwards,
        "tensor_view.dimensions_permuted_only": _sizes_only,
        "tensor_view.strides_permuted_only": _strides_only,
        "tensor_view.strides_of_permuted_dimensions": _strides_in_permuted_order,
        "tensor_view.strides_of_tensor": _tensor_strides,
        "tensor_view.outermost_without_end": _without_end,
        "tensor_view.slice_offset_ignored": _without_offset,
    }
)
_STRIDES: Mapping[str, Bend] = MappingProxyType(
    {
        "tensor_view.strides_ignored": _default_strides,
        "tensor_view.stride_zero_as_one": _zero_as_one,
        "tensor_view.stride_zero_as_default": _zero_as_default,
        "tensor_view.strides_in_16_bits": _narrow_strides,
    }
)
_CLIPS: Mapping[str, Bend] = MappingProxyType(
    {
        "tensor_view.clip_ignored": _unclipped,
        "tensor_view.clip_rows_only": _clipped_to(rows=True),
        "tensor_view.clip_columns_only": _clipped_to(rows=False),
        "tensor_view.clip_axes_exchanged": _clipped_by((2, 3, 0, 1)),
        "tensor_view.clip_offsets_and_spans_exchanged": _clipped_by((1, 0, 3, 2)),
        "tensor_view.clip_operands_grouped": _clipped_by((0, 2, 1, 3)),
        "tensor_view.clip_end_included": _longer,
    }
)
_LINES: Mapping[str, Line] = MappingProxyType(
    {
        "tensor_view.clip_offset_not_subtracted": _not_subtracted,
        "tensor_view.numbered_in_matrix": _in_matrix,
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
        yield Defect("tensor_view.dimensions_in_16_bits", {access: _bent(_narrow_dimensions)}, where)
    if _own(view) and len(view.type.permutation) == extent(access.layout.type.rank):
        yield Defect("tensor_view.spans_of_slice", {access: _bent(_spans_of_layout)}, where)
    if isinstance(access, TensorLoad) and any(change.setting == "clip" for change in changes):
        yield Defect("tensor_view.clipped_elements_zero", {access: _zero_before}, where)
        yield Defect("tensor_view.clipped_elements_shifted", {access: _shifted_before}, where)
    made = list(_changes(program, view))
    for position, change in enumerate(made):
        earlier = {before.setting for before in made[position + 1 :]}
        if change.setting == "dimension" and "stride" in earlier:
            yield Defect("tensor_view.strides_outlive_dimensions", {access: _kept(change, "stride")}, where)
        if change.setting == "dimension" and "clip" in earlier:
            yield Defect("tensor_view.clip_ended_by_dimensions", {access: _bent(_unclipped)}, where)
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
