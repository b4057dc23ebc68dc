"""Scope instances that take different branches: each has its own values and memory."""

from __future__ import annotations

import numpy as np

from cts.reference.evaluate import evaluate
from cts.reference.values import MatrixValue, join, select
from cts.verdict.expected import Exact
from generators.errors import Rule
from generators.numerics.exactness import History
from generators.program.builder import ProgramBuilder
from generators.program.control_flow import Carried, Condition, Merged
from generators.program.memory import Pointee
from generators.program.program import Program, Subcase
from generators.program.values import Matrix, Value
from generators.types import COMPONENT_TYPES, Layout, Scope
from tests.broken_rules import breaks
from tests.reference.programs import BUFFER, matrix_type

U32 = COMPONENT_TYPES["u32"]
TYPE = matrix_type(U32, 1, 1)


class _Writer:
    """Three subgroups, each with its own number in ``d``."""

    def __init__(self) -> None:
        self.builder = ProgramBuilder(Scope.SUBGROUP, subgroups=3)
        self.index = self.builder.instance_index()
        self.array = self.builder.array("d", Pointee(U32), 3, BUFFER, "output")

    def splat(self, name: str, value: int) -> Matrix:
        return self.builder.splat(name, TYPE, self.builder.literal(value))

    def store(self, matrix: Matrix) -> None:
        self.builder.store(matrix, self.array, self.index, self.builder.literal(1), Layout.ROW_MAJOR)

    def less(self, value: int) -> Condition:
        return Condition(self.index, "less", self.builder.literal(value))


def stored(program: Program) -> dict[int, int]:
    """Return the stored values, by index of the element in ``d``."""
    found: dict[int, int] = {}
    for placed in evaluate(program, Subcase("one", {})).placed:
        found |= dict(zip((placed.offsets.ravel() // 4).tolist(), placed.expected.bits.ravel().tolist(), strict=True))
    return found


def test_a_phi_takes_the_value_of_the_arm_that_ran() -> None:
    writer = _Writer()
    with writer.builder.arm() as then:
        yes = writer.splat("yes", 10)
    with writer.builder.arm() as otherwise:
        no = writer.splat("no", 20)
    result = Value("result", TYPE)
    writer.builder.branch(writer.less(1), then, otherwise, [Merged(result, (yes, no))])
    writer.store(result)
    assert stored(writer.builder.build()) == {0: 10, 1: 20, 2: 20}


def test_an_arm_stores_for_the_instances_that_take_it() -> None:
    writer = _Writer()
    with writer.builder.arm() as then:
        writer.store(writer.splat("yes", 10))
    writer.builder.branch(writer.less(2), then)
    assert stored(writer.builder.build()) == {0: 10, 1: 10}


def test_an_instance_that_returns_runs_no_further() -> None:
    writer = _Writer()
    with writer.builder.arm() as body:
        writer.store(writer.splat("early", 10))
    writer.builder.exit("return", writer.less(2), body)
    writer.store(writer.splat("late", 20))
    assert stored(writer.builder.build()) == {0: 10, 1: 10, 2: 20}


def _loop(kind: str) -> dict[int, int]:
    """Run a loop that carries the index plus one. Each instance leaves the iteration whose index is its own number."""
    writer = _Writer()
    builder = writer.builder
    current, index = Value("current", TYPE), Value("i", U32)
    initial = writer.splat("initial", 100)
    carried: list[Carried] = []
    with builder.loop(index, builder.literal(2), carried):
        builder.exit("break" if kind == "break" else "continue", Condition(index, "equal", writer.index))
        following = builder.splat("following", TYPE, builder.arithmetic("more", "add", index, builder.literal(1)))
        carried.append(Carried(initial, current, following))
    writer.store(current)
    return stored(builder.build())


def test_an_instance_that_breaks_keeps_what_it_had() -> None:
    assert _loop("break") == {0: 100, 1: 1, 2: 2}


def test_an_instance_that_continues_skips_one_iteration() -> None:
    assert _loop("continue") == {0: 2, 1: 1, 2: 2}


def test_each_instance_runs_a_loop_as_often_as_its_own_count() -> None:
    writer = _Writer()
    builder = writer.builder
    current, index = Value("current", TYPE), Value("i", U32)
    initial = writer.splat("initial", 100)
    carried: list[Carried] = []
    with builder.loop(index, writer.index, carried):
        carried.append(Carried(initial, current, builder.splat("following", TYPE, index)))
    writer.store(current)
    assert stored(builder.build()) == {0: 100, 1: 0, 2: 1}


def test_an_instance_that_returns_in_a_branch_runs_no_further() -> None:
    writer = _Writer()
    with writer.builder.arm() as then:
        writer.builder.exit("return", writer.less(1))
    writer.builder.branch(writer.less(2), then)
    writer.store(writer.splat("late", 20))
    assert stored(writer.builder.build()) == {1: 20, 2: 20}


def test_an_instance_that_returns_in_a_loop_runs_no_further() -> None:
    writer = _Writer()
    builder = writer.builder
    current, index = Value("current", TYPE), Value("i", U32)
    initial = writer.splat("initial", 100)
    carried: list[Carried] = []
    with builder.loop(index, builder.literal(2), carried):
        builder.exit("return", Condition(index, "equal", writer.index))
        carried.append(Carried(initial, current, builder.splat("following", TYPE, index)))
    writer.store(current)
    assert stored(builder.build()) == {2: 1}


def test_a_break_inside_of_a_branch_is_refused() -> None:
    writer = _Writer()
    with writer.builder.arm() as then:
        writer.builder.exit("break", writer.less(2))
    writer.builder.branch(writer.less(2), then)
    with breaks(Rule.EXIT_PLACE):
        evaluate(writer.builder.build(), Subcase("one", {}))


def _written_in_a_branch(before: bool) -> Program:
    writer = _Writer()
    variable = writer.builder.variable("variable", TYPE)
    if before:
        writer.builder.set(variable, (), writer.splat("before", 10))
    with writer.builder.arm() as then:
        writer.builder.set(variable, (), writer.splat("inside", 20))
    writer.builder.branch(writer.less(2), then)
    with writer.builder.arm() as again:
        writer.store(writer.builder.get_matrix("got", variable))
    writer.builder.branch(writer.less(3 if before else 2), again)
    return writer.builder.build()


def test_a_variable_written_in_a_branch_keeps_its_value_in_the_other_instances() -> None:
    assert stored(_written_in_a_branch(before=True)) == {0: 20, 1: 20, 2: 10}


def test_a_variable_that_only_some_instances_have_written_may_be_read_by_those() -> None:
    assert stored(_written_in_a_branch(before=False)) == {0: 20, 1: 20}


def test_a_variable_that_only_some_instances_have_written_may_not_be_read_by_others() -> None:
    writer = _Writer()
    variable = writer.builder.variable("variable", TYPE)
    with writer.builder.arm() as then:
        writer.builder.set(variable, (), writer.splat("inside", 20))
    writer.builder.branch(writer.less(2), then)
    writer.store(writer.builder.get_matrix("got", variable))
    with breaks(Rule.UNINITIALIZED):
        evaluate(writer.builder.build(), Subcase("one", {}))


def test_each_instance_has_written_its_variable_as_often_as_its_loop_ran() -> None:
    writer = _Writer()
    builder = writer.builder
    variable, index = builder.variable("variable", TYPE), Value("i", U32)
    builder.set(variable, (), writer.splat("before", 10))
    with builder.loop(index, writer.index, []):
        builder.set(variable, (), builder.splat("inside", TYPE, index))
    writer.store(builder.get_matrix("got", variable))
    assert stored(builder.build()) == {0: 10, 1: 0, 2: 1}


def test_joined_parts_keep_their_terms() -> None:
    component = COMPONENT_TYPES["f32"]
    bits = np.arange(3, dtype=np.float32).view(np.uint32).reshape(3, 1, 1)
    value = MatrixValue(component, bits, True, history=History(np.zeros((3, 1, 1), np.int32), np.full((3, 1, 1), 9.0)))
    moved = MatrixValue(component, bits[1:2])
    joined = join([(np.array([0, 2]), select(value, np.array([0, 2]))), (np.array([1]), moved)])
    assert isinstance(joined.expectation().expected, Exact)
    assert np.array_equal(joined.bits, bits)
    assert joined.history is not None
    assert joined.history.magnitude.ravel().tolist() == [9.0, 1.0, 9.0]
