"""Mistakes inside code that copies an array element by element, of which the reference model performs only the effect.

The code is a loop over the elements, which the invocations of a workgroup share. Here, each element has a lane of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cts.defects.evaluation import Substitute, substituting
from cts.reference.control_flow import lanes_of
from cts.reference.state import State
from generators.program.control_flow import Loop, Stated
from generators.program.operation import Operation
from generators.program.scalars import BuiltInScalar
from generators.program.values import Selected, extent
from generators.types import Scope


def copying_loop(stated: Stated) -> Loop | None:
    """Return the loop in which the invocations of a workgroup take turns; None if the code is anything else."""
    *before, last = stated.body
    steps = [one.result for one in before if isinstance(one, BuiltInScalar) and one.which == "workgroup_invocations"]
    return last if isinstance(last, Loop) and not last.carried and last.step in steps else None


def in_copies(inside: Mapping[Operation, Substitute], more: int = 0) -> Substitute:
    """Build a step that performs the code in place of its effect.

    Args:
        inside: wrong steps of operations in the loop.
        more: how many elements too many are copied; fewer if it is negative.
    """

    def step(state: State, stated: Stated) -> None:
        loop = copying_loop(stated)
        assert loop is not None, "there is a loop"
        of_workgroups = state.instances
        if state.program.scope is Scope.SUBGROUP:
            of_workgroups = of_workgroups[of_workgroups % state.program.subgroups == 0]
        limit = extent(loop.limit) if isinstance(loop.limit, Selected) else int(state.scalar(loop.limit)[0])
        count = max(limit + more, 0)
        owners = np.repeat(of_workgroups, count)
        at = np.searchsorted(state.instances, owners)
        scalars = {name: value[at] for name, value in state.scalars.items()}
        scalars[loop.index.name] = np.tile(np.arange(count, dtype=np.uint64), len(of_workgroups))
        lanes = state.apart(np.arange(len(owners), dtype=np.int64), owners, scalars)
        lanes.perform = substituting(inside, state.perform)
        lanes.run(loop.body)

    return step


def in_code(inside: Mapping[Operation, Substitute]) -> Substitute:
    """Build a step that performs code in place of its effect, in each invocation. ``inside`` as for ``in_copies``."""

    def step(state: State, stated: Stated) -> None:
        size = state.program.shape.subgroup_size or state.program.shape.invocations
        lanes = state if state.owners is not None or size is None else lanes_of(state, size)
        lanes.perform, before = substituting(inside, state.perform), lanes.perform
        lanes.run(stated.body)
        lanes.perform = before

    return step
