"""Single edits, of which most defects are made: an operand is another value, the result is changed, or another operation is performed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from cts.defects.evaluation import Substitute
from cts.reference.evaluate import perform
from cts.reference.state import State
from cts.reference.values import MatrixValue
from generators.errors import GeneratorError, Rule
from generators.program.memory import Array
from generators.program.operation import Operation
from generators.program.values import Matrix, Scalar, ScalarValue, Value, is_cooperative_vector, is_matrix

Part = TypeVar("Part")

Bend = Callable[[np.ndarray], np.ndarray]
"""Takes the operand of each invocation (uint64), and returns the wrong operand."""

Edit = Callable[[MatrixValue], MatrixValue]
"""Takes a matrix or a vector, and returns the wrong one."""


def skipped(_: State, __: Operation) -> None:
    """Do nothing."""


def instead(change: Callable[[Any], Operation]) -> Substitute:
    """Build a step that performs another operation; ``change`` takes the right one."""
    return lambda state, operation: perform(state, change(operation))


def given(**fields: object) -> Substitute:
    """Build a step that performs the operation with other fields."""
    return instead(lambda operation: replace(operation, **fields))


def exchanged(first: str, second: str) -> Substitute:
    """Build a step that exchanges two fields of the operation."""
    return instead(lambda operation: replace(operation, **{first: getattr(operation, second), second: getattr(operation, first)}))


def copied(source: str, target: str) -> Substitute:
    """Build a step that uses the field ``source`` also as the field ``target``."""
    return instead(lambda operation: replace(operation, **{target: getattr(operation, source)}))


def then(edit: Edit) -> Substitute:
    """Build a step that performs the operation and edits its result, a matrix or a vector."""

    def step(state: State, operation: Any) -> None:
        perform(state, operation)
        name = operation.result.name
        state.matrices[name] = edit(state.matrices[name])

    return step


def unchanged(state: State, operation: Any) -> None:
    """Return the first operand that is a matrix or a vector as the result."""
    _, *fields = vars(operation).values()
    operands = chain.from_iterable(field if isinstance(field, tuple) else (field,) for field in fields)
    first = next(one for one in operands if is_matrix(one) or is_cooperative_vector(one))
    state.matrices[operation.result.name] = state.matrices[first.name]


def with_matrix(operand: str | Matrix, edit: Edit) -> Substitute:
    """Build a step that performs the operation with another value of a matrix or a vector, the operand or the field of that name, and
    restores it.
    """

    def step(state: State, operation: Any) -> None:
        name = getattr(operation, operand).name if isinstance(operand, str) else operand.name
        before = state.matrices[name]
        state.matrices[name] = edit(before)
        perform(state, operation)
        state.matrices[name] = before

    return step


def with_scalar(operand: str, bend: Bend) -> Substitute:
    """Build a step that performs the operation with the wrong scalar that ``reread`` returns for ``operand``."""
    return lambda state, operation: perform(state, reread(state, operation, operand, bend))


def reread(state: State, part: Part, operand: str, bend: Bend) -> Part:
    """Return an operation, or a part of one, with the scalar that a wrong device reads in place of an operand.

    Args:
        part: the operation; it must be a dataclass.
        operand: the field that has the scalar; ``matrix.offset`` is the field ``offset`` of the field ``matrix``.
        bend: gives the wrong scalar.
    """
    outer, _, inner = operand.partition(".")
    own = getattr(part, outer)
    other = reread(state, own, inner, bend) if inner else bent(state, own, bend)
    return replace(part, **{outer: other})  # type: ignore[type-var]


def bent(state: State, operand: ScalarValue, bend: Bend) -> Scalar:
    """Return a scalar with the value that a wrong device uses, in each invocation, instead of the operand."""
    name = f"{operand.name} as a wrong device reads it"
    state.scalars[name] = np.asarray(bend(state.scalar(operand)), np.uint64)
    return Value(name, operand.type)


def in_elements(array: Array) -> Bend:
    """Return a function that counts an offset in elements of the array, not in bytes."""
    return lambda operand: operand * np.uint64(array.pointee.bytes)


def of_first(operand: np.ndarray) -> np.ndarray:
    """Return the operand of the first scope instance, or invocation, that executes the instruction, in place of each."""
    return np.broadcast_to(operand[:1], operand.shape)


def zero(operand: np.ndarray) -> np.ndarray:
    """Return zeros in place of an operand that is ignored."""
    return np.zeros_like(operand)


def bits(change: Bend) -> Edit:
    """Return a function that changes the bits of a value alone, (instances, rows, columns)."""
    return lambda value: replace(value, bits=np.ascontiguousarray(change(value.bits)))


def part(axis: int, kept: slice) -> Edit:
    """Return a function that keeps some rows (axis 1) or columns (2)."""
    index = (slice(None),) * axis + (kept,)
    return lambda value: MatrixValue(value.component, np.ascontiguousarray(value.bits[index]))


def zeroed(value: MatrixValue) -> MatrixValue:
    """Return a matrix of zeros."""
    return MatrixValue(value.component, np.zeros_like(value.bits))


def transposed(value: MatrixValue) -> MatrixValue:
    """Return the transpose, with one value for each element. Raises GeneratorError if the matrix is not square."""
    if value.bits.shape[1] != value.bits.shape[2]:
        raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "a matrix that is not square cannot take the place of its transpose")
    return MatrixValue(value.component, np.ascontiguousarray(value.bits.transpose(0, 2, 1)), value.computed)
