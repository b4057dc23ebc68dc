"""Defects of variables and of components: a load makes no copy, an index is ignored, or components are left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from cts.defects.defect import Defect, every, in_all
from cts.defects.evaluation import Substitute
from cts.defects.glossary import EVERY
from cts.defects.known import defects_of
from cts.reference.evaluate import perform
from cts.reference.state import State
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
