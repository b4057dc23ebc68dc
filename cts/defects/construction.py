"""Defects of matrices that are not loaded: constants, nulls and splats in which only some elements have the right value or sign."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from cts.defects.defect import Defect, each_and_all, every, named_result
from cts.defects.edits import Edit, of_first, then
from cts.defects.known import defects_of
from cts.reference.values import MatrixValue
from generators.errors import GeneratorError, Rule
from generators.numerics.formats import encode, sign_bit
from generators.program.construction import MatrixConstant, MatrixNull, MatrixSplat
from generators.program.program import Program
from generators.program.values import Operand, Value

_Made = MatrixConstant | MatrixSplat


def _with_bits(value: MatrixValue, bits: np.ndarray) -> MatrixValue:
    return MatrixValue(value.component, bits)


def _keeping(kept: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Edit:
    """Return a function that gives zero where ``kept``, which takes the numbers of rows and columns, is false."""

    def edit(value: MatrixValue) -> MatrixValue:
        rows, columns = value.bits.shape[1:]
        row, column = np.arange(rows)[:, None], np.arange(columns)[None, :]
        return _with_bits(value, np.where(kept(row, column), value.bits, value.bits.dtype.type(0)))

    return edit


def _unsigned_rows(value: MatrixValue) -> MatrixValue:
    """Make every other row positive. NVIDIA's 580.159.04 does this to constants of use B and 8x8 components of f16."""
    bits = value.bits.copy()
    bits[:, ::2] &= bits.dtype.type(sign_bit(value.component) - 1)
    return _with_bits(value, bits)


def _is_negative(operation: _Made) -> bool:
    """Tell whether the value is a float below zero that is known when the pipeline is made."""
    value, component = operation.value, operation.result.type.component
    if not isinstance(value, Operand) or value.value is None or not component.is_float:
        return False
    return bool(value.value & sign_bit(component))


def _ones(value: MatrixValue) -> MatrixValue:
    return _with_bits(value, np.full(value.bits.shape, encode(value.component, np.array(1))))


def _first_instance(value: MatrixValue) -> MatrixValue:
    first = of_first(value.bits)
    if (value.bits == first).all():
        raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "all instances have one scalar, so this is not a defect")
    return _with_bits(value, first)


_PARTS: tuple[tuple[str, Edit], ...] = (
    ("diagonal_only", _keeping(lambda row, column: row == column)),
    ("first_row_only", _keeping(lambda row, _: row == 0)),
    ("first_column_only", _keeping(lambda _, column: column == 0)),
    ("first_element_only", _keeping(lambda row, column: row + column == 0)),
    ("zero", _keeping(lambda row, _: row < 0)),
)


@defects_of("splat", _Made, MatrixNull)
def construction_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of each constructed matrix of ``program``, and of all of them: only a part of it has its value, or its sign."""
    splats, nulls = every(program.operations, MatrixSplat), every(program.operations, MatrixNull)
    constants = every(program.operations, MatrixConstant)
    for part, edit in _PARTS:
        yield from each_and_all(splats, f"splat.{part}", "constructed", then(edit), named_result)
        yield from each_and_all(constants, f"constant.{part}", "constant", then(edit), named_result)
    made: list[_Made] = [*constants, *splats]
    negative = [one for one in made if _is_negative(one)]
    yield from each_and_all(negative, "constant.sign_lost", "negative", then(_unsigned_rows), named_result)
    yield from each_and_all(nulls, "null_constant.ones", "null_matrix", then(_ones), named_result)
    if program.instances > 1:
        own = [one for one in splats if isinstance(one.value, Value)]
        yield from each_and_all(own, "splat.scalar_of_first_instance", "constructed", then(_first_instance), named_result)
