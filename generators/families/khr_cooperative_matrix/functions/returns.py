"""Forms of functions that return in more than one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from generators.chains.functions import FunctionWriter
from generators.program.control_flow import Condition, ReturnBoth
from generators.program.functions import Function
from generators.program.values import Matrix, Scalar


def _called(functions: FunctionWriter, function: Function) -> None:
    """Call ``function`` (a, b, x, y, number) with n, and again with other arguments and 1."""
    writer, decisions = functions.writer, functions.decisions
    first, second = writer.load("c", 0), writer.load("c", 1)
    writer.store(functions.call(function, *functions.tiles(0), first, second, decisions.n), "d0")
    writer.store(functions.call(function, *functions.tiles(1), second, first, writer.builder.literal(1)), "d1")


def _parameters(functions: FunctionWriter) -> tuple[list[Matrix], Scalar]:
    (number,) = functions.scalars("number")
    return functions.parameters("a", "b", "c", "c"), number


def _return_early(functions: FunctionWriter) -> None:
    """Return before the end if the number is less than 2."""
    writer, builder = functions.writer, functions.writer.builder
    (a, b, x, y), number = _parameters(functions)

    def body() -> Matrix:
        with builder.arm() as early:
            d = writer.muladd(a, b, x)
        builder.exit("return", Condition(number, "less", builder.literal(2)), early, d)
        return writer.muladd(a, b, y)

    _called(functions, functions.function("early", [a, b, x, y, number], body))


def _return_in_branch(functions: FunctionWriter) -> None:
    """Return in both arms of a branch, each for one of two numbers."""
    writer, builder, decisions = functions.writer, functions.writer.builder, functions.decisions
    (a, b, x, y), number = _parameters(functions)

    def arm(equal: int, returned: Matrix, otherwise: Matrix) -> Sequence[Matrix]:
        with builder.arm() as early:
            d = writer.muladd(a, b, returned)
        builder.exit("return", Condition(number, "equal", builder.literal(equal)), early, d)
        return [writer.muladd(a, b, otherwise)]

    def body() -> Matrix:
        condition = Condition(number, "less", builder.literal(2))
        (c,) = decisions.matrices(lambda: arm(1, y, x), lambda: arm(2, x, y), condition)
        return writer.muladd(a, b, c)

    _called(functions, functions.function("inside", [a, b, x, y, number], body))


def _return_in_loop(functions: FunctionWriter) -> None:
    """Return the value that a loop carries in the iteration given by the number; after three iterations the loop ends, and the function
    returns another sum."""
    writer, builder, decisions = functions.writer, functions.writer.builder, functions.decisions
    (a, b, x, y), number = _parameters(functions)

    def iteration(i: Scalar, carried: Sequence[Matrix]) -> Sequence[Matrix]:
        builder.exit("return", Condition(i, "equal", number), (), carried[0])
        return [writer.muladd(a, b, carried[0])]

    def body() -> Matrix:
        decisions.repeat(3, [x], iteration)
        return writer.muladd(a, b, y)

    _called(functions, functions.function("leaving", [a, b, x, y, number], body))


def _return_both(functions: FunctionWriter, dead: bool) -> None:
    """Return in both arms of a branch; the code after it is unreachable, or computes and also returns."""
    writer, builder = functions.writer, functions.writer.builder
    (a, b, x, y), number = _parameters(functions)

    def body() -> Matrix:
        with builder.arm() as then:
            yes = writer.muladd(a, b, x)
        with builder.arm() as otherwise:
            no = writer.muladd(a, b, writer.muladd(a, b, y))
        condition = Condition(number, "less", builder.literal(2))
        builder.add(ReturnBoth(condition, tuple(then), yes, tuple(otherwise), no))
        return writer.muladd(a, b, writer.muladd(a, b, x)) if dead else yes

    _called(functions, functions.function("both", [a, b, x, y, number], body))


RETURNS: Mapping[str, Callable[[FunctionWriter], None]] = {
    "return_early": _return_early,
    "return_in_branch": _return_in_branch,
    "return_in_loop": _return_in_loop,
    "return_both": partial(_return_both, dead=False),
    "return_dead": partial(_return_both, dead=True),
}
"""The function that writes each form, by label."""
