"""A defect: steps that an implementation would take in place of the specification's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from cts.defects.evaluation import Substitute
from cts.defects.glossary import EVERY, ParameterValue, glossary
from cts.verdict.expected import Expected
from generators.program.operation import Operation
from generators.program.values import Matrix
from generators.program.walking import flattened

SomeOperation = TypeVar("SomeOperation", bound=Operation)
Condition = Callable[[Expected, Expected, Mapping[str, np.ndarray], Mapping[str, np.ndarray]], bool]


@dataclass(frozen=True)
class Defect:
    """A mistake of the glossary at a place in a program.

    Attributes:
        id: the id of the glossary's entry.
        substitutes: the wrong steps.
        parameters: values for the names in braces of the entry's text: where in the program the mistake is, and of which kind.
        also: a condition on all outputs together, if single elements cannot show the defect. It gets the expected results, the defect's
            results, and the buffers before and after.
    """

    id: str
    substitutes: Mapping[Operation, Substitute]
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    also: Condition | None = None

    @property
    def text(self) -> str:
        """The sentence of a message."""
        return glossary().sentence(self.id, self.parameters)

    @property
    def where(self) -> str:
        """The parameters in one word; with the id, it tells the defect from all others of a program."""
        return "/".join(f"{name}:{'every' if value is EVERY else value}" for name, value in self.parameters.items())

    @property
    def changes_others(self) -> bool:
        """Whether it changes other values than the results of its operations."""
        return glossary().entries[self.id].changes_others

    @property
    def kind(self) -> str:
        """The id with the parameters that make another kind of mistake; it is the same in every program."""
        return glossary().kind(self.id, self.parameters)


def every(operations: Iterable[Operation], *kinds: type[SomeOperation]) -> list[SomeOperation]:
    """Return the operations of one kind after the other, those of a kind in order, also from inside loops and branches; code with a stated
    effect counts as its effect."""
    listed = list(flattened(list(operations), effects=True))
    return [operation for kind in kinds for operation in listed if isinstance(operation, kind)]


def result_of(operation: Any) -> str:
    """Return the name of the operation's result."""
    return str(operation.result.name)


def named_result(operation: Any) -> str:
    """Name the matrix that is the operation's result, in words."""
    return named(operation.result)


def each_and_all(
    operations: Sequence[SomeOperation],
    id_: str,
    subject: str,
    step: Substitute,
    name: Callable[[SomeOperation], str] = result_of,
    also: Callable[[SomeOperation], Mapping[str, ParameterValue]] | None = None,
    /,
    **kinds: str | int,
) -> Iterator[Defect]:
    """Yield the defect in each of ``operations`` alone, then in all of them.

    Args:
        operations: operations of one kind.
        id_: the defect's id.
        subject: the parameter that names the operation.
        step: the wrong step.
        name: gives the parameter's value for an operation.
        also: other parameters that say where one operation is.
        kinds: parameters that all of them share.
    """
    for operation in operations:
        own = also(operation) if also else {}
        yield Defect(id_, {operation: step}, {subject: name(operation), **own, **kinds})
    if len(operations) > 1:
        yield Defect(id_, dict.fromkeys(operations, step), {subject: EVERY, **kinds})


@dataclass(frozen=True)
class Each:
    """Yields defects of an area as ``each_and_all`` does: in each operation alone, then in all of them.

    Attributes:
        area: the area of the glossary.
        subject, name, also: as in ``each_and_all``.
    """

    area: str
    subject: str
    name: Callable[[Any], str] = result_of
    also: Callable[[Any], Mapping[str, ParameterValue]] | None = None

    def __call__(self, operations: Sequence[SomeOperation], defect: str, step: Substitute, /, **kinds: str | int) -> Iterator[Defect]:
        """Yield the defect called ``defect`` in the area."""
        return each_and_all(operations, f"{self.area}.{defect}", self.subject, step, self.name, self.also, **kinds)


def in_all(id_: str, operations: Iterable[Operation], step: Substitute, **parameters: ParameterValue) -> Iterator[Defect]:
    """Yield the defect in all of ``operations`` together; nothing if there are none."""
    steps = dict.fromkeys(operations, step)
    if steps:
        yield Defect(id_, steps, parameters)


def named(matrix: Matrix) -> str:
    """Name the matrix in words: ``matrix A`` for one called ``a`` or ``matrix_a``, ``matrix product``, ``the matrix (use B)``."""
    name = matrix.name.removeprefix("matrix").strip("_")
    if not name:
        return f"the matrix (use {matrix.type.use_value.name})"
    return f"matrix {name.upper() if name[1:].isdigit() or len(name) == 1 else name}"
