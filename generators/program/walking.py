"""The operands, results and regions of operations, and changes to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from generators.program.control_flow import Stated
from generators.program.functions import Call, Function
from generators.program.operation import Operation, Part
from generators.program.values import AnyValue, Operand, Value

Region = tuple[Operation, ...]
SomePart = TypeVar("SomePart", bound=Part)


def names_read(operation: Operation, inside: bool = True) -> set[str]:
    """Return the names of the values that an operation reads, including reads in its regions if ``inside``, but not in functions that it
    calls."""
    found = {value.name for value in values_read(operation)}
    if inside and not isinstance(operation, Call):
        found.update(name for region in regions(operation) for inner in region for name in names_read(inner))
    return found


def values_read(part: Part) -> Iterator[AnyValue | Operand]:
    """Yield the values that an operation or a part of one reads, but not those that its regions read."""
    for name, field in vars(part).items():
        if name not in part.defines:
            yield from _values(field)


def _values(field: object) -> Iterator[AnyValue | Operand]:
    if isinstance(field, Value | Operand):
        yield field
    elif isinstance(field, tuple):
        for one in field:
            yield from _values(one)
    elif isinstance(field, Part) and not isinstance(field, Operation):
        yield from values_read(field)


def results(part: Part) -> Iterator[AnyValue]:
    """Yield the values that an operation computes, but not those that its regions compute."""
    for name, field in vars(part).items():
        if name in part.defines and isinstance(field, Value):
            yield field
        for one in field if isinstance(field, tuple) else (field,):
            if isinstance(one, Part) and not isinstance(one, Operation):
                yield from results(one)


def regions(operation: Operation) -> tuple[Region, ...]:
    """Return the operations inside ``operation``, a tuple for each region that has some. The body of a called function is a region, but not
    the functions that other instructions call."""
    # Every walk asks every operation, and most have no region.
    known: tuple[Region, ...] | None = getattr(operation, "_regions", None)
    if known is None:
        known = (operation.function.body,) if isinstance(operation, Call) else tuple(_regions(operation))
        object.__setattr__(operation, "_regions", known)
    return known


def _regions(part: Part) -> list[Region]:
    found: list[Region] = []
    for field in vars(part).values():
        if isinstance(field, tuple) and field:
            if isinstance(field[0], Operation):
                found.append(field)
                continue
            for one in field:
                if isinstance(one, Part):
                    found += _regions(one)
    return found


def flattened(operations: Sequence[Operation], effects: bool = False) -> Iterator[Operation]:
    """Yield all operations in order, each followed by the operations inside it; with ``effects``, yield the stated effect instead of its
    code."""
    for operation in operations:
        yield operation
        for region in ((operation.effect,),) if effects and isinstance(operation, Stated) else regions(operation):
            yield from flattened(region, effects)


Change = Callable[[Operation], Sequence[Operation]]
"""The replacement of an operation whose inner operations are already changed; the operation alone if it does not change."""


def changed(operations: Sequence[Operation], change: Change) -> Region:
    """Return the operations after changing each of them, including the operations in regions, in stated effects and in called functions."""
    return tuple(after for before in operations for after in change(_inside(before, change)))


def changed_function(function: Function, change: Change) -> Function:
    """Return a function after changing each operation of its body."""
    return replace(function, body=changed(function.body, change))


def _inside(part: SomePart, change: Change) -> SomePart:
    """Return a part, or an operation, after changing the operations inside it."""

    def field(value: Any) -> Any:
        if isinstance(value, Part):
            return _inside(value, change)
        if isinstance(value, tuple) and value and isinstance(value[0], Operation):
            return changed(value, change)
        if isinstance(value, tuple):
            return _each(value, field)
        return changed_function(value, change) if isinstance(part, Call) and isinstance(value, Function) else value

    return _with_fields(part, field)


def with_operands(part: SomePart, change: Callable[[Operand], Operand]) -> SomePart:
    """Return an operation after changing its operands that come from outside, but not those of operations inside it."""

    def field(value: Any) -> Any:
        if isinstance(value, Operand):
            return change(value)
        if isinstance(value, tuple):
            return _each(value, field)
        return with_operands(value, change) if isinstance(value, Part) and not isinstance(value, Operation) else value

    return _with_fields(part, field)


def _each(values: tuple[Any, ...], change: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Return the values after changing each; the same tuple if none changes."""
    after = tuple(map(change, values))
    return values if all(new is old for new, old in zip(after, values, strict=True)) else after


def _with_fields(part: SomePart, change: Callable[[Any], Any]) -> SomePart:
    after = {name: new for name, value in vars(part).items() if (new := change(value)) is not value}
    return replace(part, **after) if after else part
