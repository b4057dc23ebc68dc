"""Which element of a matrix is which element of a tensor: what the reference model finds for a tensor load or store, as a picture needs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

import numpy as np

from cts.reference.evaluate import evaluate
from cts.reference.state import State, Step
from cts.reference.tensor import LayoutState, layout_state
from cts.reference.tensor_access import addressed, tensor_load, tensor_store
from cts.reference.tensor_addressing import Addresses
from generators.program.control_flow import flattened
from generators.program.program import Operation, Program, Subcase
from generators.program.tensor_access import TensorLoad, TensorStore

NOWHERE = -1


@dataclass(frozen=True)
class TensorMap:
    """One tensor load or store of one scope instance. Tuples have an entry for each dimension of the layout, or for each element of the
    matrix row by row.

    Attributes:
        access: what it does. ``matrix``, ``array``: names.
        instance: the scope instance. ``shape``: rows and columns.
        dimensions, offset, span, block_size: of the layout. ``clamp``: its mode's name.
        in_slice: by element, its number in the slice; NOWHERE where the view's clip window leaves the element out.
        in_tensor: by element, the number of the tensor's element, both counted with the last dimension innermost; NOWHERE where there is
            none, as a load takes the clamp value or a store discards the element.
    """

    access: Literal["load", "store"]
    matrix: str
    array: str
    instance: int
    shape: tuple[int, int]
    dimensions: tuple[int, ...]
    offset: tuple[int, ...]
    span: tuple[int, ...]
    block_size: tuple[int, ...]
    clamp: str
    in_slice: tuple[int, ...]
    in_tensor: tuple[int, ...]

    def record(self) -> dict[str, Any]:
        """The JSON object for the journal."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """What ``record`` made an object of."""
        return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in record.items()})


def _numbers(coordinates: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Coordinates (..., rank) to numbers, the last dimension innermost."""
    result = np.zeros(coordinates.shape[:-1], np.int64)
    for dimension, size in enumerate(sizes.tolist()):
        result = result * size + coordinates[..., dimension]
    return result


def _mapped(program: Program, access: TensorLoad | TensorStore, layout: LayoutState, found: Addresses, instance: int) -> TensorMap:
    store = isinstance(access, TensorStore)
    matrix = access.matrix if isinstance(access, TensorStore) else access.result
    sizes = layout.block_size[instance]
    places = _numbers(found.block[instance] * sizes + found.within[instance], layout.dimension[instance])
    in_slice = np.where(found.clipped[instance], NOWHERE, _numbers(found.span[instance], layout.span[instance]))
    in_tensor = np.where(found.accessed[instance], places, NOWHERE)

    def numbers(values: np.ndarray) -> tuple[int, ...]:
        return tuple(values.ravel().tolist())

    return TensorMap(
        "store" if store else "load",
        matrix.name,
        access.array.name,
        instance,
        matrix.type.shape,
        *(numbers(values[instance]) for values in (layout.dimension, layout.offset, layout.span, layout.block_size)),
        access.layout.type.clamp_value.name,
        numbers(in_slice),
        numbers(in_tensor),
    )


def tensor_maps(program: Program, subcase: Subcase, instance: int = 0) -> tuple[TensorMap, ...]:
    """Every tensor load and store that a scope instance executes, in order; of one in a loop the last time.

    Args:
        program, subcase: what runs.
        instance: the number of the scope instance.

    Raises:
        GeneratorError: as evaluate.
    """
    found: dict[Operation, TensorMap] = {}

    def noting(perform: Callable[[State, Any, Addresses], None]) -> Step:
        def step(state: State, operation: Any) -> None:
            addresses = addressed(state, operation)
            positions = np.flatnonzero(state.instances == instance)
            if len(positions):
                position = int(positions[0])
                found[operation] = _mapped(program, operation, layout_state(state, operation.layout), addresses, position)
            perform(state, operation, addresses)

        return step

    accesses = [operation for operation in flattened(program.operations) if isinstance(operation, TensorLoad | TensorStore)]
    steps = {access: noting(tensor_load if isinstance(access, TensorLoad) else tensor_store) for access in accesses}
    evaluate(program, subcase, steps)
    return tuple(found.values())
