"""Defects of arrays of matrices, and of components: an index that is ignored, components that are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from cts.defects.defect import Defect, every
from cts.defects.evaluation import Substitute
from cts.defects.glossary import ParameterValue
from cts.reference.elements import components_updated
from cts.reference.state import State
from cts.reference.values import Choice, MatrixValue
from cts.reference.variables import changed, indices, part, variable_load, variable_store
from cts.verdict.compare import wrong_elements
from cts.verdict.expected import Expected, OneOf
from generators.errors import GeneratorError, Rule
from generators.program.elements import ComponentsUpdated
from generators.program.operation import Operation
from generators.program.program import Program
from generators.program.values import ArrayType
from generators.program.variables import Path, Variable, VariableLoad, VariableStore, part_type

_Access = VariableLoad | VariableStore


def _first_elements(variable: Variable, path: Path, run_time: bool) -> Path:
    """Return the path with 0 for each index into an array; for those that are known at run time only, if ``run_time``."""

    def index(place: int) -> object:
        own = path[place]
        into_array = isinstance(part_type(variable.type, path[:place]), ArrayType)
        return 0 if into_array and not (run_time and isinstance(own, int)) else own

    return tuple(index(place) for place in range(len(path)))  # type: ignore[misc]


def _indexed(run_time: bool) -> Substitute:
    def step(state: State, operation: _Access) -> None:
        wrong = replace(operation, path=_first_elements(operation.variable, operation.path, run_time))
        if isinstance(wrong, VariableLoad):
            variable_load(state, wrong)
        else:
            variable_store(state, wrong)

    return step


def _index_defects(program: Program) -> Iterator[Defect]:
    """Yield loads from and stores to element 0 of arrays, whatever the index."""
    loads: list[_Access] = [*every(program.operations, VariableLoad)]
    stores: list[_Access] = [*every(program.operations, VariableStore)]
    for run_time, index in ((True, "run-time index"), (False, "index")):
        for accesses, access in ((loads, "loaded from"), (stores, "stored to"), (loads + stores, "loaded from and stored to")):
            those = [one for one in accesses if _first_elements(one.variable, one.path, run_time) != one.path]
            if those:
                steps: dict[Operation, Substitute] = dict.fromkeys(those, _indexed(run_time))
                yield Defect("variable.index_ignored", steps, {"access": access, "index": index})


_LENGTH = 8
"""Components that an invocation may have; which elements they are is open (F-KHR-4)."""

Left = Callable[[np.ndarray], np.ndarray]
"""From the numbers of components in their invocations to which of them are left as they were."""


def _matrix(state: State, variable: Variable, path: Path) -> MatrixValue:
    found = part(state.variables.get(variable.name), indices(state, variable.type, path))
    if not isinstance(found, MatrixValue):
        raise GeneratorError(Rule.DEFECT_INAPPLICABLE, f"variable {variable.name} has no matrix that can be left as it was")
    return found


def _leaving(left: Left) -> Substitute:
    """Build an update that leaves elements out; any may be left: where in the matrix an invocation's components are, nobody knows."""

    def step(state: State, operation: ComponentsUpdated) -> None:
        variable, path = operation.target, operation.target_path
        old = _matrix(state, variable, path)
        components_updated(state, operation)
        new = _matrix(state, variable, path)
        kept = left(np.arange(old.bits[0].size).reshape(old.bits.shape[1:]) % _LENGTH)
        bits, others = np.where(kept, old.bits, new.bits), np.where(kept, new.bits, old.bits)
        some = MatrixValue(new.component, bits, new.computed, Choice((others,)))
        tree = changed(variable.type, state.variables.get(variable.name), indices(state, variable.type, path), some)
        state.set_variable(variable.name, tree)

    return step


def _share_of_left(
    expected: Expected, other: Expected, before: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]
) -> tuple[int, int]:
    """Return how many elements may have been left out of how many, counting those that are not as expected."""
    left = total = 0
    for right, wrong in zip(expected.placed, other.placed, strict=True):
        if isinstance(wrong.expected, OneOf):
            missed = wrong_elements(right, before, outputs)
            left += int(np.count_nonzero(missed))
            total += missed.size
    return left, total


def _one_in_each(expected: Expected, other: Expected, before: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]) -> bool:
    """Return whether as many elements are left as there may be invocations."""
    left, total = _share_of_left(expected, other, before, outputs)
    return left > 0 and total % left == 0


def _all_but_one_in_each(expected: Expected, other: Expected, before: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]) -> bool:
    left, total = _share_of_left(expected, other, before, outputs)
    return left < total and total % (total - left) == 0


def _another_number(expected: Expected, other: Expected, before: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]) -> bool:
    return not _one_in_each(expected, other, before, outputs) and not _all_but_one_in_each(expected, other, before, outputs)


def _component_defects(program: Program) -> Iterator[Defect]:
    for operation in every(program.operations, ComponentsUpdated):
        where: dict[str, ParameterValue] = {"variable": operation.target.name}
        last: dict[Operation, Substitute] = {operation: _leaving(lambda number: number == _LENGTH - 1)}
        yield Defect("component.last_left", last, where, _one_in_each)
        others: dict[Operation, Substitute] = {operation: _leaving(lambda number: number > 0)}
        yield Defect("component.first_only", others, where, _all_but_one_in_each)
        half: dict[Operation, Substitute] = {operation: _leaving(lambda number: number >= _LENGTH // 2)}
        yield Defect("component.some_left", half, where, _another_number)


def composite_defects(program: Program) -> Iterator[Defect]:
    """Yield the defects of parts of variables in ``program``: matrices of arrays, and components of matrices."""
    yield from _index_defects(program)
    yield from _component_defects(program)
