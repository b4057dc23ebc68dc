"""Defects of pointers: the wrong pointer, a missing move, strides and indices in another unit, another descriptor, blocks that do not share
their bytes. Also defects of modules with several entry points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from cts.defects.addresses import access_at
from cts.defects.defect import Defect, every, in_all
from cts.defects.edits import bits, of_first, skipped, then
from cts.defects.evaluation import Substitute
from cts.defects.known import defects_of
from cts.reference.evaluate import perform
from cts.reference.load_store import Place, place
from cts.reference.pointers import load_at, parts_of, places, point, store_at
from cts.reference.state import State
from cts.reference.variables import define
from generators.program.load_store import MatrixLoad, MatrixStore
from generators.program.operation import Operation
from generators.program.pointers import ElementPointer, PointerLoad, PointerMoved, PointerSelect, PointerStore, arrays_of
from generators.program.program import Program
from generators.program.walking import changed, with_operands
from generators.types import Layout, StorageClass

Through = PointerLoad | PointerStore
_Bend = Callable[[Place, int, int], Place]
"""Takes the right place, and the bytes of a component and of a tight line, and returns the wrong place."""


@defects_of("pointer", PointerSelect, PointerMoved)
def _chosen(program: Program) -> Iterator[Defect]:
    def always(take: Callable[[PointerSelect], Any]) -> Substitute:
        def step(state: State, operation: PointerSelect) -> None:
            define(state, operation.result.name, parts_of(state, take(operation)))

        return step

    def of_first_instance(state: State, operation: PointerSelect) -> None:
        perform(state, operation)
        which, index = parts_of(state, operation.result)
        taken = [parts_of(state, one) for one in (operation.then, operation.otherwise)]
        first = all(part[0] == chosen[0] for part, chosen in zip(taken[0], (which, index), strict=True))
        define(state, operation.result.name, taken[0] if first else taken[1])

    def unmoved(state: State, operation: PointerMoved) -> None:
        define(state, operation.result.name, parts_of(state, operation.pointer))

    selects = every(program.operations, PointerSelect)
    yield from in_all("pointer.first_chosen", selects, always(lambda operation: operation.then))
    yield from in_all("pointer.second_chosen", selects, always(lambda operation: operation.otherwise))
    if program.instances > 1:
        yield from in_all("pointer.chosen_by_first_instance", selects, of_first_instance)
    yield from in_all("pointer.not_moved", every(program.operations, PointerMoved), unmoved)


def _bent(bend: _Bend) -> Substitute:
    def bent(at: Place, access: Through | MatrixLoad | MatrixStore) -> Place:
        type_ = access.result.type if isinstance(access, PointerLoad | MatrixLoad) else access.matrix.type
        lines = type_.shape[1] if at.layout is Layout.ROW_MAJOR else type_.shape[0]
        return bend(at, type_.component.bytes, lines * type_.component.bytes)

    def step(state: State, access: Any) -> None:
        if isinstance(access, MatrixLoad | MatrixStore):
            access_at(state, access, bent(place(state, access), access))
            return
        parts = [(positions, bent(at, access)) for positions, at in places(state, access)]
        if isinstance(access, PointerLoad):
            load_at(state, access, parts)
        else:
            store_at(state, access, parts)

    return step


def _times(at: Place, unit: int) -> Place:
    return replace(at, stride=[stride * unit for stride in at.stride])


@defects_of("pointer", Through, MatrixLoad, MatrixStore)
def _strides(program: Program) -> Iterator[Defect]:
    through: list[Through] = every(program.operations, PointerLoad, PointerStore)
    direct: list[MatrixLoad | MatrixStore] = every(program.operations, MatrixLoad, MatrixStore)
    untyped = [one for one in direct if one.array.is_untyped] + [one for one in through if one.pointer.type.untyped]
    if any(_component_bytes(one) > 1 for one in untyped):
        yield from in_all("pointer.stride_in_components", untyped, _bent(lambda at, component, _: _times(at, component)))
    if any(_pointee_bytes(one) not in (1, _component_bytes(one)) for one in untyped):
        yield from in_all("pointer.stride_in_base_elements", untyped, _bent(lambda at, _, __: _times(at, at.array.pointee.bytes)))

    def tight(at: Place, _: int, line: int) -> Place:
        return replace(at, stride=[line // at.array.stride_bytes] * len(at.stride))

    yield from in_all("pointer.stride_ignored", through, _bent(tight))


def _component_bytes(access: Any) -> int:
    type_ = access.result.type if isinstance(access, PointerLoad | MatrixLoad) else access.matrix.type
    return int(type_.component.bytes)


def _pointee_bytes(access: Any) -> int:
    return int(access.pointer.type.bytes if isinstance(access, PointerLoad | PointerStore) else access.array.pointee.bytes)


@defects_of("pointer", MatrixLoad, MatrixStore)
def _base_types(program: Program) -> Iterator[Defect]:
    """Yield defects: the index of an untyped chain counts elements of the variable's own type."""
    direct: list[MatrixLoad | MatrixStore] = every(program.operations, MatrixLoad, MatrixStore)
    found = [one for one in direct if one.array.is_untyped and one.array.owner.pointee.bytes != one.array.pointee.bytes]

    def owners(at: Place, _: int, __: int) -> Place:
        owner = at.array.owner.pointee
        return replace(at, array=replace(at.array, pointee=owner, length=at.array.bytes // owner.bytes))

    yield from in_all("pointer.base_type_ignored", found, _bent(owners))


@defects_of("descriptor", ElementPointer)
def _descriptors(program: Program) -> Iterator[Defect]:
    chosen = [one for one in every(program.operations, ElementPointer) if one.which is not None]

    def other(take: Callable[[np.ndarray, int], np.ndarray]) -> Substitute:
        def step(state: State, operation: ElementPointer) -> None:
            assert operation.which is not None, "a descriptor is chosen"
            which = take(state.scalar(operation.which), len(operation.arrays))
            point(state, operation.result, operation.arrays, which, state.scalar(operation.index))

        return step

    yield from in_all("descriptor.first_chosen", chosen, other(lambda which, _: np.zeros_like(which)))
    yield from in_all("descriptor.next_chosen", chosen, other(lambda which, count: (which + np.uint64(1)) % np.uint64(count)))
    if any(one.non_uniform for one in chosen):
        yield from in_all("descriptor.chosen_by_first_instance", chosen, other(lambda which, _: of_first(which)))


@defects_of("workgroup_block", MatrixLoad)
def _blocks(program: Program) -> Iterator[Defect]:
    """Yield defects: loads from a block that shares another block's bytes return zeros, or ignore the offset of their block's array."""
    shared = [one for one in every(program.operations, MatrixLoad) if _is_alias(one)]

    def unshifted(at: Place, _: int, __: int) -> Place:
        return replace(at, array=replace(at.array, block=at.array.owner.block))

    yield from in_all("workgroup_block.not_shared", shared, then(bits(np.zeros_like)))
    yield from in_all("workgroup_block.offset_ignored", shared, _bent(unshifted))


def _is_alias(operation: Operation) -> bool:
    return any(
        array.alias_of is not None and array.storage is StorageClass.WORKGROUP and not array.is_untyped for array in arrays_of(operation)
    )


@defects_of("entry_point", Operation)
def _entry_points(program: Program) -> Iterator[Defect]:
    names = {array.name for array in program.arrays}
    for further in program.further:
        other = further.program
        same = other.operations and names == {array.name for array in other.arrays} and other.instances == program.instances

        def run(state: State, _: Operation, instead: Program = other) -> None:
            # Not state.perform: it would substitute operations that equal those of the first program again.
            for operation in instead.operations:
                perform(state, operation)

        if same and all(mine == theirs for mine, theirs in zip(program.arrays, other.arrays, strict=True)):
            first, *rest = program.operations
            yield Defect("entry_point.other_runs", {first: run, **dict.fromkeys(rest, skipped)})
        yield from _other_constants(program, other)


def _other_constants(program: Program, other: Program) -> Iterator[Defect]:
    """Yield a defect: specialization constants have the values of the other entry point's constants with the same names."""
    values = {operand.name: operand for operand in other.operands if operand.source == "specialization"}
    wrong = {
        operand: replace(operand, value=values[operand.name].value)
        for operand in program.operands
        if operand.source == "specialization" and operand.name in values and values[operand.name].type == operand.type
    }
    steps: dict[Operation, Substitute] = {}
    for operation in program.operations:
        (instead,) = changed((operation,), lambda one: (with_operands(one, lambda operand: wrong.get(operand, operand)),))
        if instead != operation:

            def step(state: State, _: Operation, done: Operation = instead) -> None:
                state.perform(state, done)

            steps[operation] = step
    if steps:
        yield Defect("entry_point.constants_of_other", steps)
