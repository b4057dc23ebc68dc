"""The operands of an operation, from its declaration."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from generators.program.memory import Array
from generators.program.operation import Operation, Part
from generators.program.values import Operand, Value
from generators.types import ComponentType

Path = tuple[str | int, ...]
"""How to reach an operand from its operation: names of fields and indices of tuples."""

_WITHOUT_MEANING = frozenset(
    {"hint", "control", "memory", "name", "no_contraction", "non_uniform", "ordered", "place", "replicated", "robust"}
)
"""Fields that change no result of the reference model, or that say only how a module declares a value."""


@dataclass(frozen=True)
class Place:
    """An operand of an operation: a value, or a constant such as a layout, a flag or an index."""

    path: Path
    value: Any

    @property
    def words(self) -> str:
        first, *rest = self.path
        return str(first) + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in rest)

    @property
    def is_value(self) -> bool:
        return isinstance(self.value, Value | Operand)


def places_of(part: Part) -> Iterator[Place]:
    """Yield the operands of an operation, except those of operations inside it."""
    for name, field in vars(part).items():
        if name not in part.defines and name not in _WITHOUT_MEANING:
            yield from _inside(field, (name,))


def _inside(field: object, path: Path) -> Iterator[Place]:
    if isinstance(field, Value | Operand | Array | int | enum.Enum | str):
        yield Place(path, field)
    elif isinstance(field, tuple):
        for index, one in enumerate(field):
            yield from _inside(one, (*path, index))
    elif isinstance(field, Part) and not isinstance(field, Operation):
        for place in places_of(field):
            yield Place((*path, *place.path), place.value)


def with_operand(part: Any, path: Path, value: object) -> Any:
    """Return an operation, a part or a tuple with another value at a place."""
    if not path:
        return value
    first, *rest = path
    if isinstance(first, int):
        return (*part[:first], with_operand(part[first], tuple(rest), value), *part[first + 1 :])
    return replace(part, **{first: with_operand(getattr(part, first), tuple(rest), value)})


def component_of(type_: object) -> ComponentType | None:
    """Return the component type of a scalar, a matrix or a vector; None if a type has none."""
    return type_ if isinstance(type_, ComponentType) else getattr(type_, "component", None)
