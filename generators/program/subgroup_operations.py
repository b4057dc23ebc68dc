"""Operations of the active invocations of a subgroup: OpGroupNonUniform* at subgroup scope (SPIR-V 3.42.24).

What single invocations do is the body of a PerInvocation. Outside of one, all invocations of the subgroup execute the operation. If its
result is the same in all of them, it is a value of the scope instance, which instructions with matrices take. The matrices of the program
have subgroup scope.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.program.control_flow import Condition
from generators.program.operation import Operation
from generators.program.values import Scalar, ScalarValue, Value, VectorType
from generators.types import COMPONENT_TYPES

BALLOT = VectorType(COMPONENT_TYPES["u32"], 4)
"""Type of a ballot."""

Ballot = Value[VectorType]

Group = Literal["reduce", "inclusive", "exclusive"]
"""Which active invocations an invocation looks at: all, those up to itself, those before itself."""

SubgroupOperator = Literal["add", "multiply", "min", "max", "and", "or", "xor"]
"""``and``, ``or``, ``xor`` and ``multiply`` are of integers."""


@dataclass(frozen=True)
class SubgroupReduce(Operation):
    """``result`` is the ``value`` of the invocations of the group, combined; of no invocation, the operator's identity. Integers wrap, and
    float results are exact in every order."""

    result: Scalar
    operator: SubgroupOperator
    value: ScalarValue
    group: Group = "reduce"


@dataclass(frozen=True)
class SubgroupBallot(Operation):
    """Bit i of ``result`` says whether the condition holds in the invocation i; it is 0 for an invocation that is not active."""

    result: Ballot
    condition: Condition


@dataclass(frozen=True)
class BallotCount(Operation):
    """``result`` (u32) is the number of bits of the ballot that are set for the invocations of the group."""

    result: Scalar
    ballot: Ballot
    group: Group = "reduce"


@dataclass(frozen=True)
class BallotFind(Operation):
    """``result`` (u32) is the number of the lowest or highest bit of the ballot that is set. Some bit is."""

    result: Scalar
    ballot: Ballot
    which: Literal["lowest", "highest"]


@dataclass(frozen=True)
class SubgroupVote(Operation):
    """``result`` (u32) is 1 where the condition holds in all, or in any, of the active invocations, else 0."""

    result: Scalar
    which: Literal["all", "any"]
    condition: Condition


@dataclass(frozen=True)
class SubgroupAllEqual(Operation):
    """``result`` (u32) is 1 where all active invocations have the same ``value``, else 0."""

    result: Scalar
    value: ScalarValue


@dataclass(frozen=True)
class SubgroupElect(Operation):
    """``result`` (u32) is 1 in the active invocation of the lowest number, else 0."""

    result: Scalar


@dataclass(frozen=True)
class SubgroupBroadcast(Operation):
    """``result`` is the ``value`` of the invocation ``lane``, which is active; without a lane, of the active one of the lowest number."""

    result: Scalar
    value: ScalarValue
    lane: int | None = None


@dataclass(frozen=True)
class SubgroupShuffle(Operation):
    """``result`` is the ``value`` of the invocation ``index`` (u32), which is active. With ``exclusive_or`` it is the value of the
    invocation whose number is the own number xor ``index``, which is the same in the subgroup."""

    result: Scalar
    value: ScalarValue
    index: ScalarValue
    exclusive_or: bool = False


SubgroupOperation = (
    SubgroupReduce
    | SubgroupBallot
    | BallotCount
    | BallotFind
    | SubgroupVote
    | SubgroupAllEqual
    | SubgroupElect
    | SubgroupBroadcast
    | SubgroupShuffle
)


def is_uniform(operation: SubgroupOperation) -> bool:
    """Return whether the result is the same in all invocations that execute the operation together."""
    match operation:
        case SubgroupElect() | SubgroupShuffle():
            return False
        case SubgroupReduce() | BallotCount():
            return operation.group == "reduce"
        case _:
            return True
