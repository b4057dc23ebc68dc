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

_SIGN_24 = 1 << 23
_ENDLESS = 0xFFFFFFFF


@dataclass(frozen=True)
class _Change:
    """A layout before an instruction, and after it if the instruction works."""

    before: LayoutState
    after: LayoutState


Bend = Callable[[_Change], Mapping[str, np.ndarray]]
"""Returns the wrong fields of the layout after an instruction."""


def _keeps(field: str) -> Bend:
    """Return a function that leaves the field unchanged."""
    return lambda change: {field: getattr(change.before, field)}


def _turned(field: str) -> Bend:
    """Return a function that reverses the field: it sets the innermost dimension first."""
    return lambda change: {field: getattr(change.after, field)[:, ::-1]}


def _masked(field: str, mask: int) -> Bend:
    """Return a function that keeps the low bits of the field."""

    def bend(change: _Change) -> Mapping[str, np.ndarray]:
        own = getattr(change.after, field)
        return {field: own & own.dtype.type(mask)}

    return bend


def _blocks(layout: LayoutState) -> np.ndarray:
    """Return the number of blocks of each dimension, the last of which may be in part outside of the tensor."""
    return np.asarray(-(-layout.dimension // layout.block_size))


def _only_once(change: _Change) -> dict[str, np.ndarray]:
    return {"dimension": np.where(change.before.dimension > 0, change.before.dimension, change.after.dimension)}


def _offset_clamped(change: _Change) -> dict[str, np.ndarray]:
    """Clamp the offset of a slice to the tensor; a further slice may still move it back inside."""
    return {"offset": np.clip(change.after.offset, 0, np.maximum(change.before.dimension - 1, 0))}


def _innermost_one(change: _Change) -> dict[str, np.ndarray]:
    stride = change.after.stride.copy()
    stride[:, -1] = 1
    return {"stride": stride}


def _offset_in_24_bits(change: _Change) -> dict[str, np.ndarray]:
    return {"offset": (change.after.offset + _SIGN_24) % (2 * _SIGN_24) - _SIGN_24}


def _outermost_too_large(change: _Change) -> dict[str, np.ndarray]:
    """Make the outermost dimension, if it has a bound, one larger."""
    dimension = change.after.dimension.copy()
    dimension[:, 0] += dimension[:, 0] != _ENDLESS
    return {"dimension": dimension}


_ROUNDED_DOWN = "tensor_layout.block_strides_rounded_down"
_IN_ELEMENTS = "tensor_layout.block_strides_in_elements"

_SETTINGS: Mapping[LayoutSetting, tuple[tuple[Bend, str], ...]] = MappingProxyType(
    {
        "slice": (
            (_keeps("offset"), "tensor_layout.slice_offset_ignored"),
            (_keeps("span"), "tensor_layout.slice_span_ignored"),
            (lambda change: {"offset": change.after.offset - change.before.offset}, "tensor_layout.slice_offset_replaced"),
            (_offset_clamped, "tensor_layout.slice_offset_clamped"),
            (lambda change: {"span": change.after.dimension}, "tensor_layout.slice_span_whole"),
            (lambda change: {"span": np.minimum(change.before.span, change.after.span)}, "tensor_layout.slice_span_clipped"),
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
            (_masked("dimension", 0xFFFF), "tensor_layout.dimensions_in_16_bits"),
            (_outermost_too_large, "tensor_layout.outermost_dimension_too_large"),
            (lambda change: {"stride": row_major(_blocks(change.after)[:, ::-1])[:, ::-1]}, "tensor_layout.default_strides_reversed"),
            (lambda change: {"stride": row_major(change.after.dimension // change.after.block_size)}, _ROUNDED_DOWN),
            (lambda change: {"stride": row_major(change.after.dimension)}, _IN_ELEMENTS),
        ),
        "stride": (
            (_keeps("stride"), "tensor_layout.strides_ignored"),
            (_turned("stride"), "tensor_layout.strides_reversed"),
            (_innermost_one, "tensor_layout.innermost_stride_one"),
            (_masked("stride", 0xFFFF), "tensor_layout.strides_in_16_bits"),
        ),
        "clamp_value": (
            (_keeps("clamp_value"), "tensor_layout.clamp_value_ignored"),
            (_masked("clamp_value", 0), "tensor_layout.clamp_value_zero"),
            (_masked("clamp_value", 0xFF), "tensor_layout.clamp_value_in_8_bits"),
        ),
        "block_size": (
            (_keeps("block_size"), "tensor_layout.block_sizes_ignored"),
            (_turned("block_size"), "tensor_layout.block_sizes_reversed"),
            (lambda change: {"stride": row_major(_blocks(change.after))}, "tensor_layout.block_size_resets_strides"),
        ),
    }
)


def _bent(bend: Bend) -> Substitute:
    def step(state: State, operation: LayoutSet) -> None:
        before = layout_state(state, operation.layout)
        layout_set(state, operation)
        after = layout_state(state, operation.result)
        wrong = replace(after, **bend(_Change(before, after)))
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
