"""Types of operands and results of barriers and of operations of a subgroup."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeVar

from cts.embedded.diagnostics import Violation, need
from cts.embedded.module.translation import Rule, Translation, Words
from cts.embedded.rules.constants import constant_integer
from cts.embedded.types.shapes import BOOL, FLOAT, INT, NUMBER, TypeKind, element_of, is_number, kind_of, shape_of
from cts.embedded.types.spirv_types import Bool, Type, type_text
from generators.spirv.enumerants import GroupOperation, Op

_Result = TypeVar("_Result")


def _constants(translation: Translation, words: Words) -> None:
    for id_ in words:
        constant_integer(translation, id_, "scope or semantics")


def _scope(translation: Translation, words: Words) -> None:
    if words[2]:
        constant_integer(translation, words[2], "the scope")


def _group(kinds: frozenset[TypeKind], result: frozenset[TypeKind] | None = None, index: bool = False) -> Rule:
    """Return the rule of a group operation on a value of ``kinds``.

    The result has the type of the value, or one of the kinds ``result``. ``index``: whether an operand is the number of an invocation.
    """

    def rule(translation: Translation, words: Words) -> None:
        _scope(translation, words)
        type_, operand = translation.types[words[0]], translation.type_of[words[3]]
        need(kind_of(element_of(operand)) in kinds, f"a group operation on a {type_text(operand)}")
        need(kind_of(type_) in result if result else type_ == operand, f"the result is a {type_text(type_)}")
        need(not index or kind_of(translation.type_of[words[4]]) is TypeKind.INT, "the number of the invocation is not an integer")

    return rule


def _cluster(translation: Translation, id_: int) -> None:
    size = constant_integer(translation, id_, "the size of clusters")
    if size < 1 or size & (size - 1):
        raise Violation("SPIR-V 3.42.24", f"clusters of {size} invocations, not a power of two")


def _elect(translation: Translation, words: Words) -> None:
    _scope(translation, words)
    need(isinstance(translation.types[words[0]], Bool), "the result is not a boolean")


def _ballot(translation: Translation, words: Words) -> None:
    _scope(translation, words)
    _is_ballot(translation.types[words[0]], "result")
    need(isinstance(translation.type_of[words[3]], Bool), "the predicate is not a boolean")


def _is_ballot(type_: Type, what: str = "ballot") -> None:
    fits = shape_of(type_) == 4 and is_number(element_of(type_), "u32")
    need(fits, f"the {what} is a {type_text(type_)}, not a vector of four unsigned 32-bit integers")


def _partition(translation: Translation, words: Words) -> None:
    _is_ballot(translation.types[words[0]])
    operand = translation.type_of[words[2]]
    need(kind_of(element_of(operand)) in NUMBER | BOOL, f"a group operation on a {type_text(operand)}")


def _quad_vote(translation: Translation, words: Words) -> None:
    for type_ in (translation.types[words[0]], translation.type_of[words[2]]):
        need(isinstance(type_, Bool), f"a vote with a {type_text(type_)}")


def _ballot_bit(translation: Translation, words: Words) -> None:
    _scope(translation, words)
    type_ = translation.type_of[words[3]]
    need(shape_of(type_) == 4 and kind_of(element_of(type_)) is TypeKind.INT, f"the ballot is a {type_text(type_)}")
    need(isinstance(translation.types[words[0]], Bool), "the result is not a boolean")


def _of_ballot(translation: Translation, words: Words) -> None:
    _scope(translation, words)
    _is_ballot(translation.type_of[words[-1]])
    result = translation.types[words[0]]
    need(is_number(result, "u32"), f"the result is a {type_text(result)}, not a u32")


def _group_arithmetic(kinds: frozenset[TypeKind]) -> Rule:
    def rule(translation: Translation, words: Words) -> None:
        _scope(translation, words)
        type_, operand = translation.types[words[0]], translation.type_of[words[4]]
        need(type_ == operand and kind_of(element_of(operand)) in kinds, f"a {type_text(operand)} cannot combine to a {type_text(type_)}")
        if len(words) > 5 and words[3] == GroupOperation.ClusteredReduce:
            _cluster(translation, words[5])
        elif len(words) > 5:
            _is_ballot(translation.type_of[words[5]])

    return rule


_GROUP_INTS = (
    *(Op.GroupNonUniformIAdd, Op.GroupNonUniformIMul, Op.GroupNonUniformUMin, Op.GroupNonUniformUMax, Op.GroupNonUniformSMin),
    *(Op.GroupNonUniformSMax, Op.GroupNonUniformBitwiseAnd, Op.GroupNonUniformBitwiseOr, Op.GroupNonUniformBitwiseXor),
)
_GROUP_FLOATS = (Op.GroupNonUniformFAdd, Op.GroupNonUniformFMul, Op.GroupNonUniformFMin, Op.GroupNonUniformFMax)
_GROUP_BOOLS = (Op.GroupNonUniformLogicalAnd, Op.GroupNonUniformLogicalOr, Op.GroupNonUniformLogicalXor)
_SHUFFLES = (
    *(Op.GroupNonUniformBroadcast, Op.GroupNonUniformShuffle, Op.GroupNonUniformShuffleXor),
    *(Op.GroupNonUniformShuffleUp, Op.GroupNonUniformShuffleDown, Op.GroupNonUniformRotateKHR),
    *(Op.GroupNonUniformQuadBroadcast, Op.GroupNonUniformQuadSwap),
)


def without_scope(handle: Callable[[Translation, Words], _Result]) -> Callable[[Translation, Words], _Result]:
    """Adapt ``handle``, which expects a scope operand, to an instruction without one."""
    return lambda translation, words: handle(translation, (*words[:2], 0, *words[2:]))


RULES: Mapping[Op, Rule] = MappingProxyType(
    {
        Op.ControlBarrier: _constants,
        Op.MemoryBarrier: _constants,
        Op.SubgroupAllKHR: without_scope(_group(BOOL)),
        Op.SubgroupAnyKHR: without_scope(_group(BOOL)),
        Op.SubgroupAllEqualKHR: without_scope(_group(BOOL)),
        Op.SubgroupFirstInvocationKHR: without_scope(_group(NUMBER)),
        Op.SubgroupReadInvocationKHR: without_scope(_group(NUMBER, index=True)),
        Op.SubgroupBallotKHR: without_scope(_ballot),
        Op.GroupNonUniformPartitionEXT: _partition,
        Op.GroupNonUniformQuadAllKHR: _quad_vote,
        Op.GroupNonUniformQuadAnyKHR: _quad_vote,
        Op.GroupNonUniformElect: _elect,
        Op.GroupNonUniformAll: _group(BOOL),
        Op.GroupNonUniformAny: _group(BOOL),
        Op.GroupNonUniformAllEqual: _group(NUMBER | BOOL, BOOL),
        Op.GroupNonUniformBroadcastFirst: _group(NUMBER | BOOL),
        **dict.fromkeys(_SHUFFLES, _group(NUMBER | BOOL, index=True)),
        Op.GroupNonUniformInverseBallot: _ballot_bit,
        Op.GroupNonUniformBallotBitExtract: _ballot_bit,
        Op.GroupNonUniformBallot: _ballot,
        Op.GroupNonUniformBallotBitCount: _of_ballot,
        Op.GroupNonUniformBallotFindLSB: _of_ballot,
        Op.GroupNonUniformBallotFindMSB: _of_ballot,
        **dict.fromkeys(_GROUP_INTS, _group_arithmetic(INT)),
        **dict.fromkeys(_GROUP_FLOATS, _group_arithmetic(FLOAT)),
        **dict.fromkeys(_GROUP_BOOLS, _group_arithmetic(BOOL)),
    }
)
"""Opcode -> rule."""
