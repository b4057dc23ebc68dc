"""Defects of components and their coordinates: an update leaves components out, or coordinates are exchanged or miscounted
(OpCooperativeMatrixGetCoordinateEXT).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from cts.defects.defect import Condition, Defect, every
from cts.defects.evaluation import Substitute
from cts.defects.known import defects_of
from cts.reference.elements import place_elements
from cts.reference.evaluate import perform
from cts.reference.state import State
from cts.reference.values import Choice, MatrixValue
from cts.reference.variables import changed, indices, part
from cts.verdict.compare import wrong_elements
from cts.verdict.expected import Expected, OneOf
from generators.errors import GeneratorError, Rule
from generators.program.elements import ComponentsPlaced, ComponentsUpdated
from generators.program.program import Program
from generators.program.variables import Path, Variable

_LENGTH = 8
"""Assumed number of components per invocation; the specification does not say which elements they are (F-KHR-4)."""

Left = Callable[[np.ndarray], np.ndarray]
"""Takes the number that each component has in its invocation, and tells which components are left unchanged."""


def _matrix(state: State, variable: Variable, path: Path) -> MatrixValue:
    found = part(state.variables.get(variable.name), indices(state, variable.type, path))
    if not isinstance(found, MatrixValue):
        raise GeneratorError(Rule.DEFECT_INAPPLICABLE, f"variable {variable.name} has no matrix that can be left unchanged")
    return found


def _leaving(left: Left) -> Substitute:
    """Build an update that leaves elements out: any elements, because an invocation's components may be anywhere in the matrix."""

    def step(state: State, operation: ComponentsUpdated) -> None:
        variable, path = operation.target, operation.target_path
        old = _matrix(state, variable, path)
        perform(state, operation)
        new = _matrix(state, variable, path)
        kept = left(np.arange(old.bits[0].size).reshape(old.bits.shape[1:]) % _LENGTH)
        bits, others = np.where(kept, old.bits, new.bits), np.where(kept, new.bits, old.bits)
        some = MatrixValue(new.component, bits, new.computed, Choice((others,)))
        tree = changed(variable.type, state.variables.get(variable.name), indices(state, variable.type, path), some)
        state.set_variable(variable.name, tree)

    return step


def _if_left(holds: Callable[[int, int], bool]) -> Condition:
    """Return a condition on how many elements are not as expected, and so may have been left out, and how many there are."""

    def condition(expected: Expected, other: Expected, before: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]) -> bool:
        left = total = 0
        for right, wrong in zip(expected.placed, other.placed, strict=True):
            if isinstance(wrong.expected, OneOf):
                missed = wrong_elements(right, before, outputs)
                left += int(np.count_nonzero(missed))
                total += missed.size
        return holds(left, total)

    return condition


def _one_in_each(left: int, total: int) -> bool:
    """Tell whether the number of elements left out can be the number of invocations."""
    return left > 0 and total % left == 0


def _all_but_one_in_each(left: int, total: int) -> bool:
    return left < total and total % (total - left) == 0


def _another_number(left: int, total: int) -> bool:
    return not _one_in_each(left, total) and not _all_but_one_in_each(left, total)


_LEFT: tuple[tuple[str, Left, Condition], ...] = (
    ("component.last_left", lambda number: number == _LENGTH - 1, _if_left(_one_in_each)),
    ("component.first_only", lambda number: number > 0, _if_left(_all_but_one_in_each)),
    ("component.some_left", lambda number: number >= _LENGTH // 2, _if_left(_another_number)),
)


@defects_of("component", ComponentsUpdated)
def component_defects(program: Program) -> Iterator[Defect]:
    """Yield updates of components that leave some of them out."""
    for operation in every(program.operations, ComponentsUpdated):
        for id_, left, condition in _LEFT:
            yield Defect(id_, {operation: _leaving(left)}, {"variable": operation.target.name}, condition)


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
