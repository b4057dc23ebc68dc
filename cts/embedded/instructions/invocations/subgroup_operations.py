"""Group instructions of a subgroup: OpGroupNonUniform*, and the instructions of SPV_KHR_shader_ballot and SPV_KHR_subgroup_vote.

The instructions of these two extensions have no scope operand; here they get a 0 in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from cts.embedded.diagnostics import Unsupported, Violation, enumerant_text
from cts.embedded.instructions.arithmetic.elementwise import on_components
from cts.embedded.instructions.registry import executes
from cts.embedded.machine.machine import Run
from cts.embedded.module.translation import Handler, Translation, Words
from cts.embedded.rules.invocations import without_scope
from cts.embedded.types.shapes import element_of
from cts.embedded.types.spirv_types import Bool, Number, Vector, number
from cts.embedded.types.values import Value, spread
from generators.spirv.enumerants import GroupOperation, Op, Scope

Groups = list[np.ndarray]


def groups_of(translation: Translation) -> Groups:
    """Return the active invocations of each subgroup with any."""
    machine = translation.machine
    lanes = np.flatnonzero(machine.mask)
    return [g for s in range(machine.subgroups) if (g := lanes[lanes // machine.subgroup_size == s]).size]


def check_scope(translation: Translation, words: Words) -> None:
    """Check that a group operation has Subgroup scope.

    Raises:
        Violation: it has another scope.
    """
    if words[2] and (scope := translation.constant(words[2])) != Scope.Subgroup:
        named = "not a constant" if scope is None else enumerant_text(Scope, int(scope))
        raise Violation("VUID-StandaloneSpirv-None-04642", f"the scope of a group operation is {named}; only Subgroup is allowed")


def component_of(translation: Translation, id_: int) -> Number | Bool:
    """Return the type of a scalar, or of the components of a vector."""
    type_ = element_of(translation.type_of[id_])
    if isinstance(type_, Number | Bool):
        return type_
    raise Unsupported("a group operation on a value that is neither a scalar nor a vector")


def _per_group(function: Callable[[np.ndarray, np.ndarray], Value]) -> Handler:
    """Return the handler of an instruction with one result for each subgroup."""

    def handler(translation: Translation, words: Words) -> Run:
        check_scope(translation, words)
        type_, result_type = component_of(translation, words[3]), element_of(translation.types[words[0]])
        lanes = translation.machine.lanes
        assert isinstance(result_type, Number | Bool)

        def compute(value: Value) -> Value:
            operand = spread(type_, value, lanes)
            result = np.zeros(lanes, result_type.dtype)
            for group in groups_of(translation):
                result[group] = function(operand[group], group)
            return result

        return on_components(translation, translation.type_of[words[3]], words[3:4], compute)

    return handler


_all_equal_parts = _per_group(lambda x, _: (x == x[0]).all())


@executes(Op.GroupNonUniformAllEqual)
def _all_equal(translation: Translation, words: Words) -> Run:
    run = _all_equal_parts(translation, words)
    if not isinstance(translation.type_of[words[3]], Vector):
        return run
    return lambda: np.logical_and.reduce(run())


@executes(Op.GroupNonUniformElect)
def _elect(translation: Translation, words: Words) -> Run:
    check_scope(translation, words)

    def run() -> Value:
        result = np.zeros(translation.machine.lanes, bool)
        for group in groups_of(translation):
            result[group[0]] = True
        return result

    return run


_Pick = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Computes which invocations are read, from the numbers of the reading invocations in their subgroups and an operand."""


def _from_lane(pick: _Pick, wraps: bool = False) -> Handler:
    """Return the handler of an instruction that reads the value of another invocation. ``wraps``: whether numbers wrap around."""

    def handler(translation: Translation, words: Words) -> Run:
        check_scope(translation, words)
        index_type = component_of(translation, words[4])
        size = int(translation.constant(words[5])) if len(words) > 5 else 0
        values, machine = translation.values, translation.machine
        type_ = component_of(translation, words[3])

        def sources() -> np.ndarray:
            lane = np.arange(machine.lanes)
            cluster = size or machine.subgroup_size
            own, first = lane % cluster, lane // cluster * cluster
            picked = pick(own, spread(index_type, values[words[4]], machine.lanes).astype(np.int64))
            source = first + (picked % cluster if wraps else picked)
            inside = (source >= first) & (source < np.minimum(first + cluster, machine.lanes))
            found = np.where(inside, source, lane)
            missing = machine.mask & ~(inside & machine.mask[found])
            if missing.any():
                reader = int(np.flatnonzero(missing)[0])
                group = reader // machine.subgroup_size * machine.subgroup_size
                lack = "does not execute this instruction" if inside[reader] else "is outside of its subgroup or cluster"
                text = (
                    f"invocation {reader - group} of a subgroup reads the value of invocation {int(source[reader]) - group}, which {lack}"
                )
                machine.forbid("SPIR-V 3.42.24", text, missing)
            return found

        if isinstance(translation.type_of[words[3]], Vector):

            def of_vector() -> Value:
                found = sources()
                return tuple(spread(type_, part, machine.lanes)[found] for part in values[words[3]])

            return of_vector
        return lambda: spread(type_, values[words[3]], machine.lanes)[sources()]

    return handler


QUAD = 4
_SWAPS = (1, 2, 3)
"""Direction of a quad swap (horizontal, vertical, diagonal) -> the mask to xor with an invocation's number."""


def _quad_broadcast(own: np.ndarray, index: np.ndarray) -> np.ndarray:
    found: np.ndarray = own // QUAD * QUAD + index
    return found


def _quad_swap(own: np.ndarray, direction: np.ndarray) -> np.ndarray:
    found: np.ndarray = own ^ np.asarray(_SWAPS)[np.clip(direction, 0, 2)]
    return found


def _broadcast_first(operand: np.ndarray, _: np.ndarray) -> Value:
    return operand[0]


@executes(Op.GroupNonUniformBallot)
def _ballot(translation: Translation, words: Words) -> Run:
    check_scope(translation, words)
    values, machine = translation.values, translation.machine
    assert isinstance(translation.types[words[0]], Vector)

    def run() -> Value:
        predicate = spread(Bool(), values[words[3]], machine.lanes)
        result = np.zeros((4, machine.lanes), np.uint32)
        for group in groups_of(translation):
            bits = sum(1 << int(lane % machine.subgroup_size) for lane in group if predicate[lane])
            for word in range(4):
                result[word, group] = bits >> 32 * word & 0xFFFFFFFF
        return tuple(result)

    return run


def votes_of(translation: Translation, id_: int, group: np.ndarray) -> np.ndarray:
    """Return the ballots of a subgroup as bools, (invocations of ``group``, subgroup size). Further bits are ignored."""
    machine = translation.machine
    words = np.stack([spread(_WORD, part, machine.lanes)[group] for part in translation.values[id_]]).astype(np.uint32)
    bits = np.arange(machine.subgroup_size)
    return (words[bits // 32].T >> (bits % 32).astype(np.uint32) & 1).astype(bool)


def _of_ballot(function: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Handler:
    """Return the handler of an instruction that reads a ballot.

    ``function`` returns a number for each invocation, from the bits of its ballot and a mask of the bits to count: (invocations, bits).
    """

    def handler(translation: Translation, words: Words) -> Run:
        check_scope(translation, words)
        operation = words[3] if len(words) == 5 else GroupOperation.Reduce
        if operation not in LOOKED_AT:
            raise Unsupported(f"group operation {enumerant_text(GroupOperation, operation)}")
        machine, ballot = translation.machine, words[-1]

        def run() -> Value:
            result = np.zeros(machine.lanes, np.uint32)
            bits = np.arange(machine.subgroup_size)
            for group in groups_of(translation):
                own = group[:, None] % machine.subgroup_size
                result[group] = function(votes_of(translation, ballot, group), LOOKED_AT[operation](bits, own))
            return result

        return run

    return handler


@executes(Op.GroupNonUniformInverseBallot, Op.GroupNonUniformBallotBitExtract)
def _ballot_bit(translation: Translation, words: Words) -> Run:
    """Return a function that reads a bit of a ballot: the bit whose number is an operand, or the invocation's own."""
    check_scope(translation, words)
    values, machine = translation.values, translation.machine
    index = words[4] if len(words) > 4 else 0

    def run() -> Value:
        result = np.zeros(machine.lanes, bool)
        wanted = spread(_WORD, values[index], machine.lanes) if index else np.arange(machine.lanes) % machine.subgroup_size
        beyond = wanted >= machine.subgroup_size
        if (beyond & machine.mask).any():
            bit = int(wanted[beyond & machine.mask][0])
            text = f"bit {bit} of a ballot is read, but the subgroup has {machine.subgroup_size} invocations"
            machine.forbid("SPIR-V 3.42.24", text, beyond)
        for group in groups_of(translation):
            votes = votes_of(translation, words[3], group)
            result[group] = votes[np.arange(group.size), np.where(beyond, 0, wanted)[group].astype(np.int64)]
        return result

    return run


_WORD = number("u32")
LOOKED_AT: Mapping[int, Callable[[np.ndarray, np.ndarray], np.ndarray]] = MappingProxyType(
    {
        GroupOperation.Reduce: lambda bits, own: np.broadcast_to(True, np.broadcast_shapes(bits.shape, own.shape)),
        GroupOperation.InclusiveScan: lambda bits, own: bits <= own,
        GroupOperation.ExclusiveScan: lambda bits, own: bits < own,
    }
)
"""Group operation -> the bits of a ballot that count for an invocation."""


executes(Op.SubgroupAllKHR)(without_scope(_per_group(lambda x, _: x.all())))
executes(Op.SubgroupAnyKHR)(without_scope(_per_group(lambda x, _: x.any())))
executes(Op.SubgroupAllEqualKHR)(without_scope(_all_equal))
executes(Op.SubgroupFirstInvocationKHR)(without_scope(_per_group(_broadcast_first)))
executes(Op.SubgroupReadInvocationKHR)(without_scope(_from_lane(lambda _, index: index)))
executes(Op.SubgroupBallotKHR)(without_scope(_ballot))
executes(Op.GroupNonUniformAll)(_per_group(lambda x, _: x.all()))
executes(Op.GroupNonUniformAny)(_per_group(lambda x, _: x.any()))
executes(Op.GroupNonUniformBroadcastFirst)(_per_group(_broadcast_first))
executes(Op.GroupNonUniformBroadcast, Op.GroupNonUniformShuffle)(_from_lane(lambda _, index: index))
executes(Op.GroupNonUniformShuffleXor)(_from_lane(lambda own, mask: own ^ mask))
executes(Op.GroupNonUniformShuffleUp)(_from_lane(lambda own, delta: own - delta))
executes(Op.GroupNonUniformShuffleDown)(_from_lane(lambda own, delta: own + delta))
executes(Op.GroupNonUniformRotateKHR)(_from_lane(lambda own, delta: own + delta, wraps=True))
executes(Op.GroupNonUniformQuadBroadcast)(_from_lane(_quad_broadcast))
executes(Op.GroupNonUniformQuadSwap)(_from_lane(_quad_swap))
executes(Op.GroupNonUniformBallotBitCount)(_of_ballot(lambda votes, seen: (votes & seen).sum(axis=1)))
executes(Op.GroupNonUniformBallotFindLSB)(_of_ballot(lambda votes, _: votes.argmax(axis=1)))
executes(Op.GroupNonUniformBallotFindMSB)(_of_ballot(lambda votes, _: votes.shape[1] - 1 - votes[:, ::-1].argmax(axis=1)))
