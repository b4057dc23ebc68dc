"""Calls with pointers, variables of functions, and early returns; the embedded device must agree."""

from __future__ import annotations

import pytest

from cts.reference.evaluate import evaluate
from generators.errors import Rule
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Condition, Merged, ReturnBoth
from generators.program.functions import Function, PointerParameter
from generators.program.program import Subcase
from generators.program.values import ArrayType, Matrix, Value, is_matrix
from generators.program.variables import Variable
from generators.spirv.emit import emit
from generators.types import Scope
from tests.broken_rules import breaks
from tests.reference.matrices_told_apart import TYPE, stored


def _exchange(builder: ProgramBuilder, storage: str) -> Function:
    x, y = (Variable(name, TYPE, storage) for name in ("x", "y"))  # type: ignore[arg-type]
    with builder.arm() as body:
        first, second = builder.get_matrix("first", x), builder.get_matrix("second", y)
        builder.set(x, (), second)
        builder.set(y, (), first)
    return Function("exchange", (PointerParameter(x), PointerParameter(y)), tuple(body), None)


@pytest.mark.parametrize("storage", ["function", "private"])
def test_a_function_changes_the_variables_that_its_pointers_lead_to(storage: str) -> None:
    def body(builder: ProgramBuilder, given: list[Matrix]) -> list[Matrix]:
        a, b, c = (builder.variable(name, TYPE, storage) for name in "abc")  # type: ignore[arg-type]
        for variable, matrix in zip((a, b, c), given, strict=False):
            builder.set(variable, (), matrix)
        exchange = _exchange(builder, storage)
        builder.call("none", exchange, [a, b])
        builder.call("none", exchange, [b, c])
        return [builder.get_matrix(f"out_{v.name}", v) for v in (a, b, c)]

    assert stored(body) == [1, 2, 0]


def test_only_the_instances_that_call_have_their_variables_changed() -> None:
    def body(builder: ProgramBuilder, given: list[Matrix]) -> list[Matrix]:
        a, b, c = (builder.variable(name, TYPE) for name in "abc")
        for variable, matrix in zip((a, b, c), given, strict=False):
            builder.set(variable, (), matrix)
        exchange = _exchange(builder, "function")
        with builder.arm() as then:
            builder.call("none", exchange, [a, b])
        with builder.arm() as otherwise:
            builder.call("none", exchange, [c, b])
        builder.branch(Condition(builder.instance_index(), "less", builder.literal(1)), then, otherwise)
        return [builder.get_matrix(f"out_{v.name}", v) for v in (a, b, c)]

    assert stored(body, subgroups=2) == [1, 0, 2, 0, 2, 1]


def test_instances_that_return_early_keep_what_they_wrote_and_what_they_returned() -> None:
    def body(builder: ProgramBuilder, given: list[Matrix]) -> list[Matrix]:
        a = builder.variable("a", TYPE)
        builder.set(a, (), given[0])
        target, number, early, late = Variable("target", TYPE), Value("number", U32), Value("early", TYPE), Value("late", TYPE)
        with builder.arm() as inside:
            with builder.arm() as first:
                builder.set(target, (), early)
            builder.exit("return", Condition(number, "less", builder.literal(1)), first, early)
            builder.set(target, (), late)
        function = Function("some", (PointerParameter(target), number, early, late), tuple(inside), late)
        result = builder.call("result", function, [a, builder.instance_index(), given[1], given[2]])
        assert is_matrix(result)
        return [result, builder.get_matrix("out", a)]

    assert stored(body, subgroups=2) == [1, 1, 2, 2]


def test_both_arms_return() -> None:
    def body(builder: ProgramBuilder, given: list[Matrix]) -> list[Matrix]:
        number, one, other = Value("number", U32), Value("one", TYPE), Value("other", TYPE)
        condition = Condition(number, "less", builder.literal(1))
        function = Function("both", (number, one, other), (ReturnBoth(condition, (), one, (), other),), one)
        result = builder.call("result", function, [builder.instance_index(), given[3], given[2]])
        assert is_matrix(result)
        return [result]

    assert stored(body, subgroups=3) == [3, 2, 2]


def _counter(builder: ProgramBuilder) -> Function:
    """Build a function that first reads its own variable, and then writes it."""
    given, own = Value("given", TYPE), Variable("own", TYPE)
    with builder.arm() as body:
        got = builder.get_matrix("got", own)
        builder.set(own, (), given)
    return Function("counter", (given,), tuple(body), got, variables=(own,))


def test_a_function_does_not_find_what_an_earlier_call_left_in_its_variables() -> None:
    builder = ProgramBuilder(Scope.SUBGROUP)
    matrix = builder.splat("matrix", TYPE, builder.literal(3, TYPE.component))
    counter = _counter(builder)
    for name in ("one", "two"):
        builder.call(name, counter, [matrix])
    with breaks(Rule.UNINITIALIZED):
        evaluate(builder.build(), Subcase("one", {}))


def test_two_pointers_to_one_variable_are_refused() -> None:
    builder = ProgramBuilder(Scope.SUBGROUP)
    variable = builder.variable("variable", TYPE)
    builder.set(variable, (), builder.splat("matrix", TYPE, builder.literal(3, TYPE.component)))
    builder.call("none", _exchange(builder, "function"), [variable, variable])
    program = builder.build()
    with breaks(Rule.POINTERS):
        evaluate(program, Subcase("one", {}))
    with breaks(Rule.POINTERS):
        emit(program)


def test_a_function_takes_an_element_of_another_array_in_every_instance() -> None:
    def body(builder: ProgramBuilder, given: list[Matrix]) -> list[Matrix]:
        pair = ArrayType(TYPE, 2)
        a, b = (builder.variable(name, pair) for name in "ab")
        for variable, matrices in ((a, given[:2]), (b, given[2:])):
            for i, matrix in enumerate(matrices):
                builder.set(variable, (i,), matrix)
        array, index = Variable("array", pair), Value("index", U32)
        with builder.arm() as inside:
            matrix = builder.get_matrix("matrix", array, index)
        take = Function("take", (PointerParameter(array, "in"), index), tuple(inside), matrix)
        with builder.arm() as then:
            yes = builder.call("yes", take, [a, builder.literal(1)])
        with builder.arm() as otherwise:
            no = builder.call("no", take, [b, builder.literal(0)])
        result = Value("result", TYPE)
        assert is_matrix(yes)
        assert is_matrix(no)
        builder.branch(Condition(builder.instance_index(), "less", builder.literal(1)), then, otherwise, [Merged(result, (yes, no))])
        return [result]

    assert stored(body, subgroups=2) == [1, 2]
