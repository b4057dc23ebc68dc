"""Code that each invocation runs for itself: a lane for each invocation, with all values of its scope instance."""

from __future__ import annotations

import numpy as np

from cts.reference.state import State
from cts.reference.trees import selected
from cts.reference.values import select
from generators.errors import GeneratorError, Rule
from generators.program.invocations import PerInvocation


def per_invocation(state: State, operation: PerInvocation) -> None:
    """Run the body in all invocations, each with its results from earlier regions.

    Raises:
        GeneratorError: the shape of the program's workgroups does not give the number of invocations in a scope instance, or some of them
            return before the end of the program.
    """
    shape = state.program.shape
    if shape.subgroup_size is None and shape.invocations is None:
        raise GeneratorError(
            Rule.SUBGROUP_SIZE, "code of single invocations needs their number: give WorkgroupShape.subgroup_size or .invocations"
        )
    inside = lanes_of(state, operation.size)
    given = dict(inside.variables)
    lanes = len(inside.instances)
    inside.run(operation.body)
    if len(inside.instances) < lanes and state.program.operations[-1] is not operation:
        raise GeneratorError(
            Rule.AFTER_RETURN, "an invocation returns from its own code, and more code follows; end the code with a branch"
        )
    for name, tree in inside.variables.items():
        if tree is not given.get(name):
            # Each invocation has written its own value, so the scope instance has no common value.
            state.set_variable(name, None)
    state.invocations = inside


def lanes_of(state: State, size: int) -> State:
    """Return a state of all invocations, ``size`` in each scope instance, with the values of their instances and their own results from
    earlier regions."""
    own = (state.instances[:, None] * size + np.arange(size)).reshape(-1)
    of = np.repeat(np.arange(len(state.instances)), size)
    scalars = {name: value[of] for name, value in state.scalars.items()}
    inside = state.apart(own, state.instances[of], scalars, {name: selected(tree, of) for name, tree in state.aggregates.items()})
    inside.variables = {name: selected(tree, of) for name, tree in state.variables.items()}
    before = state.invocations
    positions = np.searchsorted(before.instances, own) if before is not None else own
    if before is not None:
        inside.scalars.update({name: value[positions] for name, value in before.scalars.items()})
        inside.aggregates.update({name: selected(tree, positions) for name, tree in before.aggregates.items()})
        inside.matrices.update({name: select(value, positions) for name, value in before.matrices.items()})
        written = {name: tree for name, tree in before.variables.items() if state.variables.get(name) is None}
        inside.variables.update({name: selected(tree, positions) for name, tree in written.items()})
    return inside
