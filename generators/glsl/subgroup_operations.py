"""subgroupAdd, subgroupBallot, subgroupShuffle and the other functions of GL_KHR_shader_subgroup_*."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.glsl.control_flow import condition_text
from generators.glsl.shader import Shader, prints
from generators.glsl.values import assign, value_text
from generators.program import subgroup_operations as language

_OPERATORS: Mapping[language.SubgroupOperator, str] = MappingProxyType(
    {"add": "Add", "multiply": "Mul", "min": "Min", "max": "Max", "and": "And", "or": "Or", "xor": "Xor"}
)
_GROUPS: Mapping[language.Group, str] = MappingProxyType({"reduce": "", "inclusive": "Inclusive", "exclusive": "Exclusive"})


@prints(language.SubgroupReduce)
def emit_reduce(shader: Shader, operation: language.SubgroupReduce) -> None:
    """Write subgroupAdd, subgroupInclusiveAdd and so on."""
    name = f"subgroup{_GROUPS[operation.group]}{_OPERATORS[operation.operator]}"
    _write(shader, operation, "arithmetic", f"{name}({shader.text(operation.value)})")


@prints(language.SubgroupBallot)
def emit_ballot(shader: Shader, operation: language.SubgroupBallot) -> None:
    """Write subgroupBallot."""
    _write(shader, operation, "ballot", f"subgroupBallot({condition_text(shader, operation.condition)})")


@prints(language.BallotCount)
def emit_count(shader: Shader, operation: language.BallotCount) -> None:
    """Write subgroupBallotBitCount or its scan."""
    name = f"subgroupBallot{_GROUPS[operation.group]}BitCount"
    _write(shader, operation, "ballot", f"{name}({value_text(shader, operation.ballot)})")


@prints(language.BallotFind)
def emit_find(shader: Shader, operation: language.BallotFind) -> None:
    """Write subgroupBallotFindLSB or MSB."""
    name = "subgroupBallotFindLSB" if operation.which == "lowest" else "subgroupBallotFindMSB"
    _write(shader, operation, "ballot", f"{name}({value_text(shader, operation.ballot)})")


@prints(language.SubgroupVote)
def emit_vote(shader: Shader, operation: language.SubgroupVote) -> None:
    """Write subgroupAll or subgroupAny."""
    name = "subgroupAll" if operation.which == "all" else "subgroupAny"
    _write(shader, operation, "vote", f"{name}({condition_text(shader, operation.condition)}) ? 1u : 0u")


@prints(language.SubgroupAllEqual)
def emit_all_equal(shader: Shader, operation: language.SubgroupAllEqual) -> None:
    """Write subgroupAllEqual."""
    _write(shader, operation, "vote", f"subgroupAllEqual({shader.text(operation.value)}) ? 1u : 0u")


@prints(language.SubgroupElect)
def emit_elect(shader: Shader, operation: language.SubgroupElect) -> None:
    """Write subgroupElect."""
    _write(shader, operation, "basic", "subgroupElect() ? 1u : 0u")


@prints(language.SubgroupBroadcast)
def emit_broadcast(shader: Shader, operation: language.SubgroupBroadcast) -> None:
    """Write subgroupBroadcast or subgroupBroadcastFirst."""
    value = shader.text(operation.value)
    text = f"subgroupBroadcastFirst({value})" if operation.lane is None else f"subgroupBroadcast({value}, {operation.lane}u)"
    _write(shader, operation, "ballot", text)


@prints(language.SubgroupShuffle)
def emit_shuffle(shader: Shader, operation: language.SubgroupShuffle) -> None:
    """Write subgroupShuffle or subgroupShuffleXor."""
    name = "subgroupShuffleXor" if operation.exclusive_or else "subgroupShuffle"
    _write(shader, operation, "shuffle", f"{name}({shader.text(operation.value)}, {shader.text(operation.index)})")


def _write(shader: Shader, operation: language.SubgroupOperation, extension: str, text: str) -> None:
    shader.require(f"GL_KHR_shader_subgroup_{extension}")
    assign(shader, operation.result, text)
