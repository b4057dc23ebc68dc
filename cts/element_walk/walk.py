"""Follows one element from its store back to the bytes in memory, in a record of the reference model's steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np

from cts.element_walk.recording import Loaded, Performed
from cts.verdict.elements import number, words
from cts.verdict.expected import Expected, Interval, Placed, ValueSet
from generators.errors import CtsError
from generators.numerics.formats import integers, values
from generators.program.callbacks import Reduce
from generators.program.control_flow import Carried, Merged
from generators.program.conversion import Transpose, TransposedConvert
from generators.program.cooperative_vector_matmul import CooperativeVectorMatMul, interpretation_value
from generators.program.functions import Call, Function
from generators.program.muladd import MatrixMulAdd
from generators.program.operation import Operation, Part
from generators.program.program import Program
from generators.program.variables import VariableLoad, VariableStore
from generators.program.walking import flattened
from generators.types import ComponentType, MatrixOperands, ReduceMode

MOST_STEPS = 16
"""Maximum number of steps of a walk."""

MOST_TERMS = 64
"""Maximum number of terms of a sum that a step lists."""

_MOST_INSTEAD = 4


class NoSuchElement(CtsError):
    """A dispatch does not write the element."""


@dataclass(frozen=True)
class Place:
    """An element of an array that a dispatch wrote: the array, and instance, row and column in the stored matrix."""

    array: str
    instance: int
    row: int
    column: int


@dataclass(frozen=True)
class Term:
    """A term of a sum, in words: its index, the two factors, their product, and the exact sum up to and including it. A group of elements
    that a reduction combines has only ``left``."""

    index: str
    left: str
    right: str = ""
    product: str = ""
    total: str = ""


@dataclass(frozen=True)
class Step:
    """One operation on the way back.

    Attributes:
        what: which element of which matrix it is, and the operation that made it.
        value: its bits and value.
        terms: the terms of the sum, or the elements that a reduction combines.
        left_out: number of further terms.
        sources: the other elements and bytes that it was made from.
        suspected: its bits and value with the suspected defect, if they differ.
        instead: the first terms and sources with the suspected defect that differ.
    """

    what: str
    value: str
    terms: tuple[Term, ...] = ()
    left_out: int = 0
    sources: tuple[str, ...] = ()
    suspected: str = ""
    instead: tuple[str, ...] = ()


@dataclass(frozen=True)
class Walk:
    """How an element came about.

    Attributes:
        place: the element.
        offset: its byte in the array.
        what: the stored matrix.
        expected: the permitted values.
        steps: from the store back to the loads.
        more: whether the way goes on.
    """

    place: Place
    offset: int
    what: str
    expected: str
    steps: tuple[Step, ...]
    more: bool

    @property
    def departure(self) -> Step | None:
        """The step at which the suspected defect leaves the way: the step farthest back that it changes."""
        return next((step for step in reversed(self.steps) if step.suspected), None)


@dataclass(frozen=True)
class _At:
    """An element in a record: the step that made it, the position of its instance there, its row and column."""

    step: int
    lane: int
    row: int
    column: int


def walk(program: Program, steps: Sequence[Performed], expected: Expected, place: Place) -> Walk:
    """Return how an element came about.

    Args:
        program: the program that ran.
        steps, expected: from cts.element_walk.recording.recorded.
        place: the element.

    Raises:
        NoSuchElement: the dispatch does not write it.
    """
    placed, at = _placed(expected, place)
    back = _Back(steps, _other_names(program))
    first, queue = back.store(placed, at)
    found = [first]
    seen = set()
    more = False
    while queue:
        one = queue.pop(0)
        if one in seen:
            continue
        if len(found) == MOST_STEPS:
            more = True
            break
        seen.add(one)
        step, sources = back.step(one)
        found.append(step)
        queue += sources
    allowed = _allowed(placed.permitted, at)
    return Walk(place, int(placed.offsets[at]), placed.what, allowed, tuple(found), more)


def departing(right: Walk, wrong: Walk) -> Walk:
    """Return a walk whose steps say where a walk with the suspected defect has other values.

    A step is the same in both if it is about the same element, the same number of times after an equal one.
    """
    others = dict(_counted(wrong.steps))
    return replace(right, steps=tuple(_beside(step, others.get(key, step)) for key, step in _counted(right.steps)))


def _beside(step: Step, other: Step) -> Step:
    if step.value == other.value:
        return step
    pairs = [*zip(_lines(step), _lines(other), strict=False)]
    return replace(step, suspected=other.value, instead=tuple(line for own, line in pairs if own != line)[:_MOST_INSTEAD])


def _lines(step: Step) -> Iterator[str]:
    yield from step.sources
    for term in step.terms:
        yield ", ".join(filter(None, (term.left, term.right)))


def _counted(steps: Sequence[Step]) -> Iterator[tuple[tuple[str, int], Step]]:
    numbers: dict[str, int] = {}
    for step in steps:
        numbers[step.what] = numbers.get(step.what, 0) + 1
        yield (step.what, numbers[step.what]), step


def _placed(expected: Expected, place: Place) -> tuple[Placed, tuple[int, int, int]]:
    for placed in expected.placed:
        if placed.array != place.array:
            continue
        wanted = (place.instance, place.row, place.column)
        if placed.cells is not None:
            hits = np.flatnonzero((placed.cells == wanted).all(axis=1))
            if len(hits):
                return placed, (0, 0, int(hits[0]))
        elif all(index < size for index, size in zip(wanted, placed.offsets.shape, strict=True)):
            return placed, wanted
    raise NoSuchElement(
        f"no store to {place.array} has an element ({place.row}, {place.column}) of instance {place.instance}: "
        f"'cts show CASE --expected' lists the stores"
    )


def _allowed(allowed: ValueSet, at: tuple[int, int, int]) -> str:
    component = allowed.component
    if isinstance(allowed, Interval):
        nearest = words(int(allowed.bits[at]), component)
        return f"{number(float(allowed.low[at]))} to {number(float(allowed.high[at]))}, nearest {nearest}"
    return " or ".join(dict.fromkeys(words(int(choice[at]), component) for choice in allowed.choices))


def _other_names(program: Program) -> Mapping[str, frozenset[str]]:
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


Sources = tuple[tuple[Term, ...], int, tuple[str, ...], list[_At]]
"""The terms of a step, the number of terms left out, its other sources in words, and the elements to follow."""


@dataclass
class _Back:
    """A way back through the steps of a record."""

    steps: Sequence[Performed]
    other_names: Mapping[str, frozenset[str]]
    _made: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number_, step in enumerate(self.steps):
            if step.value is not None:
                self._made.setdefault(id(step.value), number_)

    def store(self, placed: Placed, at: tuple[int, int, int]) -> tuple[Step, list[_At]]:
        """Return the store of an element as a step, and the element that it wrote."""
        value = words(int(placed.expected.bits[at]), placed.component)
        what = f"{placed.array} byte {int(placed.offsets[at])}: store of {placed.what}"
        for number_, step in enumerate(self.steps):
            # A copy of a whole array keeps the expectations of its elements.
            if any(one.expectation is placed.expectation for one in step.stores):
                text, made = self._written(number_, placed, at)
                return Step(what, value, sources=(text,) if text else ()), [made] if made is not None else []
        return Step(what, value), []

    def _written(self, number_: int, placed: Placed, at: tuple[int, int, int]) -> tuple[str, _At | None]:
        """Return the element that a store of a step wrote: in words if it came from memory, and where it was made."""
        step = self.steps[number_]
        if len(step.operands) == 1:
            lane, row, column = at if placed.cells is None else placed.cells[at[2]].tolist()
            return "", self._operand(number_, next(iter(step.operands)), lane, row, column)
        read = next((_shaped(one, placed.offsets.shape) for one in step.loads if one.offsets.size == placed.offsets.size), None)
        if read is None or read.offsets[at] < 0:
            return "", None
        return self.bytes_of(read, at, int(placed.expected.bits[at])), self.from_memory(number_, read, at)

    def from_memory(self, before: int, read: Loaded, at: tuple[int, ...]) -> _At | None:
        """Return where an element was made that an earlier step stored and this one reads; None if it was there before the dispatch."""
        for number_ in range(before - 1, -1, -1):
            for placed in self.steps[number_].stores:
                if placed.array == read.array.name and len(hits := np.argwhere(placed.offsets == read.offsets[at])):
                    i, j, k = hits[0].tolist()
                    return self._written(number_, placed, (i, j, k))[1]
        return None

    def step(self, at: _At) -> tuple[Step, list[_At]]:
        """Return a step, and the elements of other steps from which it was made."""
        step = self.steps[at.step]
        assert step.value is not None, "a step on the way made a matrix"
        sources = _SOURCES.get(type(step.operation), _plain)
        terms, left_out, others, followed = sources(self, at, step)
        function = getattr(step.operation, "function", None)
        named = f" with {function.name}" if isinstance(function, Function) else ""
        what = f"{step.name} ({at.row}, {at.column}): {type(step.operation).__name__}{named}"
        return Step(what, self.value(at), terms, left_out, others, ""), followed

    def value(self, at: _At) -> str:
        """Return the bits and the value of an element."""
        value = self.steps[at.step].value
        assert value is not None, "a step on the way made a matrix"
        return words(self._bits(at), value.component)

    def _bits(self, at: _At) -> int:
        value = self.steps[at.step].value
        assert value is not None, "a step on the way made a matrix"
        return int(value.bits[at.lane, at.row, at.column])

    def operand(self, at: _At, name: str, row: int, column: int) -> tuple[str, _At | None]:
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

    def bytes_of(self, loaded: Loaded, index: tuple[int, ...], bits: int) -> str:
        """Return an element in memory in words."""
        raw = bits.to_bytes(loaded.component.bytes, "little").hex(" ")
        return f"{loaded.array.name} byte {int(loaded.offsets[index])}: {raw} = {words(bits, loaded.component)}"

    def lane(self, value: Any, lane: int) -> int:
        return lane if lane < len(value.bits) else 0

    def _origin(self, at: _At, depth: int = 3) -> str:
        """Return the bytes from which an element came, and its conversions; empty if it was computed."""
        step = self.steps[at.step]
        assert step.value is not None, "a step on the way made a matrix"
        if (loaded := _loaded(step)) is not None:
            index = at.lane, at.row, at.column
            there_before = loaded.offsets[index] >= 0 and self.from_memory(at.step, loaded, index) is None
            return self.bytes_of(loaded, index, int(step.value.bits[index])) if there_before else ""
        if depth == 0 or len(step.operands) != 1 or type(step.operation) in _SUMS:
            return ""
        name, value = next(iter(step.operands.items()))
        row, column = _moved(step.operation, at.row, at.column)
        if value.bits.shape[1:] != _moved(step.operation, *step.value.bits.shape[1:]):
            return ""
        made = self._operand(at.step, name, at.lane, row, column)
        before = self._origin(made, depth - 1) if made is not None else ""
        return f"{before}, {type(step.operation).__name__} to {self.value(at)}" if before else ""

    def _operand(self, before: int, name: str, lane: int, row: int, column: int) -> _At | None:
        """Return where an element of an operand of a step was made; None if the record does not tell."""
        found = self._maker(before, name, lane, row, column)
        value = None if found is None else self.steps[found.step].value
        inside = value is not None and row < value.bits.shape[1] and column < value.bits.shape[2]
        return found if inside else None

    def _maker(self, before: int, name: str, lane: int, row: int, column: int) -> _At | None:
        step = self.steps[before]
        value = step.operands.get(name)
        if value is not None and (made := self._made.get(id(value))) is not None and made < before:
            return _At(made, self.lane(value, lane), row, column)
        names = self._closure(name)
        instance = int(step.instances[lane]) if lane < len(step.instances) else lane
        owner = int(step.owners[lane]) if step.owners is not None and lane < len(step.owners) else instance
        for number_ in range(before - 1, -1, -1):
            other = self.steps[number_]
            if other.name not in names or other.value is None:
                continue
            wanted = owner if other.owners is None else instance
            hits = np.flatnonzero(other.instances == wanted)
            if len(hits) and hits[0] < len(other.value.bits):
                return _At(number_, int(hits[0]), row, column)
        return None

    def _closure(self, name: str) -> set[str]:
        found, left = {name}, [name]
        while left:
            for other in self.other_names.get(left.pop(), ()):
                if other not in found:
                    found.add(other)
                    left.append(other)
        return found


def _loaded(step: Performed) -> Loaded | None:
    """Return the read that gave a step's elements, one for each; None if there is none."""
    assert step.value is not None, "a step on the way made a matrix"
    return next((one for one in step.loads if one.offsets.shape == step.value.bits.shape), None)


def _shaped(loaded: Loaded, shape: tuple[int, ...]) -> Loaded:
    """Return a read of as many elements in another shape, in the same order."""
    return replace(loaded, offsets=loaded.offsets.reshape(shape), bits=loaded.bits.reshape(shape))


def _moved(operation: Operation, row: int, column: int) -> tuple[int, int]:
    """Return the element of the operand that is at a place of the result."""
    return (column, row) if isinstance(operation, Transpose | TransposedConvert) else (row, column)


def _plain(back: _Back, at: _At, step: Performed) -> Sources:
    """Return the sources of an element that depends on the elements at its place alone, or on bytes in memory."""
    assert step.value is not None, "a step on the way made a matrix"
    texts: list[str] = []
    followed: list[_At] = []
    index = at.lane, at.row, at.column
    if (loaded := _loaded(step)) is not None and loaded.offsets[index] >= 0:
        texts.append(back.bytes_of(loaded, index, int(step.value.bits[index])))
        if (made := back.from_memory(at.step, loaded, index)) is not None:
            followed.append(made)
    row, column = _moved(step.operation, at.row, at.column)
    shape = _moved(step.operation, *step.value.bits.shape[1:])
    for name, value in step.operands.items():
        if value.bits.shape[1:] == shape:
            text, made = back.operand(at, name, row, column)
            texts.append(text)
            followed += [made] if made is not None else []
        else:
            texts.append(f"{name}, {value.bits.shape[1]} x {value.bits.shape[2]}")
    return (), 0, tuple(texts), followed


def _sum(factors: Sequence[tuple[str, Fraction, str, Fraction]], addend: tuple[str, Fraction], followed: list[_At]) -> Sources:
    """Return the terms of a sum, exactly."""
    total = addend[1]
    terms = [Term("", addend[0], total=_exact(total))]
    for index, (left, one, right, other) in enumerate(factors[:MOST_TERMS]):
        total += one * other
        terms.append(Term(str(index), left, right, _exact(one * other), _exact(total)))
    return tuple(terms), max(0, len(factors) - MOST_TERMS), (), followed


def _exact(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 and abs(value) < 1 << 64 else number(float(value))


def _number(bits: int, component: ComponentType, signed: bool | None = None) -> Fraction:
    """Return the number that bits stand for; zero if it is not finite."""
    array = np.array([bits], component.bits_dtype)
    value = values(array, component)[0] if component.is_float or signed is None else integers(array, component, signed)[0]
    return (
        Fraction(float(value)) if component.is_float and np.isfinite(value) else Fraction(0) if component.is_float else Fraction(int(value))
    )


def _multiply_add(back: _Back, at: _At, step: Performed) -> Sources:
    operation = step.operation
    assert isinstance(operation, MatrixMulAdd), "the table says so"
    flags = operation.operands or MatrixOperands.NONE
    a, b, c = (step.operands[one.name] for one in (operation.a, operation.b, operation.c))
    signs = [bool(flags & flag) for flag in (MatrixOperands.A_SIGNED, MatrixOperands.B_SIGNED, MatrixOperands.C_SIGNED)]
    followed: list[_At] = []

    def element(value: Any, name: str, row: int, column: int, signed: bool) -> tuple[str, Fraction]:
        text, made = back.operand(at, name, row, column)
        if made is not None:
            followed.append(made)
        bits = int(value.bits[back.lane(value, at.lane), row, column])
        return text, _number(bits, value.component, signed)

    addend = element(c, operation.c.name, at.row, at.column, signs[2])
    factors = [
        (*element(a, operation.a.name, at.row, k, signs[0]), *element(b, operation.b.name, k, at.column, signs[1]))
        for k in range(a.bits.shape[2])
    ]
    return _sum(factors, addend, _first_of_each(followed))


def _first_of_each(followed: Sequence[_At]) -> list[_At]:
    """Return the first element of each step: its neighbours came about in the same way."""
    return list({one.step: one for one in reversed(followed)}.values())[::-1]


def _matrix_times_vector(back: _Back, at: _At, step: Performed) -> Sources:
    operation = step.operation
    assert isinstance(operation, CooperativeVectorMatMul), "the table says so"
    vector = step.operands[operation.input.name]
    count, row = vector.bits.shape[2], at.column
    matrix = next(
        (one for one in step.loads if one.offsets.ndim == 3 and one.offsets.shape[2] == count and one.offsets.shape[1] > row), None
    )
    bias = next((one for one in step.loads if one is not matrix and one.offsets.ndim == 3 and one.offsets.shape[1] > row), None)
    found = [back.operand(at, operation.input.name, 0, k) for k in range(count)]
    followed = _first_of_each([made for _, made in found if made is not None])
    interpretation = interpretation_value(operation.interpretation)
    if matrix is None or interpretation.packed or interpretation.component is not vector.component:
        # The input is converted or unpacked inside the instruction.
        return tuple(Term(str(k), text) for k, (text, _) in enumerate(found[:MOST_TERMS])), max(0, count - MOST_TERMS), (), followed
    factors = []
    for k, (text, _) in enumerate(found):
        index = at.lane, row, k
        bits = int(matrix.bits[index])
        own = _number(int(vector.bits[back.lane(vector, at.lane), 0, k]), vector.component)
        factors.append((back.bytes_of(matrix, index, bits), _number(bits, matrix.component), text, own))
    addend = "", Fraction(0)
    if bias is not None:
        bits = int(bias.bits[at.lane, row, 0])
        addend = back.bytes_of(bias, (at.lane, row, 0), bits), _number(bits, bias.component)
    return _sum(factors, addend, followed)


def _variable(back: _Back, at: _At, step: Performed) -> Sources:
    """Return the last value that was stored to a variable and has the element."""
    operation = step.operation
    assert isinstance(operation, VariableLoad), "the table says so"
    for number_ in range(at.step - 1, -1, -1):
        other = back.steps[number_]
        if not isinstance(other.operation, VariableStore) or other.operation.variable.name != operation.variable.name:
            continue
        stored = replace(at, step=number_)
        for name, value in other.operands.items():
            if at.row < value.bits.shape[1] and at.column < value.bits.shape[2]:
                text, made = back.operand(stored, name, at.row, at.column)
                if text.endswith(back.value(at)):
                    return (), 0, (text,), [made] if made is not None else []
    return (), 0, (), []


def _reduction(back: _Back, at: _At, step: Performed) -> Sources:
    operation = step.operation
    assert isinstance(operation, Reduce), "the table says so"
    rows, columns = step.operands[operation.matrix.name].bits.shape[1:]
    match operation.mode:
        case ReduceMode.ROW:
            group = [(at.row, k) for k in range(columns)]
        case ReduceMode.COLUMN:
            group = [(k, at.column) for k in range(rows)]
        case ReduceMode.TWO_BY_TWO:
            group = [(2 * at.row + i, 2 * at.column + j) for i in (0, 1) for j in (0, 1)]
        case _:
            group = [(i, j) for i in range(rows) for j in range(columns)]
    found = [back.operand(at, operation.matrix.name, *one) for one in group[:MOST_TERMS]]
    terms = tuple(Term(str(k), text) for k, (text, _) in enumerate(found))
    return terms, max(0, len(group) - MOST_TERMS), (), _first_of_each([made for _, made in found if made is not None])


_SOURCES: Mapping[type[Operation], Callable[[_Back, _At, Performed], Sources]] = MappingProxyType(
    {MatrixMulAdd: _multiply_add, CooperativeVectorMatMul: _matrix_times_vector, Reduce: _reduction, VariableLoad: _variable}
)
"""How the sources of an element are found, for operations whose elements do not depend on the elements at their own place alone."""

_SUMS = frozenset(_SOURCES)
