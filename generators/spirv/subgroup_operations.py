"""OpGroupNonUniform* at subgroup scope."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.errors import GeneratorError, Rule
from generators.program import subgroup_operations as language
from generators.program.values import Scalar, literal
from generators.spirv.control_flow import emit_condition
from generators.spirv.declarations import U32
from generators.spirv.enumerants import GroupOperation, Op, Scope
from generators.spirv.shader import Shader, emits
from generators.spirv.values import capabilities, compute

_SUBGROUP = literal(U32, Scope.Subgroup)
_GROUPS: Mapping[language.Group, GroupOperation] = MappingProxyType(
    {"reduce": GroupOperation.Reduce, "inclusive": GroupOperation.InclusiveScan, "exclusive": GroupOperation.ExclusiveScan}
)

_REDUCTIONS: Mapping[language.SubgroupOperator, tuple[Op, Op, Op | None]] = MappingProxyType(
    {
        "add": (Op.GroupNonUniformIAdd, Op.GroupNonUniformIAdd, Op.GroupNonUniformFAdd),
        "multiply": (Op.GroupNonUniformIMul, Op.GroupNonUniformIMul, None),
        "min": (Op.GroupNonUniformUMin, Op.GroupNonUniformSMin, Op.GroupNonUniformFMin),
        "max": (Op.GroupNonUniformUMax, Op.GroupNonUniformSMax, Op.GroupNonUniformFMax),
        "and": (Op.GroupNonUniformBitwiseAnd, Op.GroupNonUniformBitwiseAnd, None),
        "or": (Op.GroupNonUniformBitwiseOr, Op.GroupNonUniformBitwiseOr, None),
        "xor": (Op.GroupNonUniformBitwiseXor, Op.GroupNonUniformBitwiseXor, None),
    }
)
"""The opcodes for unsigned integers, signed ones, and floats."""


@emits(language.SubgroupReduce)
def emit_reduce(shader: Shader, operation: language.SubgroupReduce) -> None:
    """Emit a reduction or a scan.

    Raises:
        GeneratorError: the type does not have it.
    """
    type_ = operation.result.type
    op = _REDUCTIONS[operation.operator][2 if type_.is_float else type_.is_signed]
    if op is None:
        raise GeneratorError(
            Rule.COMPONENT_TYPE, f"{operation.result.name}: a subgroup has no {operator_text(operation)} of {type_}; use another type"
        )
    _emit(shader, operation, op, _GROUPS[operation.group], shader.id(operation.value))


def operator_text(operation: language.SubgroupReduce) -> str:
    """Return the operator with its group, for messages."""
    return operation.operator if operation.group == "reduce" else f"{operation.group} {operation.operator}"


@emits(language.SubgroupBallot)
def emit_ballot(shader: Shader, operation: language.SubgroupBallot) -> None:
    """Emit OpGroupNonUniformBallot."""
    condition = emit_condition(shader, operation.condition)
    _emit(shader, operation, Op.GroupNonUniformBallot, condition)


@emits(language.BallotCount)
def emit_count(shader: Shader, operation: language.BallotCount) -> None:
    """Emit OpGroupNonUniformBallotBitCount."""
    words = _GROUPS[operation.group], shader.define(operation.ballot)
    _emit(shader, operation, Op.GroupNonUniformBallotBitCount, *words)


@emits(language.BallotFind)
def emit_find(shader: Shader, operation: language.BallotFind) -> None:
    """Emit OpGroupNonUniformBallotFindLSB or MSB."""
    op = Op.GroupNonUniformBallotFindLSB if operation.which == "lowest" else Op.GroupNonUniformBallotFindMSB
    _emit(shader, operation, op, shader.define(operation.ballot))


@emits(language.SubgroupVote)
def emit_vote(shader: Shader, operation: language.SubgroupVote) -> None:
    """Emit OpGroupNonUniformAll or Any, and convert the result to a number."""
    condition = emit_condition(shader, operation.condition)
    op = Op.GroupNonUniformAll if operation.which == "all" else Op.GroupNonUniformAny
    _emit_boolean(shader, operation.result, op, condition)


@emits(language.SubgroupAllEqual)
def emit_all_equal(shader: Shader, operation: language.SubgroupAllEqual) -> None:
    """Emit OpGroupNonUniformAllEqual, and convert the result to a number."""
    _emit_boolean(shader, operation.result, Op.GroupNonUniformAllEqual, shader.id(operation.value))


@emits(language.SubgroupElect)
def emit_elect(shader: Shader, operation: language.SubgroupElect) -> None:
    """Emit OpGroupNonUniformElect, and convert the result to a number."""
    _emit_boolean(shader, operation.result, Op.GroupNonUniformElect)


@emits(language.SubgroupBroadcast)
def emit_broadcast(shader: Shader, operation: language.SubgroupBroadcast) -> None:
    """Emit OpGroupNonUniformBroadcast or BroadcastFirst."""
    value = shader.id(operation.value)
    if operation.lane is None:
        _emit(shader, operation, Op.GroupNonUniformBroadcastFirst, value)
    else:
        _emit(shader, operation, Op.GroupNonUniformBroadcast, value, shader.u32(operation.lane))


@emits(language.SubgroupShuffle)
def emit_shuffle(shader: Shader, operation: language.SubgroupShuffle) -> None:
    """Emit OpGroupNonUniformShuffle or ShuffleXor."""
    op = Op.GroupNonUniformShuffleXor if operation.exclusive_or else Op.GroupNonUniformShuffle
    _emit(shader, operation, op, shader.id(operation.value), shader.id(operation.index))


def _emit(shader: Shader, operation: language.SubgroupOperation, op: Op, *words: int) -> None:
    compute(shader, op, operation.result, _SUBGROUP, *words)


def _emit_boolean(shader: Shader, result: Scalar, op: Op, *words: int) -> None:
    module, one, zero = shader.module, shader.u32(1), shader.u32(0)
    module.require(*capabilities(op))
    boolean = module.value(op, module.type(Op.TypeBool), shader.id(_SUBGROUP), *words)
    compute(shader, Op.Select, result, boolean, one, zero)
