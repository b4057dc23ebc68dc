"""control_flow_variables: matrices in variables that branches and loops change.

As in control_flow, every form reads one number ``n``: selections compare it with 2, loops run n times or leave at iteration n.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from generators.chains.cases import ROW_FITS, ChainParameters, NumberParameters, begin
from generators.chains.decisions import Decisions
from generators.chains.functions import PointerWriter, Storage
from generators.parameters.declaration import parameter
from generators.program.control_flow import Condition
from generators.program.operation import Hint
from generators.program.program import Built
from generators.program.values import ArrayType, Matrix, Scalar, ScalarValue
from generators.program.variables import Variable

_FIXED_TRIPS = 4
"""Iterations of loops that leave or choose at iteration n."""

_FIRST_SPARE = 6
"""The first tile that loops do not reach."""


def _add(writer: PointerWriter, variable: Variable, tile: int | ScalarValue) -> None:
    writer.set(variable, writer.writer.add(tile, writer.get(variable)))


def _choose(
    writer: PointerWriter, then: Callable[[], None], otherwise: Callable[[], None] = lambda: None, condition: Condition | None = None
) -> None:
    """Branch; the arms only change variables."""
    decisions, builder = writer.decisions, writer.writer.builder
    with builder.arm() as first:
        then()
    with builder.arm() as second:
        otherwise()
    builder.branch(condition or decisions.condition, first, second, (), decisions.hint)


def _loop(writer: PointerWriter) -> None:
    """Add n products to a variable."""
    total = writer.variable("c", 0)

    def body(i: Scalar, _: Sequence[Matrix]) -> Sequence[Matrix]:
        _add(writer, total, i)
        return []

    writer.decisions.repeat(writer.decisions.n, [], body)
    writer.keep(total, "d0")


def _swap(writer: PointerWriter) -> None:
    """Exchange two variables at the end of each iteration."""
    x, y = writer.variable("c", 0), writer.variable("c", 1)

    def body(i: Scalar, _: Sequence[Matrix]) -> Sequence[Matrix]:
        former, latter = writer.get(x), writer.get(y)
        writer.set(x, latter)
        writer.set(y, writer.writer.add(i, former))
        return []

    writer.decisions.repeat(writer.decisions.n, [], body)
    writer.keep(x, "d0")
    writer.keep(y, "d1")


def _prefetch(writer: PointerWriter) -> None:
    """Load the A and B of the next iteration in this one, into variables."""
    chain, builder = writer.writer, writer.writer.builder
    a, b, c = writer.variables(0, "abc")

    def body(i: Scalar, _: Sequence[Matrix]) -> Sequence[Matrix]:
        writer.set(c, chain.muladd(writer.get(a), writer.get(b), writer.get(c)))
        following = builder.arithmetic(chain.name("following"), "add", i, builder.literal(1))
        writer.set(a, chain.load("a", following))
        writer.set(b, chain.load("b", following))
        return []

    writer.decisions.repeat(writer.decisions.n, [], body)
    writer.keep(c, "d0")
    chain.store(chain.muladd(writer.get(a), writer.get(b), chain.load("c", 1)), "d1")


def _first_iteration(writer: PointerWriter) -> None:
    """Write a variable for the first time in the first iteration, and change it in the others."""
    total, builder = writer.variable("c"), writer.writer.builder

    def body(i: Scalar, _: Sequence[Matrix]) -> Sequence[Matrix]:
        _choose(
            writer,
            lambda: writer.set(total, writer.writer.add(i, writer.writer.load("c", 0))),
            lambda: _add(writer, total, i),
            Condition(i, "equal", builder.literal(0)),
        )
        return []

    count = builder.arithmetic(writer.writer.name("count"), "add", writer.decisions.n, builder.literal(1))
    writer.decisions.repeat(count, [], body)
    writer.keep(total, "d0")


def _leave(writer: PointerWriter, kind: Literal["break", "continue"]) -> None:
    """Change the variable in iteration n, and then end the loop or the iteration: the change persists, unlike a change to a carried
    matrix."""
    total, builder = writer.variable("c", 0), writer.writer.builder

    def body(i: Scalar, _: Sequence[Matrix]) -> Sequence[Matrix]:
        with builder.arm() as first:
            _add(writer, total, _FIRST_SPARE)
        builder.exit(kind, Condition(i, "equal", writer.decisions.n), first)
        _add(writer, total, i)
        return []

    writer.decisions.repeat(_FIXED_TRIPS, [], body)
    writer.keep(total, "d0")


def _return_in_loop(writer: PointerWriter) -> None:
    """Store the variable in iteration n and end the shader, so the store after the loop does not happen."""
    total, builder = writer.variable("c", 0), writer.writer.builder

    def body(i: Scalar, _: Sequence[Matrix]) -> Sequence[Matrix]:
        with builder.arm() as first:
            writer.keep(total, "d1")
        builder.exit("return", Condition(i, "equal", writer.decisions.n), first)
        _add(writer, total, i)
        return []

    writer.decisions.repeat(_FIXED_TRIPS, [], body)
    writer.keep(total, "d0")


def _return_in_branch(writer: PointerWriter) -> None:
    """Change the variable in each arm; for one number, store it there and end the shader."""
    total, decisions, builder = writer.variable("c", 0), writer.decisions, writer.writer.builder

    def arm(number: int, tile: int) -> None:
        _add(writer, total, tile)
        with builder.arm() as first:
            writer.keep(total, "d1")
        builder.exit("return", Condition(decisions.n, "equal", decisions.literal(number)), first)
        _add(writer, total, tile + 1)

    _choose(writer, lambda: arm(1, 0), lambda: arm(3, 2))
    writer.keep(total, "d0")


def _both_arms(writer: PointerWriter) -> None:
    """Write a variable for the first time, in both arms."""
    total, chain = writer.variable("c"), writer.writer
    _choose(
        writer,
        lambda: writer.set(total, chain.add(0, chain.load("c", 0))),
        lambda: writer.set(total, chain.add(1, chain.load("c", 1))),
    )
    _add(writer, total, 2)
    writer.keep(total, "d0")


def _one_arm(writer: PointerWriter) -> None:
    """Change one variable in each arm."""
    first, second = writer.variable("c", 0), writer.variable("c", 1)
    _choose(writer, lambda: _add(writer, first, 0), lambda: _add(writer, second, 1))
    writer.keep(first, "d0")
    writer.keep(second, "d1")


def _exchange(writer: PointerWriter) -> None:
    """Exchange two variables in one arm."""
    first, second = writer.variable("c", 0), writer.variable("c", 1)

    def exchanged() -> None:
        former, latter = writer.get(first), writer.get(second)
        writer.set(first, latter)
        writer.set(second, former)

    _choose(writer, exchanged, lambda: _add(writer, first, 0))
    writer.keep(first, "d0")
    writer.keep(second, "d1")


def _change(writer: PointerWriter, *changes: tuple[Variable, int | ScalarValue]) -> Callable[[], list[Matrix]]:
    """Make an arm that adds the product of a tile to each of some variables."""

    def arm() -> list[Matrix]:
        for variable, tile in changes:
            _add(writer, variable, tile)
        return []

    return arm


def _switch(writer: PointerWriter) -> None:
    """Change one variable in the arms of a switch, each with a different tile, and twice in the default."""
    total = writer.variable("c", 0)
    arms = [(literals, _change(writer, (total, tile))) for tile, literals in enumerate(((0,), (1, 3)))]
    writer.decisions.switch(arms, _change(writer, (total, 2), (total, 3)))
    writer.keep(total, "d0")


def _nested_switch(writer: PointerWriter) -> None:
    """Change one of two variables in switches that are in two arms of a switch, and after these in a second switch."""
    x, y = writer.variable("c", 0), writer.variable("c", 1)
    switch = writer.decisions.switch

    def inner() -> list[Matrix]:
        return switch([((1,), _change(writer, (y, 0))), ((0,), _change(writer, (x, 1)))], _change(writer, (x, 0)))

    def last() -> list[Matrix]:
        return switch([((3,), _change(writer, (y, 2)))], _change(writer, (x, 2)))

    switch([((0, 1), inner), ((2,), _change(writer, (y, 3)))], last)
    switch([((1, 2), _change(writer, (x, 4))), ((3,), _change(writer, (y, 4)))], _change(writer, (x, 5), (y, 5)))
    writer.keep(x, "d0")
    writer.keep(y, "d1")


def _switch_in_loop(writer: PointerWriter) -> None:
    """Run two switches in each iteration, the first of which has an arm that changes a variable and begins the next iteration."""
    x, y, n = writer.variable("c", 0), writer.variable("c", 1), writer.decisions.n
    chain, builder = writer.writer, writer.writer.builder

    def body(i: Scalar, _: Sequence[Matrix]) -> Sequence[Matrix]:
        number = builder.arithmetic(chain.name("number"), "add", i, n)
        low = builder.arithmetic(chain.name("low"), "and", number, builder.literal(3))
        switch = writer.decisions.switch
        switch([((0,), _change(writer, (x, i)))], lambda: [], low, skip=((1,), lambda: _add(writer, y, i)))
        return switch([((0, 3), _change(writer, (y, i)))], lambda: [], i)

    writer.decisions.repeat(_FIXED_TRIPS, [], body)
    writer.keep(x, "d0")
    writer.keep(y, "d1")


def _negate(writer: PointerWriter) -> None:
    """Negate the sum of each iteration whose index is less than n."""
    total, chain = writer.variable("c", 0), writer.writer

    def negated() -> None:
        writer.set(total, chain.builder.negate(chain.name("negated"), writer.get(total)))

    def body(i: Scalar, _: Sequence[Matrix]) -> Sequence[Matrix]:
        _add(writer, total, i)
        _choose(writer, negated, condition=Condition(i, "less", writer.decisions.n))
        return []

    writer.decisions.repeat(_FIXED_TRIPS, [], body)
    writer.keep(total, "d0")


def _array(writer: PointerWriter, unrolled: bool) -> None:
    """Add to four sums in an array in each of n iterations, either in a loop over the array or one by one."""
    chain, builder = writer.writer, writer.writer.builder
    type_ = chain.type("c")
    array = builder.variable(chain.name("sums"), ArrayType(type_, 4), writer.storage)
    for i in range(4):
        # There are two tiles of C. Where a tile begins another sum, a product of its own is added.
        start = chain.load("c", i % 2)
        writer.set(array, start if i < 2 else chain.add(_FIRST_SPARE, start), (i,))

    def element(i: Scalar, j: Scalar | int) -> Sequence[Matrix]:
        place = builder.literal(j) if isinstance(j, int) else j
        tile = builder.arithmetic(chain.name("tile"), "add", i, place)
        writer.set(array, chain.add(tile, builder.get_matrix(chain.name("got"), array, j)), (j,))
        return []

    def body(i: Scalar, _: Sequence[Matrix]) -> Sequence[Matrix]:
        if unrolled:
            for j in range(4):
                element(i, j)
        else:
            writer.decisions.repeat(4, [], lambda j, _: element(i, j))
        return []

    writer.decisions.repeat(writer.decisions.n, [], body)
    for i in range(4):
        writer.keep(array, f"d{i}" if i < 2 else chain.output(f"d{i}"), i)


FORMS: Mapping[str, Callable[[PointerWriter], None]] = {
    "loop": _loop,
    "swap": _swap,
    "prefetch": _prefetch,
    "first_iteration": _first_iteration,
    "break": partial(_leave, kind="break"),
    "continue": partial(_leave, kind="continue"),
    "return_in_loop": _return_in_loop,
    "return_in_branch": _return_in_branch,
    "both_arms": _both_arms,
    "one_arm": _one_arm,
    "exchange": _exchange,
    "switch": _switch,
    "nested_switch": _nested_switch,
    "switch_in_loop": _switch_in_loop,
    "negate": _negate,
    "array": partial(_array, unrolled=False),
    "array_unrolled": partial(_array, unrolled=True),
}
"""The function that writes each form, by label."""


@dataclass(frozen=True, kw_only=True)
class Parameters(ChainParameters):
    """The parameters of a case."""

    form: Callable[[PointerWriter], None] = parameter("how variables change", labels=FORMS)
    storage: Storage = parameter("storage class of the variables", default="function", then=("source",))
    hint: Hint = parameter("the hint of branches and loops, for or against their removal", default="none", then=("layouts",))


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(NumberParameters, Parameters):
    """The parameters of a subcase."""


PREDICATES = ROW_FITS


def build(parameters: Parameters) -> Built:
    """Build a case: its program, and data that differ in every tile."""
    case = begin(parameters)
    decisions = Decisions(case.writer, case.n, "less", parameters.hint)
    parameters.form(PointerWriter(case.writer, decisions, "none", parameters.storage))
    return case.finish(lambda subcase: subcase.number)
