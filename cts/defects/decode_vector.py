"""Defects of vector decode functions: wrong components, groups and arguments. The device calls the functions wherever it may."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from cts.defects.defect import Defect, Each, every, named, named_result
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


Bend = Callable[[_Reading, _Calls], Mapping[str, np.ndarray]]
"""Returns the wrong fields of the calls."""


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
        right = _Calls(elements.block, first, where, lane, whole_groups(elements, function))
        calls = replace(right, **bend(reading, right))
        value = state.matrices[operation.result.name]
        bits = value.bits.copy()
        bits[found.accessed] = np.where(
            calls.used, _called(state, function, memory, elements.owners, calls, operation), bits[found.accessed]
        )
        state.matrices[operation.result.name] = replace(value, bits=bits)

    return step


def _next_block(reading: _Reading, calls: _Calls) -> dict[str, np.ndarray]:
    step, offsets = reading.step, calls.offsets
    return {"offsets": np.where(offsets + step <= reading.last_offset, offsets + step, offsets - step)}


def _groups_from_slice(reading: _Reading, _: _Calls) -> dict[str, np.ndarray]:
    lane = np.minimum(reading.from_slice % reading.width, reading.own)
    return {"within": reading.beginning(reading.own - lane), "lane": lane}


def _groups_of(reading: _Reading, width: int) -> dict[str, np.ndarray]:
    inside = reading.own % width
    return {"within": reading.beginning(reading.own - inside), "lane": inside % reading.width}


def _along_first_dimension(reading: _Reading, _: _Calls) -> dict[str, np.ndarray]:
    lane = reading.within[:, 0] % reading.width
    return {"within": np.column_stack([reading.within[:, 0] - lane, reading.within[:, 1:]]), "lane": lane}


def _from_first_present(reading: _Reading, calls: _Calls) -> dict[str, np.ndarray]:
    """Count a group's components from the first one that is in the matrix, and decode groups that are only partly in it."""
    key = np.column_stack([reading.owners, calls.block, calls.within])
    _, group = np.unique(key, axis=0, return_inverse=True)
    group = group.reshape(-1)
    first = np.full(int(group.max()) + 1, reading.width)
    np.minimum.at(first, group, reading.lane)
    return {"lane": reading.lane - first[group], "used": np.ones_like(calls.used)}


_BENDS: tuple[tuple[str, Bend], ...] = (
    ("components_reversed", lambda reading, calls: {"lane": reading.width - 1 - calls.lane}),
    ("first_component", lambda _, calls: {"lane": np.zeros_like(calls.lane)}),
    ("component_by_column", lambda reading, _: {"lane": reading.column % reading.width}),
    ("component_from_slice", lambda reading, _: {"lane": reading.from_slice % reading.width}),
    ("next_group", lambda reading, calls: {"within": reading.beginning((calls.within[:, -1] + reading.width) % reading.block_size)}),
    ("neighbouring_block", _next_block),
    ("groups_from_slice", _groups_from_slice),
    ("groups_of_half", lambda reading, _: _groups_of(reading, reading.width // 2)),
    ("groups_of_twice", lambda reading, _: _groups_of(reading, 2 * reading.width)),
    ("arguments_of_element", lambda reading, _: {"within": reading.within}),
    ("arguments_of_last", lambda reading, calls: {"within": reading.beginning(calls.within[:, -1] + reading.width - 1)}),
    ("coordinates_in_block_zero", lambda _, calls: {"within": np.zeros_like(calls.within)}),
    ("components_of_present", _from_first_present),
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


def _vector_by_other_struct(state: State, operation: TensorLoad) -> None:
    at = place(state, operation)

    def bend(reading: _Reading, calls: _Calls) -> dict[str, np.ndarray]:
        origin = at.start[reading.owners]
        return {"offsets": origin + (calls.offsets - origin) // reading.step * at.unit}

    _bent(bend)(state, operation)


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


_of = Each("decode_vector", "matrix", named_result)


@defects_of("decode_vector", TensorLoad)
def decode_vector_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of the loads of ``program`` that have a vector decode function."""
    loads = [load for load in every(program.operations, TensorLoad) if load.decode_vector is not None and load.decode is not None]
    for name, bend in _BENDS:
        yield from _of(loads, name, _bent(bend))
    higher = [load for load in loads if load.layout.type.rank != 1]
    yield from _of(higher, "groups_along_first_dimension", _bent(_along_first_dimension))
    yield from _of(loads, "first_element_for_all", _lowest_for_all)
    apart = [load for load in loads if _unit(load.decode) != _unit(load.decode_vector)]
    yield from _of(apart, "struct_of_scalar_function", _vector_by_other_struct)
    yield from _of(apart, "struct_of_vector_function", _scalar_by_other_struct)
    yield from _of([load for load in loads if load.view is not None], "clipped_elements_decoded", _spilled(outside=False))
    constant = [load for load in loads if load.layout.type.clamp_value is ClampMode.CONSTANT]
    yield from _of(constant, "clamped_elements_decoded", _spilled(outside=True))
    for load in loads:
        others = [other for other in loads if other.decode_vector != load.decode_vector]
        if others:
            step = _decoded_by(others[0].decode_vector)
            yield Defect("decode_vector.function_of_another_load", {load: step}, {"matrix": named(load.result)})


def _decoded_by(function: Function | None) -> Substitute:
    right = _bent(lambda _, __: {})
    return lambda state, operation: right(state, replace(operation, decode_vector=function))


def _unit(function: Function | None) -> int:
    assert function is not None, "the load has both functions"
    return block_bytes(function)
