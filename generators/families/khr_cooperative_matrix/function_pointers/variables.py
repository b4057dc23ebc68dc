"""Forms of function_pointers in which functions have variables, or use variables of the module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from generators.chains.cases import CallForm
from generators.chains.functions import PointerWriter
from generators.program.construction import MatrixConstant
from generators.program.control_flow import Condition
from generators.program.values import Matrix, Scalar, Value
from generators.program.variables import Initializer
from generators.types import ComponentType


def _own(functions: PointerWriter) -> None:
    """Write a variable of the function, change it in one arm of a branch, and return it."""
    writer, builder, decisions = functions.writer, functions.writer.builder, functions.decisions
    a, b, c = functions.parameters("a", "b", "c")
    (number,) = functions.scalars("number")
    own = functions.own(c.type)

    def more() -> list[Matrix]:
        functions.set(own, writer.muladd(a, b, functions.get(own)))
        return []

    def body() -> Matrix:
        functions.set(own, c)
        decisions.choose(more, lambda: [], Condition(number, "less", builder.literal(2)))
        return functions.get(own)

    changed = functions.function("changed", [a, b, c, number], body, [own])
    first = functions.call(changed, *functions.tiles(0), writer.load("c", 0), decisions.n)
    writer.store(writer.muladd(*functions.tiles(1), first), "d0")
    writer.store(functions.call(changed, *functions.tiles(2), writer.load("c", 1), builder.literal(1)), "d1")


def _own_both_arms(functions: PointerWriter) -> None:
    """Write a variable of the function only in the arms of a branch."""
    writer, builder, decisions = functions.writer, functions.writer.builder, functions.decisions
    a, b, x, y = functions.parameters("a", "b", "c", "c")
    (number,) = functions.scalars("number")
    own = functions.own(x.type)

    def written(matrix: Matrix) -> list[Matrix]:
        functions.set(own, matrix)
        return []

    def body() -> Matrix:
        decisions.choose(lambda: written(writer.muladd(a, b, x)), lambda: written(y), Condition(number, "less", builder.literal(2)))
        return functions.get(own)

    chosen = functions.function("choose", [a, b, x, y, number], body, [own])
    first, second = writer.load("c", 0), writer.load("c", 1)
    writer.store(functions.call(chosen, *functions.tiles(0), first, second, decisions.n), "d0")
    writer.store(functions.call(chosen, *functions.tiles(1), second, first, builder.literal(1)), "d1")


def _own_loop(functions: PointerWriter) -> None:
    """Keep A and the sum in variables of the function, through a loop whose count is a parameter."""
    writer, decisions = functions.writer, functions.decisions
    a, other_a, b, c = functions.parameters("a", "a", "b", "c")
    (count,) = functions.scalars("count")
    operand, total = functions.own(a.type), functions.own(c.type)

    def iteration(_: Scalar, __: Sequence[Matrix]) -> Sequence[Matrix]:
        functions.set(total, writer.muladd(functions.get(operand), b, functions.get(total)))
        functions.set(operand, other_a)
        return []

    def body() -> Matrix:
        functions.set(operand, a)
        functions.set(total, c)
        decisions.repeat(count, [], iteration)
        return functions.get(total)

    repeated = functions.function("repeated", [a, other_a, b, c, count], body, [operand, total])
    x, y, z = functions.tiles(0), functions.tiles(1), functions.tiles(2)
    writer.store(functions.call(repeated, x[0], y[0], x[1], writer.load("c", 0), decisions.n), "d0")
    writer.store(functions.call(repeated, z[0], x[0], z[1], writer.load("c", 1), writer.builder.literal(3)), "d1")


def _counted(functions: PointerWriter, initializer: Initializer) -> None:
    """Add to a variable with an initializer in each call; a call that finds the value of an earlier call gives a different sum."""
    writer = functions.writer
    a, b = functions.parameters("a", "b")
    own = functions.own(writer.type("c"), initializer)

    def body() -> Matrix:
        functions.set(own, writer.muladd(a, b, functions.get(own)))
        return functions.get(own)

    fresh = functions.function("fresh", [a, b], body, [own])
    writer.store(functions.call(fresh, *functions.tiles(0)), "d0")

    def again(i: Scalar, _: Sequence[Matrix]) -> Sequence[Matrix]:
        return [functions.call(fresh, writer.load("a", i), writer.load("b", i))]

    (last,) = functions.decisions.repeat(functions.decisions.n, [writer.load("c", 1)], again)
    writer.store(last, "d1")


def _five(component: ComponentType) -> int:
    """Return the bits of 5."""
    return int.from_bytes(component.dtype.type(5).tobytes(), "little") if component.is_float else 5


def _own_constant(functions: PointerWriter) -> None:
    """Initialize with a matrix of fives."""
    type_ = functions.writer.type("c")
    value = functions.writer.builder.literal(_five(type_.component), type_.component)
    _counted(functions, MatrixConstant(Value("fives", type_), value))


def _own_passed(functions: PointerWriter) -> None:
    """Pass on a pointer to the function's own variable."""
    writer = functions.writer
    a, b = functions.parameters("a", "b")
    c = functions.pointer("c", "inout", "function")
    add = functions.function("accumulate", [a, b, c], lambda: functions.set(c, writer.muladd(a, b, functions.get(c))))
    x, y, other_x, other_y, start = functions.parameters("a", "b", "a", "b", "c")
    own = functions.own(start.type)

    def body() -> Matrix:
        functions.set(own, start)
        functions.run(add, x, y, own)
        functions.run(add, other_x, other_y, own)
        return functions.get(own)

    total = functions.function("total", [x, y, other_x, other_y, start], body, [own])
    first = functions.call(total, *functions.tiles(0), *functions.tiles(1), writer.load("c", 0))
    writer.store(functions.call(total, *functions.tiles(2), *functions.tiles(3), writer.load("c", 1)), "d0")
    writer.store(writer.muladd(*functions.tiles(4), first), "d1")


def _own_nested(functions: PointerWriter) -> None:
    """Use different variables of one type in a function and in its callee; the caller reads its own after the call."""
    writer = functions.writer
    a, b, c = functions.parameters("a", "b", "c")
    inside = functions.own(c.type)

    def inner_body() -> Matrix:
        functions.set(inside, writer.muladd(a, b, c))
        return functions.get(inside)

    inner = functions.function("inner", [a, b, c], inner_body, [inside])
    x, y, start, other = functions.parameters("a", "b", "c", "c")
    found, outside = functions.pointer("c", "out"), functions.own(start.type)

    def outer_body() -> Matrix:
        functions.set(outside, start)
        functions.set(found, functions.call(inner, x, y, other))
        functions.set(outside, writer.muladd(x, y, functions.get(outside)))
        return functions.get(outside)

    outer = functions.function("outer", [x, y, start, other, found], outer_body, [outside])
    place = functions.variable("c")
    writer.store(functions.call(outer, *functions.tiles(0), writer.load("c", 0), writer.load("c", 1), place), "d0")
    functions.keep(place, "d1")


def _module(functions: PointerWriter) -> None:
    """Use a variable of the module in two functions, not as a parameter: one sets it, the other adds to it and returns its previous
    value."""
    writer = functions.writer
    place = functions.variable("c", None, "private")
    (c,) = functions.parameters("c")
    begin = functions.function("begin", [c], lambda: functions.set(place, c))
    a, b = functions.parameters("a", "b")

    def body() -> Matrix:
        former = functions.get(place)
        functions.set(place, writer.muladd(a, b, former))
        return former

    add = functions.function("add", [a, b], body)
    functions.run(begin, writer.load("c", 0))
    functions.call(add, *functions.tiles(0))
    former = functions.call(add, *functions.tiles(1))
    writer.store(former, "d0")
    functions.set(place, writer.muladd(*functions.tiles(2), functions.get(place)))
    functions.call(add, *functions.tiles(3))
    functions.keep(place, "d1")


VARIABLES: Mapping[str, CallForm] = {
    "own": CallForm(_own, decides=True, any_storage=False),
    "own_both_arms": CallForm(_own_both_arms, decides=True, any_storage=False),
    "own_loop": CallForm(_own_loop, decides=True, any_storage=False),
    "own_null": CallForm(partial(_counted, initializer="null"), decides=True, any_storage=False),
    "own_constant": CallForm(_own_constant, decides=True, any_storage=False),
    "own_passed": CallForm(_own_passed, any_storage=False),
    "own_nested": CallForm(_own_nested, any_storage=False),
    "module": CallForm(_module, any_storage=False),
}
"""By label."""
