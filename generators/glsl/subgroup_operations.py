"""subgroupAdd, subgroupBallot, subgroupShuffle and the other functions of GL_KHR_shader_subgroup_*."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.glsl.control_flow import condition_text
from generators.glsl.shader import Shader, prints
from generators.glsl.values import assign, value_text
from generators.program.subgroup_operations import (
    BallotCount,
    BallotFind,
    Group,
    SubgroupAllEqual,
    SubgroupBallot,
    SubgroupBroadcast,
    SubgroupElect,
    SubgroupOperation,
    SubgroupOperator,
    SubgroupReduce,
    SubgroupShuffle,
    SubgroupVote,
)

_OPERATORS: Mapping[SubgroupOperator, str] = MappingProxyType(
    {"add": "Add", "multiply": "Mul", "min": "Min", "max": "Max", "and": "And", "or": "Or", "xor": "Xor"}
)
_GROUPS: Mapping[Group, str] = MappingProxyType({"reduce": "", "inclusive": "Inclusive", "exclusive": "Exclusive"})


@prints(SubgroupReduce)
def emit_reduce(shader: Shader, operation: SubgroupReduce) -> None:
    """Write subgroupAdd, subgroupInclusiveAdd and so on."""
    name = f"subgroup{_GROUPS[operation.group]}{_OPERATORS[operation.operator]}"
    _write(shader, operation, "arithmetic", f"{name}({shader.text(operation.value)})")


@prints(SubgroupBallot)
def emit_ballot(shader: Shader, operation: SubgroupBallot) -> None:
    """Write subgroupBallot."""
    _write(shader, operation, "ballot", f"subgroupBallot({condition_text(shader, operation.condition)})")


@prints(BallotCount)
def emit_count(shader: Shader, operation: BallotCount) -> None:
    """Write subgroupBallotBitCount or its scan."""
    name = f"subgroupBallot{_GROUPS[operation.group]}BitCount"
    _write(shader, operation, "ballot", f"{name}({value_text(shader, operation.ballot)})")


@prints(BallotFind)
def emit_find(shader: Shader, operation: BallotFind) -> None:
    """Write subgroupBallotFindLSB or MSB."""
    name = "subgroupBallotFindLSB" if operation.which == "lowest" else "subgroupBallotFindMSB"
    _write(shader, operation, "ballot", f"{name}({value_text(shader, operation.ballot)})")


@prints(SubgroupVote)
def emit_vote(shader: Shader, operation: SubgroupVote) -> None:
    """Write subgroupAll or subgroupAny."""
    name = "subgroupAll" if operation.which == "all" else "subgroupAny"
    _write(shader, operation, "vote", f"{name}({condition_text(shader, operation.condition)}) ? 1u : 0u")


@prints(SubgroupAllEqual)
def emit_all_equal(shader: Shader, operation: SubgroupAllEqual) -> None:
    """Write subgroupAllEqual."""
    _write(shader, operation, "vote", f"subgroupAllEqual({shader.text(operation.value)}) ? 1u : 0u")


@prints(SubgroupElect)
def emit_elect(shader: Shader, operation: SubgroupElect) -> None:
    """Write subgroupElect."""
    _write(shader, operation, "basic", "subgroupElect() ? 1u : 0u")


@prints(SubgroupBroadcast)
def emit_broadcast(shader: Shader, operation: SubgroupBroadcast) -> None:
    """Write subgroupBroadcast or subgroupBroadcastFirst."""
    value = shader.text(operation.value)
    text = f"subgroupBroadcastFirst({value})" if operation.lane is None else f"subgroupBroadcast({value}, {operation.lane}u)"
    _write(shader, operation, "ballot", text)


@prints(SubgroupShuffle)
def emit_shuffle(shader: Shader, operation: SubgroupShuffle) -> None:
    """Write subgroupShuffle or subgroupShuffleXor."""
    name = "subgroupShuffleXor" if operation.exclusive_or else "subgroupShuffle"
    _write(shader, operation, "shuffle", f"{name}({shader.text(operation.value)}, {shader.text(operation.index)})")


def _write(shader: Shader, operation: SubgroupOperation, extension: str, text: str) -> None:
    shader.require(f"GL_KHR_shader_subgroup_{extension}")
    assign(shader, operation.result, text)
