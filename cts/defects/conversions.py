"""Defects of conversions of elements: floats are rounded to integers, or the types instead of the instruction decide the signedness."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from cts.defects.defect import Defect, each_and_all, every, result_of
from cts.defects.glossary import ParameterValue
from cts.defects.known import defects_of
from cts.reference.conversion import convert_value
from cts.reference.state import State
from cts.reference.values import MatrixValue
from generators.numerics.formats import values
from generators.program.conversion import Conversion, MatrixConvert, agrees, conversions
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


def _instruction(operation: MatrixConvert) -> dict[str, ParameterValue]:
    return {"instruction": operation.conversion.value}


@defects_of("conversion", MatrixConvert)
def conversion_defects(program: Program) -> Iterator[Defect]:
    """Yield the defects of the conversions of ``program``."""
    operations = every(program.operations, MatrixConvert)
    whole = [one for one in operations if one.conversion in _TO_INTEGER]
    yield from each_and_all(whole, "conversion.rounded", "converted", _rounded, result_of, _instruction)
    crossed = [one for one in operations if not agrees(one.conversion, one.matrix.type.component, one.result.type.component)]
    yield from each_and_all(crossed, "conversion.by_type", "converted", _by_type, result_of, _instruction)
