"""Sums and other combinations over the active invocations of a subgroup, of its clusters, or of subsets that a ballot names."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from types import MappingProxyType

import numpy as np

from cts.embedded.diagnostics import Unsupported, enumerant_text
from cts.embedded.instructions.arithmetic.elementwise import on_components
from cts.embedded.instructions.invocations.subgroup_operations import (
    LOOKED_AT,
    QUAD,
    Groups,
    check_scope,
    component_of,
    groups_of,
    votes_of,
)
from cts.embedded.instructions.registry import executes
from cts.embedded.machine.machine import Run
from cts.embedded.module.translation import Handler, Translation, Words
from cts.embedded.types.spirv_types import Bool, Number, Vector
from cts.embedded.types.values import Value, spread
from generators.spirv.enumerants import GroupOperation, Op


def _least(dtype: np.dtype) -> Value:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _greatest(dtype: np.dtype) -> Value:
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


@dataclass(frozen=True)
class _Combination:
    """How values are combined.

    Attributes:
        combine: takes two values.
        identity: returns the neutral value of a dtype.
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
"""Opcode -> how it combines values."""


def _arithmetic(how: _Combination) -> Handler:
    def handler(translation: Translation, words: Words) -> Run:
        check_scope(translation, words)
        operation = words[3]
        is_clustered = operation == GroupOperation.ClusteredReduce and len(words) > 5
        is_partitioned = operation in _PARTITIONED and len(words) > 5
        if operation not in LOOKED_AT and not is_clustered and not is_partitioned:
            raise Unsupported(f"group operation {enumerant_text(GroupOperation, operation)}")
        operation = _PARTITIONED[operation] if is_partitioned else operation
        cluster = int(translation.constant(words[5])) if is_clustered else 0
        type_ = component_of(translation, words[4])
        lanes = translation.machine.lanes

        def compute(value: Value) -> Value:
            operand = spread(type_, value, lanes)
            if how.signed:
                assert isinstance(type_, Number)
                operand = operand.view(type_.signed_dtype)
            result = np.zeros(lanes, operand.dtype)
            groups = _partitions(translation, words[5]) if is_partitioned else _clusters(groups_of(translation), cluster)
            for group in groups:
                totals = list(accumulate((operand[lane : lane + 1] for lane in group), how.combine))
                match operation:
                    case GroupOperation.Reduce | GroupOperation.ClusteredReduce:
                        result[group] = totals[-1]
                    case GroupOperation.InclusiveScan:
                        result[group] = np.concatenate(totals)
                    case _:
                        first = np.array([how.identity(operand.dtype)], operand.dtype)
                        result[group] = np.concatenate([first, *totals[:-1]])
            return result.view(type_.dtype)

        return on_components(translation, translation.type_of[words[4]], words[4:5], compute)

    return handler


_PARTITIONED: Mapping[int, GroupOperation] = MappingProxyType(
    {
        GroupOperation.PartitionedReduceEXT: GroupOperation.Reduce,
        GroupOperation.PartitionedInclusiveScanEXT: GroupOperation.InclusiveScan,
        GroupOperation.PartitionedExclusiveScanEXT: GroupOperation.ExclusiveScan,
    }
)
"""Group operation on the subsets that a ballot names -> the operation within each subset."""


def _partitions(translation: Translation, ballot: int) -> Groups:
    """Return the active invocations of each subset of a subgroup that a ballot names."""
    found: Groups = []
    machine = translation.machine
    for group in groups_of(translation):
        own = group % machine.subgroup_size
        members = votes_of(translation, ballot, group)[:, own]
        if not members.diagonal().all() or (members != members.T).any():
            machine.forbid(
                "SPIR-V 3.42.24",
                "the ballots do not say to which subset each invocation belongs: they must be one partition of the invocations",
            )
        rows = {row.tobytes(): row for row in members}
        found += [group[row] for row in rows.values() if row.any()]
    return found


@executes(Op.GroupNonUniformPartitionEXT)
def _partition(translation: Translation, words: Words) -> Run:
    """Return a function that gives each invocation a ballot of the invocations with the same value (OpGroupNonUniformPartitionEXT)."""
    values, machine = translation.values, translation.machine
    type_ = component_of(translation, words[2])
    is_vector = isinstance(translation.type_of[words[2]], Vector)

    def run() -> Value:
        parts = values[words[2]] if is_vector else (values[words[2]],)
        operands = np.stack([spread(type_, part, machine.lanes) for part in parts])
        result = np.zeros((4, machine.lanes), np.uint32)
        for group in groups_of(translation):
            numbers = (group % machine.subgroup_size).tolist()
            for lane in group:
                alike = (operands[:, group] == operands[:, lane, None]).all(axis=0)
                bits = sum(1 << number for number, same in zip(numbers, alike, strict=True) if same)
                result[:, lane] = [bits >> 32 * word & 0xFFFFFFFF for word in range(4)]
        return tuple(result)

    return run


def _quad_vote(vote: Callable[[np.ndarray], Value]) -> Handler:
    """Return the handler of a vote of four neighbours (SPV_KHR_quad_control)."""

    def handler(translation: Translation, words: Words) -> Run:
        values, machine = translation.values, translation.machine

        def run() -> Value:
            predicate, result = spread(Bool(), values[words[2]], machine.lanes), np.zeros(machine.lanes, bool)
            for group in _clusters(groups_of(translation), QUAD):
                result[group] = vote(predicate[group])
            return result

        return run

    return handler


def _clusters(groups: Groups, size: int) -> Groups:
    """Return the active invocations of each cluster of ``size`` neighbours, or of each subgroup if ``size`` is 0."""
    if not size:
        return groups
    return [group[group // size == number] for group in groups for number in np.unique(group // size)]


for _op, _how in _COMBINE.items():
    executes(_op)(_arithmetic(_how))
executes(Op.GroupNonUniformQuadAllKHR)(_quad_vote(np.all))
executes(Op.GroupNonUniformQuadAnyKHR)(_quad_vote(np.any))
