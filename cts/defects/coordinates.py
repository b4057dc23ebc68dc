"""Defects of coordinates of components (OpCooperativeMatrixGetCoordinateEXT)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from cts.defects.defect import Defect, every
from cts.defects.evaluation import Substitute
from cts.defects.known import defects_of
from cts.reference.elements import place_elements
from cts.reference.state import State
from generators.program.elements import ComponentsPlaced
from generators.program.program import Program

_FRAGMENTS = (8, 16)


def _with(change: Callable[[np.ndarray], np.ndarray]) -> Substitute:
    """Build a step with other coordinates: ``change`` gets rows and columns, (2, rows, columns)."""

    def step(state: State, operation: ComponentsPlaced) -> None:
        place_elements(state, operation, change(np.indices(operation.matrix.type.shape)))

    return step


def _exchanged(coordinates: np.ndarray) -> np.ndarray:
    return coordinates[::-1]


def _columns_first(coordinates: np.ndarray) -> np.ndarray:
    """Count the elements along rows, and read the count as if it went along columns."""
    rows, columns = coordinates.shape[1:]
    number = coordinates[0] * columns + coordinates[1]
    return np.stack([number % rows, number // rows])


def _within(fragment: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda coordinates: coordinates % fragment


@defects_of("coordinate", ComponentsPlaced)
def coordinate_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of the coordinates that ``program`` asks for."""
    for operation in every(program.operations, ComponentsPlaced):
        shape = operation.matrix.type.shape
        yield Defect("coordinate.row_and_column_exchanged", {operation: _with(_exchanged)})
        if shape[0] != shape[1]:
            yield Defect("coordinate.counted_along_columns", {operation: _with(_columns_first)})
        for fragment in _FRAGMENTS:
            if max(shape) > fragment:
                yield Defect("coordinate.in_fragment", {operation: _with(_within(fragment))}, {"fragment": fragment})
