"""functions: matrices as parameters and results of functions, called from every kind of place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from generators.chains.cases import ROW_FITS, CallForm, CallParameters, NumberParameters, build_calls
from generators.chains.functions import FunctionWriter
from generators.families.khr_cooperative_matrix.functions.returns import RETURNS
from generators.parameters.declaration import parameter
from generators.program.control_flow import Condition
from generators.program.functions import Function
from generators.program.program import Built
from generators.program.values import Matrix, Scalar


def _identity(functions: FunctionWriter) -> None:
    """Call a function that returns its parameter, for each type."""
    writer = functions.writer
    passed = []
    for operand in "abc":
        (parameter,) = functions.parameters(operand)
        same = functions.function("same", [parameter], lambda parameter=parameter: parameter)  # type: ignore[misc]
        passed.append(functions.call(same, writer.load(operand, 1)))
    writer.store(writer.muladd(*passed))


def _product(functions: FunctionWriter) -> None:
    """Take all three operands as parameters."""
    writer = functions.writer
    writer.store(functions.call(functions.product(), *functions.tiles(0), writer.load("c", 0)))


def _same_types(functions: FunctionWriter) -> None:
    """Take two parameters of one type for each operand; a second call exchanges arguments."""
    writer = functions.writer
    a, other_a, b, other_b, c, other_c = functions.parameters("a", "a", "b", "b", "c", "c")
    chained = functions.function(
        "chained", [a, other_a, b, other_b, c, other_c], lambda: writer.muladd(other_a, b, writer.muladd(a, other_b, c))
    )
    x, y = functions.tiles(0), functions.tiles(1)
    first, second = writer.load("c", 0), writer.load("c", 1)
    writer.store(functions.call(chained, x[0], y[0], x[1], y[1], first, second), "d0")
    writer.store(functions.call(chained, y[0], x[0], x[1], y[1], second, first), "d1")


def _unused(functions: FunctionWriter) -> None:
    """Take unused parameters before, between and after the used ones."""
    writer = functions.writer
    before, a, between, b, c, after = functions.parameters("c", "a", "b", "b", "c", "a")
    some = functions.function("some", [before, a, between, b, c, after], lambda: writer.muladd(a, b, c))
    x, y = functions.tiles(0), functions.tiles(1)
    writer.store(functions.call(some, writer.load("c", 1), x[0], y[1], x[1], writer.load("c", 0), y[0]))


def _twice(functions: FunctionWriter) -> None:
    """Call a function with the result of its first call, and then use the first call's arguments again."""
    writer, multiply = functions.writer, functions.product()
    a, b = functions.tiles(0)
    c = writer.load("c", 0)
    first = functions.call(multiply, a, b, c)
    writer.store(functions.call(multiply, *functions.tiles(1), first), "d0")
    writer.store(functions.call(multiply, a, b, first), "d1")


def _nested(functions: FunctionWriter) -> None:
    """Call a function that calls another function twice: once with the same matrix for two parameters, once with different matrices."""
    writer, multiply = functions.writer, functions.product()
    a, other_a, b, other_b, c = functions.parameters("a", "a", "b", "b", "c")
    middle = functions.function(
        "middle",
        [a, other_a, b, other_b, c],
        lambda: functions.call(multiply, other_a, b, functions.call(multiply, a, other_b, c)),
    )
    outer_a, outer_b, outer_c = functions.parameters("a", "b", "c")
    outer = functions.function(
        "outer", [outer_a, outer_b, outer_c], lambda: functions.call(middle, outer_a, outer_a, outer_b, outer_b, outer_c)
    )
    writer.store(functions.call(outer, *functions.tiles(0), writer.load("c", 0)), "d0")
    x, y = functions.tiles(1), functions.tiles(2)
    writer.store(functions.call(middle, x[0], y[0], x[1], y[1], writer.load("c", 1)), "d1")


def _load_function(functions: FunctionWriter, operand: str) -> Function:
    first, stride = functions.scalars("first", "stride")
    return functions.function("fetch", [first, stride], lambda: functions.writer.load(operand, 0, None, stride, first))


def _memory(functions: FunctionWriter) -> None:
    """Load and store in functions; first element and stride are parameters."""
    writer, builder = functions.writer, functions.writer.builder
    fetch_a, fetch_b = _load_function(functions, "a"), _load_function(functions, "b")
    strides = {operand: builder.literal(writer.tiles[operand].stride) for operand in "ab"}
    total = writer.load("c", 0)
    for tile in (0, 3):
        a = functions.call(fetch_a, writer.first("a", tile), strides["a"])
        b = functions.call(fetch_b, writer.first("b", tile), strides["b"])
        total = writer.muladd(a, b, total)
    first, stride = functions.scalars("first", "stride")
    (matrix,) = functions.parameters("d")

    def put() -> None:
        writer.arrays["d0"].store(matrix, first, stride)

    keep = functions.function("keep", [matrix, first, stride], put)
    functions.run(keep, total, writer.first("d", 0), builder.literal(writer.tiles["d"].stride))


def _in_loop(functions: FunctionWriter) -> None:
    """Call in a loop, which carries the results."""
    writer, multiply = functions.writer, functions.product()

    def body(i: Scalar, carried: Sequence[Matrix]) -> Sequence[Matrix]:
        return [functions.call(multiply, writer.load("a", i), writer.load("b", i), carried[0])]

    (d,) = functions.decisions.repeat(functions.decisions.n, [writer.load("c", 0)], body)
    writer.store(d)


def _in_branch(functions: FunctionWriter) -> None:
    """Call in both arms of a branch, with different arguments."""
    writer, multiply = functions.writer, functions.product()
    c = writer.load("c", 0)
    (d,) = functions.decisions.matrices(
        lambda: [functions.call(multiply, *functions.tiles(0), c)], lambda: [functions.call(multiply, *functions.tiles(1), c)]
    )
    writer.store(d)


def _with_loop(functions: FunctionWriter) -> None:
    """Loop in a function; the count is a parameter."""
    writer = functions.writer
    a, b, c = functions.parameters("a", "b", "c")
    (count,) = functions.scalars("count")

    def body() -> Matrix:
        return functions.decisions.repeat(count, [c], lambda _, carried: [writer.muladd(a, b, carried[0])])[0]

    repeated = functions.function("repeated", [a, b, c, count], body)
    first = functions.call(repeated, *functions.tiles(0), writer.load("c", 0), functions.decisions.n)
    writer.store(functions.call(repeated, *functions.tiles(1), first, writer.builder.literal(2)))


def _with_branch(functions: FunctionWriter) -> None:
    """Choose between two parameters by a third one."""
    writer, decisions = functions.writer, functions.decisions
    a, x, y = functions.parameters("a", "c", "c")
    (b,) = functions.parameters("b")
    (number,) = functions.scalars("number")

    def body() -> Matrix:
        condition = Condition(number, "less", writer.builder.literal(2))
        return decisions.matrices(lambda: [writer.muladd(a, b, x)], lambda: [y], condition)[0]

    chosen = functions.function("choose", [a, b, x, y, number], body)
    first, second = writer.load("c", 0), writer.load("c", 1)
    writer.store(functions.call(chosen, *functions.tiles(0), first, second, decisions.n), "d0")
    writer.store(functions.call(chosen, *functions.tiles(1), second, first, writer.builder.literal(1)), "d1")


_FORMS: Mapping[str, CallForm] = {
    "identity": CallForm(_identity),
    "product": CallForm(_product),
    "same_types": CallForm(_same_types),
    "unused": CallForm(_unused),
    "twice": CallForm(_twice),
    "nested": CallForm(_nested),
    "memory": CallForm(_memory),
    "in_loop": CallForm(_in_loop, decides=True),
    "in_branch": CallForm(_in_branch, decides=True),
    "with_loop": CallForm(_with_loop, decides=True),
    "with_branch": CallForm(_with_branch, decides=True),
    **{label: CallForm(write, decides=True) for label, write in RETURNS.items()},
}


@dataclass(frozen=True, kw_only=True)
class Parameters(CallParameters):
    """The parameters of a case."""

    form: CallForm = parameter("what the functions and their calls are", labels=_FORMS, then=("source", "control", "layouts"))


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(NumberParameters, Parameters):
    """The parameters of a subcase."""


PREDICATES = ROW_FITS


def build(parameters: Parameters) -> Built:
    """Build a case: its program, and data that differ in every tile."""
    return build_calls(parameters)
