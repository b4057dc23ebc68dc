"""Defects of memory that invocations share: mistakes of a compiler that does not see matrix accesses in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cts.defects.addresses import Access, access_at
from cts.defects.defect import Defect, every, in_all, named
from cts.defects.edits import skipped
from cts.defects.evaluation import Substitute
from cts.defects.known import defects_of
from cts.reference.control_flow import holds
from cts.reference.evaluate import perform
from cts.reference.load_store import load, place
from cts.reference.memory import Memory
from cts.reference.state import State
from generators.program.control_flow import Branch, Stated
from generators.program.load_store import MatrixLoad, MatrixStore
from generators.program.memory import Array
from generators.program.operation import Operation
from generators.program.program import Program
from generators.program.tensor_access import TensorLoad, TensorStore
from generators.program.walking import flattened
from generators.program.workgroup import Barrier, Copied, LastWorkgroupRan, PartCopied

Store = MatrixStore | TensorStore | PartCopied
_STORES: Mapping[type[Operation], str] = {MatrixStore: "matrix", TensorStore: "tensor", PartCopied: "elements"}


@defects_of("memory", Access, Store, TensorLoad, Copied, Barrier, LastWorkgroupRan)
def handed_over_defects(program: Program) -> Iterator[Defect]:
    """Yield every such defect of ``program``."""
    yield from _remembered(program.operations)
    yield from _forgotten_loads(program.operations)
    yield from _first_tile(program)
    yield from _array_strides(program)
    yield from _stores_not_seen(program)
    yield from _lost_after_barriers(program)


def _target(operation: Store) -> Array:
    return operation.target if isinstance(operation, PartCopied) else operation.array


def _source(operation: Operation) -> Array | None:
    """Return the array that an operation reads."""
    match operation:
        case MatrixLoad() | TensorLoad():
            return operation.array
        case PartCopied() | Copied():
            return operation.source
        case _:
            return None


def _stores_not_seen(program: Program) -> Iterator[Defect]:
    """Yield defects: a load after a barrier sees the contents of the array before the last store."""
    stored: dict[str, Store] = {}
    ordered: set[str] = set()
    for operation in flattened(program.operations, effects=True):
        source = _source(operation)
        if source is not None and source.name in ordered:
            yield _store_not_seen(stored[source.name], operation, source.name)
        if isinstance(operation, Store):
            stored[_target(operation).name] = operation
            ordered.discard(_target(operation).name)
        elif isinstance(operation, Barrier | LastWorkgroupRan):
            ordered |= stored.keys()


def _store_not_seen(store: Store, read: Operation, array: str) -> Defect:
    before: list[Memory] = []

    def keep(state: State, operation: Store) -> None:
        memory = state.memories[array]
        status = None if memory.status is None else memory.status.copy()
        before[:] = [replace(memory, contents=memory.contents.copy(), status=status, placed=[], background=[])]
        perform(state, operation)

    def stale(state: State, operation: Operation) -> None:
        now = state.memories[array]
        state.memories[array] = before[0]
        try:
            perform(state, operation)
        finally:
            state.memories[array] = now

    parameters = {"array": array, "store": _STORES[type(store)]}
    return Defect("memory.store_not_seen", {store: keep, read: stale}, parameters)


def _lost_after_barriers(program: Program) -> Iterator[Defect]:
    """Yield defects: a scope instance that executes two barriers in a branch stores nothing after the second one."""
    for number, operation in enumerate(program.operations):
        if not isinstance(operation, Branch):
            continue
        barriers = [position for position, one in enumerate(operation.then) if isinstance(one, Barrier)]
        if len(barriers) < 2 or any(isinstance(one, Barrier) for one in operation.otherwise):
            continue
        lost = every(operation.then[barriers[1] :], *_STORES)
        later = every(program.operations[number + 1 :], *_STORES)

        def elsewhere(state: State, one: Operation, branch: Branch = operation) -> None:
            others = np.flatnonzero(~holds(state, branch.condition))
            if len(others):
                perform(state.part(others), one)

        steps: dict[Operation, Substitute] = dict.fromkeys(lost, skipped)
        yield Defect("memory.lost_after_divided_barriers", steps | dict.fromkeys(later, elsewhere))


def _from(source: Array) -> Substitute:
    def step(state: State, operation: Copied) -> None:
        state.memories[operation.target.name].copy_from(state.memories[source.name], operation.backwards)

    return step


def _remembered(operations: Sequence[Operation]) -> Iterator[Defect]:
    """Yield defects: a plain load returns the value of the last plain store, although a matrix was stored after it."""
    plain: dict[str, Copied] = {}
    covered: set[str] = set()
    for operation in (one.effect if isinstance(one, Stated) else one for one in operations):
        if isinstance(operation, MatrixStore):
            covered.add(operation.array.name)
        elif isinstance(operation, Copied):
            source = operation.source.name
            earlier = plain.get(source)
            if earlier is not None and source in covered and not earlier.backwards:
                yield Defect("memory.stale_plain_load", {operation: _from(earlier.source)}, {"array": source})
            plain[operation.target.name] = operation
            covered.discard(operation.target.name)


def _forgotten_loads(operations: Sequence[Operation]) -> Iterator[Defect]:
    """Yield defects: a matrix load returns the matrix that was last stored to the array, not the contents of the loaded place."""
    stored: dict[str, MatrixStore] = {}
    for operation in operations:
        if isinstance(operation, MatrixStore):
            stored[operation.array.name] = operation
        elif isinstance(operation, MatrixLoad) and operation.array.name in stored:
            matrix = stored[operation.array.name].matrix

            def step(state: State, one: MatrixLoad, name: str = matrix.name) -> None:
                state.matrices[one.result.name] = state.matrices[name]

            parameters = {"matrix": named(operation.result), "stored": matrix.name}
            yield Defect("memory.load_forwarded", {operation: step}, parameters)


def _first_tile(program: Program) -> Iterator[Defect]:
    """Yield defects: all loads from one array return the tile of the first load."""
    by_array: dict[str, list[MatrixLoad]] = {}
    for operation in every(program.operations, MatrixLoad):
        by_array.setdefault(operation.array.name, []).append(operation)
    for name, loads in by_array.items():
        others = [one for one in loads[1:] if one.result.type == loads[0].result.type and one.first != loads[0].first]

        def step(state: State, one: MatrixLoad, first: MatrixLoad = loads[0]) -> None:
            load(state, replace(first, result=one.result))

        yield from in_all("memory.first_tile", others, step, array=name)


def _array_strides(program: Program) -> Iterator[Defect]:
    """Yield defects: the stride counts units of ArrayStride bytes, not elements."""

    def step(state: State, access: Access) -> None:
        at = place(state, access)
        assert at.array.ignored_stride is not None
        times = at.array.ignored_stride // at.array.pointee.bytes
        access_at(state, access, replace(at, stride=[stride * times for stride in at.stride]))

    for array in program.arrays:
        if array.ignored_stride is not None:
            accesses: list[Access] = every(program.operations, MatrixLoad, MatrixStore)
            users = [access for access in accesses if access.array == array]
            yield from in_all("memory.stride_in_array_strides", users, step, array=array.name, bytes=array.ignored_stride)
