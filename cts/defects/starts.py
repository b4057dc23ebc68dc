"""The states of the right program before each of its operations: an evaluation of a defect starts before the first wrong one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from cts.defects.remembering import performed_by
from cts.reference.memory import Memory, Terms
from cts.reference.state import State
from cts.verdict.expected import Placed
from generators.program.control_flow import Stated
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
    """The states before the operations of the program's own list; none for a program of several passes.

    Attributes:
        operations: the list.
        states: the states before the first ones.
        places: for each operation, also inside others, the first place in the list where it is performed.
    """

    operations: tuple[Operation, ...]
    states: list[State] = field(default_factory=list)
    places: dict[Operation, int] = field(default_factory=dict)
    _copies: dict[str, Memory] = field(default_factory=dict)

    @classmethod
    def of(cls, operations: tuple[Operation, ...]) -> Starts:
        """Return no states yet."""
        starts = cls(operations)
        for place, operation in enumerate(operations):
            for one in _inside(operation):
                starts.places.setdefault(one, place)
        return starts

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
            activation = replace(state.activation, returned=list(state.activation.returned))
            self.states.append(replace(own_values(state), memories=self.memories(state), activation=activation))

    def place(self, wrong: Iterable[Operation]) -> int:
        """Return the place before which no wrong operation is performed."""
        return min((self.places.get(one, 0) for one in wrong), default=0)

    def at(self, place: int) -> State:
        """Return the state before the operation at a place, with its own memory."""
        state = self.states[place]
        activation = replace(state.activation, returned=list(state.activation.returned))
        memories = {name: copy_of(memory) for name, memory in state.memories.items()}
        return replace(own_values(state), memories=memories, activation=activation)


def _inside(operation: Operation) -> Iterator[Operation]:
    for one in performed_by(operation):
        yield one
        if isinstance(one, Stated):
            yield from _inside(one.effect)
            for inner in one.body:
                yield from _inside(inner)
