"""Forms of control_flow with loops: how often they run, what they carry, and what leaves them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from generators.chains.decisions import Decisions
from generators.chains.tiles import ChainWriter
from generators.program.control_flow import Condition
from generators.program.values import Matrix, Scalar

_FIXED_TRIPS = 6
"""Iterations of loops that leave, skip or choose at iteration n."""


def _loop(writer: ChainWriter, decisions: Decisions) -> None:
    """n products are added up."""
    (d,) = decisions.repeat(decisions.n, [writer.load("c", 0)], lambda i, carried: [writer.add(i, carried[0])])
    writer.store(d)


def _tile(writer: ChainWriter, outer: Scalar, inner: Scalar) -> Scalar:
    """2 * outer + inner."""
    builder = writer.builder
    twice = builder.arithmetic(writer.name("twice"), "multiply", outer, builder.literal(2))
    return builder.arithmetic(writer.name("tile"), "add", twice, inner)


def _nested_loop(writer: ChainWriter, decisions: Decisions) -> None:
    """n times two."""

    def outer(i: Scalar, carried: Sequence[Matrix]) -> Sequence[Matrix]:
        return decisions.repeat(2, carried, lambda j, inside: [writer.add(_tile(writer, i, j), inside[0])])

    (d,) = decisions.repeat(decisions.n, [writer.load("c", 0)], outer)
    writer.store(d)


def _triangular_loop(writer: ChainWriter, decisions: Decisions) -> None:
    """The inner loop runs as often as the outer one counts."""

    def outer(i: Scalar, carried: Sequence[Matrix]) -> Sequence[Matrix]:
        return decisions.repeat(i, carried, lambda j, inside: [writer.add(_tile(writer, i, j), inside[0])])

    (d,) = decisions.repeat(decisions.n, [writer.load("c", 0)], outer)
    writer.store(d)


def _swap(writer: ChainWriter, decisions: Decisions) -> None:
    """Two accumulators that change places at the end of each iteration, and two factors that do nothing else: which phi comes first
    must not matter, and a pair whose one value is computed is right in one of the two orders."""

    def body(i: Scalar, carried: Sequence[Matrix]) -> Sequence[Matrix]:
        first, second, a, other = carried
        return [second, writer.muladd(a, writer.load("b", i), first), other, a]

    initial = [writer.load("c", 0), writer.load("c", 1), writer.load("a", 0), writer.load("a", 1)]
    first, second, *_ = decisions.repeat(decisions.n, initial, body)
    writer.store(first, "d0")
    writer.store(second, "d1")


def _prefetch(writer: ChainWriter, decisions: Decisions) -> None:
    """The A and B of the next iteration are loaded in this one and carried."""
    builder = writer.builder

    def body(i: Scalar, carried: Sequence[Matrix]) -> Sequence[Matrix]:
        d = writer.muladd(carried[0], carried[1], carried[2])
        following = builder.arithmetic(writer.name("following"), "add", i, builder.literal(1))
        return [writer.load("a", following), writer.load("b", following), d]

    initial = [writer.load("a", 0), writer.load("b", 0), writer.load("c", 0)]
    a, b, d = decisions.repeat(decisions.n, initial, body)
    writer.store(d, "d0")
    writer.store(writer.muladd(a, b, d), "d1")


def _leave(writer: ChainWriter, decisions: Decisions, kind: str) -> None:
    """Iteration n stores the sum so far, and then ends the loop or itself."""

    def body(i: Scalar, carried: Sequence[Matrix]) -> Sequence[Matrix]:
        with writer.builder.arm() as first:
            writer.store(carried[0], "d1")
        condition = Condition(i, "equal", decisions.n)
        writer.builder.exit("break" if kind == "break" else "continue", condition, first)
        return [writer.add(i, carried[0])]

    (d,) = decisions.repeat(_FIXED_TRIPS, [writer.load("c", 0)], body)
    writer.store(d, "d0")


def _leave_late(writer: ChainWriter, decisions: Decisions, kind: str) -> None:
    """Iteration n computes its sum, stores it, and leaves without handing it on."""

    def body(i: Scalar, carried: Sequence[Matrix]) -> Sequence[Matrix]:
        d = writer.add(i, carried[0])
        with writer.builder.arm() as first:
            writer.store(d, "d1")
        writer.builder.exit("break" if kind == "break" else "continue", Condition(i, "equal", decisions.n), first)
        return [d]

    (d,) = decisions.repeat(_FIXED_TRIPS, [writer.load("c", 0)], body)
    writer.store(d, "d0")


def _branch_in_loop(writer: ChainWriter, decisions: Decisions) -> None:
    """Each iteration chooses by comparing its index with n."""

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
    """The last of n iterations does more, as a loop does that has its epilogue inside."""
    builder = writer.builder

    def body(i: Scalar, carried: Sequence[Matrix]) -> Sequence[Matrix]:
        d = writer.add(i, carried[0])
        done = builder.arithmetic(writer.name("done"), "add", i, builder.literal(1))
        return decisions.matrices(lambda: [writer.add(7, d)], lambda: [d], Condition(done, "equal", decisions.n))

    (d,) = decisions.repeat(decisions.n, [writer.load("c", 0)], body)
    writer.store(d)


def _loop_in_branch(writer: ChainWriter, decisions: Decisions) -> None:
    """Each arm has a loop of its own."""
    c = writer.load("c", 0)
    builder = writer.builder

    def shifted(i: Scalar, carried: Sequence[Matrix]) -> Sequence[Matrix]:
        tile = builder.arithmetic(writer.name("tile"), "add", i, builder.literal(3))
        return [writer.add(tile, carried[0])]

    (d,) = decisions.matrices(
        lambda: decisions.repeat(3, [c], lambda i, carried: [writer.add(i, carried[0])]), lambda: decisions.repeat(2, [c], shifted)
    )
    writer.store(d)


LOOPS: Mapping[str, Callable[[ChainWriter, Decisions], None]] = {
    "loop": _loop,
    "nested_loop": _nested_loop,
    "triangular_loop": _triangular_loop,
    "swap": _swap,
    "prefetch": _prefetch,
    "break": lambda writer, decisions: _leave(writer, decisions, "break"),
    "continue": lambda writer, decisions: _leave(writer, decisions, "continue"),
    "break_late": lambda writer, decisions: _leave_late(writer, decisions, "break"),
    "continue_late": lambda writer, decisions: _leave_late(writer, decisions, "continue"),
    "branch_in_loop": _branch_in_loop,
    "last_iteration": _last_iteration,
    "loop_in_branch": _loop_in_branch,
}
"""By name of the form: what writes it."""
