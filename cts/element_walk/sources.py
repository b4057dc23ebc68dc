"""The sources of an element, by the operation that made it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np

from cts.element_walk.back import At, Back, loaded_elements, moved
from cts.element_walk.recording import Performed
from cts.element_walk.steps import Step, Term
from cts.verdict.elements import number
from generators.numerics.formats import integers, values
from generators.program.callbacks import Reduce
from generators.program.cooperative_vector_matmul import CooperativeVectorMatMul, interpretation_value
from generators.program.functions import Function
from generators.program.muladd import MatrixMulAdd
from generators.program.operation import Operation
from generators.program.variables import VariableLoad, VariableStore
from generators.types import ComponentType, MatrixOperands, ReduceMode

MOST_TERMS = 64
"""Maximum number of terms of a sum that a step lists."""

Sources = tuple[tuple[Term, ...], int, tuple[str, ...], list[At]]
"""The terms of a step, the number of terms left out, its other sources in words, and the elements to follow."""


def step_back(back: Back, at: At) -> tuple[Step, list[At]]:
    """Return a step, and the elements of other steps from which it was made."""
    step = back.steps[at.step]
    assert step.value is not None, "a step on the way made a matrix"
    terms, left_out, others, followed = _SOURCES.get(type(step.operation), _plain)(back, at, step)
    function = getattr(step.operation, "function", None)
    named = f" with {function.name}" if isinstance(function, Function) else ""
    what = f"{step.name} ({at.row}, {at.column}): {type(step.operation).__name__}{named}"
    return Step(what, back.value(at), terms, left_out, others), followed


def _plain(back: Back, at: At, step: Performed) -> Sources:
    """Return the sources of an element that depends on the elements at its place alone, or on bytes in memory."""
    assert step.value is not None, "a step on the way made a matrix"
    texts: list[str] = []
    followed: list[At] = []
    index = at.lane, at.row, at.column
    if (loaded := loaded_elements(step)) is not None and loaded.offsets[index] >= 0:
        texts.append(back.bytes_of(loaded, index, int(step.value.bits[index])))
        if (made := back.from_memory(at.step, loaded, index)) is not None:
            followed.append(made)
    row, column = moved(step.operation, at.row, at.column)
    shape = moved(step.operation, *step.value.bits.shape[1:])
    for name, value in step.operands.items():
        if value.bits.shape[1:] == shape:
            text, made = back.operand(at, name, row, column)
            texts.append(text)
            followed += [made] if made is not None else []
        else:
            texts.append(f"{name}, {value.bits.shape[1]} x {value.bits.shape[2]}")
    return (), 0, tuple(texts), followed


def _sum(factors: Sequence[tuple[str, Fraction, str, Fraction]], addend: tuple[str, Fraction], followed: list[At]) -> Sources:
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


def _multiply_add(back: Back, at: At, step: Performed) -> Sources:
    operation = step.operation
    assert isinstance(operation, MatrixMulAdd), "the table says so"
    flags = operation.operands or MatrixOperands.NONE
    a, b, c = (step.operands[one.name] for one in (operation.a, operation.b, operation.c))
    signs = [bool(flags & flag) for flag in (MatrixOperands.A_SIGNED, MatrixOperands.B_SIGNED, MatrixOperands.C_SIGNED)]
    followed: list[At] = []

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


def _first_of_each(followed: Sequence[At]) -> list[At]:
    """Return the first element of each step: its neighbours were computed in the same way."""
    return list({one.step: one for one in reversed(followed)}.values())[::-1]


def _matrix_times_vector(back: Back, at: At, step: Performed) -> Sources:
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


def _variable(back: Back, at: At, step: Performed) -> Sources:
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


def _reduction(back: Back, at: At, step: Performed) -> Sources:
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


_SOURCES: Mapping[type[Operation], Callable[[Back, At, Performed], Sources]] = MappingProxyType(
    {MatrixMulAdd: _multiply_add, CooperativeVectorMatMul: _matrix_times_vector, Reduce: _reduction, VariableLoad: _variable}
)
"""How the sources of an element are found, for operations whose elements do not depend on the elements at their own place alone."""
