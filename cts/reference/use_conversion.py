"""OpCooperativeMatrixConvertNV and OpCooperativeMatrixTransposeNV: values move (facts.md C17)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cts.reference.state import State
from generators.errors import GeneratorError
from generators.program.use_conversion import Transpose, UseConvert
from generators.program.values import MatrixType
from generators.types import Use


def use_convert(state: State, operation: UseConvert) -> None:
    """The elements stay, and the use becomes A or B (CM2-CVT-03).

    Raises:
        GeneratorError: the types differ in more than the use, or it is not from an accumulator.
    """
    source, target = operation.matrix.type, operation.result.type
    same = replace(source, use=target.use) == target
    if not same or source.use_value is not Use.ACCUMULATOR or target.use_value is Use.ACCUMULATOR:
        raise GeneratorError(f"{operation.result.name}: a conversion of the use is from an accumulator to A or B (CM2-CVT-03)")
    state.matrices[operation.result.name] = state.matrices[operation.matrix.name]


def transpose(state: State, operation: Transpose) -> None:
    """Rows become columns (CM2-TR-02).

    Raises:
        GeneratorError: the types do not go together (CM2-TR-01, F-CM2-12).
    """
    source, target = operation.matrix.type, operation.result.type
    expected = MatrixType(source.component, source.scope, source.columns, source.rows, Use.B)
    if source.use_value is not Use.ACCUMULATOR or target != expected:
        raise GeneratorError(f"{operation.result.name}: a transposition is from an accumulator to B, rows for columns (CM2-TR-01)")
    value = state.matrices[operation.matrix.name]
    if value.choice is not None or value.envelope is not None:
        raise GeneratorError(f"{operation.matrix.name} has several allowed values; transpose exact data")
    bits = np.ascontiguousarray(value.bits.transpose(0, 2, 1))
    state.matrices[operation.result.name] = replace(value, bits=bits, history=None, proof=None, origins=())
