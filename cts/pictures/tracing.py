"""Traces the tensor loads and stores of a program in the reference model."""

from __future__ import annotations

import numpy as np

from cts.reference.evaluate import evaluate, perform
from cts.reference.state import State
from cts.reference.tensor import LayoutState, layout_state
from cts.reference.tensor_access import addressed
from cts.reference.tensor_addressing import Addresses
from cts.verdict.tensor_map import NOWHERE, TensorMap
from generators.program.operation import Operation
from generators.program.program import Program, Subcase
from generators.program.tensor_access import TensorLoad, TensorStore, moved_matrix


def _numbers(coordinates: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Convert coordinates (..., rank) to numbers, with the last dimension innermost."""
    result = np.zeros(coordinates.shape[:-1], np.int64)
    for dimension, size in enumerate(sizes.tolist()):
        result = result * size + coordinates[..., dimension]
    return result


def _mapped(access: TensorLoad | TensorStore, layout: LayoutState, found: Addresses, at: int, instance: int) -> TensorMap:
    """Map an access; ``at`` is the position of the instance among the instances that execute it."""
    store = isinstance(access, TensorStore)
    matrix = moved_matrix(access)
    sizes = layout.block_size[at]
    places = _numbers(found.block[at] * sizes + found.within[at], layout.dimension[at])
    in_slice = np.where(found.clipped[at], NOWHERE, _numbers(found.span[at], layout.span[at]))
    in_tensor = np.where(found.accessed[at], places, NOWHERE)

    def numbers(values: np.ndarray) -> tuple[int, ...]:
        return tuple(values.ravel().tolist())

    return TensorMap(
        access="store" if store else "load",
        matrix=matrix.name,
        array=access.array.name,
        instance=instance,
        shape=matrix.type.shape,
        dimensions=numbers(layout.dimension[at]),
        offset=numbers(layout.offset[at]),
        span=numbers(layout.span[at]),
        block_size=numbers(sizes),
        clamp=access.layout.type.clamp_value.name,
        in_slice=numbers(in_slice),
        in_tensor=numbers(in_tensor),
    )


def tensor_maps(program: Program, subcase: Subcase, instance: int = 0) -> tuple[TensorMap, ...]:
    """Return every tensor load and store that a scope instance executes, in order; for one in a loop, its last execution.

    Args:
        program, subcase: the program and the dispatch.
        instance: the number of the scope instance.

    Raises:
        GeneratorError: as for ``evaluate``.
    """
    found: dict[Operation, TensorMap] = {}

    def noting(state: State, operation: Operation) -> None:
        if isinstance(operation, TensorLoad | TensorStore):
            addresses = addressed(state, operation)
            positions = np.flatnonzero(state.instances == instance)
            if len(positions):
                found[operation] = _mapped(operation, layout_state(state, operation.layout), addresses, int(positions[0]), instance)
        perform(state, operation)

    evaluate(program, subcase, noting)
    return tuple(found.values())
