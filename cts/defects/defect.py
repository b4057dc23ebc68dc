"""A defect: what an implementation would do in place of the specification's steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from cts.reference.state import State
from generators.program.control_flow import flattened
from generators.program.program import Operation
from generators.program.values import Matrix

Kind = TypeVar("Kind", bound=Operation)
Substitute = Callable[[State, Any], None]


@dataclass(frozen=True)
class Defect:
    """``words`` say what is done wrong; ``substitutes`` are the wrong steps."""

    words: str
    substitutes: Mapping[Operation, Substitute]


def every(operations: Iterable[Operation], kind: type[Kind]) -> list[Kind]:
    """The operations of a kind, also inside loops and branches, in order."""
    return [operation for operation in flattened(list(operations)) if isinstance(operation, kind)]


def each_and_all(operations: Sequence[Kind], what: Callable[[Kind], str], together: str, words: str, step: Substitute) -> Iterator[Defect]:
    """The defect in each of ``operations`` alone, then in all of them.

    Args:
        operations: of one kind.
        what: names one of them. ``together``: names all.
        words: what is done wrong, after the name.
        step: the wrong step.
    """
    for operation in operations:
        yield Defect(f"{what(operation)} {words}", {operation: step})
    if len(operations) > 1:
        yield Defect(f"{together} {words}", dict.fromkeys(operations, step))


def named(matrix: Matrix) -> str:
    """The matrix in words: ``matrix A`` for one called ``a`` or ``matrix_a``, ``matrix product``, ``the matrix (use B)``."""
    name = matrix.name.removeprefix("matrix").strip("_")
    if not name:
        return f"the matrix (use {matrix.type.use_value.name})"
    return f"matrix {name.upper() if name[1:].isdigit() or len(name) == 1 else name}"
