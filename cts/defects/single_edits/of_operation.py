"""The single edits of one operation."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain, combinations, islice, pairwise
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from cts.defects.edits import skipped
from cts.defects.evaluation import Substitute
from cts.defects.single_edits.changes import Changed, changes_of, plus
from cts.defects.single_edits.places import Path, Place, component_of, places_of, with_operand
from cts.reference.control_flow import repeat, trip_counts
from cts.reference.evaluate import perform
from cts.reference.state import State
from generators.program.control_flow import Loop
from generators.program.functions import Function, passed_type
from generators.program.memory import Array
from generators.program.operation import Operation, Part
from generators.program.values import AnyValue, Operand, Value
from generators.program.walking import results

EARLIER = 2
"""How many earlier results of the same type are tried in place of an operand."""

_CONFUSED = (
    {"add", "subtract", "multiply"},
    {"divide", "modulo"},
    {"signed_divide", "unsigned_divide"},
    {"and", "or", "xor"},
    {"shift_left", "shift_right", "shift_right_logical", "shift_right_arithmetic"},
)
"""Operators that are taken for each other; a relation or another word may be taken for any other."""

WIDE = 8
"""An operation with more operands of one type than this is wide: most of its edits take one of them in place of another."""


@dataclass(frozen=True)
class SingleEdit:
    """A mistake in one operation.

    Attributes:
        name: of the entry in the glossary's area ``single_edit``.
        step: what the device does in place of the operation.
        where: parameters of the defect, except of those that name the operation.
        back: how many values before the operation the other value is; 0 for one that has another place.
    """

    name: str
    step: Substitute
    where: Mapping[str, str] = field(default_factory=dict)
    back: int = 0

    @property
    def alike(self) -> tuple[str, ...]:
        """What the same mistake in other operations of the kind has in common."""
        return (self.where["operand"], str(self.back)) if self.back else tuple(self.where.values())


NEVER = 1 << 32
"""More rounds than a loop has."""

Chosen = Callable[[Operation, list[Place]], list[Place]]
"""Returns the operands of a wide operation that may be wrong."""


@cache
def _words_of(part: type) -> Mapping[str, tuple[str, ...]]:
    """Return the words that each field of a class may have, if it is declared as one of some words."""
    return {name: get_args(hint) for name, hint in get_type_hints(part).items() if get_origin(hint) is Literal}


def _others(operation: Operation, place: Place, arrays: Sequence[Array]) -> Iterator[Any]:
    """Yield other constants of the same kind, or other arrays."""
    value = place.value
    if isinstance(value, Array):
        yield from (one for one in arrays if one.name != value.name and one.pointee == value.pointee)
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, enum.Flag):
        yield from (value ^ bit for bit in type(value))
    elif isinstance(value, enum.Enum):
        yield from (one for one in type(value) if one is not value)
    elif isinstance(value, int):
        yield from (one for one in dict.fromkeys((0, value - 1, value + 1)) if one != value and one >= 0)
    elif isinstance(value, str):
        owner: Any = operation
        for step in place.path[:-1]:
            owner = owner[step] if isinstance(step, int) else getattr(owner, step)
        of_class: Any = type(owner)
        known = _words_of(of_class) if isinstance(owner, Part) else {}
        alike = next((group for group in _CONFUSED if value in group), None)
        yield from (one for one in known.get(str(place.path[-1]), ()) if one != value and (alike is None or one in alike))


def put(*places: tuple[Path, object]) -> Substitute:
    """Build a step that performs the operation with other operands at some places."""

    def step(state: State, operation: Any) -> None:
        for path, other in places:
            operation = with_operand(operation, path, other)
        perform(state, operation)

    return step


def _passed_on(value: AnyValue | Operand) -> Substitute:
    """Build a step that gives an operand as the result."""

    def step(state: State, operation: Any) -> None:
        if isinstance(value, Operand):
            state.scalars[operation.result.name] = state.scalar(value)
            return
        kinds: tuple[dict[str, Any], ...] = (state.matrices, state.scalars, state.aggregates)
        for of_kind in kinds:
            if value.name in of_kind:
                of_kind[operation.result.name] = of_kind[value.name]

    return step


def _again(path: Path) -> Substitute:
    """Build a step that performs the operation a second time, with its result as an operand."""

    def step(state: State, operation: Any) -> None:
        perform(state, operation)
        perform(state, with_operand(operation, path, operation.result))

    return step


def _twice(state: State, operation: Operation) -> None:
    perform(state, operation)
    perform(state, operation)


def _half(state: State, operation: Any) -> None:
    """Let only the first half of the instances perform the operation."""
    count = len(state.instances)
    if count < 2:
        raise ValueError("a single instance has no half")
    perform(state.part(np.arange(count // 2)), operation)


def _rounds(more: int) -> Substitute:
    """Build a step that runs a loop some rounds more than it should."""

    def step(state: State, operation: Any) -> None:
        trips = np.maximum(trip_counts(state, operation) + more, 0)
        repeat(state, operation, range(int(trips.max(initial=0))), trips)

    return step


def of_rounds(rounds: Callable[[int], Substitute]) -> Iterator[SingleEdit]:
    """Yield the edits of the comparison of a loop's index, ``left``, with its limit, ``right``: the loop runs once more or less, or never.

    Args:
        rounds: builds a step that runs the loop some rounds more than it should.
    """
    left, right, relation = ({"operand": f"condition.{name}"} for name in ("left", "right", "relation"))
    never = rounds(-NEVER)
    yield SingleEdit("operand_one_more", rounds(1), right)
    yield SingleEdit("operand_other", rounds(1), relation | {"other": "less_equal"})
    less = rounds(-1)
    yield SingleEdit("operand_one_more", less, left)
    yield SingleEdit("operand_one_less", less, right)
    yield SingleEdit("operand_zero", never, right)
    yield SingleEdit("operands_exchanged", never, left | {"other": "condition.right"})
    yield SingleEdit("operand_sibling", never, right | {"other": "condition.left"})
    yield SingleEdit("operand_sibling", never, left | {"other": "condition.right"})
    yield SingleEdit("operand_other", never, relation | {"other": "greater"})
    yield SingleEdit("operand_one_less", never, left)


def functions_of(operation: Operation) -> dict[str, Function]:
    """Return the functions that an operation calls, by the names of its fields."""
    return {name: field for name, field in vars(operation).items() if isinstance(field, Function)}


def told(constant: Any) -> str:
    """Name a constant in words."""
    if isinstance(constant, Array):
        return constant.name
    return constant.name or str(constant.value) if isinstance(constant, enum.Enum) else str(constant)


def edits_of(operation: Operation, earlier: list[AnyValue], arrays: Sequence[Array], chosen: Chosen) -> Iterator[SingleEdit]:
    """Yield the single edits of an operation.

    Args:
        operation: the operation.
        earlier: the values that are known before it, the last one last.
        arrays: the arrays of the program.
        chosen: leaves out operands of wide operations.
    """
    places = list(places_of(operation))
    given = [place for place in places if place.is_value]
    if len(given) > WIDE:
        own = chosen(operation, given)
        places = [place for place in places if not place.is_value or place in own]
    yield from _of_result(operation, given)
    if isinstance(operation, Loop):
        yield SingleEdit("once_more", _rounds(1))
        yield SingleEdit("once_less", _rounds(-1))
        yield from of_rounds(_rounds)
    for one, two in combinations(given, 2):
        if (one in places or two in places) and one.value.type == two.value.type and one.value != two.value:
            where = {"operand": one.words, "other": two.words}
            yield SingleEdit("operands_exchanged", put((one.path, two.value), (two.path, one.value)), where)
    for place in places:
        if place.is_value:
            yield from _of_operand(operation, place, given, earlier)
        else:
            for other in _others(operation, place, arrays):
                where = {"operand": place.words, "other": told(other)}
                yield SingleEdit("operand_other", put((place.path, other)), where)
    for name, function in functions_of(operation).items():
        parameters = function.parameters
        for at, (left, right) in enumerate(pairwise(parameters)):
            if passed_type(left) == passed_type(right):
                swapped = replace(function, parameters=(*parameters[:at], right, left, *parameters[at + 2 :]))
                yield SingleEdit("parameters_exchanged", put(((name,), swapped)), {"operand": left.name, "other": right.name})


def _of_operand(operation: Operation, place: Place, given: list[Place], earlier: list[AnyValue]) -> Iterator[SingleEdit]:
    where = {"operand": place.words}
    if place.path[-1] == "stride":
        yield SingleEdit("operand_sixteen_more", Changed(place.value, place.value.type, plus(16), place.path), where)
    component = component_of(place.value.type)
    for name, change, kinds in changes_of(place.value.type):
        assert component is not None, "it changes components"
        if name != "of_first_instance" or not isinstance(place.value, Operand):
            yield SingleEdit(f"operand_{name}", Changed(place.value, component, change, place.path), where | kinds)
    alike = {one.value: one.words for one in given if one.value.type == place.value.type and one.value != place.value}
    inside = [field for field in vars(operation).values() if isinstance(field, tuple)]
    for part in chain.from_iterable(inside):
        if isinstance(part, Part) and not isinstance(part, Operation):
            alike |= {one: one.name for one in results(part) if one.type == place.value.type and one != place.value}
    for other, words in alike.items():
        yield SingleEdit("operand_sibling", put((place.path, other)), where | {"other": words})
    before = (one for one in reversed(earlier) if one.type == place.value.type and one != place.value and one not in alike)
    for number, value in enumerate(islice(before, EARLIER)):
        yield SingleEdit("operand_earlier", put((place.path, value)), where | {"other": value.name}, number + 1)


def _of_result(operation: Operation, given: list[Place]) -> Iterator[SingleEdit]:
    made = getattr(operation, "result", None)
    if not isinstance(made, Value):
        if not any(results(operation)):
            yield from (SingleEdit(name, step) for name, step in (("skipped", skipped), ("twice", _twice), ("half", _half)))
        return
    component = component_of(made.type)
    for name, change, kinds in changes_of(made.type):
        assert component is not None, "it changes components"
        yield SingleEdit(f"result_{name}", Changed(made, component, change), kinds)
    for place in given:
        if place.value.type == made.type:
            yield SingleEdit("passed_on", _passed_on(place.value), {"operand": place.words})
            if component is not made.type:
                yield SingleEdit("again", _again(place.path), {"operand": place.words})
