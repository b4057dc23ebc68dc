"""Instructions that make tensor layouts and views (SPV_NV_tensor_addressing, Tensor Layout and View Instructions).

Each makes a changed copy: values are never changed in place (TA-CPY-01). All numbers are stored as u32 bits, as in ``values``; only the
offsets of a layout are read as signed. Numbers may differ between invocations until a load or store needs uniform ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from cts.embedded.diagnostics import UndefinedUse, Violation, demanded
from cts.embedded.faults import replaceable
from cts.embedded.instructions.registry import executes
from cts.embedded.machine.machine import Machine, Run
from cts.embedded.module.translation import Translation, Words
from cts.embedded.types.shapes import is_int32
from cts.embedded.types.spirv_types import TensorLayoutType, TensorViewType
from cts.embedded.types.values import UNDEFINED, Value, expand, settle, wide
from generators.spirv.enumerants import Op

Numbers = tuple[Value, ...]

U32_MAX = (1 << 32) - 1
S32_MAX = (1 << 31) - 1


class LayoutState(NamedTuple):
    """The contents of a tensor layout: tuples with a number for each dimension, and the clamp value."""

    block_size: Numbers
    dimension: Numbers
    stride: Numbers
    offset: Numbers
    span: Numbers
    clamp_value: Value


class ViewState(NamedTuple):
    """The contents of a tensor view: tuples with a number for each dimension, and the clip region."""

    dimension: Numbers
    stride: Numbers
    clip_row_offset: Value
    clip_row_span: Value
    clip_col_offset: Value
    clip_col_span: Value


def layout_state(machine: Machine, type_: TensorLayoutType, value: Value) -> LayoutState:
    """Return a tensor layout as the invocations that execute see it.

    Raises:
        UndefinedUse: the whole layout is undefined. Single numbers may be undefined.
    """
    parts = _defined(value, 6)
    return LayoutState(*(_settled(machine, part, type_.dim) for part in parts[:5]), *_settled(machine, parts[5:], 1))


def view_state(machine: Machine, type_: TensorViewType, value: Value) -> ViewState:
    """Return a tensor view as the invocations that execute see it.

    Raises:
        UndefinedUse: the whole view is undefined. Single numbers may be undefined.
    """
    parts = _defined(value, 6)
    return ViewState(*(_settled(machine, part, type_.dim) for part in parts[:2]), *_settled(machine, parts[2:], 4))


def _defined(value: Value, count: int) -> Numbers:
    if value is UNDEFINED:
        raise UndefinedUse("an undefined tensor layout or view is used")
    return expand(value, count)


def _settled(machine: Machine, numbers: Value, count: int) -> Numbers:
    return tuple(settle(number, machine.mask) for number in expand(numbers, count))


def wide_signed(value: Value) -> Value:
    """Return u32 bits, read as an s32, as a Python int or an int64 array; see ``wide``."""
    if isinstance(value, np.ndarray):
        return value.astype(np.uint32).view(np.int32).astype(np.int64)
    return int(value) - (1 << 32) if value > S32_MAX else int(value)


def _narrow(value: Value) -> Value:
    return (value & U32_MAX).astype(np.uint32) if isinstance(value, np.ndarray) else value & U32_MAX


def _any(machine: Machine, condition: Value) -> bool:
    """Return whether a condition holds in an invocation that executes."""
    return bool((condition & machine.mask).any()) if isinstance(condition, np.ndarray) else bool(condition)


def _operands(translation: Translation, operands: Words, count: int, rule: str, what: str) -> Words:
    if len(operands) != count:
        raise Violation(rule, f"{len(operands)} operands for {what}, which takes {count}")
    for operand in operands:
        if not is_int32(translation.type_of[operand]):
            raise Violation(rule, f"an operand for {what} is not a scalar 32-bit integer")
    return operands


class _Device(NamedTuple):
    """What computes with numbers: the machine, and its function that counts the blocks of a dimension."""

    machine: Machine
    blocks_of: Callable[[Machine, Value, Value], Value]


State = TypeVar("State", LayoutState, ViewState)
_Change = Callable[[_Device, State, Numbers], State]


def _changes(
    op: Op,
    rule: str,
    kind: type[TensorLayoutType | TensorViewType],
    state_of: Callable[[Machine, Any, Value], State],
    name: str,
    what: str,
    count: Callable[[int], int],
) -> Callable[[_Change[State]], _Change[State]]:
    """Return a decorator that registers an instruction which copies a layout or view and changes some of its numbers.

    The function returns the new state, from the state of the operand and the new numbers.

    Args:
        op: the instruction.
        rule: its rule about the types of result and operands.
        kind: the type of its result.
        state_of: returns the state of its operand.
        name: the name of the type, for messages.
        what: what the numbers are for, for messages.
        count: returns how many numbers it takes, from the dimensions of the type.
    """

    def register(change: _Change[State]) -> _Change[State]:
        @executes(op)
        def handler(translation: Translation, words: Words) -> Run:
            type_, source = translation.types[words[0]], words[2]
            if not isinstance(type_, kind) or translation.type_ids[source] != words[0]:
                raise Violation(rule, f"the result is not a tensor {name} of the operand's type")
            operands = _operands(translation, words[3:], count(type_.dim), rule, what.format(type_.dim))
            machine, values = translation.machine, translation.values
            device = _Device(machine, translation.performing(block_count))
            return lambda: change(device, state_of(machine, type_, values[source]), tuple(values[o] for o in operands))

        return change

    return register


def _changes_layout(
    op: Op, rule: str, what: str = "a layout of {} dimensions", count: Callable[[int], int] = lambda dim: dim
) -> Callable[[_Change[LayoutState]], _Change[LayoutState]]:
    return _changes(op, rule, TensorLayoutType, layout_state, "layout", what, count)


def _changes_view(
    op: Op, what: str = "a view of {} dimensions", count: Callable[[int], int] = lambda dim: dim
) -> Callable[[_Change[ViewState]], _Change[ViewState]]:
    return _changes(op, "TA-VOP-01", TensorViewType, view_state, "view", what, count)


@executes(Op.CreateTensorLayoutNV)
def _create_layout(translation: Translation, words: Words) -> Run:
    type_ = demanded(translation.types[words[0]], TensorLayoutType, "TA-CRE-02", "the result is not a tensor layout")
    zeros = (0,) * type_.dim
    state = LayoutState((1,) * type_.dim, zeros, zeros, zeros, zeros, 0)
    return lambda: state


@_changes_layout(Op.TensorLayoutSetBlockSizeNV, "TA-BLK-02")
def _set_block_size(_: _Device, state: LayoutState, numbers: Numbers) -> LayoutState:
    # The strides keep their values, although they count blocks from now on (F-TA-14).
    return state._replace(block_size=numbers)


@replaceable
def block_count(machine: Machine, dimension: Value, block_size: Value) -> Value:
    """Return the number of blocks in a dimension. The last one may be incomplete (F-TA-13)."""
    size = wide(block_size)
    if _any(machine, size == 0):
        machine.forbid("F-TA-12", "the block size of a dimension is 0, but its number of blocks is needed")
    return -(-wide(dimension) // np.maximum(size, 1)) if isinstance(size, np.ndarray) else -(-wide(dimension) // max(size, 1))


def _product(machine: Machine, stride: Value, count: Value) -> Value:
    """Return a default stride: ``stride`` times ``count``."""
    if _any(machine, (count > 0) & (wide(stride) > U32_MAX // _at_least_one(count))):
        machine.forbid("F-TA-7", "the default stride of a dimension is beyond 32 bits")
    return _narrow(wide(stride) * count)


def _at_least_one(value: Value) -> Value:
    return np.maximum(value, 1) if isinstance(value, np.ndarray) else max(value, 1)


@_changes_layout(Op.TensorLayoutSetDimensionNV, "TA-DIM-04")
def _set_dimension(device: _Device, state: LayoutState, numbers: Numbers) -> LayoutState:
    machine, blocks_of = device.machine, device.blocks_of
    stride: list[Value] = [1] * len(numbers)
    for i in reversed(range(len(numbers) - 1)):
        stride[i] = _product(machine, stride[i + 1], blocks_of(machine, numbers[i + 1], state.block_size[i + 1]))
    return state._replace(dimension=numbers, span=numbers, offset=(0,) * len(numbers), stride=tuple(stride))


@_changes_layout(Op.TensorLayoutSetStrideNV, "TA-STR-03")
def _set_stride(device: _Device, state: LayoutState, numbers: Numbers) -> LayoutState:
    machine, blocks_of = device.machine, device.blocks_of
    for i in range(len(numbers) - 1):
        blocks = blocks_of(machine, state.dimension[i + 1], state.block_size[i + 1])
        # Compare quotients, because the product may not fit.
        if _any(machine, (blocks > 0) & (wide(numbers[i]) // _at_least_one(blocks) < wide(numbers[i + 1]))):
            machine.forbid("TA-STR-02", f"the stride of dimension {i} is less than the stride times the blocks of dimension {i + 1}")
    return state._replace(stride=numbers)


@_changes_layout(Op.TensorLayoutSliceNV, "TA-SLI-03", "a slice of {} dimensions", lambda dim: 2 * dim)
def _slice(device: _Device, state: LayoutState, numbers: Numbers) -> LayoutState:
    machine, moved = device.machine, []
    for old, offset in zip(state.offset, numbers[0::2], strict=True):
        total = wide_signed(old) + wide_signed(offset)
        if _any(machine, (total > S32_MAX) | (total < -S32_MAX - 1)):
            machine.forbid("F-TA-6", "the offsets of the slices of a dimension add up to more than 32 signed bits")
        moved.append(_narrow(total))
    return state._replace(offset=tuple(moved), span=numbers[1::2])


@_changes_layout(Op.TensorLayoutSetClampValueNV, "TA-CLV-02", "a clamp value", lambda _: 1)
def _set_clamp_value(_: _Device, state: LayoutState, numbers: Numbers) -> LayoutState:
    return state._replace(clamp_value=numbers[0])


@executes(Op.CreateTensorViewNV)
def _create_view(translation: Translation, words: Words) -> Run:
    type_ = demanded(translation.types[words[0]], TensorViewType, "TA-CRE-02", "the result is not a tensor view")
    zeros = (0,) * type_.dim
    state = ViewState(zeros, zeros, 0, U32_MAX, 0, U32_MAX)
    return lambda: state


@_changes_view(Op.TensorViewSetDimensionNV)
def _set_view_dimension(device: _Device, state: ViewState, numbers: Numbers) -> ViewState:
    stride: list[Value] = [1] * len(numbers)
    for i in reversed(range(len(numbers) - 1)):
        stride[i] = _product(device.machine, stride[i + 1], wide(numbers[i + 1]))
    return state._replace(dimension=numbers, stride=tuple(stride))


@_changes_view(Op.TensorViewSetStrideNV)
def _set_view_stride(_: _Device, state: ViewState, numbers: Numbers) -> ViewState:
    return state._replace(stride=numbers)


@_changes_view(Op.TensorViewSetClipNV, "a clip region", lambda _: 4)
def _set_clip(_: _Device, state: ViewState, numbers: Numbers) -> ViewState:
    return ViewState(state.dimension, state.stride, *numbers)
