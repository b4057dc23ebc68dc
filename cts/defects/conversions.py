"""Defects of conversions: floats are rounded to integers, the types instead of the instruction decide the signedness, elements keep the
places of another use, or a transposition is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cts.defects.defect import Defect, Each, each_and_all, every, result_of
from cts.defects.edits import Bend, of_first, then, transposed
from cts.defects.evaluation import Substitute
from cts.defects.glossary import ParameterValue
from cts.defects.known import defects_of
from cts.reference.conversion import convert_value
from cts.reference.state import State
from cts.reference.values import MatrixValue
from generators.errors import GeneratorError, Rule
from generators.numerics.formats import values
from generators.program.conversion import (
    Conversion,
    MatrixConvert,
    Transpose,
    TransposedConvert,
    UseConvert,
    agrees,
    changes_use,
    conversions,
)
from generators.program.program import Program

_TO_INTEGER = (Conversion.F_TO_S, Conversion.F_TO_U)


def _rounded(state: State, operation: MatrixConvert) -> None:
    """Round floats to the nearest integers; the instruction should drop the fraction."""
    value, target = state.matrices[operation.matrix.name], operation.result.type.component
    kind = "i" if operation.conversion is Conversion.F_TO_S else "u"
    bits = np.rint(values(value.bits, value.component)).astype(f"{kind}{target.bytes}").view(target.bits_dtype)
    state.matrices[operation.result.name] = MatrixValue(target, bits)


def _by_type(state: State, operation: MatrixConvert) -> None:
    """Read and write integers with the signedness of their types; a value below zero becomes zero in an unsigned type."""
    value, target = state.matrices[operation.matrix.name], operation.result.type.component
    instruction = conversions(value.component, target)[0]
    if instruction is Conversion.F_TO_U:
        kept = np.where(values(value.bits, value.component) < 0, value.component.bits_dtype.type(0), value.bits)
        value = replace(value, bits=kept)
    elif instruction is Conversion.S_TO_S and not value.component.is_signed:
        instruction = Conversion.U_TO_U
    state.matrices[operation.result.name] = convert_value(value, target, instruction, operation.saturating)


def not_converted(operand: str) -> Substitute:
    """Build a step that gives the result the lowest bits of each element of an operand, or all of them and zeros."""

    def step(state: State, operation: Any) -> None:
        value, target = state.matrices[getattr(operation, operand).name], operation.result.type.component
        state.matrices[operation.result.name] = MatrixValue(target, value.bits.astype(target.bits_dtype))

    return step


def _instruction(operation: MatrixConvert) -> dict[str, ParameterValue]:
    return {"instruction": operation.conversion.value}


_of_conversions = Each("conversion", "converted", result_of, _instruction)


@defects_of("conversion", MatrixConvert)
def conversion_defects(program: Program) -> Iterator[Defect]:
    """Yield the defects of the conversions of ``program``."""
    operations = every(program.operations, MatrixConvert)
    whole = [one for one in operations if one.conversion in _TO_INTEGER]
    yield from _of_conversions(whole, "rounded", _rounded)
    crossed = [one for one in operations if not agrees(one.conversion, one.matrix.type.component, one.result.type.component)]
    yield from _of_conversions(crossed, "by_type", _by_type)
    casts = [one for one in operations if one.conversion is Conversion.BITCAST]
    yield from each_and_all(casts, "conversion.cast_saturates", "converted", then(saturated))
    others = [one for one in operations if one.conversion is not Conversion.BITCAST]
    yield from each_and_all(others, "conversion.not_converted", "converted", not_converted("matrix"))


_Transposition = Transpose | TransposedConvert
_Change = MatrixConvert | UseConvert | _Transposition


def _blocks_transposed(size: int) -> Bend:
    def arrangement(bits: np.ndarray) -> np.ndarray:
        count, rows, columns = bits.shape
        if rows % size or columns % size or (rows, columns) == (size, size):
            raise GeneratorError(Rule.DEFECT_INAPPLICABLE, f"{rows}x{columns} has no {size}x{size} blocks")
        blocks = bits.reshape(count, rows // size, size, columns // size, size)
        return blocks.transpose(0, 1, 4, 3, 2).reshape(bits.shape)

    return arrangement


def _quadrants_exchanged(bits: np.ndarray) -> np.ndarray:
    """Exchange the upper right and the lower left quadrant."""
    rows, columns = bits.shape[1] // 2, bits.shape[2] // 2
    result = bits.copy()
    result[:, :rows, columns:], result[:, rows:, :columns] = bits[:, rows:, :columns], bits[:, :rows, columns:]
    return result


def _halves_exchanged(axis: int) -> Bend:
    return lambda bits: np.roll(bits, bits.shape[axis] // 2, axis)


def _pairs_exchanged(axis: int) -> Bend:
    """Exchange neighbours, as if two packed elements were read in the other order."""

    def arrangement(bits: np.ndarray) -> np.ndarray:
        return np.take(bits, np.arange(bits.shape[axis]) ^ 1, axis)

    return arrangement


def _as_before(bits: np.ndarray) -> np.ndarray:
    """Return a transposed matrix's elements in the order before the transposition, in rows of the new length."""
    return bits.swapaxes(1, 2).reshape(bits.shape)


_CHANGE, _TRANSPOSITION = "change of use", "transposition"

_ARRANGEMENTS: tuple[tuple[str, Bend], ...] = (
    ("use.quadrants_exchanged", _quadrants_exchanged),
    ("use.vertical_halves_exchanged", _halves_exchanged(1)),
    ("use.horizontal_halves_exchanged", _halves_exchanged(2)),
    ("use.row_neighbours_exchanged", _pairs_exchanged(2)),
    ("use.column_neighbours_exchanged", _pairs_exchanged(1)),
)


def _arranged(arrangement: Bend) -> Substitute:
    """Build a step that moves the elements, (instances, rows, columns), to other places."""

    def edit(value: MatrixValue) -> MatrixValue:
        moved = np.ascontiguousarray(arrangement(value.bits))
        if moved.shape != value.bits.shape:
            raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "the elements have no such places")
        return MatrixValue(value.component, moved, value.computed)

    return then(edit)


def _lower_half(value: MatrixValue) -> MatrixValue:
    """Pass elements through registers of half the width."""
    component = value.component
    low = value.bits & component.bits_dtype.type((1 << component.bits // 2) - 1)
    return MatrixValue(component, low, value.computed)


def saturated(value: MatrixValue) -> MatrixValue:
    """Give a number that the type of the result lacks, because of its sign, the nearest number of that type: 0, or the largest."""
    component = value.component
    nearest = component.bits_dtype.type((1 << component.bits - 1) - 1 if component.is_signed else 0)
    beyond = value.bits >> component.bits_dtype.type(component.bits - 1) != 0
    return MatrixValue(component, np.where(beyond, nearest, value.bits), value.computed)


def _rearranged(operations: Sequence[_Change], what: str, instances: int) -> Iterator[Defect]:
    """Yield defects that every such operation can have: elements at other places."""
    for size in (8, 16):
        step = _arranged(_blocks_transposed(size))
        yield from each_and_all(operations, "use.blocks_transposed", "changed", step, operation=what, size=size)
    own = (("use.of_first_instance", of_first),) if instances > 1 else ()
    for id_, arrangement in (*_ARRANGEMENTS, *own):
        yield from each_and_all(operations, id_, "changed", _arranged(arrangement), operation=what)


@defects_of("use", _Change)
def use_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of the changes of use and transpositions of ``program``."""
    changes: list[_Change] = [*every(program.operations, UseConvert)]
    changes += [operation for operation in every(program.operations, MatrixConvert) if changes_use(operation, program.maintenance1)]
    transpositions: list[_Transposition] = every(program.operations, Transpose, TransposedConvert)
    yield from each_and_all(changes, "use.transposed", "changed", then(transposed), operation=_CHANGE)
    yield from _rearranged(changes, _CHANGE, program.instances)
    yield from _rearranged(transpositions, _TRANSPOSITION, program.instances)
    kept = [one for one in every(program.operations, TransposedConvert) if one.conversion is None]
    for what, moved in ((_CHANGE, every(program.operations, UseConvert)), (_TRANSPOSITION, kept)):
        signs = [one for one in moved if one.matrix.type.component is not one.result.type.component]
        yield from each_and_all(signs, "use.saturated", "changed", then(saturated), operation=what)
    left_out = _arranged(_as_before)
    yield from each_and_all(transpositions, "use.transposition_left_out", "changed", left_out, operation=_TRANSPOSITION)
    for operation in (*changes, *transpositions):
        what = _TRANSPOSITION if isinstance(operation, _Transposition) else _CHANGE
        yield Defect("use.lower_half_kept", {operation: then(_lower_half)}, {"changed": operation.result.name, "operation": what})
