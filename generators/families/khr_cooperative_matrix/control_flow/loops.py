"""Forms of control_flow with loops: how often they run, what they carry, and how they end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

from generators.chains.cases import Form
from generators.chains.decisions import Decisions
from generators.chains.tiles import ChainWriter
from generators.program.control_flow import Condition
from generators.program.values import Matrix, Scalar

_FIXED_TRIPS = 6
"""Iterations of loops that leave, skip or choose at iteration n."""


def _loop(writer: ChainWriter, decisions: Decisions) -> None:
    """Add up n products."""
    (d,) = decisions.repeat(decisions.n, [writer.load("c", 0)], lambda i, carried: [writer.add(i, carried[0])])
    writer.store(d)


def _tile(writer: ChainWriter, outer: Scalar, inner: Scalar) -> Scalar:
    """Compute 2 * outer + inner."""
    builder = writer.builder
    twice = builder.arithmetic(writer.name("twice"), "multiply", outer, builder.literal(2))
    return builder.arithmetic(writer.name("tile"), "add", twice, inner)


def _nested_loop(writer: ChainWriter, decisions: Decisions) -> None:
    """Run two iterations in each of n."""

    def outer(i: Scalar, carried: Sequence[Matrix]) -> Sequence[Matrix]:
        return decisions.repeat(2, carried, lambda j, inside: [writer.add(_tile(writer, i, j), inside[0])])

    (d,) = decisions.repeat(decisions.n, [writer.load("c", 0)], outer)
    writer.store(d)


def _triangular_loop(writer: ChainWriter, decisions: Decisions) -> None:
    """Run the inner loop as many times as the outer loop has completed iterations."""

    def outer(i: Scalar, carried: Sequence[Matrix]) -> Sequence[Matrix]:
        return decisions.repeat(i, carried, lambda j, inside: [writer.add(_tile(writer, i, j), inside[0])])

    (d,) = decisions.repeat(decisions.n, [writer.load("c", 0)], outer)
    writer.store(d)


def _swap(writer: ChainWriter, decisions: Decisions) -> None:
    """Exchange two accumulators at the end of each iteration, and two factors that nothing else changes. The order of the phis must not
    matter, and a pair with one computed value would be right in one of the two orders."""

    def body(i: Scalar, carried: Sequence[Matrix]) -> Sequence[Matrix]:
        first, second, a, other = carried
        return [second, writer.muladd(a, writer.load("b", i), first), other, a]

    initial = [writer.load("c", 0), writer.load("c", 1), writer.load("a", 0), writer.load("a", 1)]
    first, second, *_ = decisions.repeat(decisions.n, initial, body)
    writer.store(first, "d0")
    writer.store(second, "d1")


def _prefetch(writer: ChainWriter, decisions: Decisions) -> None:
    """Load the A and B of the next iteration in this one, and carry them."""
    builder = writer.builder

    def body(i: Scalar, carried: Sequence[Matrix]) -> Sequence[Matrix]:
        d = writer.muladd(carried[0], carried[1], carried[2])
        following = builder.arithmetic(writer.name("following"), "add", i, builder.literal(1))
        return [writer.load("a", following), writer.load("b", following), d]

    initial = [writer.load("a", 0), writer.load("b", 0), writer.load("c", 0)]
    a, b, d = decisions.repeat(decisions.n, initial, body)
    writer.store(d, "d0")
    writer.store(writer.muladd(a, b, d), "d1")


def _leave(writer: ChainWriter, decisions: Decisions, kind: Literal["break", "continue"]) -> None:
    """Store the sum so far in iteration n, and then end the loop or the iteration."""

    def body(i: Scalar, carried: Sequence[Matrix]) -> Sequence[Matrix]:
        with writer.builder.arm() as first:
            writer.store(carried[0], "d1")
        writer.builder.exit(kind, Condition(i, "equal", decisions.n), first)
        return [writer.add(i, carried[0])]

    (d,) = decisions.repeat(_FIXED_TRIPS, [writer.load("c", 0)], body)
    writer.store(d, "d0")


def _leave_late(writer: ChainWriter, decisions: Decisions, kind: Literal["break", "continue"]) -> None:
    """Compute the sum of iteration n, store it, and end the loop or the iteration without carrying it."""

    def body(i: Scalar, carried: Sequence[Matrix]) -> Sequence[Matrix]:
        d = writer.add(i, carried[0])
        with writer.builder.arm() as first:
            writer.store(d, "d1")
        writer.builder.exit(kind, Condition(i, "equal", decisions.n), first)
        return [d]

    (d,) = decisions.repeat(_FIXED_TRIPS, [writer.load("c", 0)], body)
    writer.store(d, "d0")


def _branch_in_loop(writer: ChainWriter, decisions: Decisions) -> None:
    """Compare the index of each iteration with n, and choose."""

    def body(i: Scalar, carried: Sequence[Matrix]) -> Sequence[Matrix]:
        condition = Condition(i, decisions.relation, decisions.n)
        a = writer.load("a", i)
        return decisions.matrices(
            lambda: [writer.muladd(a, writer.load("b", i), carried[0])],
            lambda: [writer.muladd(a, writer.load("b", 7), carried[0])],
            condition,
        )

    (d,) = decisions.repeat(_FIXED_TRIPS, [writer.load("c", 0)], body)
    writer.store(d)


def _last_iteration(writer: ChainWriter, decisions: Decisions) -> None:
    """Do more in the last of n iterations, like a loop that contains its epilogue."""
    builder = writer.builder

    def body(i: Scalar, carried: Sequence[Matrix]) -> Sequence[Matrix]:
        d = writer.add(i, carried[0])
        done = builder.arithmetic(writer.name("done"), "add", i, builder.literal(1))
        return decisions.matrices(lambda: [writer.add(7, d)], lambda: [d], Condition(done, "equal", decisions.n))

    (d,) = decisions.repeat(decisions.n, [writer.load("c", 0)], body)
    writer.store(d)


def _loop_in_branch(writer: ChainWriter, decisions: Decisions) -> None:
    """Run another loop in each arm."""
    c = writer.load("c", 0)
    builder = writer.builder

    def shifted(i: Scalar, carried: Sequence[Matrix]) -> Sequence[Matrix]:
        tile = builder.arithmetic(writer.name("tile"), "add", i, builder.literal(3))
        return [writer.add(tile, carried[0])]

    (d,) = decisions.matrices(
        lambda: decisions.repeat(3, [c], lambda i, carried: [writer.add(i, carried[0])]), lambda: decisions.repeat(2, [c], shifted)
    )
    writer.store(d)


def _switch_in_loop(writer: ChainWriter, decisions: Decisions) -> None:
    """Run two switches in each iteration. The first one adds to one of two sums, exchanges them, or stores the first and begins the next
    iteration, in one iteration at most; the second one exchanges what the first one chose."""
    builder = writer.builder
    skipped = writer.output("d2")

    def body(i: Scalar, carried: Sequence[Matrix]) -> Sequence[Matrix]:
        x, y = carried
        number = builder.arithmetic(writer.name("number"), "add", i, decisions.n)
        low = builder.arithmetic(writer.name("low"), "and", number, builder.literal(7))
        first = decisions.switch(
            [((0, 3, 6), lambda: [writer.add(i, x), y]), ((2, 5), lambda: [y, x])],
            lambda: [x, writer.add(i, y)],
            low,
            skip=((1,), lambda: writer.store(x, skipped)),
        )
        return decisions.switch([((2, 3), lambda: [first[1], first[0]])], lambda: first, i)

    for number, matrix in enumerate(decisions.repeat(_FIXED_TRIPS, [writer.load("c", 0), writer.load("c", 1)], body)):
        writer.store(matrix, f"d{number}")


LOOPS: Mapping[str, Form] = {
    "loop": Form(_loop, largest=7, compares=False),
    "nested_loop": Form(_nested_loop, largest=3, compares=False),
    "triangular_loop": Form(_triangular_loop, largest=3, compares=False),
    "swap": Form(_swap, largest=7, compares=False),
    "prefetch": Form(_prefetch, largest=7, compares=False),
    "break": Form(partial(_leave, kind="break"), compares=False),
    "continue": Form(partial(_leave, kind="continue"), compares=False),
    "break_late": Form(partial(_leave_late, kind="break"), compares=False),
    "continue_late": Form(partial(_leave_late, kind="continue"), compares=False),
    "branch_in_loop": Form(_branch_in_loop),
    "last_iteration": Form(_last_iteration, largest=7, compares=False),
    "loop_in_branch": Form(_loop_in_branch),
    "switch_in_loop": Form(_switch_in_loop, largest=7, compares=False),
}
"""By label."""
