"""Finds in a record where an element was made, and the bytes from which it came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from cts.element_walk.recording import Loaded, Performed
from cts.element_walk.steps import Step
from cts.verdict.elements import words
from cts.verdict.expected import Placed
from generators.program.arrays import ArrayStore
from generators.program.callbacks import Reduce
from generators.program.control_flow import Carried, Merged
from generators.program.conversion import Transpose, TransposedConvert
from generators.program.cooperative_vector_matmul import CooperativeVectorMatMul
from generators.program.functions import Call
from generators.program.muladd import MatrixMulAdd
from generators.program.operation import Operation, Part
from generators.program.program import Program
from generators.program.walking import flattened

SINGLE_ELEMENTS = "single elements"
"""The stores of scalars by invocations, one element each (cts.reference.arrays)."""

_COMBINE = (MatrixMulAdd, CooperativeVectorMatMul, Reduce)
"""Operations that combine several elements, so an element of theirs has no single origin."""


@dataclass(frozen=True)
class At:
    """An element in a record: the step that made it, the position of its instance there, its row and column."""

    step: int
    lane: int
    row: int
    column: int


def other_names(program: Program) -> Mapping[str, frozenset[str]]:
    """Return the names whose values a name may have without an operation that makes it: of arms, iterations and arguments."""
    found: dict[str, set[str]] = {}

    def add(name: str, *sources: object) -> None:
        found.setdefault(name, set()).update(source.name for source in sources if hasattr(source, "name"))

    def look(part: Part) -> None:
        if isinstance(part, Carried):
            add(part.current.name, part.initial, part.next)
        elif isinstance(part, Merged):
            add(part.result.name, *part.sources)
        elif isinstance(part, Call):
            for parameter, argument in zip(part.function.parameters, part.arguments, strict=True):
                add(parameter.name, argument)
            if part.result is not None and part.function.returned is not None:
                add(part.result.name, part.function.returned)
        for value in vars(part).values():
            for one in value if isinstance(value, tuple) else (value,):
                if isinstance(one, Part) and not isinstance(one, Operation):
                    look(one)

    for operation in flattened(list(program.operations)):
        look(operation)
    return MappingProxyType({name: frozenset(names) for name, names in found.items()})


@dataclass
class Back:
    """A way back through the steps of a record."""

    steps: Sequence[Performed]
    other_names: Mapping[str, frozenset[str]]
    _made: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number_, step in enumerate(self.steps):
            if step.value is not None:
                self._made.setdefault(id(step.value), number_)

    def store(self, placed: Placed, at: tuple[int, int, int]) -> tuple[Step, list[At]]:
        """Return the store of an element as a step, and the element that it wrote."""
        value = words(int(placed.expected.bits[at]), placed.component)
        what = f"{placed.array} byte {int(placed.offsets[at])}: store of {placed.what}"
        for number_, step in enumerate(self.steps):
            # A copy of a whole array keeps the expectations of its elements.
            if any(one.expectation is placed.expectation for one in step.stores):
                text, made = self._written(number_, placed, at)
                return Step(what, value, sources=(text,) if text else ()), [made] if made is not None else []
        return Step(what, value), []

    def _written(self, number_: int, placed: Placed, at: tuple[int, int, int]) -> tuple[str, At | None]:
        """Return the element that a store of a step wrote: in words if it came from memory, and where it was made."""
        step = self.steps[number_]
        if placed.what == SINGLE_ELEMENTS and isinstance(step.operation, ArrayStore):
            return self.part(At(number_, at[1], 0, at[2]), step.operation.value.name, at[1], at[2])
        if len(step.operands) == 1:
            lane, row, column = at if placed.cells is None else placed.cells[at[2]].tolist()
            return "", self._operand(number_, next(iter(step.operands)), lane, row, column)
        read = next((reshaped(one, placed.offsets.shape) for one in step.loads if one.offsets.size == placed.offsets.size), None)
        if read is None or read.offsets[at] < 0:
            return "", None
        return self.bytes_of(read, at, int(placed.expected.bits[at])), self.from_memory(number_, read, at)

    def from_memory(self, before: int, read: Loaded, at: tuple[int, ...]) -> At | None:
        """Return where an element was made that an earlier step stored and this one reads; None if it was there before the dispatch."""
        for number_ in range(before - 1, -1, -1):
            for placed in self.steps[number_].stores:
                if placed.array == read.array.name and len(hits := np.argwhere(placed.offsets == read.offsets[at])):
                    i, j, k = hits[0].tolist()
                    return self._written(number_, placed, (i, j, k))[1]
        return None

    def value(self, at: At) -> str:
        """Return the bits and the value of an element."""
        value = self.steps[at.step].value
        assert value is not None, "a step on the way made a matrix"
        return words(self._bits(at), value.component)

    def _bits(self, at: At) -> int:
        value = self.steps[at.step].value
        assert value is not None, "a step on the way made a matrix"
        return int(value.bits[at.lane, at.row, at.column])

    def operand(self, at: At, name: str, row: int, column: int) -> tuple[str, At | None]:
        """Return an element of an operand in words with its origin, and where it was made if the origin is worth a step of its own."""
        step = self.steps[at.step]
        made = self._operand(at.step, name, at.lane, row, column)
        value = step.operands[name]
        bits = int(value.bits[self.lane(value, at.lane), row, column])
        text = f"{name} ({row}, {column}) = {words(bits, value.component)}"
        # A defect may change a value after it was made.
        if made is None or self._bits(made) != bits:
            return text, None
        origin = self._origin(made)
        return (f"{name} ({row}, {column}): {origin}", None) if origin else (text, made)

    def part(self, at: At, name: str, lane: int, column: int) -> tuple[str, At | None]:
        """Return an element of a scalar or an array that a step read, in words, and where it was made.

        Args:
            at: an element that the step made.
            name: the name of the scalar or array.
            lane: the position among the lanes of the rows.
            column: the index in the array; 0 for a scalar.
        """
        step = self.steps[at.step]
        row = step.rows[name]
        bits = int(row.bits[lane, 0, column])
        what = f"{name}[{column}]" if row.bits.shape[2] > 1 else name
        instance = int(step.row_lanes[lane])
        owner = int(step.row_owners[lane]) if step.row_owners is not None else instance
        made = self._inside(self._latest(at.step, name, instance, owner, 0, column))
        return f"{what} = {words(bits, row.component)}", made if made is not None and self._bits(made) == bits else None

    def bytes_of(self, loaded: Loaded, index: tuple[int, ...], bits: int) -> str:
        """Return an element in memory in words."""
        raw = bits.to_bytes(loaded.component.bytes, "little").hex(" ")
        return f"{loaded.array.name} byte {int(loaded.offsets[index])}: {raw} = {words(bits, loaded.component)}"

    def lane(self, value: Any, lane: int) -> int:
        return lane if lane < len(value.bits) else 0

    def _origin(self, at: At, depth: int = 3) -> str:
        """Return the bytes from which an element came, and its conversions; empty if it was computed."""
        step = self.steps[at.step]
        assert step.value is not None, "a step on the way made a matrix"
        if (loaded := loaded_elements(step)) is not None and not step.is_row:
            index = at.lane, at.row, at.column
            there_before = loaded.offsets[index] >= 0 and self.from_memory(at.step, loaded, index) is None
            return self.bytes_of(loaded, index, int(step.value.bits[index])) if there_before else ""
        if depth == 0 or len(step.operands) != 1 or isinstance(step.operation, _COMBINE):
            return ""
        name, value = next(iter(step.operands.items()))
        row, column = moved(step.operation, at.row, at.column)
        if value.bits.shape[1:] != moved(step.operation, *step.value.bits.shape[1:]):
            return ""
        made = self._operand(at.step, name, at.lane, row, column)
        before = self._origin(made, depth - 1) if made is not None else ""
        return f"{before}, {type(step.operation).__name__} to {self.value(at)}" if before else ""

    def _operand(self, before: int, name: str, lane: int, row: int, column: int) -> At | None:
        """Return where an element of an operand of a step was made; None if the record does not tell."""
        return self._inside(self._maker(before, name, lane, row, column))

    def _inside(self, found: At | None) -> At | None:
        value = None if found is None else self.steps[found.step].value
        inside = found is not None and value is not None and found.row < value.bits.shape[1] and found.column < value.bits.shape[2]
        return found if inside else None

    def _maker(self, before: int, name: str, lane: int, row: int, column: int) -> At | None:
        step = self.steps[before]
        value = step.operands.get(name)
        if value is not None and (made := self._made.get(id(value))) is not None and made < before:
            return At(made, self.lane(value, lane), row, column)
        instance = int(step.instances[lane]) if lane < len(step.instances) else lane
        owner = int(step.owners[lane]) if step.owners is not None and lane < len(step.owners) else instance
        return self._latest(before, name, instance, owner, row, column)

    def _latest(self, before: int, name: str, instance: int, owner: int, row: int, column: int) -> At | None:
        """Return the element of the last value of a name before a step, in an instance that belongs to a scope instance."""
        names = self._closure(name)
        for number_ in range(before - 1, -1, -1):
            other = self.steps[number_]
            if other.name not in names or other.value is None:
                continue
            wanted = owner if other.owners is None else instance
            hits = np.flatnonzero(other.instances == wanted)
            if len(hits) and hits[0] < len(other.value.bits):
                return At(number_, int(hits[0]), row, column)
        return None

    def _closure(self, name: str) -> set[str]:
        found, left = {name}, [name]
        while left:
            for other in self.other_names.get(left.pop(), ()):
                if other not in found:
                    found.add(other)
                    left.append(other)
        return found


def loaded_elements(step: Performed) -> Loaded | None:
    """Return the read that gave a step's elements, one for each; None if there is none."""
    assert step.value is not None, "a step on the way made a matrix"
    return next((one for one in step.loads if one.offsets.shape == step.value.bits.shape), None)


def reshaped(loaded: Loaded, shape: tuple[int, ...]) -> Loaded:
    """Return a read of as many elements in another shape, in the same order."""
    return replace(loaded, offsets=loaded.offsets.reshape(shape), bits=loaded.bits.reshape(shape))


def moved(operation: Operation, row: int, column: int) -> tuple[int, int]:
    """Return the element of the operand that is at a place of the result."""
    return (column, row) if isinstance(operation, Transpose | TransposedConvert) else (row, column)
