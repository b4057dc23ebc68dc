"""Operations of the active invocations of a subgroup: OpGroupNonUniform* at subgroup scope (SPIR-V 3.42.24).

In the body of a PerInvocation, single invocations execute the operation. Elsewhere, all invocations of the subgroup execute it. If its
result is the same in all of them, it is a value of the scope instance, which instructions with matrices accept. The matrices of the program
have subgroup scope.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.program.control_flow import Condition
from generators.program.memory import Array
from generators.program.operation import Effect, Operation
from generators.program.values import Scalar, ScalarValue, Value, VectorType
from generators.types import COMPONENT_TYPES

BALLOT = VectorType(COMPONENT_TYPES["u32"], 4)
"""Type of a ballot."""

Ballot = Value[VectorType]

Group = Literal["reduce", "inclusive", "exclusive"]
"""The active invocations that an operation combines: all, those up to the current one, or those before it."""

SubgroupOperator = Literal["add", "multiply", "min", "max", "and", "or", "xor"]
"""``and``, ``or``, ``xor`` and ``multiply`` are for integers."""


@dataclass(frozen=True)
class SubgroupOperation(Operation):
    """An operation of the active invocations of a subgroup."""

    result: Scalar | Ballot

    @property
    def is_uniform(self) -> bool:
        """Whether the result is the same in all invocations that execute the operation together."""
        return True


@dataclass(frozen=True)
class SubgroupReduce(SubgroupOperation):
    """``result`` combines the ``value`` of the group's invocations; for an empty group, it is the operator's identity. Integers wrap, and
    float results are exact in every order."""

    result: Scalar
    operator: SubgroupOperator
    value: ScalarValue
    group: Group = "reduce"

    @property
    def is_uniform(self) -> bool:
        """Whether it combines all invocations, and not those before each."""
        return self.group == "reduce"


@dataclass(frozen=True)
class SubgroupBallot(SubgroupOperation):
    """Bit i of ``result`` tells whether the condition holds in invocation i; it is 0 for an inactive invocation."""

    result: Ballot
    condition: Condition


@dataclass(frozen=True)
class BallotCount(SubgroupOperation):
    """``result`` (u32) is the number of bits of the ballot that are set for the invocations of the group."""

    result: Scalar
    ballot: Ballot
    group: Group = "reduce"

    @property
    def is_uniform(self) -> bool:
        """Whether it combines all invocations, and not those before each."""
        return self.group == "reduce"


@dataclass(frozen=True)
class BallotFind(SubgroupOperation):
    """``result`` (u32) is the index of the lowest or highest set bit of the ballot. At least one bit is set."""

    result: Scalar
    ballot: Ballot
    which: Literal["lowest", "highest"]


@dataclass(frozen=True)
class SubgroupVote(SubgroupOperation):
    """``result`` (u32) is 1 if the condition holds in all, or in any, of the active invocations, otherwise 0."""

    result: Scalar
    which: Literal["all", "any"]
    condition: Condition


@dataclass(frozen=True)
class SubgroupAllEqual(SubgroupOperation):
    """``result`` (u32) is 1 if all active invocations have the same ``value``, otherwise 0."""

    result: Scalar
    value: ScalarValue


@dataclass(frozen=True)
class SubgroupElect(SubgroupOperation):
    """``result`` (u32) is 1 in the active invocation with the lowest index, otherwise 0."""

    result: Scalar

    @property
    def is_uniform(self) -> bool:
        """Whether all invocations have the same result, which is false."""
        return False


@dataclass(frozen=True)
class SubgroupBroadcast(SubgroupOperation):
    """``result`` is the ``value`` of the invocation ``lane``, which is active; without a lane, of the active invocation with the lowest
    index."""

    result: Scalar
    value: ScalarValue
    lane: int | None = None


@dataclass(frozen=True)
class SubgroupShuffle(SubgroupOperation):
    """``result`` is the ``value`` of the invocation ``index`` (u32), which is active. With ``exclusive_or`` it is the value of the
    invocation whose index is its own index xor ``index``; ``index`` is then uniform in the subgroup."""

    result: Scalar
    value: ScalarValue
    index: ScalarValue
    exclusive_or: bool = False

    @property
    def is_uniform(self) -> bool:
        """Whether all invocations have the same result, which is false."""
        return False


@dataclass(frozen=True)
class SubgroupsStored(Effect):
    """Every invocation has stored (SubgroupSize, NumSubgroups, SubgroupId, SubgroupLocalInvocationId) to the element of ``target`` whose
    number is (WorkgroupIndex * NumSubgroups + SubgroupId) * ``subgroup_size`` + SubgroupLocalInvocationId, with WorkgroupIndex as for
    InstanceIndex. The elements are vectors of four u32.

    Vulkan leaves open which invocations form a subgroup, but each has its own place in one. So every element is written once, and its value
    is known.
    """

    target: Array
    subgroup_size: int
