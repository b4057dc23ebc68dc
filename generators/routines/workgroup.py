"""Code that all invocations of a workgroup run together: they share out the elements of an array, copy, and go on in the last workgroup."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from generators.program.arrays import AtomicAdd
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Condition
from generators.program.memory import Array, Pointee
from generators.program.values import Extent, Scalar, ScalarValue, Value
from generators.program.workgroup import Copied, LastWorkgroupRan
from generators.types import Scope, StorageClass


@contextmanager
def shared_out(builder: ProgramBuilder, name: str, count: Extent) -> Iterator[Scalar]:
    """Do the operations added inside for each of ``count`` elements: invocation i of the workgroup's ``size`` takes elements i, i + size,
    i + 2 * size … Yields the number of the element, called ``name``."""
    limit = builder.literal(count) if isinstance(count, int) else count
    first = builder.built_in(builder.fresh(f"{name}_first"), "local_invocation")
    size = builder.built_in(builder.fresh(f"{name}_step"), "workgroup_invocations")
    index = Value(builder.fresh(name), U32)
    with builder.loop(index, limit, [], start=first, step=size):
        yield index


def copy(builder: ProgramBuilder, target: Array, source: Array, backwards: bool = False) -> None:
    """Copy every element of ``source`` to ``target``, of equal length and pointee. ``backwards``: element e of the target is element
    length - 1 - e of the source: another invocation reads an element than wrote it."""
    with builder.stated(Copied(target, source, backwards)):
        # Where one of the arrays has its length from a specialization constant, so many elements are copied.
        length = target.length if isinstance(source.length, int) else source.length
        with shared_out(builder, f"{target.name}_element", length) as index:
            place: ScalarValue = index
            if backwards:
                place = builder.arithmetic(builder.fresh(f"{target.name}_place"), "subtract", builder.literal(source.count - 1), index)
            builder.write(target, index, builder.read(builder.fresh(f"{target.name}_copied"), source, place))


@contextmanager
def last_workgroup(builder: ProgramBuilder, counter: Array) -> Iterator[ScalarValue]:
    """Do the operations added inside in the workgroup that arrives last: what all others have written is known to it. Yields the number of
    the scope instance inside of its workgroup.

    One invocation of each workgroup adds 1 to element 0 of ``counter`` (a buffer of u32 that starts with 0), between two barriers of the
    workgroup, and hands on by workgroup memory what it was before. Which workgroup is last is unknown, so the operations must do the same
    in each.
    """
    arrival = builder.array("arrival", Pointee(U32), 1, StorageClass.WORKGROUP, "scratch")
    zero, one = builder.literal(0), builder.literal(1)
    with builder.arm() as body:
        yield builder.built_in("instance_of_last", "subgroup") if builder.scope is Scope.SUBGROUP else zero
    with builder.stated(LastWorkgroupRan(counter, tuple(body))):
        builder.barrier()
        lane, earlier = builder.built_in("arriving", "local_invocation"), Value("earlier", U32)
        with builder.arm() as counting:
            builder.add(AtomicAdd(earlier, counter, zero, one))
            builder.write(arrival, zero, earlier)
        builder.branch(Condition(lane, "equal", zero), counting)
        builder.barrier()
        arrived = builder.read_scalar("arrived", arrival, zero)
        builder.branch(Condition(arrived, "equal", builder.literal(builder.workgroup_count - 1)), body)
