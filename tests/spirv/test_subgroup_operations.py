"""Operations of subgroups in modules and in GLSL: the instruction, its capability, and the words."""

from __future__ import annotations

import pytest

from generators.errors import Rule
from generators.glsl.emit import emit as emit_glsl
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Condition
from generators.program.memory import Pointee
from generators.program.shape import WorkgroupShape
from generators.program.subgroup_operations import (
    BALLOT,
    BallotCount,
    BallotFind,
    SubgroupAllEqual,
    SubgroupBallot,
    SubgroupBroadcast,
    SubgroupElect,
    SubgroupReduce,
    SubgroupShuffle,
    SubgroupVote,
)
from generators.program.values import Value
from generators.spirv.disassemble import disassemble
from generators.spirv.emit import emit
from generators.types import COMPONENT_TYPES, Scope, StorageClass
from tests.broken_rules import breaks

RESULT, VOTES = Value("result", U32), Value("votes", BALLOT)
SIZE = 8


def program_of(*make, component=U32):
    builder = ProgramBuilder(Scope.SUBGROUP, shape=WorkgroupShape(subgroup_size=SIZE))
    source = builder.array("source", Pointee(component), SIZE, StorageClass.STORAGE_BUFFER, "input")
    index = Value("index", U32)
    with builder.per_invocation(index, SIZE):
        own = builder.read_scalar("own", source, index)
        for one in make:
            builder.add(one(own))
    return builder.build()


def condition(own):
    return Condition(own, "equal", own)


def ballot(own):
    return SubgroupBallot(VOTES, condition(own))


@pytest.mark.parametrize(
    ("make", "op", "capability", "words"),
    [
        ([lambda own: SubgroupReduce(RESULT, "add", own)], "IAdd %uint %uint_3 Reduce", "Arithmetic", "subgroupAdd(own)"),
        (
            [lambda own: SubgroupReduce(RESULT, "max", own, "exclusive")],
            "UMax %uint %uint_3 ExclusiveScan",
            "Arithmetic",
            "subgroupExclusiveMax(own)",
        ),
        ([ballot], "Ballot %v4uint", "Ballot", "uvec4 votes = subgroupBallot(own == own)"),
        (
            [ballot, lambda _: BallotCount(RESULT, VOTES, "inclusive")],
            "BallotBitCount %uint %uint_3 InclusiveScan",
            "Ballot",
            "subgroupBallotInclusiveBitCount(votes)",
        ),
        ([ballot, lambda _: BallotFind(RESULT, VOTES, "highest")], "BallotFindMSB", "Ballot", "subgroupBallotFindMSB(votes)"),
        ([lambda own: SubgroupVote(RESULT, "any", condition(own))], "Any %bool", "Vote", "subgroupAny(own == own) ? 1u : 0u"),
        ([lambda own: SubgroupAllEqual(RESULT, own)], "AllEqual %bool", "Vote", "subgroupAllEqual(own) ? 1u : 0u"),
        ([lambda _: SubgroupElect(RESULT)], "Elect %bool", "", "subgroupElect() ? 1u : 0u"),
        ([lambda own: SubgroupBroadcast(RESULT, own, 3)], "Broadcast %uint", "Ballot", "subgroupBroadcast(own, 3u)"),
        ([lambda own: SubgroupBroadcast(RESULT, own)], "BroadcastFirst %uint", "Ballot", "subgroupBroadcastFirst(own)"),
        ([lambda own: SubgroupShuffle(RESULT, own, own)], "Shuffle %uint", "Shuffle", "subgroupShuffle(own, own)"),
        ([lambda own: SubgroupShuffle(RESULT, own, own, True)], "ShuffleXor %uint", "Shuffle", "subgroupShuffleXor(own, own)"),
    ],
)
def test_one_instruction_and_its_capability(make, op, capability, words):
    program = program_of(*make)
    text = disassemble(emit(program))
    assert f"OpGroupNonUniform{op}" in text, text
    assert f"OpCapability GroupNonUniform{capability}\n" in text
    glsl = emit_glsl(program)
    assert words in glsl, glsl
    assert f"#extension GL_KHR_shader_subgroup_{capability.lower() or 'basic'} : require" in glsl


@pytest.mark.parametrize(("name", "op"), [("s32", "SMin"), ("f32", "FMin")])
def test_the_instruction_goes_by_the_type(name, op):
    component = COMPONENT_TYPES[name]
    program = program_of(lambda own: SubgroupReduce(Value("result", component), "min", own), component=component)
    assert f"OpGroupNonUniform{op} " in disassemble(emit(program))


def test_floats_have_no_bits_to_combine():
    component = COMPONENT_TYPES["f32"]
    program = program_of(lambda own: SubgroupReduce(Value("result", component), "and", own), component=component)
    with breaks(Rule.COMPONENT_TYPE):
        emit(program)
