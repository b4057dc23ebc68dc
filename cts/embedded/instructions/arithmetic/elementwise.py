"""Applies instructions on scalars to vectors and, if allowed, to cooperative matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from cts.embedded.diagnostics import Violation
from cts.embedded.machine.machine import Machine, Run
from cts.embedded.module.translation import Translation, Words
from cts.embedded.rules.arithmetic import MATRIX_ARITHMETIC, MATRIX_CONVERSIONS
from cts.embedded.types.spirv_types import MatrixType, Type, Vector
from cts.embedded.types.values import Partly, Undefined, Value, instance_mask
from generators.spirv.enumerants import Capability, Decoration, Op
from generators.types import Use

Function = Callable[..., Value]

USE_CONVERSIONS = frozenset({Capability.CooperativeMatrixConversionsNV, Capability.CooperativeMatrixConversionsEXT})
"""The capabilities that each allow a conversion of an accumulator to A or B (CM2-CAP-02)."""


def happens(machine: Machine, condition: Value) -> bool:
    """Return whether a condition on scalars, or on the elements of a matrix, holds for any invocation that executes."""
    if not isinstance(condition, np.ndarray):
        return bool(condition)
    if not condition.any():
        return False
    if machine.full:
        return True
    mask = machine.mask if condition.ndim == 1 else instance_mask(machine.mask, condition.shape[0])
    return bool(condition[mask].any())


def forbid_where(machine: Machine, condition: Value, rule: str, text: str, *values: Value) -> None:
    """Report undefined behaviour if a condition holds for any invocation that executes: see ``happens`` and ``Machine.forbid``.

    Args:
        machine: the machine.
        condition: a boolean, or one for each invocation or element.
        rule: the broken rule.
        text: what happened, with {} for the first of each of ``values`` for which the condition holds.
        values: numbers, each of the shape of the condition or one for all.
    """
    if not happens(machine, condition):
        return
    where = condition if isinstance(condition, np.ndarray) and condition.ndim == 1 else None
    if values:
        holds = np.asarray(condition)
        if where is not None:
            holds = holds & machine.mask
        text = text.format(*(np.broadcast_to(value, holds.shape)[holds].flat[0] for value in values))
    machine.forbid(rule, text, where)


def apply(translation: Translation, op: Op, words: Words, function: Function) -> Run:
    """Return a function that executes ``function`` on the constituents of the operands ``words[2:]``.

    Raises:
        Violation: an operand is a matrix that the extension does not allow, or operands have different types.
    """
    if is_transposing(translation, words):
        return then_transposed(apply_to(translation, op, untransposed(translation, op, words), words[2:], function))
    return apply_to(translation, op, translation.types[words[0]], words[2:], function)


def apply_to(translation: Translation, op: Op, result: Type, operands: Words, function: Function) -> Run:
    """See ``apply``."""
    if isinstance(result, MatrixType):
        _check_matrix(translation, op, result, operands)
        return _on_matrices(translation.machine, result, operands, translation.values, function)
    vector = result if isinstance(result, Vector) else translation.type_of[operands[0]]
    return on_components(translation, vector, operands, function)


def on_components(translation: Translation, type_: Type, operands: Words, function: Function) -> Run:
    """Return a function that executes ``function`` on the values of operands; on each component if ``type_`` is a vector."""
    if isinstance(type_, Vector):
        return on_values(translation, operands, lambda *vectors: tuple(map(function, *vectors)))
    return on_values(translation, operands, function)


def on_values(translation: Translation, operands: Words, function: Function) -> Run:
    """Return a function that executes ``function`` on the values of operands."""
    values = translation.values
    if len(operands) == 1:
        (a,) = operands
        return lambda: function(values[a])
    if len(operands) == 2:
        a, b = operands
        return lambda: function(values[a], values[b])
    return lambda: function(*(values[o] for o in operands))


def _on_matrices(machine: Machine, type_: MatrixType, operands: Words, values: list[Value], function: Function) -> Run:
    scope = type_.scope

    def run() -> Value:
        machine.active_instances(scope)
        return function(*(values[o] for o in operands))

    return run


def _check_matrix(translation: Translation, op: Op, result: MatrixType, operands: Words) -> None:
    types = [translation.type_of[o] for o in operands]
    if op in MATRIX_ARITHMETIC:
        if not all(isinstance(t, MatrixType) and _same_but_sign(t, result) for t in types):
            raise Violation("KHR-ARI-04", "operands and result must have one matrix type")
        if result.number.is_float != op.name.startswith("F"):
            raise Violation("KHR-ARI-03", f"Op{op.name} is not allowed on a {result}")
    elif op in MATRIX_CONVERSIONS:
        for t in types:
            if isinstance(t, MatrixType) and use_may_change(translation, op, t, result):
                continue
            if not isinstance(t, MatrixType) or not _same_shape(t, result):
                raise Violation("KHR-CVT-02", "operand and result must have the same scope, rows, columns and use")
    else:
        raise Violation("KHR-ARI-06", f"Op{op.name} is not allowed on a {result}")


def use_may_change(translation: Translation, op: Op, from_: MatrixType, to: MatrixType) -> bool:
    """Return whether a capability allows conversion ``op`` to change the use, if the types are otherwise alike (CM2-CVT-01,
    M1-CVT-01)."""
    if op is Op.Bitcast or (from_.scope, from_.rows, from_.columns) != (to.scope, to.rows, to.columns):
        return False
    if from_.use is Use.ACCUMULATOR and to.use is not Use.ACCUMULATOR:
        return not translation.capabilities.isdisjoint(USE_CONVERSIONS)
    back = from_.use is not Use.ACCUMULATOR and to.use is Use.ACCUMULATOR
    return back and Capability.CooperativeMatrixConversionsEXT in translation.capabilities


def _same_but_sign(one: MatrixType, other: MatrixType) -> bool:
    return _same_shape(one, other) and one.number.dtype == other.number.dtype


def _same_shape(one: MatrixType, other: MatrixType) -> bool:
    return (one.scope, one.rows, one.columns, one.use) == (other.scope, other.rows, other.columns, other.use)


def is_transposing(translation: Translation, words: Words) -> bool:
    """Return whether an instruction is decorated with CooperativeMatrixTransposeEXT."""
    return Decoration.CooperativeMatrixTransposeEXT in translation.decorations.get(words[1], {})


def untransposed(translation: Translation, op: Op, words: Words) -> MatrixType:
    """Return the type that a decorated conversion has before it exchanges rows and columns.

    Raises:
        Violation: the decoration or the types are not allowed.
    """
    to, from_ = translation.types[words[0]], translation.type_of[words[2]]
    if not isinstance(to, MatrixType) or not isinstance(from_, MatrixType):
        raise Violation("M1-TR-04", f"CooperativeMatrixTransposeEXT on Op{op.name}, which is no conversion of matrices")
    if from_.use is not Use.ACCUMULATOR or to.use not in (Use.A, Use.B):
        raise Violation("M1-TR-01", f"a {from_} to a {to}; it must go from an accumulator to A or B")
    if (from_.scope, from_.columns, from_.rows) != (to.scope, to.rows, to.columns):
        raise Violation("M1-TR-01", f"a {from_} to a {to}; rows and columns must be swapped, in the same scope")
    return replace(to, rows=to.columns, columns=to.rows)


def then_transposed(run: Run) -> Run:
    """Return a function that transposes the result of ``run``."""
    return lambda: transposed(run())


def transposed(matrix: Value) -> Value:
    """Transpose each instance: move the element at (r, c) to (c, r) (CM2-TR-02, M1-TR-02, M1-TR-03)."""
    if isinstance(matrix, Partly):
        return Partly(_swapped(matrix.value), _swapped(matrix.defined))
    return matrix if isinstance(matrix, Undefined) else _swapped(matrix)


def _swapped(matrix: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(matrix.swapaxes(1, 2))
