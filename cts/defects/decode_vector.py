"""Defects of vector decode functions: wrong components, groups and arguments. The device calls the functions wherever it may."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from cts.defects.defect import Defect, each_and_all, every, named
from cts.defects.evaluation import Substitute
from cts.defects.known import defects_of
from cts.reference.callbacks import Argument, BlockPointers, applied_parts
from cts.reference.decode import decoded, lanes, located, whole_groups
from cts.reference.memory import Memory
from cts.reference.state import State
from cts.reference.tensor import layout_state
from cts.reference.tensor_access import addressed, load_at, offsets_of, place
from generators.numerics.formats import encode
from generators.program.functions import Function
from generators.program.program import Program
from generators.program.tensor_access import TensorLoad, block_bytes, group_width
from generators.types import ClampMode


@dataclass(frozen=True)
class _Calls:
    """How a device decodes the elements of a load that are in memory, ``count`` in all.

    Attributes:
        block, within: the function's arguments: coordinates of the block, and coordinates in the block, int64, (count, rank).
        offsets: offsets of the blocks in memory, int64, (count,).
        lane: the component that becomes the element, int64, (count,).
        used: whether the element comes from the vector function, bool, (count,).
    """

    block: np.ndarray
    within: np.ndarray
    offsets: np.ndarray
    lane: np.ndarray
    used: np.ndarray


@dataclass(frozen=True)
class _Reading:
    """A load and its elements in memory.

    Attributes:
        within: the places of the elements in their blocks, int64, (count, rank).
        lane: their numbers in their groups, int64, (count,).
        from_slice: their last coordinates in the slice, int64, (count,).
        column: their columns in the matrix, int64, (count,).
        owners: their scope instances, int64, (count,).
        block_size: the block size of the last dimension, int64, (count,).
        width: how many elements a group has.
        step: bytes from block to block.
        last_offset: the greatest offset of a block in memory.
    """

    within: np.ndarray
    lane: np.ndarray
    from_slice: np.ndarray
    column: np.ndarray
    owners: np.ndarray
    block_size: np.ndarray
    width: int
    step: int
    last_offset: int

    @property
    def own(self) -> np.ndarray:
        """Return the last coordinates in the block."""
        return np.asarray(self.within[:, -1])

    def beginning(self, first: np.ndarray) -> np.ndarray:
        """Return coordinates in the block whose last ones are ``first``."""
        return np.column_stack([self.within[:, :-1], first])


Bend = Callable[[_Reading, _Calls], _Calls]


def _called(state: State, function: Function, memory: Memory, owners: np.ndarray, calls: _Calls, load: TensorLoad) -> np.ndarray:
    """Return the bits that the vector function gives for the calls, (count,)."""
    arguments: list[Argument] = [BlockPointers(memory, calls.offsets), list(calls.block.T), list(calls.within.T)]
    parts = applied_parts(state, function, arguments, owners)
    every_part = np.stack([encode(load.result.type.component, part) for part in parts])
    return np.asarray(every_part[calls.lane, np.arange(calls.lane.size)])


def _bent(bend: Bend) -> Substitute:
    def step(state: State, operation: TensorLoad) -> None:
        function = operation.decode_vector
        assert function is not None, "the load has a vector function"
        found, at = addressed(state, operation), place(state, operation)
        load_at(state, replace(operation, decode_vector=None), found, at)
        if not found.accessed.any():
            return
        memory = state.memories[operation.array.owner.name]
        elements = located(state, memory, found)
        width = group_width(function)
        where = offsets_of(state, operation, found, replace(at, unit=at.group_unit), block_bytes(function))[found.accessed]
        lane = lanes(elements, function)
        first = elements.within.copy()
        first[:, -1] -= lane
        sizes = np.broadcast_to(layout_state(state, operation.layout).block_size[:, None, None, -1], found.accessed.shape)[found.accessed]
        reading = _Reading(
            elements.within,
            lane,
            found.span[found.accessed][:, -1],
            np.broadcast_to(np.arange(found.accessed.shape[-1]), found.accessed.shape)[found.accessed],
            elements.owners,
            sizes,
            width,
            block_bytes(function),
            int(where.max()),
        )
        calls = bend(reading, _Calls(elements.block, first, where, lane, whole_groups(elements, function)))
        value = state.matrices[operation.result.name]
        bits = value.bits.copy()
        bits[found.accessed] = np.where(
            calls.used, _called(state, function, memory, elements.owners, calls, operation), bits[found.accessed]
        )
        state.matrices[operation.result.name] = replace(value, bits=bits)

    return step


def _lanes_reversed(reading: _Reading, calls: _Calls) -> _Calls:
    return replace(calls, lane=reading.width - 1 - calls.lane)


def _first_component(_: _Reading, calls: _Calls) -> _Calls:
    return replace(calls, lane=np.zeros_like(calls.lane))


def _lane_by_column(reading: _Reading, calls: _Calls) -> _Calls:
    return replace(calls, lane=reading.column % reading.width)


def _lane_from_slice(reading: _Reading, calls: _Calls) -> _Calls:
    return replace(calls, lane=reading.from_slice % reading.width)


def _next_group(reading: _Reading, calls: _Calls) -> _Calls:
    first = (calls.within[:, -1] + reading.width) % reading.block_size
    return replace(calls, within=reading.beginning(first))


def _next_block(reading: _Reading, calls: _Calls) -> _Calls:
    shifted = np.where(calls.offsets + reading.step <= reading.last_offset, calls.offsets + reading.step, calls.offsets - reading.step)
    return replace(calls, offsets=shifted)


def _groups_from_slice(reading: _Reading, calls: _Calls) -> _Calls:
    lane = np.minimum(reading.from_slice % reading.width, reading.own)
    return replace(calls, within=reading.beginning(reading.own - lane), lane=lane)


def _groups_of(reading: _Reading, calls: _Calls, width: int) -> _Calls:
    inside = reading.own % width
    return replace(calls, within=reading.beginning(reading.own - inside), lane=inside % reading.width)


def _half_groups(reading: _Reading, calls: _Calls) -> _Calls:
    return _groups_of(reading, calls, reading.width // 2)


def _double_groups(reading: _Reading, calls: _Calls) -> _Calls:
    return _groups_of(reading, calls, 2 * reading.width)


def _own_arguments(reading: _Reading, calls: _Calls) -> _Calls:
    return replace(calls, within=reading.within)


def _last_arguments(reading: _Reading, calls: _Calls) -> _Calls:
    return replace(calls, within=reading.beginning(calls.within[:, -1] + reading.width - 1))


def _place_zero(_: _Reading, calls: _Calls) -> _Calls:
    return replace(calls, within=np.zeros_like(calls.within))


def _along_first_dimension(reading: _Reading, calls: _Calls) -> _Calls:
    lane = reading.within[:, 0] % reading.width
    return replace(calls, within=np.column_stack([reading.within[:, 0] - lane, reading.within[:, 1:]]), lane=lane)


def _from_first_present(reading: _Reading, calls: _Calls) -> _Calls:
    """Count components from the group's first element that the matrix has; also decode groups that it has only in part."""
    key = np.column_stack([reading.owners, calls.block, calls.within])
    _, group = np.unique(key, axis=0, return_inverse=True)
    group = group.reshape(-1)
    first = np.full(int(group.max()) + 1, reading.width)
    np.minimum.at(first, group, reading.lane)
    return replace(calls, lane=reading.lane - first[group], used=np.ones_like(calls.used))


_BENDS: tuple[tuple[Bend, str], ...] = (
    (_lanes_reversed, "decode_vector.components_reversed"),
    (_first_component, "decode_vector.first_component"),
    (_lane_by_column, "decode_vector.component_by_column"),
    (_lane_from_slice, "decode_vector.component_from_slice"),
    (_next_group, "decode_vector.next_group"),
    (_next_block, "decode_vector.neighbouring_block"),
    (_groups_from_slice, "decode_vector.groups_from_slice"),
    (_half_groups, "decode_vector.groups_of_half"),
    (_double_groups, "decode_vector.groups_of_twice"),
    (_own_arguments, "decode_vector.arguments_of_element"),
    (_last_arguments, "decode_vector.arguments_of_last"),
    (_place_zero, "decode_vector.coordinates_in_block_zero"),
    (_from_first_present, "decode_vector.components_of_present"),
)


def _lowest_for_all(state: State, operation: TensorLoad) -> None:
    """Give all elements of a group the scalar function's result for the first element."""
    found = addressed(state, operation)
    assert operation.decode_vector is not None, "the load has a vector function"
    lane = found.within[..., -1:] % group_width(operation.decode_vector)
    within = np.concatenate([found.within[..., :-1], found.within[..., -1:] - lane], axis=-1)
    load_at(state, replace(operation, decode_vector=None), replace(found, within=within), place(state, operation))


def _scalar_by_other_struct(state: State, operation: TensorLoad) -> None:
    at = place(state, operation)
    load_at(state, replace(operation, decode_vector=None), addressed(state, operation), replace(at, unit=at.group_unit))


def _vector_by_other_struct(reading: _Reading, calls: _Calls, unit: int, start: np.ndarray) -> _Calls:
    origin = start[reading.owners]
    return replace(calls, offsets=origin + (calls.offsets - origin) // reading.step * unit)


def _by_first_struct(state: State, operation: TensorLoad) -> None:
    at = place(state, operation)
    _bent(lambda reading, calls: _vector_by_other_struct(reading, calls, at.unit, at.start))(state, operation)


def _spilled(outside: bool) -> Substitute:
    """Build a load that writes whole groups to a row of the matrix, also to elements that the clip window leaves out or, if ``outside``,
    to elements that must have the clamp value."""

    def step(state: State, operation: TensorLoad) -> None:
        function = operation.decode_vector
        assert function is not None, "the load has a vector function"
        found, at = addressed(state, operation), place(state, operation)
        load_at(state, replace(operation, decode_vector=None), found, at)
        free = found.outside if outside else found.clipped
        width = group_width(function)
        value = state.matrices[operation.result.name]
        bits = value.bits.copy()
        component = operation.result.type.component
        offsets = offsets_of(state, operation, found, at, 1)
        assert operation.decode is not None, "the load has a scalar function"
        for distance in range(1, width):
            for sign in (1, -1):
                near = np.roll(np.arange(bits.shape[-1]), sign * distance)
                lane = found.within[:, :, near, -1] % width + sign * distance
                columns = np.arange(bits.shape[-1]) - sign * distance
                beside = (columns >= 0) & (columns < bits.shape[-1])
                spills = free & found.accessed[:, :, near] & (lane >= 0) & (lane < width) & beside
                if not spills.any():
                    continue
                within = found.within[:, :, near].copy()
                within[..., -1] += sign * distance
                moved = replace(
                    found,
                    clipped=~spills,
                    outside=np.zeros_like(spills),
                    block=found.block[:, :, near],
                    within=within,
                )
                elements = located(state, state.memories[operation.array.owner.name], moved)
                bits[spills] = decoded(state, operation.decode, elements, offsets[:, :, near][spills], component)
        state.matrices[operation.result.name] = replace(value, bits=bits)

    return step


@defects_of("decode_vector", TensorLoad)
def decode_vector_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of the loads of ``program`` that have a vector decode function."""
    loads = [load for load in every(program.operations, TensorLoad) if load.decode_vector is not None and load.decode is not None]

    def loaded(load: TensorLoad) -> str:
        return named(load.result)

    def yielded(some: list[TensorLoad], id_: str, step: Substitute) -> Iterator[Defect]:
        yield from each_and_all(some, id_, "matrix", step, loaded)

    for bend, id_ in _BENDS:
        yield from yielded(loads, id_, _bent(bend))
    higher = [load for load in loads if load.layout.type.rank != 1]
    yield from yielded(higher, "decode_vector.groups_along_first_dimension", _bent(_along_first_dimension))
    yield from yielded(loads, "decode_vector.first_element_for_all", _lowest_for_all)
    apart = [load for load in loads if _unit(load.decode) != _unit(load.decode_vector)]
    yield from yielded(apart, "decode_vector.struct_of_scalar_function", _by_first_struct)
    yield from yielded(apart, "decode_vector.struct_of_vector_function", _scalar_by_other_struct)
    yield from yielded([load for load in loads if load.view is not None], "decode_vector.clipped_elements_decoded", _spilled(outside=False))
    constant = [load for load in loads if load.layout.type.clamp_value is ClampMode.CONSTANT]
    yield from yielded(constant, "decode_vector.clamped_elements_decoded", _spilled(outside=True))
    for load in loads:
        others = [other for other in loads if other.decode_vector != load.decode_vector]
        if others:
            function = others[0].decode_vector
            yield Defect("decode_vector.function_of_another_load", {load: _decoded_by(function)}, {"matrix": named(load.result)})


def _decoded_by(function: Function | None) -> Substitute:
    def step(state: State, operation: TensorLoad) -> None:
        _bent(lambda _, calls: calls)(state, replace(operation, decode_vector=function))

    return step


def _unit(function: Function | None) -> int:
    assert function is not None, "the load has both functions"
    return block_bytes(function)
