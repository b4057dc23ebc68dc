"""Defects of changes of use: elements in the places that another use has, a transposition left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from cts.defects.defect import Defect, Substitute, each_and_all, every
from cts.reference.conversion import convert
from cts.reference.state import State
from cts.reference.use_conversion import transpose, use_convert
from cts.reference.values import MatrixValue
from generators.errors import GeneratorError
from generators.program.conversion import MatrixConvert, changes_use
from generators.program.program import Program
from generators.program.use_conversion import Transpose, UseConvert

_Change = MatrixConvert | UseConvert | Transpose
_Arrangement = Callable[[np.ndarray], np.ndarray]
"""Elements (instances, rows, columns) at other places."""


def _square(bits: np.ndarray) -> np.ndarray:
    if bits.shape[1] != bits.shape[2]:
        raise GeneratorError("a matrix that is not square cannot take the place of its transpose")
    return bits.swapaxes(1, 2)


def _blocks_transposed(size: int) -> _Arrangement:
    def arrangement(bits: np.ndarray) -> np.ndarray:
        count, rows, columns = bits.shape
        if rows % size or columns % size or (rows, columns) == (size, size):
            raise GeneratorError(f"{rows}x{columns} has no {size}x{size} blocks")
        blocks = bits.reshape(count, rows // size, size, columns // size, size)
        return blocks.transpose(0, 1, 4, 3, 2).reshape(bits.shape)

    return arrangement


def _quadrants_exchanged(bits: np.ndarray) -> np.ndarray:
    """The upper right with the lower left quadrant, which only a pair of equal shape can be."""
    rows, columns = bits.shape[1] // 2, bits.shape[2] // 2
    result = bits.copy()
    result[:, :rows, columns:], result[:, rows:, :columns] = bits[:, rows:, :columns], bits[:, :rows, columns:]
    return result


def _halves_exchanged(axis: int) -> _Arrangement:
    return lambda bits: np.roll(bits, bits.shape[axis] // 2, axis)


def _pairs_exchanged(axis: int) -> _Arrangement:
    """Neighbours, as where two packed elements are taken in the other order."""

    def arrangement(bits: np.ndarray) -> np.ndarray:
        return np.take(bits, np.arange(bits.shape[axis]) ^ 1, axis)

    return arrangement


def _as_before(bits: np.ndarray) -> np.ndarray:
    """Of a transposed matrix, the elements in the order that they had before, in rows of the new length."""
    return bits.swapaxes(1, 2).reshape(bits.shape)


def _first_instance(bits: np.ndarray) -> np.ndarray:
    return np.broadcast_to(bits[:1], bits.shape)


_ARRANGEMENTS: tuple[tuple[str, _Arrangement], ...] = (
    ("transposed", _square),
    ("transposed within 8x8 blocks", _blocks_transposed(8)),
    ("transposed within 16x16 blocks", _blocks_transposed(16)),
    ("with two quadrants exchanged", _quadrants_exchanged),
    ("with the upper and lower half exchanged", _halves_exchanged(1)),
    ("with the left and right half exchanged", _halves_exchanged(2)),
    ("with neighbours in a row exchanged", _pairs_exchanged(2)),
    ("with neighbours in a column exchanged", _pairs_exchanged(1)),
)


def _changed(state: State, operation: _Change) -> None:
    match operation:
        case MatrixConvert():
            convert(state, operation)
        case UseConvert():
            use_convert(state, operation)
        case _:
            transpose(state, operation)


def _arranged(arrangement: _Arrangement) -> Substitute:
    def step(state: State, operation: _Change) -> None:
        _changed(state, operation)
        value = state.matrices[operation.result.name]
        moved = np.ascontiguousarray(arrangement(value.bits))
        if moved.shape != value.bits.shape:
            raise GeneratorError("the elements have no such places")
        state.matrices[operation.result.name] = MatrixValue(value.component, moved, value.computed)

    return step


def _lower_half(state: State, operation: _Change) -> None:
    """Elements pass through registers of half the width."""
    _changed(state, operation)
    value = state.matrices[operation.result.name]
    component = value.component
    low = value.bits & component.bits_dtype.type((1 << component.bits // 2) - 1)
    state.matrices[operation.result.name] = MatrixValue(component, low, value.computed)


def _words(operation: _Change) -> str:
    if isinstance(operation, Transpose):
        return f"the transposition {operation.result.name}"
    return f"the change of use {operation.result.name}"


def use_defects(program: Program) -> Iterator[Defect]:
    """Defects of the changes of use and transpositions of ``program``."""
    changes: list[_Change] = [*every(program.operations, UseConvert)]
    changes += [operation for operation in every(program.operations, MatrixConvert) if changes_use(operation)]
    transpositions = every(program.operations, Transpose)
    instances: tuple[tuple[str, _Arrangement], ...] = (
        (("that of instance 0 in every instance", _first_instance),) if program.instances > 1 else ()
    )
    for words, arrangement in (*_ARRANGEMENTS, *instances):
        yield from each_and_all(changes, _words, "every change of use", f"gives its elements {words}", _arranged(arrangement))
    for words, arrangement in (*_ARRANGEMENTS[1:], *instances):
        yield from each_and_all(transpositions, _words, "every transposition", f"gives its elements {words}", _arranged(arrangement))
    yield from each_and_all(transpositions, _words, "every transposition", "left out, or done twice", _arranged(_as_before))
    for operation in (*changes, *transpositions):
        yield Defect(f"{_words(operation)} keeps the lower half of each element only", {operation: _lower_half})
