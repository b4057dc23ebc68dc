"""A defect: steps that an implementation would take in place of the specification's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from cts.defects.evaluation import Substitute
from cts.defects.glossary import EVERY, ParameterValue, glossary
from cts.verdict.expected import Expected
from generators.program.control_flow import flattened
from generators.program.operation import Operation
from generators.program.values import Matrix

SomeOperation = TypeVar("SomeOperation", bound=Operation)
Condition = Callable[[Expected, Expected, Mapping[str, np.ndarray], Mapping[str, np.ndarray]], bool]


@dataclass(frozen=True)
class Defect:
    """A mistake of the glossary at a place in a program.

    Attributes:
        id: of the glossary's entry.
        substitutes: the wrong steps.
        parameters: where in the program it is, and what kind of mistake: what the entry's text has in braces.
        also: what else holds of the outputs of a device with it, where single elements do not say it: given what is expected, what the
            defect gives, and the buffers before and after. None for nothing.
    """

    id: str
    substitutes: Mapping[Operation, Substitute]
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    also: Condition | None = None

    @property
    def text(self) -> str:
        """What a message says about it."""
        return glossary().sentence(self.id, self.parameters)

    @property
    def kind(self) -> str:
        """The id with the parameters that make another kind of mistake, which is the same in every program."""
        return glossary().kind(self.id, self.parameters)


def every(operations: Iterable[Operation], kind: type[SomeOperation]) -> list[SomeOperation]:
    """Return the operations of a kind, also inside loops and branches, and effects in place of the code that has them, in order."""
    return [operation for operation in flattened(list(operations), effects=True) if isinstance(operation, kind)]


def each_and_all(
    operations: Sequence[SomeOperation],
    id_: str,
    subject: str,
    name: Callable[[SomeOperation], str],
    step: Substitute,
    also: Callable[[SomeOperation], Mapping[str, ParameterValue]] | None = None,
    **kinds: str | int,
) -> Iterator[Defect]:
    """Yield the defect in each of ``operations`` alone, then in all of them.

    Args:
        operations: of one kind.
        id_: of the defect.
        subject: the parameter that names the operation.
        name: its value.
        step: the wrong step.
        also: other parameters that say where one operation is.
        kinds: parameters that all of them share.
    """
    for operation in operations:
        own = also(operation) if also else {}
        yield Defect(id_, {operation: step}, {subject: name(operation), **own, **kinds})
    if len(operations) > 1:
        yield Defect(id_, dict.fromkeys(operations, step), {subject: EVERY, **kinds})


def named(matrix: Matrix) -> str:
    """Name the matrix in words: ``matrix A`` for one called ``a`` or ``matrix_a``, ``matrix product``, ``the matrix (use B)``."""
    name = matrix.name.removeprefix("matrix").strip("_")
    if not name:
        return f"the matrix (use {matrix.type.use_value.name})"
    return f"matrix {name.upper() if name[1:].isdigit() or len(name) == 1 else name}"
