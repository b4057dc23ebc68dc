"""Defects of tensor layouts: an instruction sets or resets the wrong fields, or to wrong values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from cts.defects.defect import Defect, every
from cts.defects.evaluation import Substitute
from cts.defects.known import defects_of
from cts.defects.tensor_access import Access, mirroring_defects, tensor_access_defects
from cts.reference.state import State
from cts.reference.tensor import LayoutState, layout_set, layout_state, row_major
from generators.program.program import Program
from generators.program.tensor import LayoutSet, LayoutSetting

_16_BITS = 0xFFFF
_SIGN_24 = 1 << 23
_ENDLESS = 0xFFFFFFFF


@dataclass(frozen=True)
class _Change:
    """A layout before an instruction, and after it if the instruction works."""

    before: LayoutState
    after: LayoutState


Bend = Callable[[_Change], LayoutState]
"""Returns the layout that a wrong instruction leaves."""


def _keeps(field: str) -> Bend:
    """Return a function that leaves the field unchanged."""
    return lambda change: replace(change.after, **{field: getattr(change.before, field)})


def _turned(field: str) -> Bend:
    """Return a function that reverses the field: it sets the innermost dimension first."""
    return lambda change: replace(change.after, **{field: getattr(change.after, field)[:, ::-1]})


def _rounded_down(change: _Change) -> LayoutState:
    return replace(change.after, stride=row_major(change.after.dimension // change.after.block_size))


def _in_elements(change: _Change) -> LayoutState:
    return replace(change.after, stride=row_major(change.after.dimension))


def _only_once(change: _Change) -> LayoutState:
    return replace(change.after, dimension=np.where(change.before.dimension > 0, change.before.dimension, change.after.dimension))


def _column_major(change: _Change) -> LayoutState:
    blocks = -(-change.after.dimension // change.after.block_size)
    return replace(change.after, stride=row_major(blocks[:, ::-1])[:, ::-1])


def _recomputed(change: _Change) -> LayoutState:
    return replace(change.after, stride=row_major(-(-change.after.dimension // change.after.block_size)))


def _offset_replaced(change: _Change) -> LayoutState:
    return replace(change.after, offset=change.after.offset - change.before.offset)


def _offset_clamped(change: _Change) -> LayoutState:
    """Clamp the offset of a slice to the tensor; a further slice may still move it back inside."""
    return replace(change.after, offset=np.clip(change.after.offset, 0, np.maximum(change.before.dimension - 1, 0)))


def _span_of_dimension(change: _Change) -> LayoutState:
    return replace(change.after, span=change.after.dimension)


def _clipped_span(change: _Change) -> LayoutState:
    """Clip the slice of a slice to the outer slice."""
    return replace(change.after, span=np.minimum(change.before.span, change.after.span))


def _innermost_one(change: _Change) -> LayoutState:
    stride = change.after.stride.copy()
    stride[:, -1] = 1
    return replace(change.after, stride=stride)


def _narrow_strides(change: _Change) -> LayoutState:
    return replace(change.after, stride=change.after.stride & _16_BITS)


def _offset_in_24_bits(change: _Change) -> LayoutState:
    offset = change.after.offset
    return replace(change.after, offset=(offset + _SIGN_24) % (2 * _SIGN_24) - _SIGN_24)


def _narrow_dimensions(change: _Change) -> LayoutState:
    return replace(change.after, dimension=change.after.dimension & _16_BITS)


def _outermost_too_large(change: _Change) -> LayoutState:
    """Make the outermost dimension, if it has a bound, one larger."""
    dimension = change.after.dimension.copy()
    dimension[:, 0] += dimension[:, 0] != _ENDLESS
    return replace(change.after, dimension=dimension)


def _clamp_value_zero(change: _Change) -> LayoutState:
    return replace(change.after, clamp_value=np.zeros_like(change.after.clamp_value))


def _clamp_value_low(change: _Change) -> LayoutState:
    return replace(change.after, clamp_value=change.after.clamp_value & np.uint64(0xFF))


_ROUNDED_DOWN = "tensor_layout.block_strides_rounded_down"
_IN_ELEMENTS = "tensor_layout.block_strides_in_elements"

_SETTINGS: Mapping[LayoutSetting, tuple[tuple[Bend, str], ...]] = MappingProxyType(
    {
        "slice": (
            (_keeps("offset"), "tensor_layout.slice_offset_ignored"),
            (_keeps("span"), "tensor_layout.slice_span_ignored"),
            (_offset_replaced, "tensor_layout.slice_offset_replaced"),
            (_offset_clamped, "tensor_layout.slice_offset_clamped"),
            (_span_of_dimension, "tensor_layout.slice_span_whole"),
            (_clipped_span, "tensor_layout.slice_span_clipped"),
            (_turned("offset"), "tensor_layout.slice_offsets_reversed"),
            (_turned("span"), "tensor_layout.slice_spans_reversed"),
            (_offset_in_24_bits, "tensor_layout.slice_offset_in_24_bits"),
        ),
        "dimension": (
            (_keeps("offset"), "tensor_layout.dimension_keeps_offset"),
            (_keeps("span"), "tensor_layout.dimension_keeps_span"),
            (_keeps("stride"), "tensor_layout.dimension_keeps_strides"),
            (_only_once, "tensor_layout.dimension_set_once"),
            (_turned("dimension"), "tensor_layout.dimensions_reversed"),
            (_narrow_dimensions, "tensor_layout.dimensions_in_16_bits"),
            (_outermost_too_large, "tensor_layout.outermost_dimension_too_large"),
            (_column_major, "tensor_layout.default_strides_reversed"),
            (_rounded_down, _ROUNDED_DOWN),
            (_in_elements, _IN_ELEMENTS),
        ),
        "stride": (
            (_keeps("stride"), "tensor_layout.strides_ignored"),
            (_turned("stride"), "tensor_layout.strides_reversed"),
            (_innermost_one, "tensor_layout.innermost_stride_one"),
            (_narrow_strides, "tensor_layout.strides_in_16_bits"),
        ),
        "clamp_value": (
            (_keeps("clamp_value"), "tensor_layout.clamp_value_ignored"),
            (_clamp_value_zero, "tensor_layout.clamp_value_zero"),
            (_clamp_value_low, "tensor_layout.clamp_value_in_8_bits"),
        ),
        "block_size": (
            (_keeps("block_size"), "tensor_layout.block_sizes_ignored"),
            (_turned("block_size"), "tensor_layout.block_sizes_reversed"),
            (_recomputed, "tensor_layout.block_size_resets_strides"),
        ),
    }
)


def _bent(bend: Bend) -> Substitute:
    def step(state: State, operation: LayoutSet) -> None:
        before = layout_state(state, operation.layout)
        layout_set(state, operation)
        wrong = bend(_Change(before, layout_state(state, operation.result)))
        state.aggregates[operation.result.name] = tuple(vars(wrong).values())

    return step


def _in_place(state: State, operation: LayoutSet) -> None:
    """Also change the layout that was copied."""
    layout_set(state, operation)
    state.aggregates[operation.layout.name] = state.aggregates[operation.result.name]


@defects_of("tensor_layout", LayoutSet, Access)
def tensor_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of the tensor layouts of ``program``, and of the loads and stores that they address."""
    settings = every(program.operations, LayoutSet)
    blocks = any(operation.setting == "block_size" for operation in settings)
    # First: strides of zero give the same elements, and do so for every tensor, not only those with a dimension of one element.
    yield from mirroring_defects(program)
    for setting, bends in _SETTINGS.items():
        found = [operation for operation in settings if operation.setting == setting]
        if not found:
            continue
        for bend, id_ in bends:
            if blocks or id_ not in (_ROUNDED_DOWN, _IN_ELEMENTS):
                yield Defect(id_, dict.fromkeys(found, _bent(bend)))
        yield Defect("tensor_layout.changed_in_place", dict.fromkeys(found, _in_place), {"setting": setting.replace("_", " ")})
    yield from tensor_access_defects(program, blocks)
