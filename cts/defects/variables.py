"""Defects of variables: a load makes no copy, so a later store changes the loaded value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cts.defects.defect import Defect, every
from cts.defects.evaluation import Substitute
from cts.defects.glossary import EVERY
from cts.reference.state import State
from cts.reference.variables import variable_load, variable_store
from generators.program.operation import Operation
from generators.program.program import Program
from generators.program.variables import VariableLoad, VariableStore


def _without_copy(loads: Sequence[VariableLoad]) -> Substitute:
    def step(state: State, operation: VariableStore) -> None:
        variable_store(state, operation)
        for load in loads:
            if load.result.name in state.matrices:
                variable_load(state, load)

    return step


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
