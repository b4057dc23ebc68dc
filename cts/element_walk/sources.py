"""The sources of an element, by the operation that made it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np

from cts.element_walk.back import At, Back, loaded_elements, moved, reshaped
from cts.element_walk.recording import Performed
from cts.element_walk.steps import Step, Term
from cts.verdict.elements import number
from generators.numerics.formats import integers, values
from generators.program.array_conversion import BitCastArray, ConstructCoopMat, ExtractCoopMat, ExtractSubArray
from generators.program.arrays import ArrayLoad
from generators.program.callbacks import Reduce
from generators.program.composites import CompositeConstruct, CompositeExtract, CompositeInsert, CopyMemory
from generators.program.cooperative_vector_matmul import CooperativeVectorMatMul, interpretation_value
from generators.program.elements import ComponentsPlaced, ComponentsUpdated
from generators.program.functions import Function
from generators.program.muladd import MatrixMulAdd
from generators.program.operation import Operation
from generators.program.variables import Variable, VariableLoad, VariableStore
from generators.types import ComponentType, MatrixOperands, ReduceMode, Use

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
    place = f" ({at.row}, {at.column})" if not step.is_row else f"[{at.column}]" if step.value.bits.shape[2] > 1 else ""
    what = f"{step.name}{place}: {type(step.operation).__name__}{named}"
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
    for name, value in step.rows.items() if step.is_row else ():
        if value.bits.shape == step.value.bits.shape and not step.loads:
            text, made = back.part(at, name, at.lane, at.column)
            texts.append(text)
            followed += [made] if made is not None else []
    return (), 0, tuple(texts), followed


def _of(*found: tuple[str, At | None]) -> Sources:
    """Return sources, each in words with the element that is followed, if there is one."""
    return (), 0, tuple(text for text, _ in found), [made for _, made in found if made is not None]


def _construct(back: Back, at: At, step: Performed) -> Sources:
    """Return the constituent of a vector or an array."""
    operation = step.operation
    assert isinstance(operation, CompositeConstruct), "the table says so"
    name = operation.parts[at.column].name if at.column < len(operation.parts) else ""
    return _of(back.part(at, name, at.lane, 0)) if name in step.rows else _plain(back, at, step)


def _insert(back: Back, at: At, step: Performed) -> Sources:
    """Return the inserted component, or the component that was there before."""
    operation = step.operation
    assert isinstance(operation, CompositeInsert), "the table says so"
    if operation.path == (at.column,) and operation.part.name in step.rows:
        return _of(back.part(at, operation.part.name, at.lane, 0))
    return _composite(back, at, step, operation.composite.name, at.column)


def _extract(back: Back, at: At, step: Performed) -> Sources:
    operation = step.operation
    assert isinstance(operation, CompositeExtract), "the table says so"
    return _composite(back, at, step, operation.composite.name, operation.path[0]) if len(operation.path) == 1 else _plain(back, at, step)


def _composite(back: Back, at: At, step: Performed, name: str, column: int) -> Sources:
    """Return a component of a vector or an array that a step read."""
    if name in step.rows and column < step.rows[name].bits.shape[2]:
        return _of(back.part(at, name, at.lane, column))
    if name in step.operands and column < step.operands[name].bits.shape[2] and step.operands[name].bits.shape[1] == 1:
        return _of(back.operand(at, name, 0, column))
    return _plain(back, at, step)


def _matrix_of_arrays(back: Back, at: At, step: Performed) -> Sources:
    """Return the element of an invocation's array that became an element of a matrix."""
    operation = step.operation
    assert isinstance(operation, ConstructCoopMat), "the table says so"
    assert step.value is not None, "the step made a matrix"
    if (array := step.rows.get(operation.source.name)) is None:
        return _plain(back, at, step)
    line, place = (at.column, at.row) if operation.result.type.use_value is Use.B else (at.row, at.column)
    size = len(step.row_lanes) // len(step.instances)
    column = _same_bytes(place, step.value.component, array.component)[0]
    text, made = back.part(at, operation.source.name, at.lane * size + line, column)
    return _of((f"invocation {line}: {text}", made))


def _array_of_matrix(back: Back, at: At, step: Performed) -> Sources:
    """Return the elements of a matrix that became an element of an invocation's array."""
    operation = step.operation
    assert isinstance(operation, ExtractCoopMat), "the table says so"
    assert step.value is not None, "the step made an array"
    assert step.owners is not None, "invocations have scope instances"
    matrix = step.operands[operation.matrix.name]
    line = at.lane - int(np.searchsorted(step.owners, step.owners[at.lane]))
    in_matrix = replace(at, lane=int(np.searchsorted(np.unique(step.owners), step.owners[at.lane])))
    is_b = operation.matrix.type.use_value is Use.B
    if line >= matrix.bits.shape[2 if is_b else 1]:
        return (), 0, (), []
    places = _same_bytes(at.column, step.value.component, matrix.component)
    found = [back.operand(in_matrix, operation.matrix.name, *((k, line) if is_b else (line, k))) for k in places]
    return _of(*found)


def _cast(back: Back, at: At, step: Performed) -> Sources:
    """Return the elements of the source that have the bytes of an element of a cast array."""
    operation = step.operation
    assert isinstance(operation, BitCastArray), "the table says so"
    assert step.value is not None, "the step made an array"
    if (source := step.rows.get(operation.source.name)) is None:
        return _plain(back, at, step)
    places = _same_bytes(at.column, step.value.component, source.component)
    return _of(*(back.part(at, operation.source.name, at.lane, k) for k in places))


def _same_bytes(index: int, component: ComponentType, other: ComponentType) -> range:
    """Return the indices of the elements of another type that have the bytes of an element."""
    first = index * component.bytes // other.bytes
    return range(first, first + max(1, component.bytes // other.bytes))


def _sub_array(back: Back, at: At, step: Performed) -> Sources:
    operation = step.operation
    assert isinstance(operation, ExtractSubArray), "the table says so"
    if operation.source.name not in step.rows or operation.start.name not in step.rows:
        return _plain(back, at, step)
    start = int(step.rows[operation.start.name].bits[at.lane, 0, 0])
    return _of(back.part(at, operation.source.name, at.lane, start + at.column))


def _array_load(back: Back, at: At, step: Performed) -> Sources:
    """Return the bytes from which an invocation loaded a scalar or a vector, and where they were stored."""
    assert step.value is not None, "the table says so"
    read = next((one for one in step.loads if one.offsets.size == step.value.bits.size), None)
    if read is None:
        return _plain(back, at, step)
    shaped = reshaped(read, step.value.bits.shape)
    index = at.lane, 0, at.column
    return _of((back.bytes_of(shaped, index, int(step.value.bits[index])), back.from_memory(at.step, shaped, index)))


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
    """Return the last value that was stored to a variable, or to a component of it, and has the element."""
    operation = step.operation
    assert isinstance(operation, VariableLoad), "the table says so"
    return _stored(back, at, at.step, operation.variable, back.value(at))


def _stored(back: Back, at: At, before: int, variable: Variable, value: str) -> Sources:
    for number_ in range(before - 1, -1, -1):
        other = back.steps[number_]
        stored = replace(at, step=number_)
        written = getattr(other.operation, "target", None)
        if isinstance(other.operation, ComponentsPlaced | ComponentsUpdated) and written is not None and written.name == variable.name:
            source = other.operation.source if isinstance(other.operation, ComponentsUpdated) else variable
            name = type(other.operation).__name__
            _, _, texts, followed = _stored(back, at, number_, source, "")
            return (), 0, (f"{name} of {source.name}", *texts), followed
        if isinstance(other.operation, CopyMemory) and written is not None and written.name == variable.name:
            return _stored(back, at, number_, other.operation.source, value)
        if not isinstance(other.operation, VariableStore) or other.operation.variable.name != variable.name:
            continue
        for name, one in other.operands.items():
            if at.row < one.bits.shape[1] and at.column < one.bits.shape[2]:
                text, made = back.operand(stored, name, at.row, at.column)
                if text.endswith(value):
                    return _of((text, made))
        name, path = other.operation.value.name, other.operation.path
        if name in other.rows and at.lane < len(other.row_lanes) and path and path[-1] == at.column:
            return _of(back.part(stored, name, at.lane, 0))
    return ((), 0, ("the initial value of the variable",), []) if variable.initializer is not None else ((), 0, (), [])


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
    {
        MatrixMulAdd: _multiply_add,
        CooperativeVectorMatMul: _matrix_times_vector,
        Reduce: _reduction,
        VariableLoad: _variable,
        CompositeConstruct: _construct,
        CompositeInsert: _insert,
        CompositeExtract: _extract,
        ConstructCoopMat: _matrix_of_arrays,
        ExtractCoopMat: _array_of_matrix,
        BitCastArray: _cast,
        ExtractSubArray: _sub_array,
        ArrayLoad: _array_load,
    }
)
"""How the sources of an element are found, for operations whose elements do not depend on the elements at their own place alone."""
