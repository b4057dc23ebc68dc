"""Code that all invocations of a workgroup run together: they divide the elements of an array among them, copy, and continue in the last
workgroup."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from generators.program.arrays import AtomicAdd
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Condition
from generators.program.memory import Array, Pointee
from generators.program.values import Extent, Scalar, ScalarValue, Value
from generators.program.workgroup import Copied, LastWorkgroupRan, PartCopied
from generators.types import Scope, StorageClass

Numbering = Literal["local", "subgroup"]
"""Numbering of the invocations in a workgroup: LocalInvocationIndex, or SubgroupId * SubgroupSize + SubgroupLocalInvocationId."""


@contextmanager
def shared_out(builder: ProgramBuilder, name: str, count: Extent, numbering: Numbering = "local") -> Iterator[Scalar]:
    """Do the operations added in the ``with`` block for each of ``count`` elements: invocation i of the workgroup's ``size`` takes elements
    i, i + size, i + 2 * size … Yields the index of the element, called ``name``."""
    limit = builder.literal(count) if isinstance(count, int) else count
    if numbering == "local":
        first = builder.built_in(builder.fresh(f"{name}_first"), "local_invocation")
    else:
        subgroup, size_of_subgroup, lane = (
            builder.built_in(builder.fresh(f"{name}_{which}"), which) for which in ("subgroup", "subgroup_size", "subgroup_invocation")
        )
        before = builder.arithmetic(builder.fresh(f"{name}_before"), "multiply", subgroup, size_of_subgroup)
        first = builder.arithmetic(builder.fresh(f"{name}_first"), "add", before, lane)
    size = builder.built_in(builder.fresh(f"{name}_step"), "workgroup_invocations")
    index = Value(builder.fresh(name), U32)
    with builder.loop(index, limit, [], start=first, step=size):
        yield index


def copy(builder: ProgramBuilder, target: Array, source: Array, backwards: bool = False) -> None:
    """Copy every element of ``source`` to ``target``, of equal length and pointee. ``backwards``: element e of the target is element length
    - 1 - e of the source, so an invocation reads an element that another invocation wrote."""
    with builder.stated(Copied(target, source, backwards)):
        # If the length of one array is a specialization constant, that length is the number of elements to copy.
        length = target.length if isinstance(source.length, int) else source.length
        with shared_out(builder, f"{target.name}_element", length) as index:
            place: ScalarValue = index
            if backwards:
                place = builder.arithmetic(builder.fresh(f"{target.name}_place"), "subtract", builder.literal(source.count - 1), index)
            builder.write(target, index, builder.read(builder.fresh(f"{target.name}_copied"), source, place))


def copy_part(
    builder: ProgramBuilder,
    target: tuple[Array, ScalarValue],
    source: tuple[Array, ScalarValue],
    count: int,
    backwards: bool = False,
) -> None:
    """Copy ``count`` elements in each subgroup, as PartCopied describes: invocation i takes elements i, i + SubgroupSize …

    Args:
        builder: the builder of the program.
        target, source: the array, and the first element.
        count: elements of each subgroup.
        backwards: whether an invocation reads an element that another invocation wrote.
    """
    (to, to_first), (of, of_first) = target, source
    with builder.stated(PartCopied(to, to_first, of, of_first, count, backwards)):
        lane = builder.built_in(builder.fresh(f"{to.name}_lane"), "subgroup_invocation")
        size = builder.built_in(builder.fresh(f"{to.name}_lanes"), "subgroup_size")
        index = Value(builder.fresh(f"{to.name}_element"), U32)
        with builder.loop(index, builder.literal(count), [], start=lane, step=size):
            other: ScalarValue = index
            if backwards:
                other = builder.arithmetic(builder.fresh(f"{to.name}_other"), "subtract", builder.literal(count - 1), index)
            found = builder.arithmetic(builder.fresh(f"{to.name}_found"), "add", of_first, other)
            place = builder.arithmetic(builder.fresh(f"{to.name}_place"), "add", to_first, index)
            builder.write(to, place, builder.read(builder.fresh(f"{to.name}_copied"), of, found))


@contextmanager
def last_workgroup(builder: ProgramBuilder, counter: Array) -> Iterator[ScalarValue]:
    """Do the operations added in the ``with`` block in the workgroup that arrives last, which sees all writes of the others. Yields the
    index of the scope instance in its workgroup.

    One invocation of each workgroup adds 1 to element 0 of ``counter`` (a buffer of u32 that starts with 0), between two barriers of the
    workgroup, and shares the previous value through workgroup memory. It is unknown which workgroup is last, so the operations must have
    the same effect in each.
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
