"""Records the steps of the reference model: what each operation read, and the matrices that it made.

Nothing is computed a second time. The recorder observes each operation as it is performed, and each access to memory inside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from cts.defects.evaluation import LenientMemory, LenientState, Substitute, substituting
from cts.element_walk.parts import as_row
from cts.reference.evaluate import outcome, perform
from cts.reference.memory import Memory
from cts.reference.state import Perform, State, initial_state
from cts.reference.tensor_access import addressed
from cts.reference.values import MatrixValue
from cts.verdict.expected import Expected, Placed
from generators.program.memory import Array
from generators.program.operation import Operation
from generators.program.program import Program, Subcase
from generators.program.tensor_access import TensorLoad
from generators.program.walking import regions, results, values_read
from generators.types import ComponentType


@dataclass(frozen=True)
class Loaded:
    """Elements that an operation read from an array.

    Attributes:
        array: the array.
        offsets: byte offsets, int64, of the shape of the read; negative for elements that were not read.
        component: their type.
        bits: the bits that were read, of the same shape.
    """

    array: Array
    offsets: np.ndarray
    component: ComponentType
    bits: np.ndarray


@dataclass(frozen=True)
class Performed:
    """One operation that was performed, and one matrix that it made, if any.

    Attributes:
        operation: the operation.
        name, value: the result; empty and None for a store, also to a variable.
        operands: the matrices that it read, by name.
        instances, owners: as in the state, after the operation.
        rows: the scalars and arrays of scalars that it read, by name, as matrices of one row.
        row_lanes, row_owners: the instances of the rows, and their owners: those of the operation, except where an operation of the scope
            reads values of invocations.
        is_row: whether ``value`` is such a scalar or array.
        loads: what it read from memory.
        stores: what it wrote.
    """

    operation: Operation
    name: str
    value: MatrixValue | None
    operands: Mapping[str, MatrixValue]
    instances: np.ndarray
    owners: np.ndarray | None
    loads: Sequence[Loaded] = ()
    stores: Sequence[Placed] = ()
    rows: Mapping[str, MatrixValue] = field(default_factory=dict)
    row_lanes: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    row_owners: np.ndarray | None = None
    is_row: bool = False


@dataclass
class _Accesses:
    loads: list[Loaded] = field(default_factory=list)
    stores: list[Placed] = field(default_factory=list)


class Recorder:
    """Performs operations, and records them in the order in which they ended.

    Args:
        performed: performs an operation.
        one_outcome: whether to keep only expected values, as in the evaluation of a defect.
    """

    def __init__(self, performed: Perform = perform, one_outcome: bool = False) -> None:
        self.steps: list[Performed] = []
        self._performed = performed
        self._one_outcome = one_outcome
        self._open = [_Accesses()]

    def __call__(self, state: State, operation: Operation) -> None:
        """Perform an operation, and record it."""
        operands = {one.name: state.matrices[one.name] for one in values_read(operation) if one.name in state.matrices}
        lanes, rows = _rows(state, operation)
        accessed = addressed(state, operation).accessed if isinstance(operation, TensorLoad) else None
        self._open.append(_Accesses())
        self._performed(state, operation)
        seen = self._open.pop()
        loads = [_in_matrix(one, accessed) for one in seen.loads]
        found = [one.name for one in results(operation) if one.name in state.matrices]
        made_by = partial(
            Performed, operation, operands=operands, loads=loads, rows=rows, row_lanes=lanes.instances, row_owners=lanes.owners
        )
        for name in found:
            value = state.matrices[name]
            if self._one_outcome and value.permitted is not None:
                value = state.matrices[name] = replace(value, permitted=None)
            self.steps.append(made_by(name=name, value=value, instances=state.instances, owners=state.owners))
        made = _made(state, operation)
        for name, (where, row) in made.items():
            self.steps.append(made_by(name=name, value=row, instances=where.instances, owners=where.owners, is_row=True))
        if seen.stores or (not (found or made) and (operands or rows or hasattr(operation, "target"))):
            self.steps.append(made_by(name="", value=None, instances=state.instances, owners=state.owners, stores=seen.stores))

    def loaded(self, loaded: Loaded) -> None:
        """Note what the innermost running operation reads."""
        self._open[-1].loads.append(loaded)

    def stored(self, placed: Placed) -> None:
        """Note what the innermost running operation writes."""
        self._open[-1].stores.append(placed)


def _rows(state: State, operation: Operation) -> tuple[State, Mapping[str, MatrixValue]]:
    """Return the scalars and arrays that an operation reads, and the state that has them: its own, or the invocations'."""
    read = list(values_read(operation))
    inside = state.invocations
    if inside is not None and any(one.name in inside.aggregates for one in read):
        return inside, {one.name: row for one in read if (row := as_row(inside, one)) is not None}
    return state, {one.name: row for one in read if one.name not in state.matrices and (row := as_row(state, one)) is not None}


def _made(state: State, operation: Operation) -> Mapping[str, tuple[State, MatrixValue]]:
    """Return the scalars and arrays that an operation made, each with the state that has it."""
    found: dict[str, tuple[State, MatrixValue]] = {}
    # What comes out of arms, loops and functions was made by an operation in them.
    for one in () if regions(operation) else results(operation):
        for where in (state, state.invocations):
            if where is not None and one.name not in where.matrices and (row := as_row(where, one)) is not None:
                found.setdefault(one.name, (where, row))
    return found


def _in_matrix(loaded: Loaded, accessed: np.ndarray | None) -> Loaded:
    """Return a read of some elements of a matrix as a read of the matrix."""
    if accessed is None or loaded.offsets.shape != (int(np.count_nonzero(accessed)),):
        return loaded
    offsets, bits = np.full(accessed.shape, -1, np.int64), np.zeros(accessed.shape, loaded.bits.dtype)
    offsets[accessed], bits[accessed] = loaded.offsets, loaded.bits
    return replace(loaded, offsets=offsets, bits=bits)


def _observed(kind: type[Memory], memory: Memory, recorder: Recorder) -> Memory:
    """Return a memory of a class that tells the recorder of its accesses."""

    class Observed(kind):  # type: ignore[misc, valid-type]
        def load(self, offsets: np.ndarray, component: ComponentType) -> np.ndarray:
            bits = np.asarray(super().load(offsets, component))
            recorder.loaded(Loaded(self.array, offsets, component, bits))
            return bits

        def store(self, *arguments: object, **named: object) -> None:
            super().store(*arguments, **named)
            recorder.stored(self.placed[-1])

    return Observed(**vars(memory))


def recorded(program: Program, subcase: Subcase) -> tuple[list[Performed], Expected]:
    """Return the steps of a dispatch, and its expected results. Raises GeneratorError as cts.reference.evaluate.evaluate."""
    return _run(Recorder(), program, subcase, lambda state: state, Memory)


def recorded_defect(program: Program, subcase: Subcase, substitutes: Mapping[Operation, Substitute]) -> tuple[list[Performed], Expected]:
    """Return the steps of a dispatch on a device with a defect. Raises as cts.defects.evaluation.evaluate_defect."""
    recorder = Recorder(substituting(substitutes), one_outcome=True)
    return _run(recorder, program, subcase, lambda state: LenientState(**vars(state)), LenientMemory)


def _run(
    recorder: Recorder, program: Program, subcase: Subcase, kind: Callable[[State], State], memory: type[Memory]
) -> tuple[list[Performed], Expected]:
    state = kind(initial_state(program, subcase, recorder))
    state.memories = {name: _observed(memory, one, recorder) for name, one in state.memories.items()}
    return recorder.steps, outcome(state)
