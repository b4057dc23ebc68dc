"""The states of the right program before each of its operations: an evaluation of a defect starts before the first wrong one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from cts.defects.remembering import performed_by
from cts.reference.control_flow import run_invocations
from cts.reference.memory import Memory, Terms
from cts.reference.state import State
from cts.verdict.expected import Placed
from generators.program.control_flow import PerInvocation, Stated
from generators.program.operation import Operation
from generators.types import StorageClass


@dataclass
class WatchedMemory(Memory):
    """Memory of a wrong device: it tells ``watch`` of each store, and workgroup memory is zero before."""

    watch: Callable[[Placed], None] = lambda _: None

    def store(self, offsets, expectation, what, cells=None, matrix=None) -> None:  # type: ignore[no-untyped-def]
        """Store as other memory does."""
        super().store(offsets, expectation, what, cells, matrix)
        self.watch(self.placed[-1])

    def unwritten(self, message: str) -> None:
        """Go on in workgroup memory; else raise GeneratorError."""
        if self.array.storage is not StorageClass.WORKGROUP:
            super().unwritten(message)


def own_values(state: State) -> State:
    """Return a state with the same values, which may get others. Both have the same memory."""
    return replace(
        state,
        matrices=dict(state.matrices),
        scalars=dict(state.scalars),
        aggregates=dict(state.aggregates),
        variables=dict(state.variables),
    )


def copy_of(memory: Memory) -> Memory:
    """Return memory with the same contents, which may get others."""
    if memory.status is None:
        return memory
    terms = memory.terms
    return replace(
        memory,
        contents=memory.contents.copy(),
        status=memory.status.copy(),
        placed=list(memory.placed),
        background=list(memory.background),
        terms=Terms(terms.quantum.copy(), terms.magnitude.copy(), terms.counted.copy()) if terms is not None else None,
    )


@dataclass
class Starts:
    """The states before each operation of the program's own list, and before each operation of its single invocations. A program of several
    passes has none.

    Attributes:
        program: the operations of the list.
        operations: the same, each PerInvocation followed by its body.
        around: for each of these, the place of the operation of the program's list that it is, or is inside of.
        states: the states before the first ones.
        places: for each operation, also inside others, the first place in ``operations`` where it is performed.
    """

    program: tuple[Operation, ...]
    operations: list[Operation] = field(default_factory=list)
    around: list[int] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    places: dict[Operation, int] = field(default_factory=dict)
    _copies: dict[str, Memory] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find the places of all operations."""
        for operation in self.program:
            outer = len(self.operations)
            own = operation.body if isinstance(operation, PerInvocation) else ()
            for one in (operation, *own):
                self.operations.append(one)
                self.around.append(outer)
                inside = (one,) if isinstance(one, PerInvocation) else _inside(one)
                for each in inside:
                    self.places.setdefault(each, len(self.operations) - 1)

    def memories(self, state: State) -> dict[str, Memory]:
        """Return the memory of a state as it is now."""
        for name, memory in state.memories.items():
            if name not in self._copies:
                self._copies[name] = copy_of(memory)
        return dict(self._copies)

    def written(self) -> None:
        """Take note that memory has changed."""
        self._copies = {name: memory for name, memory in self._copies.items() if memory.status is None}

    def record(self, state: State, operation: Operation) -> None:
        """Keep the state before an operation, if it is the next one of the list."""
        at = len(self.states)
        if at < len(self.operations) and operation is self.operations[at] and state.outside is None and not state.blocks:
            self.states.append(_copied(state, self.memories(state)))

    def place(self, wrong: Iterable[Operation]) -> int:
        """Return the place before which no wrong operation is performed."""
        return min((self.places.get(one, 0) for one in wrong), default=0)

    def run(self, place: int, lenient: Callable[[State], State]) -> State:
        """Run the program from a place, and return its state at the end.

        Args:
            place: as ``place`` gives it.
            lenient: returns a state with the same values in which a device goes on.
        """
        outer = self.around[place]
        around = self.operations[outer]
        state = lenient(_copied(self.states[outer], {name: copy_of(one) for name, one in self.states[place].memories.items()}))
        after = outer
        if place > outer:
            assert isinstance(around, PerInvocation), "nothing else has operations of the list inside"
            after = outer + 1 + len(around.body)
            inside, first = lenient(_copied(self.states[place], {})), self.states[outer + 1]
            inside.memories = state.memories
            run_invocations(state, around, inside, self.operations[place:after], first.variables, len(first.instances))
            state.drop_returned()
        state.run([one for at, one in enumerate(self.operations) if at >= after and self.around[at] == at])
        return state


def _copied(state: State, memories: dict[str, Memory]) -> State:
    activation = replace(state.activation, returned=list(state.activation.returned))
    return replace(own_values(state), memories=memories, activation=activation)


def _inside(operation: Operation) -> Iterator[Operation]:
    for one in performed_by(operation):
        yield one
        if isinstance(one, Stated):
            yield from _inside(one.effect)
            for inner in one.body:
                yield from _inside(inner)
