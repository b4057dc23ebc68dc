"""The state of tensor layouts and views, and the effect of each instruction (SPV_NV_tensor_addressing, Tensor Layout and View
Instructions)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cts.reference.state import State, evaluates
from generators.errors import GeneratorError
from generators.program.tensor import LayoutCreate, LayoutSet, ViewCreate, ViewSet
from generators.program.values import ScalarValue, TensorLayout, TensorView, extent

WHOLE_SPAN = 0xFFFFFFFF
"""Both clip spans of a new view (TA-VCR-01)."""


@dataclass(frozen=True)
class LayoutState:
    """tensorLayoutNV in every scope instance: int64, (instances, rank), except ``clamp_value``: uint64, (instances,)."""

    block_size: np.ndarray
    dimension: np.ndarray
    stride: np.ndarray
    offset: np.ndarray
    span: np.ndarray
    clamp_value: np.ndarray


@dataclass(frozen=True)
class ViewState:
    """tensorViewNV in every scope instance: ``dimension`` and ``stride`` int64, (instances, rank); ``clip`` int64, (instances, 4): row
    offset, row span, column offset, column span."""

    dimension: np.ndarray
    stride: np.ndarray
    clip: np.ndarray


def layout_state(state: State, layout: TensorLayout) -> LayoutState:
    """Return the value of a layout."""
    return LayoutState(*state.aggregates[layout.name])


def view_state(state: State, view: TensorView) -> ViewState:
    """Return the value of a view."""
    return ViewState(*state.aggregates[view.name])


def _define(state: State, result: TensorLayout | TensorView, value: LayoutState | ViewState) -> None:
    state.aggregates[result.name] = tuple(vars(value).values())


@evaluates(LayoutCreate)
def layout_create(state: State, operation: LayoutCreate) -> None:
    """Create a layout: everything is zero, except the block sizes, which are one (TA-CRE-01)."""
    shape = len(state.instances), extent(operation.result.type.rank)
    zero, one = np.zeros(shape, np.int64), np.ones(shape, np.int64)
    _define(state, operation.result, LayoutState(one, zero, zero, zero, zero, np.zeros(shape[0], np.uint64)))


@evaluates(ViewCreate)
def view_create(state: State, operation: ViewCreate) -> None:
    """Create a view: dimensions and strides are zero, and the clip window is the whole matrix (TA-VCR-01)."""
    count = len(state.instances)
    zero = np.zeros((count, len(operation.result.type.permutation)), np.int64)
    clip = np.tile(np.array([0, WHOLE_SPAN, 0, WHOLE_SPAN], np.int64), (count, 1))
    _define(state, operation.result, ViewState(zero, zero, clip))


def _unsigned(state: State, operands: tuple[ScalarValue, ...]) -> np.ndarray:
    """Return the operands, int64, (instances, operands), as non-negative numbers: 32 bits of either signedness are read as unsigned."""
    return np.stack([(state.scalar(operand) & np.uint64(0xFFFFFFFF)).astype(np.int64) for operand in operands], axis=1)


def _signed(values: np.ndarray) -> np.ndarray:
    return np.where(values >> 31 & 1, values - (1 << 32), values)


@evaluates(LayoutSet)
def layout_set(state: State, operation: LayoutSet) -> None:
    """Copy the layout and change one setting (TA-CPY-01).

    Raises:
        GeneratorError: the number of operands is wrong for the setting, or a stride is less than the extent of the next dimension.
    """
    before, name = layout_state(state, operation.layout), operation.result.name
    values = _unsigned(state, operation.operands)
    rank = before.dimension.shape[1]
    needed = {"slice": 2 * rank, "clamp_value": 1}.get(operation.setting, rank)
    if len(operation.operands) != needed:
        rule = "TA-SLI-03" if operation.setting == "slice" else "TA-DIM-04"
        raise GeneratorError(rule, f"{name}: {operation.setting} of a layout of {rank} dimensions needs {needed} operands ({rule})")
    match operation.setting:
        case "dimension":
            # Offsets become zero and strides count adjacent blocks, rounded up (TA-DIM-01 to TA-DIM-03, F-TA-13).
            stride = row_major(-(-values // before.block_size))
            after = replace(before, dimension=values, span=values, offset=np.zeros_like(values), stride=stride)
        case "stride":
            least = values[:, 1:] * -(-before.dimension // before.block_size)[:, 1:]
            if (values[:, :-1] < least).any():
                state.undefined(
                    "TA-STR-02", f"{name}: a stride is less than the next one times its dimension in blocks (TA-STR-02); widen it"
                )
            after = replace(before, stride=values)
        case "slice":
            # Offsets add up, spans are replaced (TA-SLI-01, TA-SLI-02); an offset is an int32.
            after = replace(before, offset=before.offset + _signed(values[:, 0::2]), span=values[:, 1::2])
        case "clamp_value":
            after = replace(before, clamp_value=values[:, 0].astype(np.uint64))
        case "block_size":
            # Strides are not computed again (TA-BLK-01, F-TA-14).
            after = replace(before, block_size=values)
    _define(state, operation.result, after)


@evaluates(ViewSet)
def view_set(state: State, operation: ViewSet) -> None:
    """Copy the view and change one setting.

    Raises:
        GeneratorError: the number of operands is wrong for the setting.
    """
    before, name = view_state(state, operation.view), operation.result.name
    values = _unsigned(state, operation.operands)
    needed = 4 if operation.setting == "clip" else before.dimension.shape[1]
    if len(operation.operands) != needed:
        raise GeneratorError("TA-VOP-01", f"{name}: {operation.setting} of this view needs {needed} operands (TA-VOP-01)")
    match operation.setting:
        case "dimension":
            # Strides are in the order of the dimensions before permutation (TA-VDM-01).
            after = replace(before, dimension=values, stride=row_major(values))
        case "stride":
            after = replace(before, stride=values)
        case "clip":
            after = replace(before, clip=values)
    _define(state, operation.result, after)


def row_major(sizes: np.ndarray) -> np.ndarray:
    """Return the strides of adjacent elements: 1 for the last dimension, otherwise the product of the sizes after it."""
    stride = np.ones_like(sizes)
    for dimension in range(sizes.shape[1] - 2, -1, -1):
        stride[:, dimension] = stride[:, dimension + 1] * sizes[:, dimension + 1]
    return stride
