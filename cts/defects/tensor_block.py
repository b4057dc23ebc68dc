"""Defects of tensors of blocks: coordinates, strides and pointers of another block, and wrong arguments of decode functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from cts.defects.defect import Defect, Each, every, named, named_result
from cts.defects.evaluation import Substitute
from cts.defects.known import defects_of
from cts.defects.tensor_access import Reading, bent
from cts.reference.state import State
from cts.reference.tensor import LayoutState, layout_state
from cts.reference.tensor_access import addressed, load_at, place
from generators.program.arrays import ArrayLoad
from generators.program.functions import Function
from generators.program.operation import Operation
from generators.program.pointers import BlockLoad
from generators.program.program import Program
from generators.program.scalars import ScalarArithmetic, ScalarConvert
from generators.program.tensor import LayoutSet
from generators.program.tensor_access import TensorLoad
from generators.program.values import Operand, TensorLayoutType, Value, literal
from generators.program.walking import changed_function, flattened, results
from generators.types import ClampMode

Bend = Callable[[Reading], Mapping[str, np.ndarray]]
"""Returns the wrong fields of the addresses."""


def _bent(bend: Bend) -> Substitute:
    return bent(lambda reading: replace(reading.found, **bend(reading)))


def _neighbour(reading: Reading) -> dict[str, np.ndarray]:
    index = reading.found.index
    return {"index": np.where(index < index.max(), index + 1, index - 1)}


def _by_elements(reading: Reading) -> dict[str, np.ndarray]:
    """Multiply strides by coordinates in elements."""
    places = (reading.coordinate * reading.layout.stride[:, None, None, :]).sum(axis=-1)
    return {"index": np.where(reading.found.accessed, places, 0)}


def _divided(coordinate: np.ndarray, size: np.ndarray) -> dict[str, np.ndarray]:
    """Return coordinates of a block and in a block."""
    return {"block": coordinate // size, "within": coordinate % size}


_ARGUMENTS: tuple[tuple[str, Bend], ...] = (
    ("coordinates_exchanged", lambda reading: {"block": reading.found.within, "within": reading.found.block}),
    ("coordinates_reversed", lambda reading: {"block": reading.found.block[..., ::-1], "within": reading.found.within[..., ::-1]}),
    ("block_coordinates_in_elements", lambda reading: {"block": reading.coordinate}),
    ("tensor_coordinates", lambda reading: {"within": reading.coordinate}),
    ("block_coordinates_zero", lambda reading: {"block": np.zeros_like(reading.found.block)}),
    ("coordinates_in_block_zero", lambda reading: {"within": np.zeros_like(reading.found.within)}),
    ("block_coordinates_in_16_bits", lambda reading: {"block": reading.found.block & 0xFFFF}),
    ("coordinates_from_slice", lambda reading: _divided(reading.found.span, reading.block_size)),
    ("coordinates_unclamped", lambda reading: _divided(reading.unclamped, reading.block_size)),
)
"""Mistakes that change only arguments of a decode function."""

_POINTERS: tuple[tuple[str, Bend], ...] = (
    ("neighbour", _neighbour),
    ("first_block", lambda reading: {"index": np.zeros_like(reading.found.index)}),
    ("strides_in_elements", _by_elements),
)


def _counting(unit: Callable[[TensorLoad], int]) -> Substitute:
    """Build a load that counts blocks of so many bytes, for every function."""

    def step(state: State, operation: TensorLoad) -> None:
        at, size = place(state, operation), unit(operation)
        load_at(state, operation, addressed(state, operation), replace(at, unit=size, group_unit=size if at.group_unit else 0))

    return step


def _with_layout(change: Callable[[LayoutState], LayoutState], mode: ClampMode | None = None) -> Substitute:
    """Build a load with another state of its layout, or another clamp mode."""

    def step(state: State, operation: TensorLoad) -> None:
        kept = state.aggregates[operation.layout.name]
        layout = operation.layout if mode is None else replace(operation.layout, type=TensorLayoutType(operation.layout.type.rank, mode))
        state.aggregates[layout.name] = tuple(vars(change(layout_state(state, layout))).values())
        changed = replace(operation, layout=layout)
        load_at(state, changed, addressed(state, changed), place(state, operation))
        state.aggregates[operation.layout.name] = kept

    return step


def _whole_blocks(layout: LayoutState) -> LayoutState:
    return replace(layout, dimension=-(-layout.dimension // layout.block_size) * layout.block_size)


def _no_blocks(layout: LayoutState) -> LayoutState:
    return replace(layout, block_size=np.ones_like(layout.block_size))


Definitions = Mapping[str, Operation]
"""Operations of a function by the names of their results."""


def _shift(operation: Operation, known: Definitions, mask: int) -> ScalarArithmetic | None:
    """Return the right shift whose result ``operation`` masks with ``mask``; None if it does not."""
    if not isinstance(operation, ScalarArithmetic) or operation.operator != "and" or not isinstance(operation.right, Operand):
        return None
    shift = known.get(operation.left.name)
    if isinstance(shift, ScalarArithmetic) and shift.operator == "shift_right" and operation.right.value == mask:
        return shift
    return None


def _other_half(operation: Operation, known: Definitions) -> Sequence[Operation]:
    shift = _shift(operation, known, 15)
    if shift is None or not isinstance(operation, ScalarArithmetic):
        return (operation,)
    component, name = shift.result.type, operation.result.name
    place, other = Value(f"{name}_place", component), Value(f"{name}_other", component)
    return (
        ScalarArithmetic(place, "xor", shift.right, literal(component, 4)),
        ScalarArithmetic(other, "shift_right", shift.left, place),
        replace(operation, left=other),
    )


def _unmasked(operation: Operation, known: Definitions) -> Sequence[Operation]:
    if _shift(operation, known, 1) is None or not isinstance(operation, ScalarArithmetic):
        return (operation,)
    return (replace(operation, right=literal(operation.result.type, 0)),)


def _unsigned(operation: Operation, known: Definitions) -> Sequence[Operation]:
    """Widen signed bytes without their sign."""
    if not isinstance(operation, ScalarConvert) or not isinstance(known.get(operation.value.name), BlockLoad | ArrayLoad):
        return (operation,)
    narrow, wide = operation.value.type, operation.result.type
    if not narrow.is_signed or narrow.is_float or wide.is_float or wide.bits <= narrow.bits:
        return (operation,)
    signed = Value(f"{operation.result.name}_signed", wide)
    mask = literal(wide, (1 << narrow.bits) - 1)
    return replace(operation, result=signed), ScalarArithmetic(operation.result, "and", signed, mask)


Rule = Callable[[Operation, Definitions], Sequence[Operation]]

_REWRITES: tuple[tuple[Rule, str], ...] = (
    (_other_half, "tensor_block.halves_of_bytes_exchanged"),
    (_unmasked, "tensor_block.fifth_bit_dropped"),
    (_unsigned, "tensor_block.bytes_unsigned"),
)


def _decoded_by(function: Function) -> Substitute:
    def step(state: State, operation: TensorLoad) -> None:
        load_at(state, replace(operation, decode=function), addressed(state, operation), place(state, operation))

    return step


def _by(rule: Rule, known: Definitions, operation: Operation) -> Sequence[Operation]:
    return rule(operation, known)


def _rewrites(load: TensorLoad) -> Iterator[Defect]:
    function = load.decode
    assert function is not None, "only decode functions are rewritten"
    known: Definitions = {value.name: one for one in flattened(function.body) for value in results(one)}
    for rule, id_ in _REWRITES:
        rewritten = changed_function(function, partial(_by, rule, known))
        if rewritten != function:
            yield Defect(id_, {load: _decoded_by(rewritten)}, {"matrix": named(load.result)})


def _exchanged_functions(loads: list[TensorLoad]) -> Iterator[Defect]:
    for load in loads[1:]:
        first = loads[0].decode
        if first is not None and load.decode != first:
            yield Defect("tensor_block.function_of_another_load", {load: _decoded_by(first)}, {"matrix": named(load.result)})


_of = Each("tensor_block", "matrix", named_result)


@defects_of("tensor_block", TensorLoad)
def tensor_block_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of the loads of ``program`` from tensors of blocks; none if no layout has a block size."""
    loads, settings = every(program.operations, TensorLoad), every(program.operations, LayoutSet)
    if not loads or not any(setting.setting == "block_size" for setting in settings):
        return
    decoded = [load for load in loads if load.decode is not None]
    for name, bend in _ARGUMENTS:
        yield from _of(decoded, name, _bent(bend))
    yield from _of(decoded, "index_in_components", _counting(lambda load: load.result.type.component.bytes))
    yield from _of(decoded, "index_in_bytes", _counting(lambda _: 1))
    for name, bend in _POINTERS:
        yield from _of(loads, name, _bent(bend))
    yield from _of(loads, "sizes_ignored", _with_layout(_no_blocks))
    yield from _of(loads, "clamped_to_whole_blocks", _with_layout(_whole_blocks))
    constant = [load for load in loads if load.layout.type.clamp_value is ClampMode.CONSTANT]
    yield from _of(constant, "decoded_out_of_bounds", _with_layout(lambda layout: layout, ClampMode.CLAMP_TO_EDGE))
    for load in decoded:
        yield from _rewrites(load)
    yield from _exchanged_functions(decoded)
