"""Instructions of the active invocations of a subgroup (OpGroupNonUniform*)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from types import MappingProxyType

import numpy as np

from cts.devices.embedded.diagnostics import Unsupported, Violation, enumerant_text
from cts.devices.embedded.machine import Run
from cts.devices.embedded.spirv_types import Bool, Number, Vector, number
from cts.devices.embedded.translation import Handler, Translation, Words
from cts.devices.embedded.values import Value, spread
from generators.spirv.enumerants import GroupOperation, Op, Scope

_Groups = list[np.ndarray]


def _groups(translation: Translation) -> _Groups:
    """Return the active invocations of each subgroup that has any."""
    machine = translation.machine
    lanes = np.flatnonzero(machine.mask)
    return [g for s in range(machine.subgroups) if (g := lanes[lanes // machine.subgroup_size == s]).size]


def _check_scope(translation: Translation, words: Words) -> None:
    if translation.constant(words[2]) != Scope.Subgroup:
        raise Violation("VUID-StandaloneSpirv-None-04642", "a group operation that is not of Subgroup scope")


def _scalar(translation: Translation, id_: int) -> Number | Bool:
    type_ = translation.type_of[id_]
    if isinstance(type_, Number | Bool):
        return type_
    raise Unsupported("a group operation on what is not a scalar")


def _per_group(function: Callable[[np.ndarray, np.ndarray], Value]) -> Handler:
    """Return the handler of an instruction with one result for each subgroup."""

    def handler(translation: Translation, words: Words) -> Run:
        _check_scope(translation, words)
        type_, result_type = _scalar(translation, words[3]), translation.types[words[0]]
        values, lanes = translation.values, translation.machine.lanes
        assert isinstance(result_type, Number | Bool)

        def run() -> Value:
            operand = spread(type_, values[words[3]], lanes)
            result = np.zeros(lanes, result_type.dtype)
            for group in _groups(translation):
                result[group] = function(operand[group], group)
            return result

        return run

    return handler


def _elect(translation: Translation, words: Words) -> Run:
    _check_scope(translation, words)

    def run() -> Value:
        result = np.zeros(translation.machine.lanes, bool)
        for group in _groups(translation):
            result[group[0]] = True
        return result

    return run


def _from_lane(pick: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Handler:
    """Return the handler of an instruction that reads the value of another invocation.

    ``pick`` gives that invocation's number in the subgroup, from the reader's number and the operand.
    """

    def handler(translation: Translation, words: Words) -> Run:
        _check_scope(translation, words)
        type_, index_type = _scalar(translation, words[3]), _scalar(translation, words[4])
        values, machine = translation.values, translation.machine

        def run() -> Value:
            lane = np.arange(machine.lanes)
            own, first = lane % machine.subgroup_size, lane // machine.subgroup_size * machine.subgroup_size
            source = first + pick(own, spread(index_type, values[words[4]], machine.lanes).astype(np.int64))
            inside = (source >= first) & (source < np.minimum(first + machine.subgroup_size, machine.lanes))
            source = np.where(inside, source, lane)
            if not (inside & machine.mask[source])[machine.mask].all():
                machine.forbid("SPIR-V 3.42.24", "the value of an invocation that is not active is read")
            return spread(type_, values[words[3]], machine.lanes)[source]

        return run

    return handler


def _broadcast_first(operand: np.ndarray, _: np.ndarray) -> Value:
    return operand[0]


def _ballot(translation: Translation, words: Words) -> Run:
    _check_scope(translation, words)
    values, machine = translation.values, translation.machine
    assert isinstance(translation.types[words[0]], Vector)

    def run() -> Value:
        predicate = spread(Bool(), values[words[3]], machine.lanes)
        result = np.zeros((4, machine.lanes), np.uint32)
        for group in _groups(translation):
            bits = sum(1 << int(lane % machine.subgroup_size) for lane in group if predicate[lane])
            for word in range(4):
                result[word, group] = bits >> 32 * word & 0xFFFFFFFF
        return tuple(result)

    return run


def _votes(translation: Translation, id_: int, group: np.ndarray) -> np.ndarray:
    """Return for a subgroup which invocations have their bit set, (invocations of ``group``, subgroup size); bits beyond are ignored."""
    machine = translation.machine
    words = np.stack([spread(_WORD, part, machine.lanes)[group] for part in translation.values[id_]]).astype(np.uint32)
    bits = np.arange(machine.subgroup_size)
    return (words[bits // 32].T >> (bits % 32).astype(np.uint32) & 1).astype(bool)


def _of_ballot(function: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Handler:
    """Return the handler of an instruction that reads a ballot.

    ``function`` gives a number for each invocation, from the bits of its ballot and which of them it is to look at, (invocations, bits).
    """

    def handler(translation: Translation, words: Words) -> Run:
        _check_scope(translation, words)
        operation = words[3] if len(words) == 5 else GroupOperation.Reduce
        if operation not in _LOOKED_AT:
            raise Unsupported(f"group operation {enumerant_text(GroupOperation, operation)}")
        machine, ballot = translation.machine, words[-1]

        def run() -> Value:
            result = np.zeros(machine.lanes, np.uint32)
            bits = np.arange(machine.subgroup_size)
            for group in _groups(translation):
                own = group[:, None] % machine.subgroup_size
                result[group] = function(_votes(translation, ballot, group), _LOOKED_AT[operation](bits, own))
            return result

        return run

    return handler


_WORD = number("u32")
_LOOKED_AT: Mapping[int, Callable[[np.ndarray, np.ndarray], np.ndarray]] = MappingProxyType(
    {
        GroupOperation.Reduce: lambda bits, own: np.broadcast_to(True, np.broadcast_shapes(bits.shape, own.shape)),
        GroupOperation.InclusiveScan: lambda bits, own: bits <= own,
        GroupOperation.ExclusiveScan: lambda bits, own: bits < own,
    }
)
"""By group operation: the bits of a ballot that an invocation looks at."""


def _least(dtype: np.dtype) -> Value:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _greatest(dtype: np.dtype) -> Value:
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


@dataclass(frozen=True)
class _Combination:
    """How values are combined.

    Attributes:
        combine: takes two values.
        identity: the value for a dtype that changes no other.
        signed: whether the values are signed integers.
    """

    combine: Callable[[Value, Value], Value]
    identity: Callable[[np.dtype], Value] = lambda _: 0
    signed: bool = False


_MULTIPLY = _Combination(operator.mul, lambda _: 1)
_AND = _Combination(operator.and_, lambda dtype: True if dtype.kind == "b" else np.iinfo(dtype).max)
_COMBINE: Mapping[Op, _Combination] = MappingProxyType(
    {
        Op.GroupNonUniformIAdd: _Combination(operator.add),
        Op.GroupNonUniformFAdd: _Combination(operator.add),
        Op.GroupNonUniformIMul: _MULTIPLY,
        Op.GroupNonUniformFMul: _MULTIPLY,
        Op.GroupNonUniformUMin: _Combination(np.minimum, _greatest),
        Op.GroupNonUniformUMax: _Combination(np.maximum, _least),
        Op.GroupNonUniformSMin: _Combination(np.minimum, _greatest, signed=True),
        Op.GroupNonUniformSMax: _Combination(np.maximum, _least, signed=True),
        Op.GroupNonUniformFMin: _Combination(np.minimum, _greatest),
        Op.GroupNonUniformFMax: _Combination(np.maximum, _least),
        Op.GroupNonUniformBitwiseAnd: _AND,
        Op.GroupNonUniformBitwiseOr: _Combination(operator.or_),
        Op.GroupNonUniformBitwiseXor: _Combination(operator.xor),
        Op.GroupNonUniformLogicalAnd: _AND,
        Op.GroupNonUniformLogicalOr: _Combination(operator.or_),
        Op.GroupNonUniformLogicalXor: _Combination(operator.xor),
    }
)
"""By opcode."""


def _arithmetic(how: _Combination) -> Handler:
    def handler(translation: Translation, words: Words) -> Run:
        _check_scope(translation, words)
        operation = words[3]
        if operation not in _LOOKED_AT:
            raise Unsupported(f"group operation {enumerant_text(GroupOperation, operation)}")
        type_ = _scalar(translation, words[4])
        values, lanes = translation.values, translation.machine.lanes

        def run() -> Value:
            operand = spread(type_, values[words[4]], lanes)
            if how.signed:
                assert isinstance(type_, Number)
                operand = operand.view(type_.signed_dtype)
            result = np.zeros(lanes, operand.dtype)
            for group in _groups(translation):
                totals = list(accumulate((operand[lane : lane + 1] for lane in group), how.combine))
                match operation:
                    case GroupOperation.Reduce:
                        result[group] = totals[-1]
                    case GroupOperation.InclusiveScan:
                        result[group] = np.concatenate(totals)
                    case _:
                        first = np.array([how.identity(operand.dtype)], operand.dtype)
                        result[group] = np.concatenate([first, *totals[:-1]])
            return result.view(type_.dtype)

        return run

    return handler


HANDLERS: Mapping[Op, Handler] = MappingProxyType(
    {
        **{op: _arithmetic(how) for op, how in _COMBINE.items()},
        Op.GroupNonUniformElect: _elect,
        Op.GroupNonUniformAll: _per_group(lambda x, _: x.all()),
        Op.GroupNonUniformAny: _per_group(lambda x, _: x.any()),
        Op.GroupNonUniformAllEqual: _per_group(lambda x, _: (x == x[0]).all()),
        Op.GroupNonUniformBroadcastFirst: _per_group(_broadcast_first),
        Op.GroupNonUniformBroadcast: _from_lane(lambda _, index: index),
        Op.GroupNonUniformShuffle: _from_lane(lambda _, index: index),
        Op.GroupNonUniformShuffleXor: _from_lane(lambda own, mask: own ^ mask),
        Op.GroupNonUniformShuffleUp: _from_lane(lambda own, delta: own - delta),
        Op.GroupNonUniformShuffleDown: _from_lane(lambda own, delta: own + delta),
        Op.GroupNonUniformBallot: _ballot,
        Op.GroupNonUniformBallotBitCount: _of_ballot(lambda votes, seen: (votes & seen).sum(axis=1)),
        Op.GroupNonUniformBallotFindLSB: _of_ballot(lambda votes, _: votes.argmax(axis=1)),
        Op.GroupNonUniformBallotFindMSB: _of_ballot(lambda votes, _: votes.shape[1] - 1 - votes[:, ::-1].argmax(axis=1)),
    }
)
"""Handlers of subgroup instructions."""
