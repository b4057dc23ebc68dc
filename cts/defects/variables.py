"""Defects of variables and of components: a load makes no copy, an index is ignored, or components are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cts.defects.defect import Defect, every, in_all
from cts.defects.evaluation import Substitute
from cts.defects.glossary import EVERY, ParameterValue
from cts.defects.known import defects_of
from cts.reference.evaluate import perform
from cts.reference.state import State
from cts.reference.values import Choice, MatrixValue
from cts.reference.variables import changed, indices, part
from cts.verdict.compare import wrong_elements
from cts.verdict.expected import Expected, OneOf
from generators.errors import GeneratorError, Rule
from generators.program.elements import ComponentsUpdated
from generators.program.operation import Operation
from generators.program.program import Program
from generators.program.values import ArrayType, ScalarValue
from generators.program.variables import Path, Variable, VariableLoad, VariableStore, part_type

_Access = VariableLoad | VariableStore


def _without_copy(loads: Sequence[VariableLoad]) -> Substitute:
    def step(state: State, operation: VariableStore) -> None:
        perform(state, operation)
        for load in loads:
            if load.result.name in state.matrices:
                perform(state, load)

    return step


@defects_of("variable", VariableLoad, VariableStore)
def variable_defects(program: Program) -> Iterator[Defect]:
    """Yield defects: loads of matrices from each variable of ``program``, and from all of them, make no copies."""
    of: dict[str, list[VariableLoad]] = {}
    for load in every(program.operations, VariableLoad):
        of.setdefault(load.variable.name, []).append(load)
    stores = every(program.operations, VariableStore)
    aliased: dict[Operation, Substitute] = {}
    for name, loads in of.items():
        those: dict[Operation, Substitute] = {store: _without_copy(loads) for store in stores if store.variable.name == name}
        if those:
            yield Defect("variable.load_not_copied", those, {"variable": name})
            aliased |= those
    if len(of) > 1 and aliased:
        yield Defect("variable.load_not_copied", aliased, {"variable": EVERY})


def _first_elements(variable: Variable, path: Path, run_time: bool) -> Path:
    """Return the path with 0 for each index into an array; if ``run_time``, only for indices that are known at run time."""

    def index(place: int) -> int | ScalarValue:
        own = path[place]
        into_array = isinstance(part_type(variable.type, path[:place]), ArrayType)
        return 0 if into_array and not (run_time and isinstance(own, int)) else own

    return tuple(index(place) for place in range(len(path)))


def _indexed(run_time: bool) -> Substitute:
    def step(state: State, operation: _Access) -> None:
        perform(state, replace(operation, path=_first_elements(operation.variable, operation.path, run_time)))

    return step


@defects_of("variable", _Access)
def index_defects(program: Program) -> Iterator[Defect]:
    """Yield loads from and stores to element 0 of arrays, whatever the index."""
    loads: list[_Access] = every(program.operations, VariableLoad)
    stores: list[_Access] = every(program.operations, VariableStore)
    for run_time, index in ((True, "run-time index"), (False, "index")):
        for accesses, access in ((loads, "loaded from"), (stores, "stored to"), (loads + stores, "loaded from and stored to")):
            those = [one for one in accesses if _first_elements(one.variable, one.path, run_time) != one.path]
            yield from in_all("variable.index_ignored", those, _indexed(run_time), access=access, index=index)


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


def _share_of_left(
    expected: Expected, other: Expected, before: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]
) -> tuple[int, int]:
    """Return how many elements are not as expected, and so may have been left out, and how many there are."""
    left = total = 0
    for right, wrong in zip(expected.placed, other.placed, strict=True):
        if isinstance(wrong.expected, OneOf):
            missed = wrong_elements(right, before, outputs)
            left += int(np.count_nonzero(missed))
            total += missed.size
    return left, total


def _one_in_each(expected: Expected, other: Expected, before: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]) -> bool:
    """Tell whether the number of elements left out can be the number of invocations."""
    left, total = _share_of_left(expected, other, before, outputs)
    return left > 0 and total % left == 0


def _all_but_one_in_each(expected: Expected, other: Expected, before: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]) -> bool:
    left, total = _share_of_left(expected, other, before, outputs)
    return left < total and total % (total - left) == 0


def _another_number(expected: Expected, other: Expected, before: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]) -> bool:
    return not _one_in_each(expected, other, before, outputs) and not _all_but_one_in_each(expected, other, before, outputs)


@defects_of("component", ComponentsUpdated)
def component_defects(program: Program) -> Iterator[Defect]:
    """Yield updates of components that leave some of them out."""
    for operation in every(program.operations, ComponentsUpdated):
        where: dict[str, ParameterValue] = {"variable": operation.target.name}
        last: dict[Operation, Substitute] = {operation: _leaving(lambda number: number == _LENGTH - 1)}
        yield Defect("component.last_left", last, where, _one_in_each)
        others: dict[Operation, Substitute] = {operation: _leaving(lambda number: number > 0)}
        yield Defect("component.first_only", others, where, _all_but_one_in_each)
        half: dict[Operation, Substitute] = {operation: _leaving(lambda number: number >= _LENGTH // 2)}
        yield Defect("component.some_left", half, where, _another_number)
