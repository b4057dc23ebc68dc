"""Operations of subgroups: values worked out by hand, in the reference model and on the embedded device, and refused programs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from cts.reference.evaluate import evaluate
from generators.errors import Rule
from generators.program.builder import ProgramBuilder
from generators.program.composites import CompositeExtract
from generators.program.control_flow import Condition, Merged
from generators.program.domains import Domain, check_domains
from generators.program.memory import Array, Pointee
from generators.program.program import Program, Subcase
from generators.program.shape import WorkgroupShape
from generators.program.subgroup_operations import (
    BALLOT,
    BallotCount,
    BallotFind,
    SubgroupAllEqual,
    SubgroupBallot,
    SubgroupBroadcast,
    SubgroupElect,
    SubgroupOperation,
    SubgroupReduce,
    SubgroupShuffle,
    SubgroupVote,
)
from generators.program.values import Scalar, Value
from generators.types import COMPONENT_TYPES, ComponentType, Scope, StorageClass
from tests.agreement import agreed, inputs_of
from tests.broken_rules import breaks

U32, S32, F32 = (COMPONENT_TYPES[name] for name in ("u32", "s32", "f32"))
SIZE = 4
RESULT = Value("result", U32)
Make = Callable[[Scalar], SubgroupOperation]


def ran(program: Program, given: np.ndarray) -> list[int]:
    """Return the embedded device's ``target``, which the model permits."""
    found: list[int] = agreed(program, inputs_of({"source": given}))["target"].view(np.uint32).tolist()
    return found


class Bench:
    """Two subgroups of four invocations, each of which has an element of ``source`` and of ``target``."""

    def __init__(self, component: ComponentType = U32, scope: Scope = Scope.SUBGROUP, size: int | None = SIZE) -> None:
        self.builder = ProgramBuilder(scope, 2, shape=WorkgroupShape(subgroup_size=size))
        self.source = self.array("source", component, "input")
        self.target = self.array("target", component, "output")
        self.index = Value("index", U32)

    def array(self, name: str, component: ComponentType, role: str) -> Array:
        return self.builder.array(name, Pointee(component), 2 * SIZE, StorageClass.STORAGE_BUFFER, role)  # type: ignore[arg-type]

    def converged(self, make: Make) -> Program:
        builder = self.builder
        with builder.per_invocation(self.index, SIZE):
            operation = make(builder.read_scalar("own", self.source, self.index))
            builder.add(operation)
            builder.write(self.target, self.index, operation.result)
        return builder.build()

    def in_odd_invocations(self, make: Make) -> Program:
        """Build a program with the operation in the invocations with odd numbers; the others have 99."""
        builder = self.builder
        with builder.per_invocation(self.index, SIZE):
            own = builder.read_scalar("own", self.source, self.index)
            odd = builder.arithmetic("odd", "and", self.index, builder.literal(1))
            with builder.arm() as then:
                operation = make(own)
                builder.add(operation)
            merged = Value("merged", operation.result.type)
            builder.branch(Condition(odd, "equal", builder.literal(1)), then, (), [Merged(merged, (operation.result, builder.literal(99)))])  # type: ignore[arg-type]
            builder.write(self.target, self.index, merged)
        return builder.build()


GIVEN = np.array([5, 3, 8, 6, 1, 0xFFFFFFFF, 7, 4], np.uint32)


@pytest.mark.parametrize(
    ("make", "want"),
    [
        (lambda own: SubgroupReduce(RESULT, "add", own), [22] * 4 + [11] * 4),
        (lambda own: SubgroupReduce(RESULT, "multiply", own), [720] * 4 + [2**32 - 28] * 4),
        (lambda own: SubgroupReduce(RESULT, "min", own), [3] * 4 + [1] * 4),
        (lambda own: SubgroupReduce(RESULT, "max", own), [8] * 4 + [0xFFFFFFFF] * 4),
        (lambda own: SubgroupReduce(RESULT, "and", own), [0] * 8),
        (lambda own: SubgroupReduce(RESULT, "or", own), [15] * 4 + [0xFFFFFFFF] * 4),
        (lambda own: SubgroupReduce(RESULT, "xor", own), [8] * 4 + [0xFFFFFFFD] * 4),
        (lambda own: SubgroupReduce(RESULT, "add", own, "inclusive"), [5, 8, 16, 22, 1, 0, 7, 11]),
        (lambda own: SubgroupReduce(RESULT, "add", own, "exclusive"), [0, 5, 8, 16, 0, 1, 0, 7]),
        (lambda own: SubgroupReduce(RESULT, "multiply", own, "exclusive"), [1, 5, 15, 120, 1, 1, 2**32 - 1, 2**32 - 7]),
        (lambda own: SubgroupReduce(RESULT, "min", own, "exclusive"), [0xFFFFFFFF, 5, 3, 3, 0xFFFFFFFF, 1, 1, 1]),
        (lambda own: SubgroupReduce(RESULT, "max", own, "inclusive"), [5, 5, 8, 8, 1] + [0xFFFFFFFF] * 3),
        (lambda own: SubgroupReduce(RESULT, "and", own, "exclusive"), [0xFFFFFFFF, 5, 1, 0, 0xFFFFFFFF, 1, 1, 1]),
        (lambda own: SubgroupBroadcast(RESULT, own), [5] * 4 + [1] * 4),
        (lambda own: SubgroupBroadcast(RESULT, own, 2), [8] * 4 + [7] * 4),
        (lambda own: SubgroupElect(RESULT), [1, 0, 0, 0] * 2),
        (lambda own: SubgroupAllEqual(RESULT, own), [0] * 8),
    ],
)
def test_all_invocations_of_a_subgroup(make: Make, want: list[int]) -> None:
    assert ran(Bench().converged(make), GIVEN) == want


@pytest.mark.parametrize(
    ("make", "want"),
    [
        (lambda own: SubgroupReduce(RESULT, "add", own), [9] * 2 + [3] * 2),
        (lambda own: SubgroupReduce(RESULT, "add", own, "exclusive"), [0, 3, 0, 0xFFFFFFFF]),
        (lambda own: SubgroupBroadcast(RESULT, own), [3] * 2 + [0xFFFFFFFF] * 2),
        (lambda own: SubgroupElect(RESULT), [1, 0] * 2),
    ],
)
def test_only_the_active_invocations_count(make: Make, want: list[int]) -> None:
    found = ran(Bench().in_odd_invocations(make), GIVEN)
    assert found[1::2] == want
    assert found[::2] == [99] * 4


def test_signed_integers_compare_with_their_sign() -> None:
    given = np.array([5, -3, 8, 6, 1, -7, 7, 4], np.int32)
    result = Value("result", S32)
    found = ran(Bench(S32).converged(lambda own: SubgroupReduce(result, "min", own)), given)
    assert np.array(found, np.uint32).view(np.int32).tolist() == [-3] * 4 + [-7] * 4
    found = ran(Bench(S32).converged(lambda own: SubgroupReduce(result, "max", own, "exclusive")), given)
    assert np.array(found, np.uint32).view(np.int32).tolist() == [-(2**31), 5, 5, 8, -(2**31), 1, 1, 7]


def test_floats_are_added_where_no_order_rounds() -> None:
    given = np.array([5, -3, 8, 6, 1, -7, 7, 4], np.float32)
    result = Value("result", F32)
    found = ran(Bench(F32).converged(lambda own: SubgroupReduce(result, "add", own)), given)
    assert np.array(found, np.uint32).view(np.float32).tolist() == [16] * 4 + [5] * 4


@pytest.mark.parametrize(("given", "rule"), [([2**24, 1, 0, 0] * 2, Rule.INEXACT), ([0.5, 1, 1, 1] * 2, Rule.ORDER)])
def test_floats_whose_sum_depends_on_the_order_are_refused(given: list[float], rule: str) -> None:
    program = Bench(F32).converged(lambda own: SubgroupReduce(Value("result", F32), "add", own))
    with breaks(rule):
        ran(program, np.array(given, np.float32))


def with_ballot(make: Callable[[Value], SubgroupOperation]) -> Program:
    """Build a program with an operation on a ballot of the invocations with an element greater than 4."""
    bench = Bench()
    builder = bench.builder
    with builder.per_invocation(bench.index, SIZE):
        own, votes = builder.read_scalar("own", bench.source, bench.index), Value("votes", BALLOT)
        builder.add(SubgroupBallot(votes, Condition(own, "greater", builder.literal(4))))
        operation = make(votes)
        builder.add(operation)
        builder.write(bench.target, bench.index, operation.result)
    return builder.build()


@pytest.mark.parametrize(
    ("make", "want"),
    [
        (lambda votes: BallotCount(RESULT, votes), [3] * 4 + [2] * 4),
        (lambda votes: BallotCount(RESULT, votes, "inclusive"), [1, 1, 2, 3, 0, 1, 2, 2]),
        (lambda votes: BallotCount(RESULT, votes, "exclusive"), [0, 1, 1, 2, 0, 0, 1, 2]),
        (lambda votes: BallotFind(RESULT, votes, "lowest"), [0] * 4 + [1] * 4),
        (lambda votes: BallotFind(RESULT, votes, "highest"), [3] * 4 + [2] * 4),
        (lambda votes: CompositeExtract(RESULT, votes, (0,)), [13] * 4 + [6] * 4),
        (lambda votes: CompositeExtract(RESULT, votes, (1,)), [0] * 8),
    ],
)
def test_a_ballot(make: Callable[[Value], SubgroupOperation], want: list[int]) -> None:
    assert ran(with_ballot(make), GIVEN) == want


def test_a_ballot_without_a_bit_has_no_lowest_one() -> None:
    with breaks(Rule.EMPTY_BALLOT):
        ran(with_ballot(lambda votes: BallotFind(RESULT, votes, "lowest")), np.ones(8, np.uint32))


@pytest.mark.parametrize(("which", "want"), [("all", [0] * 4 + [1] * 4), ("any", [1] * 8)])
def test_a_vote(which: str, want: list[int]) -> None:
    bench = Bench()
    above = bench.builder.literal(3)
    program = bench.converged(lambda own: SubgroupVote(RESULT, which, Condition(own, "greater", above)))  # type: ignore[arg-type]
    assert ran(program, np.array([5, 3, 8, 6, 4, 9, 7, 4], np.uint32)) == want


def test_all_equal() -> None:
    given = np.array([5, 5, 5, 5, 5, 5, 4, 5], np.uint32)
    assert ran(Bench().converged(lambda own: SubgroupAllEqual(RESULT, own)), given) == [1] * 4 + [0] * 4


def shuffled(exclusive_or: bool, index: int | None) -> Program:
    """Build a program that reads elements of other invocations: of ``index``, or of 3, 2, 1, 0 if it is None. With ``exclusive_or``, that
    number is combined with the invocation's own."""
    bench = Bench()
    builder = bench.builder
    with builder.per_invocation(bench.index, SIZE):
        own = builder.read_scalar("own", bench.source, bench.index)
        lane = builder.arithmetic("lane", "and", bench.index, builder.literal(3))
        reverse = builder.arithmetic("reverse", "subtract", builder.literal(3), lane)
        builder.add(SubgroupShuffle(RESULT, own, reverse if index is None else builder.literal(index), exclusive_or))
        builder.write(bench.target, bench.index, RESULT)
    return builder.build()


def test_shuffles() -> None:
    given = np.arange(8, dtype=np.uint32) + 10
    assert ran(shuffled(False, None), given) == [13, 12, 11, 10, 17, 16, 15, 14]
    assert ran(shuffled(False, 1), given) == [11] * 4 + [15] * 4
    assert ran(shuffled(True, 2), given) == [12, 13, 10, 11, 16, 17, 14, 15]


def test_an_invocation_that_is_not_there_has_no_value() -> None:
    with breaks(Rule.INACTIVE_INVOCATION):
        ran(shuffled(False, 4), GIVEN)
    with breaks(Rule.INACTIVE_INVOCATION):
        ran(Bench().in_odd_invocations(lambda own: SubgroupBroadcast(RESULT, own, 2)), GIVEN)


def test_a_mask_that_differs_is_refused() -> None:
    with breaks(Rule.MASK_DIFFERS):
        ran(shuffled(True, None), GIVEN)


def outside(make: Make) -> tuple[Program, Domain]:
    """Return a program with the operation outside the region that computes its operand, and the domain of the result. All invocations store
    the result."""
    bench = Bench()
    builder = bench.builder
    with builder.per_invocation(bench.index, SIZE):
        own = builder.read_scalar("own", bench.source, bench.index)
    builder.add(make(own))
    with builder.per_invocation(Value("later", U32), SIZE):
        builder.write(bench.target, Value("later", U32), RESULT)
    program = builder.build()
    return program, check_domains(program)["result"]


def test_a_common_result_is_a_value_of_the_scope_instance() -> None:
    program, domain = outside(lambda own: SubgroupReduce(RESULT, "add", own))
    assert domain is Domain.SUBGROUP
    assert ran(program, GIVEN) == [22] * 4 + [11] * 4


def test_a_result_of_single_invocations_is_not_a_value_of_the_scope_instance() -> None:
    program, domain = outside(lambda own: SubgroupReduce(RESULT, "add", own, "inclusive"))
    assert domain is Domain.INVOCATION
    with breaks(Rule.SINGLE_INVOCATIONS):
        ran(program, GIVEN)


@pytest.mark.parametrize(("scope", "size"), [(Scope.WORKGROUP, SIZE), (Scope.SUBGROUP, None)])
def test_scope_instances_are_subgroups_of_a_known_size(scope: Scope, size: int | None) -> None:
    program = Bench(scope=scope, size=size).converged(lambda own: SubgroupReduce(RESULT, "add", own))
    with breaks(Rule.SUBGROUP_SIZE):
        evaluate(program, Subcase("one", {"source": GIVEN.view(np.uint8)}))
