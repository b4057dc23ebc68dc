"""Operations of the active invocations of a subgroup (SPIR-V 3.42.24): each invocation is a lane, and a scope instance is a subgroup. Also
the built-ins that describe an invocation's subgroup (Vulkan, Built-In Variables)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import reduce, wraps
from types import MappingProxyType
from typing import Any

import numpy as np

from cts.reference.control_flow import holds, per_invocation
from cts.reference.scalars import bits_of, exact, numbers
from cts.reference.state import State, evaluates
from cts.reference.trees import selected
from cts.reference.variables import define
from cts.verdict.expected import Authority, Exact, one_set
from generators.errors import GeneratorError, Rule
from generators.program import subgroup_operations as language
from generators.program.control_flow import PerInvocation
from generators.types import COMPONENT_TYPES, ComponentType, Scope

_WORDS = 4
_WORD_BITS = 32


def of_subgroups(step: Callable[[State, Any], None]) -> Callable[[State, Any], None]:
    """Return a function that performs ``step`` in the lanes of the state. If these are scope instances, it performs the operation in all of
    their invocations, and the common result becomes a value of the instance.

    The function raises GeneratorError if the scope instances are not subgroups of a known size, or if the result differs among the
    invocations of an instance.
    """

    @wraps(step)
    def performed(state: State, operation: language.SubgroupOperation) -> None:
        size = state.program.shape.subgroup_size
        if state.program.scope is not Scope.SUBGROUP or size is None:
            raise GeneratorError(
                Rule.SUBGROUP_SIZE, "operations of subgroups need matrices of subgroup scope, and WorkgroupShape.subgroup_size"
            )
        if state.owners is not None:
            step(state, operation)
            return
        name = operation.result.name
        if not operation.is_uniform:
            raise GeneratorError(Rule.SINGLE_INVOCATIONS, f"{name} differs among invocations: compute it in the region of a PerInvocation")
        before = state.invocations
        per_invocation(state, PerInvocation(size, (operation,)))
        lanes = state.invocations
        assert lanes is not None, "a region has results"
        firsts = np.arange(0, len(lanes.instances), size)
        if name in lanes.scalars:
            state.scalars[name] = lanes.scalars.pop(name)[firsts]
        else:
            state.aggregates[name] = selected(lanes.aggregates.pop(name), firsts)
        state.invocations = before

    return performed


def groups_of(state: State) -> Iterator[np.ndarray]:
    """Yield the positions of the active lanes of each subgroup, by index."""
    owners = state.scope_instances
    for instance in np.unique(owners):
        yield np.flatnonzero(owners == instance)


def _lane_numbers(state: State) -> np.ndarray:
    """Return SubgroupLocalInvocationId of each lane, int64."""
    size = state.program.shape.subgroup_size
    assert size is not None, "of_subgroups has seen to it"
    return np.asarray(state.instances % size)


def _in_groups(state: State, function: Callable[[np.ndarray], Any], like: np.ndarray) -> np.ndarray:
    """Return the result of ``function`` on the positions of each group, one number for the group or one for each position; the dtype is the
    one of ``like``."""
    result = np.zeros(len(state.instances), like.dtype)
    for group in groups_of(state):
        result[group] = function(group)
    return result


_COMBINE: Mapping[language.SubgroupOperator, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "add": lambda x, y: x + y,
        "multiply": lambda x, y: x * y,
        "min": np.minimum,
        "max": np.maximum,
        "and": lambda x, y: x & y,
        "or": lambda x, y: x | y,
        "xor": lambda x, y: x ^ y,
    }
)


def _identity(operator: language.SubgroupOperator, component: ComponentType) -> Any:
    """Return the identity of the operation (SPIR-V 3.42.24), of the component's dtype."""
    if component.is_float:
        limits: tuple[Any, Any] = (-np.inf, np.inf)
    else:
        limits = (np.iinfo(component.dtype).min, np.iinfo(component.dtype).max)
    found = {"multiply": 1, "min": limits[1], "max": limits[0], "and": -1 if component.is_signed else limits[1]}.get(operator, 0)
    return (np.float64 if component.is_float else component.dtype.type)(found)


@evaluates(language.SubgroupReduce)
@of_subgroups
def subgroup_reduce(state: State, operation: language.SubgroupReduce) -> None:
    """Combine values; floats only if no order of additions rounds.

    Raises:
        GeneratorError: an order of additions may round.
    """
    component, name = operation.result.type, operation.result.name
    values = numbers(state.scalar(operation.value), component)
    combine, identity = _COMBINE[operation.operator], _identity(operation.operator, component)
    summed = component.is_float and operation.operator == "add"
    if summed and (values != np.trunc(values)).any():
        raise GeneratorError(Rule.ORDER, f"{name} adds floats in an unspecified order; use whole numbers")

    def of(group: np.ndarray) -> np.ndarray | Any:
        own = values[group]
        if summed and np.abs(own).sum() > 1 << component.precision:
            raise GeneratorError(Rule.INEXACT, f"{name} adds numbers that are not exact in every order in {component}; use smaller ones")
        inclusive, total = [], identity
        for one in own:
            total = combine(total, one)
            inclusive.append(total)
        scans: Mapping[language.Group, list[Any]] = {"inclusive": inclusive, "exclusive": [identity, *inclusive[:-1]]}
        return scans.get(operation.group, inclusive[-1])

    with np.errstate(over="ignore"):
        result = _in_groups(state, of, values)
    state.scalars[name] = bits_of(exact(state, result, component, name) if component.is_float else result, component)


@evaluates(language.SubgroupBallot)
@of_subgroups
def subgroup_ballot(state: State, operation: language.SubgroupBallot) -> None:
    """Set the bits of the active lanes in which the condition holds."""
    held, lanes = holds(state, operation.condition), _lane_numbers(state)

    def word(number: int) -> np.ndarray:
        def of(group: np.ndarray) -> int:
            voters = lanes[group[held[group]]]
            return reduce(lambda bits, lane: bits | 1 << int(lane) % _WORD_BITS, voters[voters // _WORD_BITS == number].tolist(), 0)

        return _in_groups(state, of, np.zeros(0, np.uint64))

    define(state, operation.result.name, tuple(word(number) for number in range(_WORDS)))


def _bits(state: State, ballot: str) -> np.ndarray:
    """Return for each lane which bits of its ballot, below the subgroup size, are set: bool, (lanes, size)."""
    size = state.program.shape.subgroup_size
    assert size is not None, "of_subgroups has seen to it"
    words = np.stack(state.aggregates[ballot], axis=-1)
    bits = np.arange(size)
    return np.asarray(words[:, bits // _WORD_BITS] >> (bits % _WORD_BITS).astype(np.uint64) & np.uint64(1), bool)


@evaluates(language.BallotCount)
@of_subgroups
def ballot_count(state: State, operation: language.BallotCount) -> None:
    """Count the bits of the lanes that the group has."""
    bits, own = _bits(state, operation.ballot.name), _lane_numbers(state)[:, None]
    lanes = np.arange(bits.shape[1])
    looked_at: Mapping[language.Group, Any] = {"reduce": True, "inclusive": lanes <= own, "exclusive": lanes < own}
    state.scalars[operation.result.name] = (bits & looked_at[operation.group]).sum(axis=1).astype(np.uint64)


@evaluates(language.BallotFind)
@of_subgroups
def ballot_find(state: State, operation: language.BallotFind) -> None:
    """Find the outermost bit.

    Raises:
        GeneratorError: no bit is set.
    """
    bits = _bits(state, operation.ballot.name)
    if not bits.any(axis=1).all():
        raise GeneratorError(
            Rule.EMPTY_BALLOT, f"{operation.result.name}: a ballot has no set bit, so the result is undefined; use other data"
        )
    found = bits.argmax(axis=1) if operation.which == "lowest" else bits.shape[1] - 1 - bits[:, ::-1].argmax(axis=1)
    state.scalars[operation.result.name] = found.astype(np.uint64)


@evaluates(language.SubgroupVote)
@of_subgroups
def subgroup_vote(state: State, operation: language.SubgroupVote) -> None:
    """Combine the condition of all active lanes."""
    held = holds(state, operation.condition)
    decide = np.all if operation.which == "all" else np.any
    state.scalars[operation.result.name] = _in_groups(state, lambda group: decide(held[group]), np.zeros(0, np.uint64))


@evaluates(language.SubgroupAllEqual)
@of_subgroups
def subgroup_all_equal(state: State, operation: language.SubgroupAllEqual) -> None:
    """Compare with the first active lane.

    Raises:
        GeneratorError: a value is NaN.
    """
    values = numbers(state.scalar(operation.value), operation.value.type)
    if np.isnan(values).any():
        raise GeneratorError(Rule.NAN_OPERAND, f"{operation.result.name} compares NaN; use other data")
    state.scalars[operation.result.name] = _in_groups(
        state, lambda group: (values[group] == values[group[0]]).all(), np.zeros(0, np.uint64)
    )


@evaluates(language.SubgroupElect)
@of_subgroups
def subgroup_elect(state: State, operation: language.SubgroupElect) -> None:
    """Choose the active lane with the lowest index."""
    state.scalars[operation.result.name] = _in_groups(state, lambda group: group == group[0], np.zeros(0, np.uint64))


@evaluates(language.SubgroupBroadcast)
@of_subgroups
def subgroup_broadcast(state: State, operation: language.SubgroupBroadcast) -> None:
    """Take the value of one lane.

    Raises:
        GeneratorError: it is not active.
    """
    values, lanes, name = state.scalar(operation.value), _lane_numbers(state), operation.result.name

    def of(group: np.ndarray) -> np.ndarray:
        at = group[:1] if operation.lane is None else group[lanes[group] == operation.lane]
        if not len(at):
            raise GeneratorError(Rule.INACTIVE_INVOCATION, f"{name} takes the value of invocation {operation.lane}, which is not active")
        return np.asarray(values[at[0]])

    state.scalars[name] = _in_groups(state, of, values)


@evaluates(language.SubgroupShuffle)
@of_subgroups
def subgroup_shuffle(state: State, operation: language.SubgroupShuffle) -> None:
    """Take the value of the lane that each lane names.

    Raises:
        GeneratorError: it is not active, or the mask differs in a subgroup.
    """
    values, lanes, name = state.scalar(operation.value), _lane_numbers(state), operation.result.name
    wanted = state.scalar(operation.index).astype(np.int64)
    if operation.exclusive_or:
        if any((wanted[group] != wanted[group[0]]).any() for group in groups_of(state)):
            raise GeneratorError(Rule.MASK_DIFFERS, f"{name}: the mask differs in a subgroup, so the result is undefined")
        wanted = lanes ^ wanted

    def of(group: np.ndarray) -> np.ndarray:
        places = {int(lane): int(position) for lane, position in zip(lanes[group], group, strict=True)}
        if not set(wanted[group].tolist()) <= places.keys():
            raise GeneratorError(Rule.INACTIVE_INVOCATION, f"{name} takes the value of an invocation that is not active")
        return np.asarray(values[[places[lane] for lane in wanted[group].tolist()]])

    state.scalars[name] = _in_groups(state, of, values)


@evaluates(language.SubgroupsStored)
def subgroups_stored(state: State, operation: language.SubgroupsStored) -> None:
    """Store to the element of each place in each subgroup its subgroup and place. All subgroups are full: the local size in x is a multiple
    of the subgroup size (VUID-VkPipelineShaderStageCreateInfo-module-08987), and the module is SPIR-V 1.6."""
    program, u32 = state.program, COMPONENT_TYPES["u32"]
    places = program.workgroup_count * program.subgroups * operation.subgroup_size
    subgroup, lane = np.divmod(np.arange(places), operation.subgroup_size)
    size, count = np.full(places, operation.subgroup_size), np.full(places, program.subgroups)
    known = np.stack((size, count, subgroup % program.subgroups, lane), axis=-1).astype(np.uint32)
    offsets = np.arange(4 * places, dtype=np.int64).reshape(-1, operation.subgroup_size, 4) * u32.bytes
    expectation = one_set(Exact(u32, known.reshape(offsets.shape)), Authority("VUID-VkPipelineShaderStageCreateInfo-module-08987"))
    state.memories[operation.target.name].store(offsets, expectation, "the built-ins of the subgroup")
