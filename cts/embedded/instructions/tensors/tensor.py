"""Instructions that make tensor layouts and views (SPV_NV_tensor_addressing, Tensor Layout and View Instructions).

Each makes a changed copy: values are never changed in place (TA-CPY-01). All numbers are stored as u32 bits, as in ``values``; only the
offsets of a layout are read as signed. Numbers may differ between invocations until a load or store needs uniform ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cts.embedded.diagnostics import UndefinedUse, Violation
from cts.embedded.faults import replaceable
from cts.embedded.instructions.registry import executes
from cts.embedded.machine.machine import Machine, Run
from cts.embedded.module.translation import Translation, Words
from cts.embedded.types.shapes import is_int32
from cts.embedded.types.spirv_types import TensorLayoutType, TensorViewType, Type
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


def _layout_operand(translation: Translation, words: Words, rule: str) -> TensorLayoutType:
    """Return the type that the result and the copied operand share."""
    type_ = _result_type(translation, words)
    if not isinstance(type_, TensorLayoutType) or translation.type_ids[words[2]] != words[0]:
        raise Violation(rule, "the result is not a tensor layout of the operand's type")
    return type_


def _view_operand(translation: Translation, words: Words) -> TensorViewType:
    type_ = _result_type(translation, words)
    if not isinstance(type_, TensorViewType) or translation.type_ids[words[2]] != words[0]:
        raise Violation("TA-VOP-01", "the result is not a tensor view of the operand's type")
    return type_


def _result_type(translation: Translation, words: Words) -> Type:
    return translation.types[words[0]]


@executes(Op.CreateTensorLayoutNV)
def _create_layout(translation: Translation, words: Words) -> Run:
    type_ = _result_type(translation, words)
    if not isinstance(type_, TensorLayoutType):
        raise Violation("TA-CRE-02", "the result is not a tensor layout")
    zeros = (0,) * type_.dim
    state = LayoutState((1,) * type_.dim, zeros, zeros, zeros, zeros, 0)
    return lambda: state


@executes(Op.TensorLayoutSetBlockSizeNV)
def _set_block_size(translation: Translation, words: Words) -> Run:
    type_ = _layout_operand(translation, words, "TA-BLK-02")
    source, operands = words[2], _operands(translation, words[3:], type_.dim, "TA-BLK-02", f"a layout of {type_.dim} dimensions")
    machine, values = translation.machine, translation.values

    def run() -> Value:
        # The strides keep their values, although they count blocks from now on (F-TA-14).
        return layout_state(machine, type_, values[source])._replace(block_size=tuple(values[o] for o in operands))

    return run


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


@executes(Op.TensorLayoutSetDimensionNV)
def _set_dimension(translation: Translation, words: Words) -> Run:
    type_ = _layout_operand(translation, words, "TA-DIM-04")
    source, operands = words[2], _operands(translation, words[3:], type_.dim, "TA-DIM-04", f"a layout of {type_.dim} dimensions")
    machine, values = translation.machine, translation.values
    blocks_of = translation.performing(block_count)

    def run() -> Value:
        state = layout_state(machine, type_, values[source])
        dimension = tuple(values[o] for o in operands)
        stride: list[Value] = [1] * type_.dim
        for i in reversed(range(type_.dim - 1)):
            stride[i] = _product(machine, stride[i + 1], blocks_of(machine, dimension[i + 1], state.block_size[i + 1]))
        return state._replace(dimension=dimension, span=dimension, offset=(0,) * type_.dim, stride=tuple(stride))

    return run


@executes(Op.TensorLayoutSetStrideNV)
def _set_stride(translation: Translation, words: Words) -> Run:
    type_ = _layout_operand(translation, words, "TA-STR-03")
    source, operands = words[2], _operands(translation, words[3:], type_.dim, "TA-STR-03", f"a layout of {type_.dim} dimensions")
    machine, values = translation.machine, translation.values
    blocks_of = translation.performing(block_count)

    def run() -> Value:
        state = layout_state(machine, type_, values[source])
        stride = tuple(values[o] for o in operands)
        for i in range(type_.dim - 1):
            blocks = blocks_of(machine, state.dimension[i + 1], state.block_size[i + 1])
            # Compare quotients, because the product may not fit.
            if _any(machine, (blocks > 0) & (wide(stride[i]) // _at_least_one(blocks) < wide(stride[i + 1]))):
                machine.forbid("TA-STR-02", f"stride {i} is less than stride {i + 1} times the blocks of dimension {i + 1}")
        return state._replace(stride=stride)

    return run


@executes(Op.TensorLayoutSliceNV)
def _slice(translation: Translation, words: Words) -> Run:
    type_ = _layout_operand(translation, words, "TA-SLI-03")
    source, operands = words[2], _operands(translation, words[3:], 2 * type_.dim, "TA-SLI-03", f"a slice of {type_.dim} dimensions")
    machine, values = translation.machine, translation.values
    offsets, spans = operands[0::2], operands[1::2]

    def run() -> Value:
        state = layout_state(machine, type_, values[source])
        moved = []
        for old, offset in zip(state.offset, offsets, strict=True):
            total = wide_signed(old) + wide_signed(values[offset])
            if _any(machine, (total > S32_MAX) | (total < -S32_MAX - 1)):
                machine.forbid("F-TA-6", "the offsets of the slices of a dimension add up to more than 32 signed bits")
            moved.append(_narrow(total))
        return state._replace(offset=tuple(moved), span=tuple(values[s] for s in spans))

    return run


@executes(Op.TensorLayoutSetClampValueNV)
def _set_clamp_value(translation: Translation, words: Words) -> Run:
    type_ = _layout_operand(translation, words, "TA-CLV-02")
    source, (value,) = words[2], _operands(translation, words[3:], 1, "TA-CLV-02", "a clamp value")
    machine, values = translation.machine, translation.values
    return lambda: layout_state(machine, type_, values[source])._replace(clamp_value=values[value])


@executes(Op.CreateTensorViewNV)
def _create_view(translation: Translation, words: Words) -> Run:
    type_ = _result_type(translation, words)
    if not isinstance(type_, TensorViewType):
        raise Violation("TA-CRE-02", "the result is not a tensor view")
    zeros = (0,) * type_.dim
    state = ViewState(zeros, zeros, 0, U32_MAX, 0, U32_MAX)
    return lambda: state


@executes(Op.TensorViewSetDimensionNV)
def _set_view_dimension(translation: Translation, words: Words) -> Run:
    type_ = _view_operand(translation, words)
    source, operands = words[2], _operands(translation, words[3:], type_.dim, "TA-VOP-01", f"a view of {type_.dim} dimensions")
    machine, values = translation.machine, translation.values

    def run() -> Value:
        dimension = tuple(values[o] for o in operands)
        stride: list[Value] = [1] * type_.dim
        for i in reversed(range(type_.dim - 1)):
            stride[i] = _product(machine, stride[i + 1], wide(dimension[i + 1]))
        return view_state(machine, type_, values[source])._replace(dimension=dimension, stride=tuple(stride))

    return run


@executes(Op.TensorViewSetStrideNV)
def _set_view_stride(translation: Translation, words: Words) -> Run:
    type_ = _view_operand(translation, words)
    source, operands = words[2], _operands(translation, words[3:], type_.dim, "TA-VOP-01", f"a view of {type_.dim} dimensions")
    machine, values = translation.machine, translation.values
    return lambda: view_state(machine, type_, values[source])._replace(stride=tuple(values[o] for o in operands))


@executes(Op.TensorViewSetClipNV)
def _set_clip(translation: Translation, words: Words) -> Run:
    type_ = _view_operand(translation, words)
    source, operands = words[2], _operands(translation, words[3:], 4, "TA-VOP-01", "a clip region")
    machine, values = translation.machine, translation.values

    def run() -> Value:
        state = view_state(machine, type_, values[source])
        return ViewState(state.dimension, state.stride, *(values[o] for o in operands))

    return run
