"""Defects of subgroup operations: which invocations' values count, and how they are combined."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from cts.defects.defect import Defect, each_and_all, every
from cts.defects.edits import instead
from cts.defects.evaluation import Substitute
from cts.defects.known import defects_of
from cts.reference.evaluate import perform
from cts.reference.state import State
from generators.errors import GeneratorError, Rule
from generators.program.control_flow import Branch, PerInvocation
from generators.program.program import Program
from generators.program.subgroup_operations import (
    BallotCount,
    BallotFind,
    SubgroupAllEqual,
    SubgroupBallot,
    SubgroupBroadcast,
    SubgroupElect,
    SubgroupOperation,
    SubgroupReduce,
    SubgroupShuffle,
    SubgroupVote,
)
from generators.types import of_other_sign

_NAMES = {
    SubgroupReduce: "reduction",
    SubgroupBallot: "ballot",
    BallotCount: "count of a ballot",
    BallotFind: "outermost bit of a ballot",
    SubgroupVote: "vote",
    SubgroupAllEqual: "comparison",
    SubgroupElect: "election",
    SubgroupBroadcast: "broadcast",
    SubgroupShuffle: "shuffle",
}


@defects_of("subgroup", SubgroupOperation)
def subgroup_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of the operations of subgroups of ``program``."""
    size = program.shape.subgroup_size
    found = every(program.operations, SubgroupOperation)
    if not found or size is None:
        return
    for name, operations in _by_name(found):
        combining = [one for one in operations if not isinstance(one, BallotCount | BallotFind)]
        if program.instances > 1:
            own = [one for one in combining if one.is_uniform]
            yield from _each(own, "subgroup.of_next_subgroup", name, _of_next_subgroup)
        if program.subgroups > 1:
            yield from _each(combining, "subgroup.of_whole_workgroup", name, _regrouped(lambda owners, _: owners // program.subgroups))
        alone = [one for one in combining if not isinstance(one, SubgroupBroadcast | SubgroupShuffle)]
        yield from _each(alone, "subgroup.halves_apart", name, _regrouped(_in_halves(size)))
        yield from _each([one for one in combining if hasattr(one, "value")], "subgroup.own_value", name, _own_value)
    branches = [one for region in every(program.operations, PerInvocation) for one in every(region.body, Branch)]
    diverged = [one for branch in branches for arm in (branch.then, branch.otherwise) for one in every(arm, SubgroupOperation)]
    for name, operations in _by_name([one for one in diverged if _asks_all(one)]):
        yield from _each(operations, "subgroup.inactive_counted", name, _inactive_counted)
    scans = [one for one in found if isinstance(one, SubgroupReduce | BallotCount) and one.group != "reduce"]
    for name, operations in _by_name(scans):
        yield from _each(operations, "subgroup.scan_of_other_kind", name, instead(_of_other_kind))
    extremes = [one for one in found if isinstance(one, SubgroupReduce) and one.operator in ("min", "max")]
    compared = [one for one in extremes if one.result.type.name in ("u32", "s32")]
    yield from _each(compared, "subgroup.compared_by_other_sign", None, instead(_by_other_sign))


def _by_name(operations: Sequence[SubgroupOperation]) -> Iterator[tuple[str, list[SubgroupOperation]]]:
    for kind, name in _NAMES.items():
        own = [one for one in operations if isinstance(one, kind)]
        if own:
            yield name, own


def _each(operations: Sequence[SubgroupOperation], id_: str, name: str | None, step: Substitute) -> Iterator[Defect]:
    kinds = {"operation": name} if name else {}
    yield from each_and_all(operations, id_, "subgroup_result", _in_lanes(step), **kinds)


def _asks_all(operation: SubgroupOperation) -> bool:
    """Tell whether the result depends on which invocations are active."""
    match operation:
        case SubgroupShuffle() | BallotCount() | BallotFind():
            return False
        case SubgroupBroadcast():
            return operation.lane is None
        case _:
            return True


def _in_lanes(step: Substitute) -> Substitute:
    """Return a function that performs ``step`` in lanes, and everything outside of lanes as specified."""

    def around(state: State, operation: SubgroupOperation) -> None:
        (perform if state.owners is None else step)(state, operation)

    return around


def _regrouped(regroup: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Substitute:
    """Build a step with other groups of invocations: ``regroup`` gives a group's number from the numbers of subgroup and lane."""

    def step(state: State, operation: SubgroupOperation) -> None:
        perform(replace(state, owners=regroup(state.scope_instances, state.instances)), operation)

    return step


def _in_halves(size: int) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    return lambda owners, lanes: owners * 2 + (lanes % size >= size // 2)


def _moved(state: State, name: str, positions: np.ndarray, source: State) -> None:
    """Give ``name`` its values in ``source`` at ``positions``, which need not ascend."""
    if name in source.scalars:
        state.scalars[name] = source.scalars[name][positions]
    else:
        state.aggregates[name] = tuple(part[positions] for part in source.aggregates[name])


def _of_next_subgroup(state: State, operation: SubgroupOperation) -> None:
    perform(state, operation)
    size = state.program.shape.subgroup_size
    assert size is not None, "programs with these defects state the subgroup size"
    wanted = (state.instances + size) % (size * state.program.instances)
    positions = np.searchsorted(state.instances, wanted) % len(state.instances)
    if (state.instances[positions] != wanted).any():
        raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "the next subgroup does not execute the operation")
    _moved(state, operation.result.name, positions, state)


def _own_value(state: State, operation: SubgroupReduce | SubgroupAllEqual | SubgroupBroadcast | SubgroupShuffle) -> None:
    state.scalars[operation.result.name] = state.scalar(operation.value)


def _inactive_counted(state: State, operation: SubgroupOperation) -> None:
    """Include the invocations of the other arm, with their values from before the branch."""
    everyone = state.outside
    assert everyone is not None, "the defect is only for operations in branches"
    whole = replace(everyone, scalars=dict(everyone.scalars), aggregates=dict(everyone.aggregates))
    perform(whole, operation)
    _moved(state, operation.result.name, everyone.positions(state.instances), whole)


def _of_other_kind(operation: SubgroupReduce | BallotCount) -> SubgroupReduce | BallotCount:
    return replace(operation, group="exclusive" if operation.group == "inclusive" else "inclusive")


def _by_other_sign(operation: SubgroupReduce) -> SubgroupReduce:
    component = of_other_sign(operation.result.type)
    return replace(operation, result=replace(operation.result, type=component))
