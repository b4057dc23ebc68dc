"""Defects of memory that invocations share: what a compiler that does not see matrix accesses in memory makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from cts.defects.addresses import Access, access_at
from cts.defects.defect import Defect, every, named
from cts.defects.evaluation import Substitute
from cts.defects.glossary import ParameterValue
from cts.reference.load_store import load, place
from cts.reference.state import State
from generators.program.load_store import MatrixLoad, MatrixStore
from generators.program.memory import Array
from generators.program.operation import Operation
from generators.program.program import Program
from generators.program.stated import Stated
from generators.program.workgroup import Copied


def handed_over_defects(program: Program) -> Iterator[Defect]:
    """Every such defect of ``program``."""
    yield from _remembered(program.operations)
    yield from _forgotten_loads(program.operations)
    yield from _first_tile(program)
    yield from _array_strides(program)


def _from(source: Array) -> Substitute:
    def step(state: State, operation: Copied) -> None:
        state.memories[operation.target.name].copy_from(state.memories[source.name], operation.backwards)

    return step


def _remembered(operations: Sequence[Operation]) -> Iterator[Defect]:
    """A plain load gives what the last plain store left, although a matrix was stored since."""
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
    """A matrix load gives the matrix that was stored to the array, not what the place of the load holds."""
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
    """All loads from one array find the first one's tile."""
    by_array: dict[str, list[MatrixLoad]] = {}
    for operation in every(program.operations, MatrixLoad):
        by_array.setdefault(operation.array.name, []).append(operation)
    for name, loads in by_array.items():
        others = [one for one in loads[1:] if one.result.type == loads[0].result.type and one.first != loads[0].first]

        def step(state: State, one: MatrixLoad, first: MatrixLoad = loads[0]) -> None:
            load(state, replace(first, result=one.result))

        if others:
            yield Defect("memory.first_tile", dict.fromkeys(others, step), {"array": name})


def _array_strides(program: Program) -> Iterator[Defect]:
    """Lines lie ArrayStride bytes apart for each element of the stride."""

    def step(state: State, access: Access) -> None:
        at = place(state, access)
        assert at.array.ignored_stride is not None
        times = at.array.ignored_stride // at.array.pointee.bytes
        access_at(state, access, replace(at, stride=[stride * times for stride in at.stride]))

    for array in program.arrays:
        if array.ignored_stride is not None:
            accesses: list[Access] = [*every(program.operations, MatrixLoad), *every(program.operations, MatrixStore)]
            users: list[Operation] = [access for access in accesses if access.array == array]
            parameters: dict[str, ParameterValue] = {"array": array.name, "bytes": array.ignored_stride}
            yield Defect("memory.stride_in_array_strides", dict.fromkeys(users, step), parameters)
