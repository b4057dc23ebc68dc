"""The values that an operation reads, and changes to the operations inside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

from generators.program.control_flow import (
    Branch,
    Carried,
    Condition,
    Exit,
    Loop,
    Merged,
    PerInvocation,
    ReturnBoth,
    Stated,
    Switch,
    bodies,
)
from generators.program.cooperative_vector_matmul import BiasInMemory, MatrixInMemory
from generators.program.functions import Call, Function
from generators.program.operation import Effect, Operation
from generators.program.per_element import StructOperand, VectorOperand
from generators.program.values import Operand, Value
from generators.program.workgroup import LastWorkgroupRan

_READ = (Condition, Merged, VectorOperand, StructOperand, MatrixInMemory, BiasInMemory)


def names_read(operation: Operation, inside: bool = True) -> set[str]:
    """Return the names of the values that an operation reads, including reads in its bodies if ``inside``, but not in functions that it
    calls."""
    found = {value.name for field in fields(operation) if field.name != "result" for value in _values(getattr(operation, field.name))}
    if inside and not isinstance(operation, Call):
        found.update(name for body in bodies(operation) for inner in body for name in names_read(inner))
    return found


def _values(part: object) -> Iterator[Any]:
    if isinstance(part, Value | Operand):
        yield part
    elif isinstance(part, tuple):
        for one in part:
            yield from _values(one)
    elif isinstance(part, Carried):
        yield part.initial
        yield part.next
    elif isinstance(part, _READ):
        for field in fields(part):
            if field.name != "result":
                yield from _values(getattr(part, field.name))


Change = Callable[[Operation], Sequence[Operation]]
"""The replacement of an operation whose inner operations are already changed; the operation alone if it does not change."""


def changed(operations: Sequence[Operation], change: Change) -> tuple[Operation, ...]:
    """Return the operations after changing each of them, including the operations in bodies and in called functions."""
    return tuple(after for before in operations for after in change(_inside(before, change)))


def changed_function(function: Function, change: Change) -> Function:
    """Return a function after changing each operation of its body."""
    return replace(function, body=changed(function.body, change))


def _inside(operation: Operation, change: Change) -> Operation:
    match operation:
        case Loop() | Exit() | LastWorkgroupRan() | PerInvocation():
            return replace(operation, body=changed(operation.body, change))
        case Stated():
            effect = _inside(operation.effect, change)
            assert isinstance(effect, Effect), "an operation keeps its class when operations inside it change"
            return replace(operation, effect=effect, body=changed(operation.body, change))
        case Branch() | ReturnBoth():
            return replace(operation, then=changed(operation.then, change), otherwise=changed(operation.otherwise, change))
        case Switch():
            arms = tuple(replace(arm, body=changed(arm.body, change)) for arm in operation.arms)
            return replace(operation, arms=arms, default=changed(operation.default, change))
        case Call():
            return replace(operation, function=changed_function(operation.function, change))
        case _:
            return operation
