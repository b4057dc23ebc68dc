"""Workgroups that take turns without waiting for each other, since Vulkan does not promise that another workgroup runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from generators.program.arrays import AtomicAdd, AtomicOr
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Carried, Condition, Merged
from generators.program.memory import Array, Pointee
from generators.program.values import CooperativeVector, Matrix, Scalar, ScalarValue, Value
from generators.types import StorageClass

Count = TypeVar("Count", Matrix, CooperativeVector)


def take_turns(
    builder: ProgramBuilder,
    rounds: ScalarValue,
    turn: Array,
    barrier: Callable[[], None],
    begin: Count,
    pass_on: Callable[[Count, Scalar], Count],
) -> Count:
    """Try to take the turn once in each of ``rounds`` (u32), and return what ``pass_on`` has computed from ``begin``.

    One invocation tries for its workgroup, with an atomic. A workgroup that finds the turn taken does nothing in that round.

    Args:
        turn: a buffer of one u32, 0 at first: bit 0 says whether a workgroup has the turn; the other bits count the turns that have ended.
        barrier: adds a barrier of the workgroup.
        pass_on: adds what a workgroup does in its turn, after all of the workgroup have seen that they have it. It gets its result in the
            workgroup's earlier turn, or ``begin``, and the number of turns that have ended (u32).
    """
    zero, one = builder.literal(0), builder.literal(1)
    taken = builder.array("taken", Pointee(U32), 1, StorageClass.WORKGROUP, "scratch")
    first = Condition(builder.built_in("taking", "local_invocation"), "equal", zero)
    count, merged, carried = Value("count", begin.type), Value("count_after", begin.type), list[Carried]()
    with builder.loop(Value("round", U32), rounds, carried):
        with builder.arm() as taking:
            before = Value("before", U32)
            builder.add(AtomicOr(turn, zero, one, before, ordered=True))
            builder.write(taken, zero, before)
        builder.branch(first, taking)
        barrier()
        found = builder.read_scalar("found", taken, zero)
        with builder.arm() as passing:
            more = pass_on(count, builder.arithmetic("ended", "shift_right", found, one))
            barrier()
            with builder.arm() as ending:
                # It clears bit 0, and carries into the count.
                builder.add(AtomicAdd(Value("end", U32), turn, zero, one))
            builder.branch(first, ending)
        held = builder.arithmetic("held", "and", found, one)
        builder.branch(Condition(held, "equal", zero), passing, (), (Merged(merged, (more, count)),))
        barrier()
        carried.append(Carried(begin, count, merged))
    return count


def ended_turns(builder: ProgramBuilder, turn: Array) -> Scalar:
    """Return how many turns have ended (u32), in a workgroup that knows that no other one will take the turn."""
    return builder.arithmetic("all_ended", "shift_right", builder.read_scalar("last_turn", turn, builder.literal(0)), builder.literal(1))


def restart(builder: ProgramBuilder, *counters: Array) -> None:
    """Write 0 to buffers of one u32, in one invocation of the workgroup."""
    zero = builder.literal(0)
    with builder.arm() as restarting:
        for counter in counters:
            builder.write(counter, zero, zero)
    builder.branch(Condition(builder.built_in("restarting", "local_invocation"), "equal", zero), restarting)
